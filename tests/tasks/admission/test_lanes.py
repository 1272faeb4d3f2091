from datetime import timedelta
from uuid import uuid4

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from inventory.models import Component
from tasks.lanes import lanes_active, lanes_lock, lanes_promote, task_move
from tasks.models import Task
from tasks.services import lanes_sweep, tasks_expire
from tasks.states import FINISHED, MOVES, TaskStatus
from tests.tasks.admission.helpers import NOW, SECOND, admit_one, make_rack, parts, start_run, status

pytestmark = pytest.mark.django_db


def promote(*racks, now=NOW):
    with transaction.atomic():
        return lanes_promote([rack.id for rack in racks], now=now)


def finish(task):
    Task.objects.filter(id=task.id).update(status="completed", finished_at=NOW)


def bare_task(state, **values):
    times = {"finished_at": NOW} if state in FINISHED else {}
    if state == TaskStatus.WAITING:
        times["queue_expires_at"] = NOW + SECOND
    return Task.objects.create(
        type="power_control", code="restart", executor_type="x", lane=uuid4(), status=state, **(times | values)
    )


# Moves ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("to", list(TaskStatus))
@pytest.mark.parametrize("state", list(TaskStatus))
def test_only_legal_moves_happen(state, to):
    """F-240, F-305: every pair; a refused move changes nothing."""
    task = bare_task(state, message="before")
    moved = task_move(task.id, to, now=NOW, message="after")
    task.refresh_from_db()
    assert moved == (to in MOVES[state])
    assert (task.status, task.message) == ((to, "after") if moved else (state, "before"))


def test_legal_moves_are_the_documented_ones():
    """F-240."""
    assert {(a.value, b.value) for a, targets in MOVES.items() for b in targets} == {
        ("waiting", "pending"),
        ("waiting", "terminated"),
        ("pending", "running"),
        ("pending", "failed"),
        ("pending", "terminated"),
        ("running", "completed"),
        ("running", "failed"),
        ("running", "terminated"),
    }


def test_from_narrows_and_never_widens():
    """F-305."""
    pending, done = bare_task(TaskStatus.PENDING), bare_task(TaskStatus.COMPLETED)
    assert not task_move(
        pending.id, TaskStatus.TERMINATED, now=NOW, message="", from_=[TaskStatus.WAITING, TaskStatus.RUNNING]
    )
    assert not task_move(done.id, TaskStatus.TERMINATED, now=NOW, message="", from_=[TaskStatus.COMPLETED])
    assert task_move(pending.id, TaskStatus.TERMINATED, now=NOW, message="", from_=[TaskStatus.PENDING])


def test_timestamps_follow_the_state():
    """F-241, F-307: started once, finished at the end, no expiry outside the queue."""
    task = bare_task(TaskStatus.WAITING)
    for n, (to, started, finished) in enumerate(
        [("pending", None, None), ("running", 2, None), ("completed", 2, 3)], start=1
    ):
        assert task_move(task.id, TaskStatus(to), now=NOW + n * SECOND, message="")
        task.refresh_from_db()
        assert task.updated_at == NOW + n * SECOND
        assert task.started_at == (started and NOW + started * SECOND)
        assert task.finished_at == (finished and NOW + finished * SECOND)
        assert task.queue_expires_at is None


def test_started_at_is_kept_once_set():
    """F-307."""
    task = bare_task(TaskStatus.PENDING, started_at=NOW)
    task_move(task.id, TaskStatus.RUNNING, now=NOW + SECOND, message="")
    task.refresh_from_db()
    assert task.started_at == NOW


@pytest.mark.parametrize(
    ("to", "given", "stored"),
    [
        ("running", "", "Running"),
        ("failed", "", "Failed"),
        ("terminated", "", "Terminated"),
        ("failed", "first line\nsecond line", "first line"),
        ("failed", "é" * 300, "é" * 256),
        ("failed", "x" + "é" * 300, "x" + "é" * 255),
    ],
)
def test_messages(to, given, stored):
    """F-242: a default per state; a failure is its first line, cut at 512 bytes and never inside a character."""
    task = bare_task(TaskStatus.PENDING)
    task_move(task.id, TaskStatus(to), now=NOW, message=given)
    task.refresh_from_db()
    assert task.message == stored


