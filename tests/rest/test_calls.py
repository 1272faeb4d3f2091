"""Schedules of HTTP calls over REST: create, show, change; what is refused names its field, and nothing is stored."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Permission, User

from audit.models import AuditEntry
from schedules.answers import ScheduleOut
from schedules.models import TaskSchedule
from scopes.models import TaskScheduleScope
from tasks.models import Task
from tests.dispatcher.helpers import racks
from tests.rest.calls import call, fits, ok, refused, schedule_body, trail
from tests.rest.endpoints import api_call, call_body, door, endpoints, gateway_call
from tests.rest.helpers import rest

__all__ = ["door", "endpoints"]
pytestmark = pytest.mark.django_db
POLICY = {
    "timeout": 120, "retries": 0, "retry_backoff": "exponential", "max_running_instances": None,
    "idempotency_key": None,
}  # fmt: skip
FULL = {
    "type": "http_call",
    "target": {
        "kind": "api", "endpoint": "inventory", "method": "PATCH", "path": "/v1/racks/{{ rack.name }}",
        "query": {"at": "{{ now }}"}, "body": {"on": [True, None, {"n": 1.5}]}, "headers": {"X-Env": "lab"},
    },
    "identity": {"kind": "delegated_user", "subject": "ada", "consent_id": "c-1"},
    "policy": {
        "timeout": 2.5, "retries": 3, "retry_backoff": "linear", "max_running_instances": 1,
        "idempotency_key": "k-{{ task.id }}",
    },
}  # fmt: skip


@pytest.fixture
def root(endpoints):
    """May do everything."""
    return rest(superuser=True)


def may_use(username: str, codename: str) -> None:
    User.objects.get(username=username).user_permissions.add(
        Permission.objects.get_or_create(
            codename=codename,
            defaults={"content_type_id": Permission.objects.get(codename="use_endpoint").content_type_id},
        )[0]
    )


def test_a_call_without_racks(root):
    """D-1, I-60: one scope without a rack; what is not said is shown with its default."""
    answer = ok(root, "POST", "schedules/", call_body())
    fits(ScheduleOut(), {name: value for name, value in answer.items() if name != "operation"} | {"operation": None})
    assert (answer["operation_type"], answer["description"], answer["racks"]) == ("http_call", "HTTP POST /v1/racks", 0)
    assert answer["operation"] == api_call(query={}, headers={}, body=None, policy=POLICY)
    assert (answer["consecutive_skips"], answer["consecutive_no_effect"]) == (0, 0)
    assert [scope.rack_id for scope in TaskScheduleScope.objects.all()] == [None]


def test_a_call_on_racks(root):
    """D-1: one scope a rack."""
    on = racks(2)
    body = schedule_body(*on, operation=FULL)
    answer = ok(root, "POST", "schedules/", body)
    assert answer["racks"] == 2
    assert answer["operation"] == FULL
    assert set(TaskScheduleScope.objects.values_list("rack_id", flat=True)) == {rack.pk for rack in on}


def test_a_gateway_is_called_as_nobody(root):
    """I-3, I-9."""
    answer = ok(root, "POST", "schedules/", call_body(gateway_call(payload={"a": {}})))
    assert answer["operation"] == gateway_call(payload={"a": {}}, headers={}) | {
        "identity": {"kind": "none"}, "policy": POLICY,
    }  # fmt: skip
    assert answer["description"] == "HTTP POST /notifications/night-report"


def test_what_is_shown_can_be_sent_again(root):
    first = ok(root, "POST", "schedules/", call_body(FULL))
    again = ok(root, "POST", "schedules/", call_body(first["operation"], name="again"))
    assert again["operation"] == first["operation"] == ok(root, "GET", f"schedules/{again['id']}/")["operation"]
    listed = ok(root, "GET", "schedules/?operation_type=http_call")["task_schedules"]
    assert [one["operation"] for one in listed] == [FULL, FULL]


def test_i99_no_body_and_an_empty_one_are_two_things(root):
    """I-99."""
    for name, body in (("null", None), ("empty", {})):
        answer = ok(root, "POST", "schedules/", call_body(api_call(body=body), name=name))
        assert answer["operation"]["target"]["body"] == body


@pytest.mark.parametrize(
    ("given", "answered"), [({}, "5m"), ({"misfire_grace": None}, None), ({"misfire_grace": "1h"}, "1h")]
)
def test_d9_grace(root, given, answered):
    """D-9, I-11: left out is the operation's default, null is however late."""
    assert ok(root, "POST", "schedules/", call_body(**given))["misfire_grace"] == answered
    hardware = ok(root, "POST", "schedules/", schedule_body(*racks(1), **given))
    assert hardware["misfire_grace"] == (given.get("misfire_grace"))


