"""Runs over REST: lists, one, cancel; of HTTP calls who called what and what came back, of hardware none of it."""

from __future__ import annotations

import uuid
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from audit.models import AuditEntry
from flowsched import clock
from tasks.models import Run, Task
from tests.rest.calls import NOBODY, call, ok, refused
from tests.rest.helpers import Rest
from tests.tasks_runs.helpers import begin, make_rack, make_task

pytestmark = pytest.mark.django_db
FACTS = {
    "endpoint": "inventory", "identity_kind": "delegated_user", "principal_name": "ada", "actor_name": "flowsched",
    "consent_id": "c-1", "target_kind": "api", "target_summary": "POST /v1/racks/{{ rack.name }}", "http_status": 503,
    "response_excerpt": "try later", "error_type": "http_503", "trace_id": "ab" * 16,
}  # fmt: skip


def hardware(**columns) -> Run:
    """A run under way on a rack."""
    task = make_task(make_rack(), job=False, **columns)
    begin(task)
    return Run.objects.select_related("task").get(task=task)


def called(schedule_id=None, *, state: str = "failed", seconds: float = 1.2345, **columns) -> Run:
    """A call that has ended; the next one made later began later."""
    now, schedule_id = clock.now(), schedule_id or uuid.uuid4()
    task = Task.objects.create(
        type="http_call", code="api", information={"target": {"method": "POST", "path": "/v1"}}, lane=schedule_id,
        schedule_id=schedule_id, schedule_name="nightly", status="failed", finished_at=now,
    )  # fmt: skip
    values = {
        "queued_at": now - timedelta(seconds=60), "started_at": now, "finished_at": now + timedelta(seconds=seconds),
        "executor": "http", "message": "503 Service Unavailable", "attempt": 2,
        "call": FACTS | {"fired_at": "2026-06-01T04:00:00+00:00"},
    }  # fmt: skip
    return Run.objects.create(task=task, state=state, **(values | columns))


def listed(client: Rest, query: str = "") -> list[str]:
    return [run["id"] for run in ok(client, "GET", f"runs/?{query}")["runs"]]


def test_i54_a_call(viewer):
    """I-54, I-94: all its fields, and how long it took without the time in the queue."""
    run = called()
    shown = ok(viewer, "GET", f"runs/{run.pk}/")
    assert shown["call"] == FACTS | {"fired_at": "2026-06-01T04:00:00Z"}
    assert shown["duration_ms"] == 1234
    assert (shown["attempt"], shown["state"], shown["message"]) == (2, "failed", "503 Service Unavailable")
    assert (shown["task_id"], shown["schedule_id"]) == (str(run.task_id), str(run.task.schedule_id))
    assert (shown["schedule_name"], shown["rack_id"], shown["rack_name"]) == ("nightly", None, "")
    assert ok(viewer, "GET", f"tasks/{run.task_id}/")["runs"] == [shown]
    assert ok(viewer, "GET", "runs/")["runs"] == [shown]


def test_hardware_has_no_call(viewer):
    run = hardware()
    shown = ok(viewer, "GET", f"runs/{run.pk}/")
    assert (shown["call"], shown["duration_ms"], shown["finished_at"]) == (None, None, None)
    assert shown["rack_name"] == run.task.rack_name
    assert ok(viewer, "GET", f"tasks/{run.task_id}/")["runs"] == [shown]


def test_a_call_whose_facts_are_not_known_yet(viewer):
    """Under way, or refused before it could be read: what is not there is empty, not missing."""
    run = called(state="running", finished_at=None, call={"http_status": 0, "trace_id": "ab"})
    shown = ok(viewer, "GET", f"runs/{run.pk}/")["call"]
    assert set(shown) == {*FACTS, "fired_at"}
    assert (shown["endpoint"], shown["http_status"], shown["fired_at"], shown["trace_id"]) == ("", 0, None, "ab")


def test_a_clock_that_went_back_makes_no_negative_time(viewer):
    """I-54: at least 0."""
    assert ok(viewer, "GET", f"runs/{called(seconds=-5).pk}/")["duration_ms"] == 0


