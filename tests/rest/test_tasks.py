"""Tasks over REST: run an operation now, refusals, cancel, acknowledge."""

from __future__ import annotations

from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from access.models import IdempotencyKey
from audit.models import AuditEntry
from flowsched import clock
from tasks.holding import hold_set
from tasks.models import Run, Task
from tests.rest.helpers import ROOT, fields, problem, rest
from tests.tasks.admission.helpers import make_rack, parts
from tests.tasks_runs.helpers import begin, make_task

pytestmark = pytest.mark.django_db
RESET = {"type": "power_reset"}


def on(*racks, **more):
    return {"racks": [{"name": rack.name, **more} for rack in racks]}


def body(*racks, **more):
    return {"operation": RESET, "target_spec": on(*racks), **more}


# Run now ----------------------------------------------------------------------------------------------------------


def test_one_task_a_rack_in_request_order(operator):
    """F-165: through the door, with who asked and the request's id in the audit trail (D-22)."""
    racks = [make_rack(f"r{n}") for n in (3, 1, 2)]
    response = operator.post("tasks/", body(*racks, description="chiller"), headers={"X-Request-ID": "abc-1"})
    assert response.status_code == 201, response.content
    answer = response.json()
    tasks = Task.objects.in_bulk(answer["task_ids"])
    assert [tasks[key].rack_id for key in map(type(racks[0].id), answer["task_ids"])] == [rack.id for rack in racks]
    assert answer["refusals"] == []
    entry = AuditEntry.objects.get(verb="task.submit")
    assert (entry.actor, entry.door, entry.request_id, entry.refused) == ("olga", "rest", "abc-1", "")


@pytest.mark.parametrize(
    ("operation", "stored"),
    [
        ({"type": "power_on"}, ("power_control", "power_on", {"operation": 1, "forced": False})),
        ({"type": "power_off", "forced": True}, ("power_control", "force_power_off", {"operation": 4, "forced": True})),
        ({"type": "bring_up"}, ("bring_up", "bring_up", {})),
        ({"type": "ingest"}, ("bring_up", "ingest", {"op_code": "ingest"})),
        (
            {
                "type": "upgrade_firmware",
                "target_version": "1.2",
                "start_time": "2026-06-01T04:00:00Z",
                "end_time": "2026-06-01T06:00:00+01:00",
                "sub_targets": ["bmc"],
                "override_version_check": True,
            },
            (
                "firmware_control",
                "upgrade",
                {
                    "operation": 1, "target_version": "1.2", "start_time": 1780286400, "end_time": 1780290000,
                    "override_version_check": True, "sub_targets": ["bmc"],
                },
            ),
        ),
    ],
)  # fmt: skip
def test_operations_are_stored_as_the_wire_does(operator, operation, stored):
    """F-185…F-191, D-18."""
    response = operator.post("tasks/", {"operation": operation, "target_spec": on(make_rack())})
    assert response.status_code == 201, response.content
    task = Task.objects.get()
    assert (task.type, task.code, task.information) == stored


def test_targets_are_merged_and_narrowed(operator):
    """F-245: a rack named twice is one task; types and components narrow it."""
    rack = make_rack(Compute=2, PowerShelf=1)
    twice = {"racks": [{"id": str(rack.id), "component_types": ["compute"]}, {"name": "r01"}]}
    assert len(operator.post("tasks/", {"operation": RESET, "target_spec": twice}).json()["task_ids"]) == 1
    other = make_rack("r02", Compute=2)
    (first, _) = parts(other)
    one = {"components": [{"id": f"{{{first}}}"}, {"id": first.hex}]}
    (task,) = operator.post("tasks/", {"operation": RESET, "target_spec": one}).json()["task_ids"]
    assert operator.get(f"tasks/{task}/").json()["component_ids"] == [str(first)]


def test_some_refused_is_a_success_that_names_them(operator):
    """D-13, F-166."""
    busy, free = make_rack("busy"), make_rack("free")
    operator.post("tasks/", body(busy))
    response = operator.post("tasks/", body(busy, free))
    assert response.status_code == 201
    (refusal,) = response.json()["refusals"]
    assert refusal | {"reason": ""} == {
        "rack_id": str(busy.id), "rack_name": "busy", "outcome": "rejected", "reason_code": "rack_busy", "reason": "",
    }  # fmt: skip
    assert Task.objects.get(id=response.json()["task_ids"][0]).rack_id == free.id


