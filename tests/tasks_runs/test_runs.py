"""The lease: one run at a time, and only the token's holder writes it."""

from __future__ import annotations

import uuid
from datetime import timedelta

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from flowsched import clock
from flowsched.actor import SYSTEM
from tasks.models import Run, Task
from tasks.runs import (
    LeaseLost,
    run_begin,
    run_finish,
    run_intent,
    run_release,
    runs_renew,
    runs_show_progress,
)
from tasks.services import task_cancel
from tasks.states import RunState
from tests.tasks_runs.helpers import begin, clear_jobs, make_rack, make_task, statements, waiting_jobs

pytestmark = pytest.mark.django_db

STEP = {"name": "tray-0", "state": "changed", "message": "", "retryable": False, "attempt": 1}


def test_a_pending_task_begins_with_a_run_and_a_lease():
    """F-240: pending → running; F-241: started_at; F-248: execution id and executor type."""
    task = make_task(make_rack())
    handle = begin(task)
    task.refresh_from_db()
    run = Run.objects.get()
    assert (task.status, task.executor_type, task.execution_id) == ("running", "simulated", str(run.id))
    assert task.started_at == run.started_at
    assert task.finished_at is None
    assert (run.state, run.lease_token, run.lease_owner) == ("running", handle.token, "test")
    assert run.queued_at == task.created_at
    assert run.lease_until > clock.now()


@pytest.mark.parametrize("status", ["waiting", "completed", "failed", "terminated"])
def test_a_job_of_a_task_that_is_not_pending_does_nothing(status):
    """F-240"""
    finished = clock.now() if status != "waiting" else None
    task = make_task(make_rack(), status=status, finished_at=finished)
    assert run_begin(task_id=task.id, owner="test", executor="simulated", now=clock.now()) is None
    task.refresh_from_db()
    assert task.status == status
    assert not Run.objects.exists()


def test_a_duplicate_job_finds_the_run_in_somebody_s_hands():
    """D-16: at most one run at a time."""
    task = make_task(make_rack())
    begin(task)
    assert run_begin(task_id=task.id, owner="other", executor="simulated", now=clock.now()) is None
    assert run_begin(task_id=uuid.uuid4(), owner="other", executor="simulated", now=clock.now()) is None
    assert Run.objects.get().lease_owner == "test"


def test_an_expired_lease_alone_is_not_taken_over_by_a_duplicate_job():
    task = make_task(make_rack())
    begin(task)
    Run.objects.update(lease_until=clock.now() - timedelta(seconds=5))
    assert run_begin(task_id=task.id, owner="other", executor="simulated", now=clock.now()) is None


def test_the_intent_records_result_progress_and_next_step_in_one_statement():
    handle = begin(make_task(make_rack()))
    with CaptureQueriesContext(
        connection,
    ) as queries:
        assert run_intent(handle, results={"a": STEP}, next_step="b", done=1, total=3) is False
    assert len(statements(queries)) == 1
    run = Run.objects.get()
    assert (run.results, run.in_flight, run.progress_done, run.progress_total) == ({"a": STEP}, "b", 1, 3)
    run_intent(handle, results={"b": STEP}, next_step="c", done=2, total=3)
    assert set(Run.objects.get().results) == {"a", "b"}


def _rob(handle):
    Run.objects.filter(id=handle.run_id).update(lease_token=uuid.uuid4())


@pytest.mark.parametrize(
    "write",
    [
        lambda h: run_intent(h, results={"a": STEP}, next_step="b", done=1, total=1),
        lambda h: run_release(h, results={"a": STEP}, in_doubt="", done=1, total=1),
        lambda h: run_finish(h, state=RunState.SUCCEEDED, message="", now=clock.now(), results={"a": STEP}),
        lambda h: run_finish(h, state=RunState.UNKNOWN, message="x", now=clock.now()),
    ],
    ids=["intent", "release", "finish", "unknown"],
)
def test_every_write_compares_the_token(write):
    """D-16: 0 rows means the lease is lost, and nothing is written."""
    task = make_task(make_rack())
    handle = begin(task)
    clear_jobs()
    _rob(handle)
    before = (Task.objects.values().get(), Run.objects.values().get())
    with pytest.raises(LeaseLost), transaction.atomic():
        write(handle)
    assert (Task.objects.values().get(), Run.objects.values().get()) == before
    assert waiting_jobs() == []


def test_a_finished_run_takes_no_more_writes():
    handle = begin(make_task(make_rack()))
    run_finish(handle, state=RunState.SUCCEEDED, message="Succeeded", now=clock.now())
    with pytest.raises(LeaseLost), transaction.atomic():
        run_finish(handle, state=RunState.FAILED, message="late", now=clock.now())
    with pytest.raises(LeaseLost):
        run_intent(handle, results={}, next_step="b", done=0, total=0)
    assert Task.objects.get().status == "completed"