def test_hardware_has_no_operation_to_show(planner):
    answer = ok(planner, "POST", "schedules/", schedule_body(*racks(1)))
    assert (answer["operation"], answer["operation_type"]) == (None, "power_on")


@pytest.mark.parametrize("stored", [{"code": "api"}, {"information": []}, {"information": {"target": 3}}, {"code": 7}])
def test_f316_an_operation_that_nobody_can_read_empties_no_list(root, stored):
    """F-316."""
    made = ok(root, "POST", "schedules/", call_body())
    TaskSchedule.objects.update(operation_template={"type": "http_call", "code": "api"} | stored)
    assert ok(root, "GET", "schedules/")["task_schedules"][0]["operation"] is None
    assert ok(root, "GET", f"schedules/{made['id']}/")["operation"] is None


def test_changing(root):
    """I-63, I-86: name, times, policy and grace; the operation is another schedule's."""
    made = ok(root, "POST", "schedules/", call_body())
    changes = {
        "name": "renamed", "spec": {"type": "cron", "spec": "0 2 * * *"}, "overlap_policy": "queue",
        "misfire_grace": None,
    }  # fmt: skip
    changed = ok(root, "PATCH", f"schedules/{made['id']}/", changes)
    assert (changed["name"], changed["overlap_policy"], changed["misfire_grace"]) == ("renamed", "queue", None)
    assert changed["operation"] == made["operation"]
    problem = refused(call(root, "PATCH", f"schedules/{made['id']}/", {"operation": FULL}), 400, "operation")
    assert "another operation is another schedule" in problem["detail"]


def test_the_same_key_makes_one_schedule(root):
    """TH-9: across the permission asked for besides."""
    first, again = (call(root, "POST", "schedules/", call_body(), idempotency_key="k") for _ in range(2))
    assert first.json() == again.json()
    assert again["Idempotency-Replayed"] == "true"
    assert TaskSchedule.objects.count() == 1


