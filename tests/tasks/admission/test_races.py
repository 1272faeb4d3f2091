"""Real connections, real locks: what crosses what, and who wins."""

import threading
from collections import Counter
from datetime import timedelta
from uuid import uuid4

import pytest
from django.db import connection, transaction

from flowsched.errors import Busy, PreconditionFailed
from inventory.models import Component, Rack
from tasks.admission import tasks_admit
from tasks.lanes import lanes_lock, lanes_promote, lock_timeout, task_move
from tasks.models import Run, Task
from tasks.services import task_acknowledge, task_cancel, tasks_expire
from tasks.states import TaskStatus
from tests.tasks.admission.helpers import (
    ALICE,
    NOW,
    SECOND,
    Background,
    admit,
    admit_one,
    in_threads,
    make_rack,
    parts,
    start_run,
    status,
    sub,
    wait_for_blocked,
)

pytestmark = pytest.mark.django_db(transaction=True)
ROUNDS = 8


def finish(task, to=TaskStatus.FAILED):
    """As a worker finishes: rack, task, promotion, in one transaction."""
    with transaction.atomic():
        lanes_lock([task.lane])
        moved = task_move(task.id, to, now=NOW, message="")
        lanes_promote([task.lane], now=NOW)
    return moved


def test_of_many_submissions_for_a_rack_one_wins():
    """F-303: each decision sees the one before."""
    for n in range(ROUNDS):
        rack = make_rack(f"r{n}")
        results = in_threads(*[lambda rack=rack: admit(sub(rack), wait=True)[0].state] * 6)
        assert Counter(results) == {"submitted": 1, "rejected": 5}


def test_the_queue_limit_holds_under_a_rush():
    """F-247, F-303."""
    rack = make_rack()
    admit_one(rack)
    results = in_threads(*[lambda: admit(sub(rack, queue=True), wait=True)[0].state] * 9)
    assert Counter(results) == {"submitted": 5, "rejected": 4}


def test_one_key_sent_by_many_makes_one_task(engine):
    """F-250."""
    asked = sub(make_rack())
    results = in_threads(*[lambda: admit(asked, wait=True)[0].task_id] * 6)
    assert len(set(results)) == 1
    assert engine.ids == [results[0]]


def test_a_held_rack_is_skipped_and_the_others_go_on():
    """D-15: one held rack delays no other."""
    held, free = make_rack("r01"), make_rack("r02")
    with transaction.atomic():
        lanes_lock([held.id])
        ((one, two),) = in_threads(lambda: admit(sub(held), sub(free)))
    assert (one.state, one.task_id, one.reason_code, two.state) == ("locked", None, "rack_locked", "submitted")
    assert not Task.objects.filter(rack_id=held.id).exists()


def test_admission_waits_for_a_promotion_under_way_and_sees_it():
    """F-303: the promotion holds the rack, the submission decides after it."""
    rack = make_rack()
    holder, waiting = admit_one(rack), admit_one(rack, queue=True)
    with transaction.atomic():
        lanes_lock([rack.id])
        task_move(holder.id, TaskStatus.TERMINATED, now=NOW, message="")
        assert lanes_promote([rack.id], now=NOW) == [waiting.id]
        submitter = Background(lambda: admit(sub(rack), wait=True)[0])
        wait_for_blocked()
    outcome = submitter.join()
    assert outcome.reason_code == "rack_busy"
    assert f"(task {waiting.id}) is pending" in outcome.reason


def test_submission_and_promotion_never_both_take_the_rack():
    """F-303, from both sides at once."""
    for n in range(ROUNDS):
        rack = make_rack(f"r{n}")
        holder = admit_one(rack)
        admit_one(rack, queue=True)
        in_threads(lambda holder=holder: finish(holder), lambda rack=rack: admit(sub(rack), wait=True))
        assert Task.objects.filter(rack_id=rack.id, status="pending").count() <= 1


def test_cancel_against_finish_one_wins():
    """F-305: whoever is second finds the task ended."""
    winners = Counter()
    for n in range(ROUNDS):
        task = admit_one(make_rack(f"r{n}"))
        start_run(task, state="unknown")
        cancelled, finished = in_threads(
            lambda task=task: task_cancel(task_id=task.id, by=ALICE, now=NOW), lambda task=task: finish(task)
        )
        final = status(task)
        winners[final] += 1
        assert finished is (final == "failed")
        assert isinstance(cancelled, PreconditionFailed if finished else Task)
    assert set(winners) <= {"failed", "terminated"}