# Promotion --------------------------------------------------------------------------------------------------------


def test_promotes_from_the_head_and_stops_at_the_first_conflict(engine):
    """F-262, F-263: several compatible ones in one pass; nobody passes the one that must still wait."""
    rack = make_rack(Compute=4, UMS=1)
    a, b, c, d = parts(rack)
    first = admit_one(rack, "bring_up")
    heads = [admit_one(rack, components=ids, queue=True) for ids in [(a,), (b,), (b, c), (d,)]]
    finish(first)
    engine.ids.clear()
    assert promote(rack, now=NOW + SECOND) == [heads[0].id, heads[1].id]
    assert [status(t) for t in heads] == ["pending", "pending", "waiting", "waiting"]
    assert engine.ids == [heads[0].id, heads[1].id]
    heads[0].refresh_from_db()
    assert (heads[0].queue_expires_at, heads[0].updated_at) == (None, NOW + SECOND)  # F-307
    assert heads[0].message == "Pending: left the rack's queue"
    assert promote(rack) == []


def test_promotion_is_in_order_of_creation():
    """F-262: oldest first."""
    rack = make_rack()
    first = admit_one(rack)
    second, third = admit_one(rack, queue=True), admit_one(rack, queue=True)
    Task.objects.filter(id=third.id).update(created_at=NOW - SECOND)
    finish(first)
    assert promote(rack) == [third.id]
    assert status(second) == "waiting"


@pytest.mark.parametrize("state", ["running", "unknown"])
def test_a_holder_with_a_live_or_unknown_run_keeps_the_queue_waiting(state):
    """D-16: an unknown outcome counts as active."""
    rack = make_rack()
    start_run(admit_one(rack), state=state)
    waiting = admit_one(rack, queue=True)
    assert promote(rack) == []
    assert status(waiting) == "waiting"


@pytest.mark.parametrize(("after", "expected"), [(0 * SECOND, "waiting"), (SECOND / 1000, "terminated")])
def test_expiry_is_strictly_after_the_deadline(after, expected):
    """F-262."""
    rack = make_rack()
    admit_one(rack)
    waiting = admit_one(rack, queue=True)
    assert promote(rack, now=waiting.queue_expires_at + after) == []
    waiting.refresh_from_db()
    assert waiting.status == expected
    if expected == "terminated":
        assert waiting.finished_at == NOW + timedelta(hours=1) + after  # F-241
        assert waiting.message == "Terminated: its time in the rack's queue ran out"
        assert waiting.queue_expires_at is None


def test_an_expired_head_lets_the_next_one_in(engine):
    """F-262: expiry first, then promotion, in one pass."""
    rack = make_rack()
    one, two = parts(rack)
    admit_one(rack, components=(one,))
    head = admit_one(rack, components=(one, two), queue=True, queue_timeout=SECOND)
    behind = admit_one(rack, components=(two,), queue=True)
    assert promote(rack, now=NOW + 2 * SECOND) == [behind.id]
    assert status(head) == "terminated"


def test_an_expired_task_is_never_promoted():
    """F-262: even where the rack is free."""
    rack = make_rack()
    first = admit_one(rack)
    waiting = admit_one(rack, queue=True, queue_timeout=SECOND)
    finish(first)
    assert promote(rack, now=NOW + 2 * SECOND) == []
    assert status(waiting) == "terminated"


def test_a_promoted_task_keeps_its_original_components():
    """F-262, end: the set it was admitted with; the executor leaves out what has moved since."""
    rack = make_rack()
    first = admit_one(rack)
    waiting = admit_one(rack, queue=True)
    Component.objects.filter(id=parts(rack)[0]).update(deleted_at=NOW)
    Component.objects.create(rack=rack, type="Compute", name="new", serial_number="new")
    finish(first)
    promote(rack)
    before = waiting.attributes
    waiting.refresh_from_db()
    assert waiting.attributes == before