BAD = {
    "no target": ({"target": None}, ["operation.target"]),
    "target left out": (..., ["operation.target"]),
    "target text": ({"target": "x"}, ["operation.target"]),
    "no kind": (api_call(kind=None), ["operation.target.kind"]),
    "kind list": (api_call(kind=["api"]), ["operation.target.kind"]),
    "another kind": (api_call(kind="smtp"), ["operation.target.kind"]),
    "url": (api_call(url="http://evil.example/"), ["operation.target.url"]),
    "key": ({**api_call(), "rule_id": "x"}, ["operation.rule_id"]),
    "secret": ({**api_call(), "authentication_data": "x"}, ["operation.authentication_data"]),
    "no identity": ({"identity": None}, ["operation.identity"]),
    "identity": (api_call(identity={"kind": "root"}), ["operation.identity.kind"]),
    "subject of nobody": (
        api_call(identity={"kind": "service_account", "subject": "ada"}), ["operation.identity.subject"],
    ),
    "no consent": (
        api_call(identity={"kind": "delegated_user", "subject": "ada"}), ["operation.identity.consent_id"],
    ),
    "method": (api_call(method="TRACE"), ["operation.target.method"]),
    "path": (api_call("http://169.254.169.254/"), ["operation.target.path"]),
    "query number": (api_call(query={"a": 1}), ["operation.target.query.a"]),
    "body list": (api_call(body=[]), ["operation.target.body"]),
    "in the body": (api_call(body={"a": ["x", "{{ 1 + 1 }}"]}), ["operation.target.body.a.1"]),
    "header": (api_call(headers={"Authorization": "x"}), ["operation.target.headers.Authorization"]),
    "timeout": (api_call(policy={"timeout": 0}), ["operation.policy.timeout"]),
    "timeout, true": (api_call(policy={"timeout": True}), ["operation.policy.timeout"]),
    "retries": (api_call(policy={"retries": 11}), ["operation.policy.retries"]),
    "backoff": (api_call(policy={"retry_backoff": "random"}), ["operation.policy.retry_backoff"]),
    "instances": (api_call(policy={"max_running_instances": 0}), ["operation.policy.max_running_instances"]),
    "template key": (api_call(policy={"idempotency_key": "{{ x }}"}), ["operation.policy.idempotency_key"]),
    "policy key": (api_call(policy={"delay": 3}), ["operation.policy.delay"]),
    "gateway as somebody": (
        {**gateway_call(), "identity": {"kind": "service_account"}}, ["operation.identity.kind"],
    ),
    "payload": ({**gateway_call(payload=None), "identity": None}, ["operation.target.payload"]),
    "several": (
        api_call("/v1/../x", method="X", policy={"timeout": -1}),
        ["operation.policy.timeout", "operation.target.method", "operation.target.path"],
    ),
    "the endpoint's methods": (
        {**gateway_call(endpoint="inventory"), "identity": None},
        ["operation.identity.kind", "operation.target.endpoint"],
    ),
    "the endpoint's paths": (
        api_call("/v2/racks", endpoint="open", identity={"kind": "none"}), ["operation.target.path"],
    ),
    "the endpoint's identities": (api_call(endpoint="open"), ["operation.identity.kind"]),
    "type": ({"type": "http"}, ["operation.type", "target_spec"]),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_what_is_wrong_names_its_field(root, case):
    """Issue 6, 1: as a whole, every error on its field; nothing is stored, and nobody is called."""
    change, named = BAD[case]
    operation = {"type": "http_call", "identity": {"kind": "none"}} if change is ... else {**api_call(), **change}
    refused(call(root, "POST", "schedules/", call_body(operation)), 400, *named)
    assert not TaskSchedule.objects.exists()
    assert not AuditEntry.objects.filter(refused="", object_kind="schedule").exists()


def test_an_unknown_endpoint_is_404_and_names_those_there_are(root, endpoints):
    """D-23."""
    problem = refused(
        call(root, "POST", "schedules/", call_body(api_call(endpoint="nosuch"))), 404, "operation.target.endpoint"
    )
    assert problem["reason"] == "ENDPOINT_UNKNOWN"
    assert "hooks, inventory, open" in problem["detail"]
    assert endpoints.visits == 0


def test_racks_are_needed_by_hardware_only(root):
    """The same words as ever; a call may name them, but none that are empty."""
    body = call_body({"type": "power_on"})
    problem = refused(call(root, "POST", "schedules/", body), 400, "target_spec")
    assert problem["errors"][0] == {"field": "target_spec", "code": "required", "message": "This field is required."}
    refused(call(root, "POST", "schedules/", call_body(target_spec={"racks": []})), 400, "target_spec")


def test_direct_operations_stay_on_hardware(root):
    """Point 9 of what was asked: POST /tasks/ makes no call."""
    [rack] = racks(1)
    body = {"operation": api_call(), "target_spec": {"racks": [{"id": str(rack.pk)}]}}
    problem = refused(call(root, "POST", "tasks/", body), 400, "operation.target", "operation.identity")
    assert "those are made by schedules" in problem["detail"]
    body["operation"] = {"type": "http_call"}
    refused(call(root, "POST", "tasks/", body), 400, "operation.type")
    assert not Task.objects.exists()


@pytest.mark.parametrize("path", ["schedules/", "schedules/dry-run/"])
def test_i88_an_endpoint_takes_its_own_permission(planner, endpoints, path):
    """I-88: whoever may create schedules may not for that reason act as an endpoint's service account."""
    body = call_body() if path == "schedules/" else {"operation": api_call()}
    response = call(planner, "POST", path, body, x_request_id="r-1")
    problem = refused(response, 403)
    assert problem["reason"] == "tasks.use_endpoint_inventory"
    assert not TaskSchedule.objects.exists()
    entry = AuditEntry.objects.exclude(refused="").get()
    assert (entry.verb, entry.object_kind, entry.object_name) == ("endpoint.use", "endpoint", "inventory")
    assert (entry.actor, entry.door, entry.request_id) == ("planner", "rest", "r-1")
    may_use("planner", "use_endpoint_inventory")
    assert call(planner, "POST", path, body).status_code in {200, 201}
    refused(call(planner, "POST", "schedules/", call_body(gateway_call(), name="other")), 403)


def test_i88_one_permission_opens_them_all(planner, endpoints):
    may_use("planner", "use_endpoint")
    for number, operation in enumerate((api_call(), gateway_call())):
        ok(planner, "POST", "schedules/", call_body(operation, name=f"call {number}"))
    assert [verb for verb, _, _ in trail()] == ["schedule.create"] * 2


def test_a_refusal_fits_the_trail_whatever_the_name(planner, endpoints):
    """An endpoint's name has up to 64 characters, and so has the trail's column of verbs."""
    refused(call(planner, "POST", "schedules/", call_body(api_call(endpoint="e" * 64))), 403)
    assert AuditEntry.objects.get(verb="endpoint.use").object_name == "e" * 64
