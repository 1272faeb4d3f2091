"""Carrying out a run: order of record and effect, attempts, cancellation, budget, letting go."""

from __future__ import annotations

import threading
import time
import uuid
from datetime import timedelta

import pytest

from flowsched import clock
from flowsched.actor import SYSTEM
from flowsched.errors import Unavailable
from tasks import execution
from tasks.control import Control
from tasks.models import Run, Task
from tasks.runs import LeaseLost, run_intent
from tasks.services import task_cancel
from tests.tasks_runs.fakes import CHANGED, FAILS, LOST, NO_EFFECT, REFUSES, FakeExecutor, execute
from tests.tasks_runs.helpers import begin, expire_lease, make_rack, make_task, waiting_jobs

pytestmark = pytest.mark.django_db


def ended() -> tuple[str, str, str]:
    task, run = Task.objects.get(), Run.objects.get()
    return task.status, run.state, task.message


def test_succeeded_if_anything_changed():
    """D-17"""
    executor = FakeExecutor(c0=[NO_EFFECT], c1=[CHANGED], c2=[NO_EFFECT])
    assert execute(begin(make_task(make_rack())), executor) == "succeeded"
    assert ended() == ("completed", "succeeded", "Succeeded")
    run = Run.objects.get()
    assert [r["state"] for r in run.results.values()].count("no_effect") == 2
    assert (run.progress_done, run.progress_total) == (3, 3)
    assert [(a["attempt"], a["state"]) for a in run.attempts] == [(1, "succeeded")]


def test_no_effect_if_nothing_had_to_change():
    """D-17, F-242"""
    assert execute(begin(make_task(make_rack(1))), FakeExecutor(c0=[NO_EFFECT])) == "no_effect"
    assert ended() == ("completed", "no_effect", "Succeeded: nothing had to change (already on)")


def test_the_intent_is_on_record_before_the_effect():
    """D-16: each next side effect compares the token, and the row names what may be under way."""
    seen = []

    def look(step, context):
        run = Run.objects.get()
        seen.append((run.in_flight == str(step.component_id), len(run.results)))

    executor = FakeExecutor()
    executor.before = look
    execute(begin(make_task(make_rack(3))), executor)
    assert seen == [(True, 0), (True, 1), (True, 2)]
    assert Run.objects.get().in_flight == ""


def test_only_what_failed_is_tried_again_at_most_three_times():
    """D-16: at most 3 attempts, each recorded."""
    executor = FakeExecutor(c0=[CHANGED], c1=[FAILS], c2=[FAILS, CHANGED])
    assert execute(begin(make_task(make_rack(3))), executor) == "failed"
    assert executor.applied == ["c0", "c1", "c2", "c1", "c2", "c1"]
    status, state, message = ended()
    assert (status, state, message) == ("failed", "failed", "c1: no answer")
    attempts = Run.objects.get().attempts
    assert [(a["attempt"], a["state"]) for a in attempts] == [(1, "failed"), (2, "failed"), (3, "failed")]
    assert all(a["started_at"] <= a["ended_at"] and a["message"] for a in attempts)
    assert Run.objects.get().attempt == 3


def test_a_failure_that_will_not_get_better_is_final():
    executor = FakeExecutor(c0=[REFUSES], c1=[CHANGED])
    assert execute(begin(make_task(make_rack(2))), executor) == "failed"
    assert executor.applied == ["c0", "c1"]


def test_the_back_off_between_attempts(settings, monkeypatch):
    """D-16: back-off 1, 4 s; the lease goes on being renewed by the heart, and a cancel wakes it."""
    settings.FLOWSCHED_RUN_BACKOFF = [timedelta(seconds=1), timedelta(seconds=4)]
    slept = []
    monkeypatch.setattr(execution.Execution, "_sleep", lambda self, seconds, step=False: slept.append(seconds))
    execute(begin(make_task(make_rack(1))), FakeExecutor(c0=[FAILS]))
    assert slept == [1, 4]


def test_the_total_budget_of_an_operation():
    """F-195: power operations may take 60 minutes in all; what exceeds them is timed out, before the next effect."""
    task = make_task(make_rack(3))
    handle = begin(task)
    handle.started_at -= timedelta(minutes=59, seconds=59.9)
    executor = FakeExecutor()
    executor.before = lambda step, context: context.wait(60) if step.name == "c1" else None
    assert execute(handle, executor) == "timed_out"
    assert executor.applied == ["c0"]
    assert ended() == ("failed", "timed_out", "time budget used up after 1 of 3 components")