@pytest.mark.parametrize("now", [NOW, NOW + 2 * SECOND], ids=["promotion", "expiry"])
def test_a_task_that_ended_after_it_was_read_stays_ended(monkeypatch, engine, now):
    """F-305: the update has its own guard, whoever writes without the lane's lock."""
    rack = make_rack()
    first, waiting = admit_one(rack), admit_one(rack, queue=True, queue_timeout=SECOND)
    finish(first)

    def read_then_ended(*args, **values):
        tasks = lanes_active(*args, **values)
        Task.objects.filter(id=waiting.id).update(
            status="failed", message="theirs", finished_at=NOW, queue_expires_at=None
        )
        return tasks

    monkeypatch.setattr("tasks.lanes.lanes_active", read_then_ended)
    assert promote(rack, now=now) == []
    waiting.refresh_from_db()
    assert (waiting.status, waiting.message) == ("failed", "theirs")
    assert engine.ids == [first.id]


@pytest.mark.parametrize("count", [1, 15])
def test_statements_of_promotion_do_not_grow(count):
    """F-263 for any number of racks: read, gate, expire, promote (and the engine's one)."""
    racks = [make_rack(f"r{n}") for n in range(count)]
    for rack in racks:
        first = admit_one(rack)
        admit_one(rack, queue=True, queue_timeout=SECOND)
        admit_one(rack, queue=True)
        finish(first)
    with transaction.atomic(), CaptureQueriesContext(connection) as captured:
        assert len(lanes_promote([r.id for r in racks], now=NOW + 2 * SECOND)) == count
    assert len(captured) == 4
    with transaction.atomic(), CaptureQueriesContext(connection) as captured:
        lanes_promote([r.id for r in racks], now=NOW + 2 * SECOND)
    assert len(captured) == 1


def test_a_finish_with_promotion_stays_within_its_budget():
    """Lock, move, read, gate, promote: the engine's and the run's own statements come on top, eight in all."""
    rack = make_rack()
    first = admit_one(rack)
    admit_one(rack, queue=True)
    with transaction.atomic(), CaptureQueriesContext(connection) as captured:
        lanes_lock([rack.id])
        assert task_move(first.id, TaskStatus.FAILED, now=NOW, message="")
        assert lanes_promote([rack.id], now=NOW)
    assert len(captured) == 5


# Locks ------------------------------------------------------------------------------------------------------------


def test_lanes_without_a_rack_are_locked_too():
    """A schedule's lane, or that of a rack whose row is gone."""
    rack, other = make_rack(), uuid4()
    with transaction.atomic():
        assert lanes_lock([rack.id, other]) == {rack.id, other}
        assert lanes_lock([rack.id, other], skip_locked=True) == {rack.id, other}
        assert lanes_lock([]) == set()


# Chores -----------------------------------------------------------------------------------------------------------


def test_expire_ends_what_is_over_and_promotes_who_stood_behind(engine):
    """F-261, F-307: noticed by the chore, without any other event."""
    racks = [make_rack(f"r{n}") for n in range(3)]
    for rack in racks:
        one, two = parts(rack)
        admit_one(rack, components=(one,))
        admit_one(rack, components=(one, two), queue=True, queue_timeout=SECOND)
        admit_one(rack, components=(two,), queue=True)
    assert tasks_expire(now=NOW + SECOND) == 0
    engine.ids.clear()
    assert tasks_expire(now=NOW + 2 * SECOND) == 3
    assert len(engine.ids) == 3
    assert tasks_expire(now=NOW + 2 * SECOND) == 0


def test_chores_walk_in_batches(monkeypatch):
    """F-261: every lane is reached, a few at a time."""
    monkeypatch.setattr("tasks.services.CHORE_BATCH", 2)
    for n in range(5):
        rack = make_rack(f"r{n}")
        first = admit_one(rack)
        admit_one(rack, queue=True)
        finish(first)
    assert lanes_sweep(now=NOW) == 5
    assert lanes_sweep(now=NOW) == 0