def test_cancel_against_promotion_leaves_it_cancelled(engine):
    """F-305: a cancelled task is never resurrected by a promotion."""
    for n in range(ROUNDS):
        rack = make_rack(f"r{n}")
        holder, waiting = admit_one(rack), admit_one(rack, queue=True)
        finished, cancelled = in_threads(
            lambda holder=holder: finish(holder),
            lambda waiting=waiting: task_cancel(task_id=waiting.id, by=ALICE, now=NOW).status,
        )
        assert (finished, cancelled, status(waiting)) == (True, "terminated", "terminated")
        assert engine.ids.count(waiting.id) <= 1


def test_a_cancel_waits_for_a_run_that_is_just_beginning():
    """F-305: the run is read after the task's lock, so the worker's begin is seen and not trampled."""
    task = admit_one(make_rack())
    with transaction.atomic():
        start_run(task)  # the worker's transaction, not yet committed; it holds the task, not the rack
        canceller = Background(lambda: task_cancel(task_id=task.id, by=ALICE, now=NOW))
        wait_for_blocked()
    assert canceller.join().status == "running"
    assert Run.objects.get().cancel_requested_at == NOW


def test_two_acknowledgements_one_wins():
    """D-16, F-305."""
    for n in range(ROUNDS):
        rack = make_rack(f"r{n}")
        task = admit_one(rack)
        start_run(task, state="unknown")
        results = in_threads(
            *(
                lambda as_=as_, task=task: task_acknowledge(task_id=task.id, as_=as_, by=ALICE, now=NOW).status
                for as_ in ("completed", "failed")
            )
        )
        won = [r for r in results if not isinstance(r, PreconditionFailed)]
        assert won == [status(task)]


def test_a_held_rack_makes_cancel_busy_not_stuck(monkeypatch):
    """Every wait has a limit."""
    monkeypatch.setattr("tasks.services.lock_timeout", lambda: lock_timeout(timedelta(milliseconds=50)))
    task = admit_one(make_rack())
    with transaction.atomic():
        lanes_lock([task.lane])
        (result,) = in_threads(lambda: task_cancel(task_id=task.id, by=ALICE, now=NOW))
    assert isinstance(result, Busy)
    assert status(task) == "pending"


def test_expiry_passes_over_held_racks():
    """F-261, D-15: SKIP LOCKED, and the next call looks again."""
    racks = [make_rack("r01"), make_rack("r02")]
    for rack in racks:
        admit_one(rack)
        admit_one(rack, queue=True, queue_timeout=SECOND)
    with transaction.atomic():
        lanes_lock([racks[0].id])
        assert in_threads(lambda: tasks_expire(now=NOW + 2 * SECOND)) == [1]
    assert tasks_expire(now=NOW + 2 * SECOND) == 1


def test_racks_are_locked_in_one_order():
    """D-11: two calls that name the same racks in opposite order wait, they do not deadlock."""
    racks = [make_rack(f"r{n:02}") for n in range(20)]
    for _ in range(ROUNDS):
        results = in_threads(
            lambda: admit(*(sub(r, queue=True) for r in racks), wait=True),
            lambda: admit(*(sub(r, queue=True) for r in reversed(racks)), wait=True),
        )
        assert all(isinstance(result, list) for result in results)
        Task.objects.update(status="terminated", finished_at=NOW, queue_expires_at=None)


def test_racks_are_locked_in_id_order():
    """D-11: who waits for one rack holds none that comes after it."""
    small, large = sorted(uuid4() for _ in range(2))
    second = Rack.objects.create(id=large, name="b", serial_number="b")
    first = Rack.objects.create(id=small, name="a", serial_number="a")

    def by_heap():  # the table's own order, which is not that of the ids
        with transaction.atomic():
            with connection.cursor() as cursor:
                cursor.execute("SET LOCAL enable_indexscan = off; SET LOCAL enable_bitmapscan = off")
            return tasks_admit([sub(second), sub(first)], now=NOW, wait=True)

    with transaction.atomic():
        lanes_lock([first.id])
        submitter = Background(by_heap)
        wait_for_blocked()
        assert lanes_lock([second.id], skip_locked=True) == {second.id}
    assert [o.reason_code for o in submitter.join()] == ["no_components"] * 2


def test_a_scope_insert_does_not_wait_for_admission():
    """The rack lock lets foreign key checks pass: FOR NO KEY UPDATE, not FOR UPDATE."""
    rack = make_rack()
    part = parts(rack)[0]
    done = threading.Event()

    def insert():
        with transaction.atomic():
            with connection.cursor() as cursor:
                cursor.execute("SET LOCAL lock_timeout = '3s'")
            Component.objects.create(rack=rack, type="Compute", name="new", serial_number="new")
        done.set()

    with transaction.atomic():
        tasks_admit([sub(rack, components=(part,))], now=NOW)
        in_threads(insert)
        assert done.is_set()