@pytest.mark.parametrize(("code", "minutes"), [("power_on", 60), ("upgrade", 60), ("bring_up", 120)])
def test_budgets_by_type(code, minutes):
    """F-195"""
    handle = begin(make_task(make_rack(1), code))
    run = execution.Execution(handle, FakeExecutor(), Control())
    assert run.deadline - handle.begun == pytest.approx(minutes * 60, abs=1)
    handle.started_at -= timedelta(minutes=minutes)
    assert execute(handle, FakeExecutor()) == "timed_out"


def test_a_cancel_is_seen_before_the_next_effect():
    """D-16, D-17: the task ends terminated."""
    task = make_task(make_rack(3))
    executor = FakeExecutor(cancellable=False)
    executor.before = lambda step, context: task_cancel(task_id=task.id, by=SYSTEM, now=clock.now())
    assert execute(begin(task), executor) == "cancelled"
    assert executor.applied == ["c0"]
    assert ended() == ("terminated", "cancelled", "Terminated: cancelled after 1 of 3 components")


def test_a_cancel_ends_a_step_that_can_be_given_up():
    task = make_task(make_rack(3))
    control = Control()
    executor = FakeExecutor()

    def hang(step, context):
        threading.Timer(0.05, lambda: control.tell(cancel=True)).start()
        context.wait(3600)

    executor.before = hang
    assert execute(begin(task), executor, control) == "cancelled"
    assert executor.applied == []


def test_a_cancel_asked_while_nobody_held_the_run_is_seen_at_once():
    task = make_task(make_rack(3))
    handle = begin(task)
    handle.cancel_requested = True
    executor = FakeExecutor()
    assert execute(handle, executor) == "cancelled"
    assert executor.applied == []


def test_after_the_lease_is_lost_nothing_more_happens():
    """X-15: no effect and no write after the token has changed hands."""
    task = make_task(make_rack(3))
    executor = FakeExecutor()
    executor.before = lambda step, context: step.name == "c1" and Run.objects.update(lease_token=uuid.uuid4())
    with pytest.raises(LeaseLost):
        execute(begin(task), executor)
    assert executor.applied == ["c0", "c1"]
    assert ended()[:2] == ("running", "running")
    assert len(Run.objects.get().results) == 1


def test_a_flag_from_the_heart_stops_a_sleeping_step():
    control = Control()
    executor = FakeExecutor()

    def hang(step, context):
        threading.Timer(0.05, lambda: control.tell(lost=True)).start()
        context.wait(3600)

    executor.before = hang
    with pytest.raises(LeaseLost):
        execute(begin(make_task(make_rack(1))), executor, control)
    assert executor.applied == []


def test_a_lease_that_may_have_run_out_is_confirmed_before_the_effect():
    """X-15: a process that was stopped longer than its lease asks before it acts."""
    control = Control()
    executor = FakeExecutor()

    def stopped(step, context):
        control.confirmed = time.monotonic() - 3600

    executor.before = stopped
    assert execute(begin(make_task(make_rack(1))), executor, control) == "succeeded"

    def robbed(step, context):
        control.confirmed = time.monotonic() - 3600
        Run.objects.update(lease_token=uuid.uuid4())

    Task.objects.all().delete()
    executor = FakeExecutor()
    executor.before = robbed
    with pytest.raises(LeaseLost):
        execute(begin(make_task(make_rack(1))), executor, control)
    assert executor.applied == []


def test_an_executor_that_breaks_leaves_a_doubt():
    """D-16: idempotent, it is repeated with the same key; otherwise a person decides, and the rack is left alone."""
    executor = FakeExecutor()
    executor.before = lambda step, context: {}["bug"]
    assert execute(begin(make_task(make_rack(2), "restart")), executor) == "unknown"
    status, state, message = ended()
    assert (status, state) == ("running", "unknown")
    assert message == "outcome unknown: no answer from c0: it may have happened"
    assert len(executor.contexts) == 1
    Task.objects.all().delete()
    executor.contexts.clear()
    assert execute(begin(make_task(make_rack(1))), executor) == "failed"
    assert len({c.key for c in executor.contexts}) == 1
    assert [c.repeated for c in executor.contexts] == [False, True, True]


