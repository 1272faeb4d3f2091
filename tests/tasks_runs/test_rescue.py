"""Rescue: a compare-and-set of the lease plus a new job, or an end, or a person's decision."""

from __future__ import annotations

import uuid
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from flowsched import clock
from inventory.models import Rack
from tasks import rescue
from tasks.executors import base
from tasks.models import Run, Task
from tasks.rescue import runs_rescue, tasks_requeue
from tasks.runs import LeaseLost, run_finish, run_intent
from tasks.states import RunState
from tests.tasks_runs.fakes import FakeExecutor, execute
from tests.tasks_runs.helpers import (
    begin,
    clear_jobs,
    expire_lease,
    make_rack,
    make_task,
    statements,
    waiting_jobs,
)

pytestmark = pytest.mark.django_db


def abandoned(code: str = "power_on", *, in_flight: bool = True, attempt: int = 1, trays: int = 2):
    """A run whose worker was killed; `in_flight`: between the record of a step and its result."""
    rack = make_rack(trays)
    task = make_task(rack, code)
    handle = begin(task)
    clear_jobs()
    if in_flight:
        component = rack.components.order_by("name").first()
        run_intent(handle, results={}, next_step=str(component.id), done=0, total=trays)
    Run.objects.filter(id=handle.run_id).update(attempt=attempt)
    return task, handle


def state_of(task: Task) -> tuple[str, str]:
    task.refresh_from_db()
    return task.status, Run.objects.get(task=task).state


def test_a_live_lease_is_left_alone():
    _task, handle = abandoned()
    assert runs_rescue(now=clock.now()) == 0
    assert Run.objects.get().lease_token == handle.token
    assert waiting_jobs() == []


@pytest.mark.parametrize(("code", "in_flight"), [("power_on", True), ("power_off", True), ("restart", False)])
def test_what_may_be_repeated_is_handed_on_with_a_new_job(code, in_flight):
    """D-16: idempotent, or nothing was under way."""
    task, _handle = abandoned(code, in_flight=in_flight)
    assert runs_rescue(now=expire_lease()) == 1
    run = Run.objects.get()
    assert (run.state, run.lease_token, run.lease_owner, run.attempt) == ("running", None, "", 2)
    assert run.lease_until > clock.now()
    assert bool(run.in_flight) is in_flight
    assert [a["state"] for a in run.attempts] == ["interrupted"]
    assert ("may have happened on tray-0" in run.attempts[0]["message"]) is in_flight
    assert waiting_jobs() == [str(task.id)]
    assert runs_rescue(now=clock.now()) == 0
    executor = FakeExecutor()
    assert execute(begin(task), executor) == "succeeded"
    assert executor.contexts[0].repeated is in_flight


@pytest.mark.parametrize("code", ["restart", "upgrade", "bring_up"])
def test_a_doubt_about_what_must_not_be_repeated_goes_to_a_person(code):
    """D-16, D-17: unknown, the task stays running, nothing is enqueued."""
    task, _handle = abandoned(code)
    assert runs_rescue(now=expire_lease()) == 1
    assert state_of(task) == ("running", "unknown")
    assert task.message == f"outcome unknown: its worker is gone; '{code}' may have happened on tray-0"
    assert waiting_jobs() == []
    assert runs_rescue(now=clock.now() + timedelta(days=1)) == 0


def test_a_target_that_honours_the_key_may_be_asked_again(monkeypatch):
    """D-16: anything with an idempotency key the target honours is retried with the same key."""
    monkeypatch.setattr(rescue, "get_executor", lambda name: FakeExecutor(honours=True))
    task, _handle = abandoned("restart")
    runs_rescue(now=expire_lease())
    assert state_of(task) == ("running", "running")
    assert waiting_jobs() == [str(task.id)]


def test_a_run_of_an_executor_nobody_knows_any_more_is_in_doubt(monkeypatch):
    monkeypatch.setattr(base, "EXECUTORS", {})
    task, _handle = abandoned("restart")
    runs_rescue(now=expire_lease())
    assert state_of(task) == ("running", "unknown")


def test_after_three_attempts_it_has_failed():
    """D-16: a rescue counts as an attempt; at most three."""
    task, _handle = abandoned(attempt=3)
    rack_mate = make_task(Rack.objects.get(id=task.rack_id), status="waiting")
    runs_rescue(now=expire_lease())
    assert state_of(task) == ("failed", "failed")
    assert task.message.startswith("its worker was lost in the last of 3 attempts; 'power_on' may have happened")
    rack_mate.refresh_from_db()
    assert rack_mate.status == "pending"


