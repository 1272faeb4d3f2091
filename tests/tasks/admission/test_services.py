from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from audit.models import AuditEntry
from flowsched.errors import InvalidInput, NotFound, PreconditionFailed
from tasks.models import Run, Task
from tasks.services import task_acknowledge, task_cancel
from tests.tasks.admission.helpers import ALICE, NOW, SECOND, admit_one, make_rack, start_run, status

pytestmark = pytest.mark.django_db


def cancel(task, now=NOW):
    return task_cancel(task_id=task.id, by=ALICE, now=now)


def acknowledge(task, as_="completed", **values):
    return task_acknowledge(task_id=task.id, as_=as_, by=ALICE, now=NOW, **values)


def last_entry():
    return AuditEntry.objects.order_by("-id")[0]


def queued_behind(state=None, **values):
    """A rack whose holder is in `state`, and one task that waits behind it."""
    rack = make_rack()
    holder = admit_one(rack)
    if state:
        start_run(holder, state=state, **values)
    return holder, admit_one(rack, queue=True)


def test_cancel_waiting_ends_it_at_once(engine):
    """F-172, F-242."""
    holder, waiting = queued_behind()
    task = cancel(waiting)
    assert (task.status, task.message, task.finished_at) == ("terminated", "Cancelled by alice", NOW)
    assert status(holder) == "pending"
    assert waiting.id not in engine.ids


def test_cancel_pending_ends_it_and_lets_the_next_one_in(engine):
    """F-172, F-261."""
    holder, waiting = queued_behind()
    assert cancel(holder).status == "terminated"
    assert status(waiting) == "pending"
    assert engine.ids[-1] == waiting.id


def test_cancel_with_a_live_run_asks_the_worker(django_capture_on_commit_callbacks):
    """F-172 as corrected: the rack is not given away while an effect may be in flight."""
    holder, waiting = queued_behind("running")
    with CaptureQueriesContext(connection) as captured:
        task = cancel(holder)
    run = Run.objects.get()
    assert (task.status, run.state, run.cancel_requested_at) == ("running", "running", NOW)
    assert "cancellation requested by alice" in task.message
    assert (status(waiting), run.lease_token is not None) == ("waiting", True)
    assert any("pg_notify('flowsched_cancel'" in q["sql"] for q in captured)
    cancel(holder, now=NOW + SECOND)
    run.refresh_from_db()
    assert run.cancel_requested_at == NOW
    assert AuditEntry.objects.filter(verb="task.cancel").count() == 1


@pytest.mark.parametrize(
    ("state", "values"),
    [("unknown", {}), ("running", {"lease_until": NOW - SECOND}), ("running", {"lease_until": None})],
    ids=["unknown", "lease over", "no lease"],
)
def test_cancel_without_a_live_run_ends_at_once(state, values):
    """F-172, D-16: task and run end together, the token goes, the next one gets in."""
    holder, waiting = queued_behind(state, **values)
    assert cancel(holder).status == "terminated"
    run = Run.objects.get()
    assert (run.state, run.finished_at, run.lease_token, run.lease_until) == ("cancelled", NOW, None, None)
    assert status(waiting) == "pending"


def test_a_lease_that_ends_now_is_still_alive():
    holder, _ = queued_behind("running", lease_until=NOW)
    assert cancel(holder).status == "running"


def test_cancel_of_a_terminated_task_changes_nothing():
    """F-172: idempotent."""
    task = admit_one(make_rack())
    cancel(task)
    again = cancel(task, now=NOW + SECOND)
    assert (again.status, again.finished_at) == ("terminated", NOW)
    assert AuditEntry.objects.filter(verb="task.cancel").count() == 1


@pytest.mark.parametrize("state", ["completed", "failed"])
def test_cancel_of_a_finished_task_is_refused(state):
    """F-172, F-305: terminal means terminal; the refusal is on record."""
    task = admit_one(make_rack())
    Task.objects.filter(id=task.id).update(status=state, finished_at=NOW)
    with pytest.raises(PreconditionFailed, match=f"is {state} already"):
        cancel(task)
    assert status(task) == state
    assert f"is {state} already" in last_entry().refused


def test_cancel_of_nothing():
    """F-172."""
    with pytest.raises(NotFound, match="no task"):
        task_cancel(task_id=uuid4(), by=ALICE, now=NOW)


def test_cancel_leaves_one_audit_row():
    """D-22."""
    task = admit_one(make_rack())
    cancel(task)
    entry = last_entry()
    assert (entry.actor, entry.door, entry.verb, entry.object_kind) == ("alice", "rest", "task.cancel", "task")
    assert (entry.object_id, entry.request_id, entry.at) == (str(task.id), "req-1", NOW)
    assert (entry.before["status"], entry.after["status"]) == ("pending", "terminated")


def test_cancel_on_a_lane_without_rack():
    """D-1: a task of a schedule without racks."""
    task = Task.objects.create(type="http", code="call", executor_type="x", lane=uuid4(), status="pending")
    assert cancel(task).status == "terminated"


@pytest.mark.parametrize(("as_", "run_state"), [("completed", "succeeded"), ("failed", "failed")])
def test_acknowledge_ends_the_task_and_lets_the_next_one_in(as_, run_state):
    """D-16, D-17."""
    holder, waiting = queued_behind("unknown")
    task = acknowledge(holder, as_, note="looked at the rack")
    message = f"Acknowledged as {as_} by alice: looked at the rack"
    assert (task.status, task.message, task.finished_at) == (as_, message, NOW)
    run = Run.objects.get()
    assert (run.state, run.finished_at, run.message, run.lease_token) == (run_state, NOW, message, None)
    assert status(waiting) == "pending"
    entry = last_entry()
    assert (entry.verb, entry.before["run"], entry.after["run"]) == ("task.acknowledge", "unknown", run_state)
    assert entry.after["note"] == "looked at the rack"


def test_only_an_unknown_outcome_can_be_acknowledged():
    """D-16."""
    holder, waiting = queued_behind("running")
    for task in (holder, waiting):
        with pytest.raises(PreconditionFailed, match="nothing to acknowledge"):
            acknowledge(task)
    Run.objects.update(state="unknown")
    acknowledge(holder)
    with pytest.raises(PreconditionFailed):
        acknowledge(holder, "failed")
    assert status(holder) == "completed"


@pytest.mark.parametrize(("as_", "note"), [("done", ""), ("completed", "x" * 501), ("completed", "a\nb")])
def test_acknowledge_wants_a_word_it_knows_and_a_short_note(as_, note):
    holder, _ = queued_behind("unknown")
    with pytest.raises(InvalidInput):
        acknowledge(holder, as_, note=note)
    assert status(holder) == "running"


def test_acknowledge_of_nothing():
    with pytest.raises(NotFound):
        task_acknowledge(task_id=uuid4(), as_="failed", by=ALICE, now=NOW)