def test_all_refused_is_an_error_that_names_them(operator):
    """D-13: 409 with each rack's reason; recorded."""
    busy = make_rack("busy")
    operator.post("tasks/", body(busy))
    answer = problem(operator.post("tasks/", body(busy)), 409)
    assert answer["reason"] == "rack_busy"
    assert [one["rack_name"] for one in answer["refusals"]] == ["busy"]
    assert "busy" in answer["detail"]
    assert AuditEntry.objects.get(refused__gt="").request_id == answer["request_id"]


def test_full_queue_is_429_and_a_hold_409(operator, settings):
    """design.md's table: QueueFull, and Held as a precondition."""
    settings.FLOWSCHED_MAX_WAITING_PER_RACK = 1
    rack, other = make_rack(), make_rack("r02")
    waits = body(rack, queue_options={"conflict_strategy": "queue", "queue_timeout_seconds": 90})
    assert [operator.post("tasks/", waits).status_code for _ in range(2)] == [201, 201]
    waiting = Task.objects.get(status="waiting")
    assert round((waiting.queue_expires_at - waiting.created_at).total_seconds()) == 90
    assert problem(operator.post("tasks/", waits), 429)["reason"] == "queue_full"
    hold_set(reason="site visit", by=ROOT, now=clock.now())
    assert problem(operator.post("tasks/", body(other)), 409)["reason"] == "HELD"


@pytest.mark.parametrize("kind", ["bring_up", "ingest"])
def test_bring_up_and_ingest_may_not_wait(operator, kind):
    """F-168."""
    asked = {"operation": {"type": kind}, "target_spec": on(make_rack())}
    refused = operator.post("tasks/", asked | {"queue_options": {"conflict_strategy": "queue"}})
    assert fields(refused) == {"queue_options.conflict_strategy"}
    assert operator.post("tasks/", asked | {"queue_options": {"conflict_strategy": "reject"}}).status_code == 201


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"operation": {"type": "self_destruct"}}, "operation.type"),
        ({"operation": {}}, "operation.type"),
        ({"operation": None}, "operation"),
        ({"operation": {"type": 5}}, "operation.type"),
        ({"operation": {"type": "power_on", "forced": True}}, "operation.forced"),
        ({"operation": {"type": "power_on", "forced": "yes"}}, "operation.forced"),
        ({"operation": {"type": "power_on", "target_version": "1"}}, "operation.target_version"),
        ({"operation": {"type": "power_on", "rule_id": str(uuid4())}}, "operation.rule_id"),
        (
            {"operation": {"type": "upgrade_firmware", "authentication_data": {"user": "root"}}},
            "operation.authentication_data",
        ),
        ({"operation": {"type": "upgrade_firmware", "start_time": "2026-06-01T04:00:00"}}, "operation.start_time"),
        (
            {
                "operation": {
                    "type": "upgrade_firmware",
                    "start_time": "2026-06-01T04:00:00Z",
                    "end_time": "2026-06-01T04:00:00Z",
                }
            },
            "operation.end_time",
        ),
        ({"operation": {"type": "upgrade_firmware", "sub_targets": ["x"] * 101}}, "operation.sub_targets"),
        ({"target_spec": {}}, "target_spec"),
        ({"target_spec": {"racks": []}}, "target_spec"),
        ({"target_spec": {"racks": [{"name": "r01"}], "components": []}}, "target_spec"),
        ({"target_spec": {"racks": [{"name": "r01", "id": str(uuid4())}]}}, "target_spec"),
        ({"target_spec": {"racks": [{"id": "00000000-0000-0000-0000-000000000000"}]}}, "target_spec.racks.0.id"),
        ({"target_spec": {"racks": [{"name": "r01", "colour": "red"}]}}, "target_spec.racks.0.colour"),
        ({"target_spec": {"racks": "r01"}}, "target_spec.racks"),
        ({"description": "x" * 1001}, "description"),
        ({"description": 7}, "description"),
        ({"queue_options": {"queue_timeout_seconds": -1}}, "queue_options.queue_timeout_seconds"),
        ({"queue_options": {"queue_timeout_seconds": 10**12}}, "queue_options.queue_timeout_seconds"),
        ({"queue_options": {"queue_timeout_seconds": "60"}}, "queue_options.queue_timeout_seconds"),
        ({"queue_options": {"conflict_strategy": "wait"}}, "queue_options.conflict_strategy"),
        *[({name: "x"}, name) for name in ("id", "status", "schedule_id", "executor_type", "rack_id", "attributes")],
    ],
)
def test_what_cannot_be_asked_names_its_field(operator, change, named):
    """TH-3, D-18, F-196: nothing is submitted."""
    response = operator.post("tasks/", body(make_rack()) | change)
    assert named in {one.removesuffix(".0") for one in fields(response)}, response.content
    assert not Task.objects.exists()