@pytest.mark.parametrize(
    ("state", "status"),
    [
        ("succeeded", "completed"),
        ("no_effect", "completed"),
        ("failed", "failed"),
        ("timed_out", "failed"),
        ("cancelled", "terminated"),
        ("skipped", "terminated"),
    ],
)
def test_how_a_run_ends_decides_how_its_task_ends(state, status):
    """D-17, F-240, F-241: finished_at on finish."""
    handle = begin(make_task(make_rack()))
    now = clock.now()
    run_finish(handle, state=RunState(state), message="as said", now=now, results={"a": STEP}, done=1, total=2)
    task, run = Task.objects.get(), Run.objects.get()
    assert (task.status, task.finished_at, task.updated_at, task.message) == (status, now, now, "as said")
    assert (task.progress_done, task.progress_total) == (1, 2)
    assert (run.state, run.finished_at, run.lease_token, run.in_flight) == (state, now, None, "")
    assert run.results == {"a": STEP}


def test_unknown_keeps_the_task_running_and_the_rack_taken():
    """D-16, D-17: the task stays running with the message "outcome unknown"."""
    rack = make_rack()
    handle = begin(make_task(rack, "restart"))
    waiting = make_task(rack, "restart", status="waiting")
    run_intent(handle, results={}, next_step="x", done=0, total=3)
    run_finish(handle, state=RunState.UNKNOWN, message="no answer", now=clock.now())
    task, run = Task.objects.get(id=handle.task.id), Run.objects.get()
    assert (task.status, task.finished_at) == ("running", None)
    assert task.message == "outcome unknown: no answer"
    assert (run.state, run.finished_at, run.in_flight) == ("unknown", None, "x")
    waiting.refresh_from_db()
    assert waiting.status == "waiting"


def test_a_message_is_one_line_of_at_most_512_bytes():
    """F-242"""
    handle = begin(make_task(make_rack()))
    run_finish(handle, state=RunState.FAILED, message="é" * 400 + "\nsecond line", now=clock.now())
    message = Task.objects.get().message
    assert message == "é" * 256
    assert Run.objects.get().message == message


def test_finishing_promotes_the_next_in_at_most_eight_statements():
    """F-240: waiting → pending; the budget of a finish with promotion and of one without."""
    rack = make_rack(40)
    handle = begin(make_task(rack))
    waiting = [make_task(rack, status="waiting") for _ in range(3)]
    expired = make_task(rack, status="waiting", queue_expires_at=clock.now() - timedelta(seconds=1))
    now = clock.now()
    with CaptureQueriesContext(connection) as queries:
        run_finish(handle, state=RunState.SUCCEEDED, message="", now=now, results={"a": STEP}, done=1, total=1)
    assert len(statements(queries)) <= 8
    waiting[0].refresh_from_db()
    expired.refresh_from_db()
    assert (waiting[0].status, expired.status) == ("pending", "terminated")
    assert str(waiting[0].id) in waiting_jobs()
    first = statements(queries)[0]
    assert "FROM rack" in first
    assert "FOR NO KEY UPDATE" in first


def test_a_task_cancelled_meanwhile_stays_terminated():
    """F-240: terminal means terminal."""
    task = make_task(make_rack())
    handle = begin(task)
    Run.objects.update(lease_until=clock.now() - timedelta(seconds=1))
    task_cancel(task_id=task.id, by=SYSTEM, now=clock.now())
    with pytest.raises(LeaseLost), transaction.atomic():
        run_finish(handle, state=RunState.SUCCEEDED, message="Succeeded", now=clock.now())
    with pytest.raises(LeaseLost):
        run_intent(handle, results={}, next_step="b", done=0, total=0)
    task.refresh_from_db()
    assert (task.status, Run.objects.get().state) == ("terminated", "cancelled")


def test_all_leases_are_renewed_in_one_statement_and_lost_ones_are_told():
    handles = [begin(make_task(make_rack(1))) for _ in range(4)]
    _rob(handles[1])
    Run.objects.filter(id=handles[2].run_id).update(cancel_requested_at=clock.now())
    Run.objects.update(lease_until=clock.now())
    with CaptureQueriesContext(connection) as queries:
        answer = runs_renew([h.token for h in handles], {handles[0].token: "tray-0: 50 %"})
    assert len(statements(queries)) == 1
    assert answer == {handles[0].token: False, handles[2].token: True, handles[3].token: False}
    now = clock.now()
    renewed = set(Run.objects.filter(lease_until__gt=now).values_list("id", flat=True))
    assert renewed == {h.run_id for n, h in enumerate(handles) if n != 1}
    assert Run.objects.get(id=handles[0].run_id).message == "tray-0: 50 %"
    assert runs_renew([], {}) == {}


def test_progress_reaches_the_task():
    """D-31"""
    handle = begin(make_task(make_rack()))
    run_intent(handle, results={}, next_step="b", done=1, total=3)
    assert runs_show_progress([handle.token], now=clock.now()) == 1
    assert runs_show_progress([handle.token], now=clock.now()) == 0
    task = Task.objects.get()
    assert (task.progress_done, task.progress_total) == (1, 3)


def test_a_released_run_is_taken_over_with_what_it_did():
    """D-16: the lease ends and a new job is there, in one transaction."""
    task = make_task(make_rack())
    first = begin(task)
    clear_jobs()
    run_intent(first, results={"a": STEP}, next_step="b", done=1, total=3)
    run_release(first, results={"b": STEP}, in_doubt="", done=2, total=3)
    assert waiting_jobs() == [str(task.id)]
    second = begin(task)
    assert second.run_id == first.run_id
    assert (set(second.results), second.in_flight, second.attempt) == ({"a", "b"}, "", 1)
    with pytest.raises(LeaseLost):
        run_intent(first, results={}, next_step="c", done=2, total=3)