@pytest.mark.parametrize("in_flight", [True, False])
def test_a_cancelled_run_whose_worker_died_is_terminated_and_says_what_may_have_happened(in_flight):
    task, _handle = abandoned("restart", in_flight=in_flight)
    Run.objects.update(cancel_requested_at=clock.now())
    runs_rescue(now=expire_lease())
    assert state_of(task) == ("terminated", "cancelled")
    assert ("may have happened on tray-0" in task.message) is in_flight


@pytest.mark.parametrize("code", ["power_on", "restart"])
def test_a_run_that_finishes_between_the_rescue_s_look_and_its_write_stays_finished(monkeypatch, code):
    """X-17: completed stays completed."""
    task, handle = abandoned(code)
    now = expire_lease()
    monkeypatch.setattr(
        rescue, "fault", lambda name: run_finish(handle, state=RunState.SUCCEEDED, message="", now=clock.now())
    )
    assert runs_rescue(now=now) == 0
    assert state_of(task) == ("completed", "succeeded")
    assert waiting_jobs() == []


@pytest.mark.parametrize("code", ["power_on", "restart"])
@pytest.mark.parametrize("how", ["renewed", "rescued"])
def test_a_run_renewed_or_rescued_between_look_and_write_is_left_alone(monkeypatch, code, how):
    """D-16: the lease is compared as it was read: its token and its end."""
    task, _handle = abandoned(code)
    now = expire_lease()
    change = {"lease_until": clock.now() + timedelta(seconds=30)} if how == "renewed" else {"lease_token": uuid.uuid4()}
    monkeypatch.setattr(rescue, "fault", lambda name: Run.objects.update(**change))
    assert runs_rescue(now=now) == 0
    assert state_of(task) == ("running", "running")
    assert waiting_jobs() == []
    assert Run.objects.get().attempt == 1


def test_the_sleeper_s_writes_match_nothing_after_a_rescue():
    """X-15"""
    _task, handle = abandoned()
    runs_rescue(now=expire_lease())
    with pytest.raises(LeaseLost):
        run_intent(handle, results={}, next_step="x", done=0, total=0)
    with pytest.raises(LeaseLost):
        run_finish(handle, state=RunState.SUCCEEDED, message="", now=clock.now())


def test_a_handed_on_run_whose_job_was_lost_gets_another_without_counting():
    task, _handle = abandoned()
    runs_rescue(now=expire_lease())
    clear_jobs()
    assert runs_rescue(now=expire_lease()) == 1
    assert waiting_jobs() == [str(task.id)]
    assert runs_rescue(now=expire_lease()) == 1  # the job waits; it is not doubled
    assert waiting_jobs() == [str(task.id)]
    run = Run.objects.get()
    assert (run.attempt, len(run.attempts)) == (2, 1)


def test_many_lost_runs_take_a_few_statements():
    for _ in range(20):
        abandoned(trays=1)
    now = expire_lease()
    with CaptureQueriesContext(connection) as queries:
        assert runs_rescue(now=now, limit=15) == 15
    assert len(statements(queries)) <= 5
    assert len(waiting_jobs()) == 15


def test_a_pending_task_that_lost_its_job_gets_another():
    """D-16: killed between taking the job and beginning the run."""
    old = clock.now() - timedelta(minutes=5)
    lost = make_task(make_rack(1), job=False, updated_at=old)
    make_task(make_rack(1), updated_at=old)
    make_task(make_rack(1), job=False)
    make_task(make_rack(1), job=False, status="waiting", updated_at=old)
    before = waiting_jobs()
    assert tasks_requeue(now=clock.now()) == 1
    assert set(waiting_jobs()) - set(before) == {str(lost.id)}
    assert tasks_requeue(now=clock.now()) == 0


def test_all_pending_tasks_are_asked_about_page_by_page():
    old = clock.now() - timedelta(minutes=5)
    for _ in range(5):
        make_task(make_rack(1), updated_at=old)
    for _ in range(2):
        make_task(make_rack(1), job=False, updated_at=old)
    assert tasks_requeue(now=clock.now(), limit=2) == 2


def test_a_held_rack_is_passed_over_and_keeps_no_other(monkeypatch):
    held, _ = abandoned("restart")
    free, _ = abandoned("restart")
    real = rescue.lanes_lock
    monkeypatch.setattr(
        rescue, "lanes_lock", lambda lanes, **how: set() if lanes == [held.lane] else real(lanes, **how)
    )
    assert runs_rescue(now=expire_lease()) == 1
    assert state_of(held) == ("running", "running")
    assert state_of(free) == ("running", "unknown")