def test_targets_that_are_not_there(operator):
    make_rack()
    answer = problem(operator.post("tasks/", {"operation": RESET, "target_spec": {"racks": [{"name": "r99"}]}}), 404)
    assert "r99" in answer["detail"]


# Idempotency-Key --------------------------------------------------------------------------------------------------


def test_the_same_key_answers_the_same_and_another_body_is_422(operator):
    """The issue's Idempotency-Key: one task, the first answer again, also after the task has ended."""
    rack, key = make_rack(), {"Idempotency-Key": "k1"}
    first = operator.post("tasks/", body(rack), headers=key)
    Task.objects.update(status="completed", finished_at=clock.now())
    again = operator.post("tasks/", body(rack), headers=key)
    assert (again.status_code, again.json()) == (201, first.json())
    assert again["Idempotency-Replayed"] == "true"
    assert "Idempotency-Replayed" not in first
    assert Task.objects.count() == 1
    other = operator.post("tasks/", body(rack, description="another"), headers=key)
    assert problem(other, 422)["reason"] == "KEY_REUSED"


def test_a_key_whose_answer_was_lost_makes_nothing_twice(operator):
    """The process died after the work: the repeat is answered by the service."""
    rack, key = make_rack(), {"Idempotency-Key": "k1"}
    first = operator.post("tasks/", body(rack), headers=key)
    IdempotencyKey.objects.update(status=None, body=None)
    again = operator.post("tasks/", body(rack), headers=key)
    assert (again.status_code, again.json()) == (201, first.json())
    assert Task.objects.count() == 1


# One task ---------------------------------------------------------------------------------------------------------


def test_a_task_with_its_runs(operator):
    rack = make_rack()
    (task_id,) = operator.post("tasks/", body(rack, description="why")).json()["task_ids"]
    waiting = operator.get(f"tasks/{task_id}/").json()
    assert waiting["runs"] == []
    assert (waiting["execution_id"], waiting["cancel_requested_at"]) == (None, None)
    handle = begin(Task.objects.get(), executor="simulated")
    shown = operator.get(f"tasks/{task_id.upper()}/").json()
    assert shown["operation"] == "Restart, forced false"  # F-119
    assert shown["information"] == {"operation": 5, "forced": False}
    assert (shown["status"], shown["rack_name"], shown["description"]) == ("running", "r01", "why")
    assert sorted(shown["component_ids"]) == sorted(map(str, parts(rack)))
    assert shown["execution_id"] == str(handle.run_id)
    (run,) = shown["runs"]
    assert (run["id"], run["state"], run["executor"], run["attempt"]) == (
        str(handle.run_id), "running", "simulated", 1,
    )  # fmt: skip
    assert shown["created_at"].endswith("Z")


@pytest.mark.parametrize("path", ["tasks/nonsense/", "tasks/00000000-0000-0000-0000-000000000000/", "tasks/%00/"])
def test_what_is_no_id_is_400(operator, path):
    """F-121: malformed and zero ids name the field, before anything is looked up."""
    assert fields(operator.get(path)) == {"id"}
    assert fields(operator.post(f"{path}cancel/")) == {"id"}
    assert fields(operator.post(f"{path}acknowledge/", {"as": "failed"})) == {"id"}


