"""D-29, the workers' side: a pending task begins at the release; what runs is left alone, rescues included."""

from __future__ import annotations

from datetime import timedelta

import pytest

from flowsched import clock
from flowsched.actor import SYSTEM
from tasks.holding import hold_release, hold_set
from tasks.models import Run, Task
from tasks.rescue import runs_rescue, tasks_requeue
from tasks.runs import run_begin, run_finish, run_intent, run_release
from tasks.states import RunState
from tasks.worker import Worker
from tests.tasks_runs.fakes import FakeExecutor, execute
from tests.tasks_runs.helpers import begin, clear_jobs, effects, expire_lease, make_rack, make_task, waiting_jobs

pytestmark = pytest.mark.django_db


def hold():
    return hold_set(reason="chiller work", by=SYSTEM, now=clock.now())


def release():
    return hold_release(by=SYSTEM, now=clock.now())


def try_to_begin(task: Task):
    return run_begin(task_id=task.id, owner="test", executor="simulated", now=clock.now())


def test_a_pending_task_is_not_begun():
    task = make_task(make_rack())
    hold()
    assert try_to_begin(task) is None
    task.refresh_from_db()
    assert (task.status, Run.objects.count()) == ("pending", 0)
    release()
    assert try_to_begin(task) is not None


def test_a_task_whose_job_was_dropped_gets_another_at_the_release_at_once():
    """However young it is: the chore would wait a lease."""
    task = make_task(make_rack(), job=False)
    with_job = make_task(make_rack())
    hold()
    assert release().started == 1
    assert sorted(waiting_jobs()) == sorted([str(task.id), str(with_job.id)])


def test_the_chore_gives_no_jobs_that_would_be_dropped():
    make_task(make_rack(), job=False, updated_at=clock.now() - timedelta(minutes=5))
    hold()
    assert tasks_requeue(now=clock.now()) == 0
    assert waiting_jobs() == []


def test_a_run_that_had_begun_goes_on_to_its_end():
    handle = begin(make_task(make_rack()))
    hold()
    assert execute(handle, FakeExecutor()) == "succeeded"
    assert Task.objects.get().status == "completed"


def test_who_waits_behind_it_does_not_follow():
    rack = make_rack()
    handle = begin(make_task(rack))
    waiting = make_task(rack, status="waiting")
    hold()
    run_finish(handle, state=RunState.SUCCEEDED, message="", now=clock.now())
    waiting.refresh_from_db()
    assert waiting.status == "waiting"
    assert release().promoted == 1
    waiting.refresh_from_db()
    assert waiting.status == "pending"
    assert waiting_jobs()[-1] == str(waiting.id)


def test_a_run_whose_worker_died_is_rescued_and_taken_over():
    """Half a rack switched on is no state to leave it in for a night."""
    task = make_task(make_rack())
    begin(task)
    clear_jobs()
    hold()
    assert runs_rescue(now=expire_lease()) == 1
    assert waiting_jobs() == [str(task.id)]
    assert try_to_begin(task).attempt == 2


def test_a_run_that_a_draining_worker_released_is_taken_over():
    task = make_task(make_rack())
    handle = begin(task)
    run_intent(handle, results={}, next_step="", done=0, total=3)
    hold()
    run_release(handle, results={}, in_doubt="", done=0, total=3)
    assert try_to_begin(task) is not None


def test_a_worker_leaves_the_hardware_alone_and_works_after_the_release(committed):
    """A whole worker with the real queue: it fetches the job, drops it, and nothing is lost."""
    task = make_task(make_rack())
    hold()
    assert Worker(concurrency=1, once=True).run() == 0
    task.refresh_from_db()
    assert (task.status, effects(), waiting_jobs()) == ("pending", [], [])
    assert release().started == 1
    assert Worker(concurrency=1, once=True).run() == 0
    task.refresh_from_db()
    assert task.status == "completed"
    assert len(effects()) == 3