def test_newest_first_in_pages(viewer):
    """I-58, I-68, I-101."""
    runs = [str(called().pk) for _ in range(5)][::-1]
    assert listed(viewer) == runs
    page = ok(viewer, "GET", "runs/?offset=1&limit=2")
    assert [run["id"] for run in page["runs"]] == runs[1:3]
    assert (page["total"], page["offset"], page["limit"]) == (5, 1, 2)


def test_filters(viewer):
    """I-101: by state, schedule and task; all that are given hold."""
    schedule_id = uuid.uuid4()
    failed, skipped, other = called(schedule_id), called(schedule_id, state="skipped"), called()
    assert listed(viewer, "state=skipped") == [str(skipped.pk)]
    assert listed(viewer, "state=skipped,failed") == [str(run.pk) for run in (other, skipped, failed)]
    assert listed(viewer, f"schedule_id={schedule_id}") == [str(skipped.pk), str(failed.pk)]
    assert listed(viewer, f"schedule_id={schedule_id}&state=failed") == [str(failed.pk)]
    assert listed(viewer, f"task_id={other.task_id}") == [str(other.pk)]
    assert listed(viewer, f"task_id={NOBODY}") == []


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("state=ended", "state"), ("state=", "state"), ("schedule_id=x", "schedule_id"), ("task_id=7", "task_id"),
        ("limit=0", "limit"), ("limit=201", "limit"), ("offset=-1", "offset"), ("order=x", "order"),
        ("state=failed&state=skipped", "state"),
    ],
)  # fmt: skip
def test_what_cannot_be_asked(viewer, query, field):
    refused(call(viewer, "GET", f"runs/?{query}"), 400, field)


def test_what_is_not_there(operator):
    for method, path in (("GET", "runs/{}/"), ("POST", "runs/{}/cancel/")):
        assert refused(call(operator, method, path.format(NOBODY)), 404)["reason"] == "RUN"
        assert call(operator, method, path.format("x")).status_code == 400


def test_i70_cancel_is_its_tasks(operator):
    """I-70, I-93: a request to the worker that has it, by who may cancel tasks."""
    run = hardware()
    shown = ok(operator, "POST", f"runs/{run.pk}/cancel/")
    assert (shown["id"], shown["state"]) == (str(run.pk), "running")
    assert shown["cancel_requested_at"]
    assert AuditEntry.objects.get(verb="task.cancel").object_id == str(run.task_id)
    assert ok(operator, "POST", f"runs/{run.pk}/cancel/") == shown
    refused(call(operator, "POST", f"runs/{run.pk}/cancel/", {"why": "x"}), 400, "body")


def test_i70_a_run_that_has_ended_is_409(operator):
    """I-70."""
    run = called()
    assert refused(call(operator, "POST", f"runs/{run.pk}/cancel/"), 409)["reason"] == "TASK_FINISHED"


def test_an_ended_run_does_not_cancel_the_next_one(operator):
    """The task goes on with another run: whoever meant the first one is told so."""
    run = hardware()
    first = Run.objects.create(
        task=run.task, state="failed", executor="x", queued_at=run.queued_at, started_at=run.started_at,
        finished_at=clock.now(),
    )  # fmt: skip
    assert refused(call(operator, "POST", f"runs/{first.pk}/cancel/"), 409)["reason"] == "RUN_FINISHED"
    run.refresh_from_db()
    assert run.cancel_requested_at is None
    assert AuditEntry.objects.get(verb="task.cancel").refused


def test_a_viewer_cancels_nothing(viewer):
    run = hardware()
    assert refused(call(viewer, "POST", f"runs/{run.pk}/cancel/"), 403)["reason"] == "tasks.cancel_task"


@pytest.mark.parametrize("count", [1, 30])
def test_a_list_costs_the_same_for_any_number(viewer, count):
    for _ in range(count):
        called()
    with CaptureQueriesContext(connection) as captured:
        assert len(listed(viewer)) == count
    assert len([one for one in captured if one["sql"].startswith("SELECT")]) <= 4