def test_what_is_not_there_is_404(operator):
    path = f"tasks/{uuid4()}/"
    problem(operator.get(path), 404)
    problem(operator.post(f"{path}cancel/"), 404)
    problem(operator.post(f"{path}acknowledge/", {"as": "failed"}), 404)


# Cancel and acknowledge -------------------------------------------------------------------------------------------


def test_cancel_ends_what_has_not_begun(operator):
    """F-172; again is answered as it is, once in the audit trail."""
    task = make_task(make_rack())
    for _ in range(2):
        response = operator.post(f"tasks/{task.id}/cancel/")
        assert response.status_code == 200, response.content
        assert (response.json()["status"], response.json()["message"]) == ("terminated", "Cancelled by olga")
    assert AuditEntry.objects.filter(verb="task.cancel").count() == 1


def test_cancel_of_a_running_task_is_a_request(operator):
    """Decision 4: still running, with the time at which it was asked to stop."""
    task = make_task(make_rack())
    begin(task)
    shown = operator.post(f"tasks/{task.id}/cancel/", {}).json()
    assert shown["status"] == "running"
    asked = Run.objects.get().cancel_requested_at
    assert asked is not None
    assert shown["cancel_requested_at"] == shown["runs"][0]["cancel_requested_at"] == f"{asked:%Y-%m-%dT%H:%M:%S.%fZ}"


def test_cancel_of_an_ended_task_is_409_and_a_body_400(operator):
    done = make_task(make_rack(name="r01"), status="completed", finished_at=clock.now())
    assert problem(operator.post(f"tasks/{done.id}/cancel/"), 409)["reason"] == "TASK_FINISHED"
    assert fields(operator.post(f"tasks/{done.id}/cancel/", {"force": True})) == {"body"}


def test_acknowledge_a_task_in_doubt(operator):
    """D-16: the person's word ends it, and its note is kept."""
    task = make_task(make_rack())
    begin(task)
    assert problem(operator.post(f"tasks/{task.id}/acknowledge/", {"as": "failed"}), 409)["reason"] == "NOT_UNKNOWN"
    Run.objects.update(state="unknown", lease_token=None, lease_until=None)
    for wrong, named in (({}, "as"), ({"as": "maybe"}, "as"), ({"as": "failed", "note": "a\nb"}, "note")):
        assert fields(operator.post(f"tasks/{task.id}/acknowledge/", wrong)) == {named}
    shown = operator.post(f"tasks/{task.id}/acknowledge/", {"as": "completed", "note": "lights are on"}).json()
    assert (shown["status"], shown["runs"][0]["state"]) == ("completed", "succeeded")
    assert shown["message"] == "Acknowledged as completed by olga: lights are on"


# Who may ----------------------------------------------------------------------------------------------------------


def test_a_viewer_only_looks(viewer):
    """TH-1: refused before the body is read, recorded, nothing changed."""
    rack = make_rack()
    task = make_task(rack)
    viewer.get(f"tasks/{task.id}/").json()
    for path, wanted in (
        ("tasks/", "tasks.add_task"),
        (f"tasks/{task.id}/cancel/", "tasks.cancel_task"),
        (f"tasks/{task.id}/acknowledge/", "tasks.acknowledge_task"),
    ):
        assert problem(viewer.post(path, b"{nonsense"), 403)["reason"] == wanted
    recorded = AuditEntry.objects.filter(actor="vera").order_by("id").values_list("verb", "object_id")
    assert list(recorded) == [
        ("task.submit", ""), ("task.cancel", str(task.id)), ("task.acknowledge", str(task.id)),
    ]  # fmt: skip
    assert Task.objects.get().status == "pending"


def test_nobody_else_even_looks(operator):
    problem(rest().get("tasks/"), 403)
    operator.token = "fs_unknown"
    problem(operator.get("tasks/"), 401)


def test_submitting_many_racks_costs_no_query_a_rack(operator):
    """The door adds nothing to the chunked submission: 20 racks cost what 2 do."""
    counts = []
    operator.get("me/")  # notes the token's use, once a minute
    for size in (2, 20):
        racks = [make_rack(f"r{size}-{n}") for n in range(size)]
        with CaptureQueriesContext(connection) as captured:
            assert operator.post("tasks/", body(*racks)).status_code == 201
        counts.append(len(captured))
    assert counts[0] == counts[1]