@pytest.mark.parametrize(
    ("code", "honours", "outcome"),
    [("power_off", False, "succeeded"), ("restart", False, "unknown"), ("restart", True, "succeeded")],
)
def test_a_lost_answer_is_repeated_only_where_that_is_harmless(code, honours, outcome):
    """D-16"""
    executor = FakeExecutor(honours=honours, c0=[LOST, CHANGED])
    assert execute(begin(make_task(make_rack(2), code)), executor) == outcome


def test_letting_go_stops_before_the_next_effect_and_another_goes_on():
    """D-16, X-33: released, with a new job, and nothing is done twice."""
    task = make_task(make_rack(3))
    control = Control()
    first = FakeExecutor()
    first.before = lambda step, context: step.name == "c1" and control.tell(release=True)
    assert execute(begin(task), first, control) == "released"
    assert first.applied == ["c0"]
    run = Run.objects.get()
    assert (run.state, run.lease_token, run.in_flight) == ("running", None, "")
    assert waiting_jobs() == [str(task.id)]
    second = FakeExecutor()
    assert execute(begin(task), second) == "succeeded"
    assert second.applied == ["c1", "c2"]


def test_a_step_that_cannot_be_given_up_ends_before_the_run_is_released():
    control = Control()
    executor = FakeExecutor(cancellable=False)

    def asked(step, context):
        control.tell(release=True)
        context.wait(0.01)

    executor.before = asked
    assert execute(begin(make_task(make_rack(2))), executor, control) == "released"
    assert executor.applied == ["c0"]
    assert len(Run.objects.get().results) == 1


def test_the_step_in_doubt_comes_first_with_its_key_and_is_marked():
    """D-16: steps with results are not repeated; the one in flight is, with the same key."""
    task = make_task(make_rack(3))
    handle = begin(task)
    steps = FakeExecutor().plan(task)
    first, _second, third = (str(s.component_id) for s in steps)
    done = {"name": "c0", "state": "changed", "message": "", "retryable": False, "attempt": 1}
    run_intent(handle, results={first: done}, next_step=third, done=1, total=3)
    expire_lease()
    Run.objects.update(lease_token=None, attempt=2)
    executor = FakeExecutor()
    assert execute(begin(task), executor) == "succeeded"
    assert executor.applied == ["c2", "c1"]
    assert executor.contexts[0].repeated
    assert executor.contexts[0].key == f"{task.idempotency_key}:{third}"
    assert not executor.contexts[1].repeated
    results = Run.objects.get().results
    assert results[third]["repeated"] is True
    assert "repeated" not in results[first]


def test_a_doubt_survives_a_release_and_is_told_on_cancel():
    task = make_task(make_rack(2))
    doubt = str(FakeExecutor().plan(task)[0].component_id)
    handle = begin(task)
    handle.in_flight = doubt
    control = Control()
    control.tell(release=True)
    assert execute(handle, FakeExecutor(), control) == "released"
    handle = begin(task)
    assert handle.in_flight == doubt
    handle.cancel_requested = True
    assert execute(handle, FakeExecutor()) == "cancelled"
    assert ended()[2].endswith("; c0 may have been done before")


def test_the_database_going_away_is_waited_for(monkeypatch, caplog):
    real, failures = run_intent, iter([True, True, False])

    def flaky(*args, **kwargs):
        if next(failures, False):
            raise Unavailable("gone")
        return real(*args, **kwargs)

    monkeypatch.setattr(execution, "run_intent", flaky)
    monkeypatch.setattr(execution, "OUTAGE_SECONDS", (0.001,))
    assert execute(begin(make_task(make_rack(2))), FakeExecutor()) == "succeeded"
    assert caplog.text.count("waiting for the database") == 1


def test_progress_never_goes_back():
    control = Control()
    notes = []

    def report(step, context):
        for percent in (10, 50, 30, 200):
            context.progress(percent)
            notes.append(control.note)

    executor = FakeExecutor()
    executor.before = report
    execute(begin(make_task(make_rack(1))), executor, control)
    assert notes == ["c0: 10 %", "c0: 50 %", "c0: 50 %", "c0: 100 %"]
