"""The links of the OpenAPI document lead where they say: each is followed from a real answer."""

from __future__ import annotations

import copy

import pytest

from access.models import IdempotencyKey
from flowsched import clock
from flowsched.rest.pages import document
from inventory.models import Rack
from tasks.models import Task
from tests.rest.helpers import rest
from tests.tasks.admission.helpers import make_rack
from tests.tasks_runs.helpers import begin, make_task

pytestmark = pytest.mark.django_db
POWER_ON = {"type": "power_on"}
EVERY_HOUR = {"type": "interval", "spec": "1h"}
DEVICE = {"name": "made", "manufacturer": "maker", "serial_number": "S-1", "id": "f3a1c2d4-1001-4000-8000-00000000aaaa"}

# What an operation is sent beside what the link gives, and the answers that show that it got there.
BODIES = {
    "schedules_create": {"name": "by link", "spec": EVERY_HOUR, "operation": POWER_ON},
    "schedules_update": {"overlap_policy": "queue"},
    "scopes_add": {"target_spec": {"racks": [{"name": "other"}]}},
    "scopes_reconcile": {"target_spec": {"racks": [{"name": "other"}, {"name": "r01"}]}},
    "tasks_create": {"operation": POWER_ON},
    "tasks_acknowledge": {"as": "completed"},
    "nvl_domains_attach": {"racks": ["free"]},
    "nvl_domains_detach": {"racks": ["free"]},
}
# May be 409: not in doubt, has ended, the last one, makes no call.
STATE = {"tasks_acknowledge", "tasks_cancel", "runs_cancel", "scopes_remove", "schedules_dry_run"}


class Api:
    """Operations by their ids."""

    def __init__(self) -> None:
        self.caller = rest(superuser=True)
        self.operations = {
            operation["operationId"]: (path, method, operation)
            for path, item in document()["paths"].items()
            for method, operation in item.items()
        }

    def call(self, name, parameters=None, body=None):
        Task.objects.exclude(status="completed").update(  # so that no rack is busy with an earlier call
            status="completed", finished_at=clock.now(), queue_expires_at=None
        )
        path, method, _ = self.operations[name]
        for key, value in (parameters or {}).items():
            path = path.replace(f"{{{key}}}", str(value))
        assert "{" not in path, path
        return self.caller.call(method.upper(), path, body)

    def links(self, name):
        """(name of the link, link) of the operation's success."""
        responses = self.operations[name][2]["responses"]
        return [pair for status, one in responses.items() if status < "3" for pair in one.get("links", {}).items()]

    def with_links(self):
        return {name for name in self.operations if self.links(name)}


def resolved(value, answer):
    """A link's value with the parts of the answer that its expressions point at."""
    if isinstance(value, dict):
        return {key: resolved(item, answer) for key, item in value.items()}
    if isinstance(value, list):
        return [resolved(item, answer) for item in value]
    for step in value.removeprefix("$response.body#/").split("/"):
        answer = answer[int(step) if isinstance(answer, list) else step]
    return answer


@pytest.fixture
def api(db):
    for name in ("r01", "other", "free"):
        make_rack(name)
    return Api()


def start(api, name):
    """The answer of an operation that has links."""
    if name == "runs_list":
        begin(make_task(Rack.objects.get(name="other"), job=False))
    racks = {one["info"]["name"]: one["info"]["id"] for one in api.caller.get("racks/").json()["racks"]}
    on = {"target_spec": {"racks": [{"name": "r01"}]}}
    schedule = api.call("schedules_create", body={**BODIES["schedules_create"], **on, "name": f"of {name}"}).json()
    arguments = {
        "racks_retrieve": ({"id": racks["r01"]}, None),
        "racks_create": ({}, {"info": DEVICE}),
        "components_create": ({}, {"type": "compute", "info": DEVICE, "rack_id": racks["free"]}),
        "nvl_domains_create": ({}, {"name": "domain"}),
        "schedules_create": ({}, {**BODIES["schedules_create"], **on, "name": "another"}),
        "schedules_trigger": ({"id": schedule["id"]}, None),
        "scopes_list": ({"id": schedule["id"]}, None),
        "scopes_add": ({"id": schedule["id"]}, BODIES["scopes_add"]),
        "scopes_reconcile": ({"id": schedule["id"]}, on),
        "tasks_create": ({}, {**BODIES["tasks_create"], **on}),
        "runs_list": ({}, None),
    }
    response = api.call(name, *arguments[name])
    assert response.status_code < 300, response.content
    return response.json()


def test_every_link_leads_to_its_operation(api):
    followed = set()
    for name in sorted(api.with_links()):
        links = dict(api.links(name))
        answer = start(api, name)
        for link in sorted(links.values(), key=lambda one: one["operationId"].endswith(("delete", "remove"))):
            target = link["operationId"]
            body = copy.deepcopy(BODIES.get(target))
            if "requestBody" in link:
                body = {**body, **resolved(link["requestBody"], answer)}
            response = api.call(target, resolved(link["parameters"], answer), body)
            allowed = {200, 201, 204} | ({409} if target in STATE else set())
            assert response.status_code in allowed, (name, target, response.content)
            followed.add((name, target))
    assert len(followed) >= 25
    assert {"schedules_trigger", "firings_retrieve", "scopes_remove"} <= {target for _, target in followed}
    assert not IdempotencyKey.objects.exists()
