"""What an HTTP call would send, over REST: rendered and redacted; nobody called, no token fetched, no row written."""

from __future__ import annotations

import base64
import json

import pytest

from inventory.models import Rack
from schedules.models import TaskSchedule
from scopes.answers import DryRunOut
from tests.dispatcher.helpers import racks
from tests.doors.world import fingerprint
from tests.http.corpus import OUTPUTS, TEMPLATES, VALUES, carried, information
from tests.rest.calls import NOBODY, call, ok, refused, schedule_body
from tests.rest.endpoints import SECRET, api_call, call_body, door, endpoints, gateway_call, in_body
from tests.rest.helpers import Rest, rest

__all__ = ["door", "endpoints"]
pytestmark = pytest.mark.django_db
DELEGATED = {"kind": "delegated_user", "subject": "ada", "consent_id": "c-1"}


@pytest.fixture
def root(endpoints) -> Rest:
    """May do everything."""
    return rest(superuser=True)


@pytest.fixture
def untouched(endpoints):
    """Nothing is written but who was refused, and nobody is called."""

    def check(before):
        assert fingerprint() == before
        assert endpoints.visits == 0

    return check


def made(client: Rest, *on: Rack, **fields) -> str:
    """The path of a new schedule of a call."""
    body = schedule_body(*on, **fields) if on else call_body(**fields)
    return f"schedules/{ok(client, 'POST', 'schedules/', body)['id']}/dry-run/"


def test_i73_a_schedule_on_racks(root, endpoints, untouched):
    """I-73, I-89: as a run would render it, for the first rack or the one named."""
    first, second = racks(2)
    operation = api_call(
        "/v1/racks/{{ rack.name }}", query={"n": "{{ components|length }}"},
        body={"rack": "{{ rack.id }}", "deep": [{}]},
        headers={"X-Env": "{{ task.schedule_name }}"}, identity=DELEGATED,
        policy={"idempotency_key": "{{ rack.name }}-{{ now|date('%Y') }}"},
    )  # fmt: skip
    path = made(root, first, second, operation=operation, name="nightly")
    before = fingerprint()
    for body, rack in ((None, first), ({}, first), ({"rack": second.name}, second)):
        answer = ok(root, "POST", path, body)
        assert set(answer) == set(DryRunOut().fields)
        assert (answer["would_run"], answer["reason"], answer["method"]) == (True, "", "POST")
        assert answer["url"] == f"{endpoints.url}/base/v1/racks/{rack.name}"
        assert answer["query"] == {"n": "2"}
        assert json.loads(answer["body"]) == {"rack": str(rack.pk), "deep": [{}]}
        assert answer["headers"].pop("Idempotency-Key").startswith(f"{rack.name}-2")
        assert answer["headers"] == {
            "X-Env": "nightly", "Content-Type": "application/json", "Authorization": "Bearer (redacted)",
        }  # fmt: skip
        assert (answer["identity_kind"], answer["principal_name"]) == ("delegated_user", "ada")
        assert (answer["actor_name"], answer["bearer_resolved"]) == ("", False)
    untouched(before)


def test_a_schedule_without_racks(root, endpoints, untouched):
    path = made(root, operation=api_call("/v1/racks{% if rack.name|default('') %}/x{% endif %}", method="GET"))
    before = fingerprint()
    answer = ok(root, "POST", path)
    assert (answer["url"], answer["body"]) == (f"{endpoints.url}/base/v1/racks", None)
    assert answer["headers"]["Idempotency-Key"] == "(the task's own)"
    untouched(before)


def test_a_call_that_is_not_there_yet(root, endpoints, untouched):
    """The body of create, as far as it is known."""
    [rack] = racks(1)
    body = {
        "operation": gateway_call(payload={"of": "{{ task.schedule_name }}", "rack": "{{ rack.name }}"}),
        "target_spec": {"racks": [{"name": rack.name}]},
        "name": "to be",
    }
    before = fingerprint()
    answer = ok(root, "POST", "schedules/dry-run/", body)
    assert (answer["method"], answer["url"]) == ("POST", f"{endpoints.url}/notifications/night-report")
    assert answer["body"] == f'{{"of":"to be","rack":"{rack.name}"}}'
    assert (answer["identity_kind"], answer["principal_name"]) == ("none", "gateway:night-report")
    assert "Authorization" not in answer["headers"]
    untouched(before)


def test_the_secret_is_in_no_answer(root, endpoints, untouched):
    """Issue 6, 5: written out or encoded, in every place of a request."""
    encoded = base64.b64encode(f"flowsched:{SECRET}".encode()).decode()
    operation = api_call(
        f"/v1/{SECRET}", query={"q": f"is {SECRET}"}, headers={"X-Env": SECRET},
        body={"a": [SECRET], "b": f"Basic {encoded}", "password": "hunter2!"},
    )  # fmt: skip
    before = fingerprint()
    response = call(root, "POST", "schedules/dry-run/", {"operation": operation})
    assert response.json()["would_run"] is True
    for secret in (SECRET, encoded, "hunter2!"):
        assert secret not in response.content.decode()
    untouched(before)


NOT_RUN = {
    "render": (api_call("/v1/{{ rack.name }}"), "there is no 'name' here"),
    "rendered": (api_call("/v1/{{ '../admin' }}"), "segment of dots"),
    "endpoint": (api_call(endpoint="nosuch"), "hooks, inventory, open"),
    "what the endpoint takes": (api_call("/v2", endpoint="open", identity={"kind": "none"}), "/v1"),
    "identity": (api_call(endpoint="open"), "no credentials"),
}


@pytest.mark.parametrize("case", NOT_RUN)
def test_i73_what_would_not_run_says_why(root, case, untouched):
    """I-73: an answer, not an error."""
    operation, why = NOT_RUN[case]
    before = fingerprint()
    answer = ok(root, "POST", "schedules/dry-run/", {"operation": operation})
    assert answer["would_run"] is False
    assert why in answer["reason"]
    assert answer["bearer_resolved"] is False
    untouched(before)


def test_a_secret_that_is_not_there_any_more_says_so(root, monkeypatch, untouched):
    """I-36: found out without asking for a token."""
    path = made(root)
    monkeypatch.delenv("CLIENT_SECRET_OF_TESTS")
    before = fingerprint()
    answer = ok(root, "POST", path)
    assert (answer["would_run"], answer["method"]) == (False, "POST")
    assert "CLIENT_SECRET_OF_TESTS" in answer["reason"]
    untouched(before)


def storable(entry) -> bool:
    """Whether the database takes it, in a column for names too."""
    return len(entry.text) <= 255 and not any(one in entry.text for one in "\x00\ud800\udc00")


def named(entries):
    return pytest.mark.parametrize("entry", list(filter(storable, entries)), ids=lambda entry: ascii(entry.name))


@named(TEMPLATES)
def test_th8_a_stored_call_older_than_the_rule(root, entry, untouched):
    """TH-8: what is stored is not trusted, and its dry run fails as its run would."""
    path = made(root)
    row = TaskSchedule.objects.get()
    row.operation_template["information"]["target"]["query"] = {"q": entry.text}
    row.save(update_fields=["operation_template"])
    before = fingerprint()
    answer = ok(root, "POST", path)
    assert answer["would_run"] is False
    assert entry.why in answer["reason"]
    untouched(before)


@named(VALUES)
def test_th4_a_rack_that_brings_it(root, entry, untouched):
    """TH-4, TH-6: a name that got into the inventory is a value like any other."""
    [rack] = racks(1)
    path = made(root, rack, operation=in_body(*carried(entry)))
    Rack.objects.filter(pk=rack.pk).update(name=entry.text)
    before = fingerprint()
    answer = ok(root, "POST", path)
    assert answer["would_run"] is False
    assert entry.why in answer["reason"]
    untouched(before)


@pytest.mark.parametrize("entry", OUTPUTS, ids=lambda entry: ascii(entry.name))
def test_what_a_template_puts_out(root, entry, untouched):
    [rack] = racks(1)
    body = {"operation": in_body(*information(entry)), "target_spec": {"racks": [{"name": rack.name}]}}
    before = fingerprint()
    answer = ok(root, "POST", "schedules/dry-run/", body)
    assert answer["would_run"] is False
    assert entry.why in answer["reason"]
    untouched(before)


def test_what_cannot_be_asked(root, planner):
    [rack] = racks(1)
    hardware = ok(planner, "POST", "schedules/", schedule_body(rack))
    problem = refused(call(root, "POST", f"schedules/{hardware['id']}/dry-run/"), 409)
    assert problem["reason"] == "NO_CALL"
    refused(call(root, "POST", f"schedules/{NOBODY}/dry-run/"), 404)
    path = made(root)
    refused(call(root, "POST", path, {"rack": rack.name}), 404, "rack")
    refused(call(root, "POST", path, {"racks": []}), 400, "racks")
    refused(call(root, "POST", path, {"rack": 3}), 400, "rack")
    refused(call(root, "POST", f"{path}?rack=x"), 400, "rack")
    refused(call(root, "POST", "schedules/dry-run/", {"operation": {"type": "power_on"}}), 400, "operation.type")
    refused(call(root, "POST", "schedules/dry-run/", {}), 400, "operation")
    body = {"operation": api_call(), "target_spec": {"racks": [{"name": "nowhere"}]}}
    refused(call(root, "POST", "schedules/dry-run/", body), 404, "target_spec")


def test_i89_who_may_look(root, planner, operator, viewer, endpoints):
    """I-89: who may change the schedule and use its endpoint; a refusal is before any rendering."""
    path = made(root)
    assert refused(call(viewer, "POST", path), 403)["reason"] == "schedules.change_taskschedule"
    for client in (operator, planner):
        assert refused(call(client, "POST", path), 403)["reason"] == "tasks.use_endpoint_inventory"
    body = {"operation": api_call()}
    assert refused(call(operator, "POST", "schedules/dry-run/", body), 403)["reason"] == "schedules.add_taskschedule"
