"""D-29, the tasks' side: direct operations are refused, who waits goes on waiting, and the gate holds tight."""

from __future__ import annotations

import threading
from datetime import timedelta
from uuid import uuid4

import pytest
from django.db import IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext

from audit.models import AuditEntry
from flowsched import clock
from flowsched.errors import Busy, InvalidInput, PreconditionFailed
from tasks import holding, submission
from tasks.hold import GATE, LOCKS, Held, hold_current, hold_gate, holds_list, last_release
from tasks.holding import MAX_REASON, hold_release, hold_set
from tasks.lanes import lanes_promote
from tasks.models import Hold, Task
from tasks.services import lanes_sweep, task_acknowledge, task_cancel, tasks_expire
from tests.dispatcher.helpers import session
from tests.tasks.admission.helpers import (
    ALICE,
    NOW,
    SECOND,
    Background,
    admit,
    admit_one,
    in_threads,
    make_rack,
    start_run,
    status,
    sub,
    wait_for_blocked,
)
from tests.tasks.admission.test_submit_direct import submit

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)


def hold(reason="chiller work", now=NOW):
    return hold_set(reason=reason, by=ALICE, now=now)


def release(now=NOW):
    return hold_release(by=ALICE, now=now)


# The switch -------------------------------------------------------------------------------------------------------


def test_holding_and_releasing_are_recorded_with_who_when_and_why():
    assert hold().news == "begun"
    assert hold("pump work", NOW + SECOND).news == "reason"
    assert hold("pump work", NOW + 2 * SECOND).news == "unchanged"
    assert release(NOW + HOUR).hold.released_at == NOW + HOUR
    [row] = holds_list(limit=10)
    assert (row.reason, row.held_by, row.held_at) == ("pump work", "alice", NOW)
    assert (row.released_by, row.released_at, last_release()) == ("alice", NOW + HOUR, NOW + HOUR)
    entries = AuditEntry.objects.order_by("id").values_list("verb", "actor", "before", "after__reason", "object_id")
    assert list(entries) == [
        ("dispatch.hold", "alice", None, "chiller work", str(row.id)),
        ("dispatch.hold", "alice", {"reason": "chiller work"}, "pump work", str(row.id)),
        ("dispatch.release", "alice", None, "pump work", str(row.id)),
    ]


def test_releasing_what_is_not_held_is_refused_and_recorded():
    with pytest.raises(PreconditionFailed) as refused:
        release()
    assert refused.value.reason == "NOT_HELD"
    assert "not held" in AuditEntry.objects.get(verb="dispatch.release").refused


def test_history_keeps_every_hold():
    for n in range(3):
        hold(f"r{n}", NOW + n * HOUR)
        release(NOW + n * HOUR + SECOND)
    assert [row.reason for row in holds_list(limit=2)] == ["r2", "r1"]
    assert hold_current() is None


@pytest.mark.parametrize("reason", ["", "  ", "a\nb", "a\x00b", "x" * (MAX_REASON + 1)])
def test_a_reason_is_one_line_and_not_empty(reason):
    with pytest.raises(InvalidInput) as refused:
        hold(reason)
    assert refused.value.field == "reason"
    assert hold_current() is None


def test_the_database_allows_one_hold_at_a_time():
    hold()
    with pytest.raises(IntegrityError, match="hold_one_open"), transaction.atomic():
        Hold.objects.create(reason="x", held_by="x", held_at=NOW)


@pytest.mark.django_db(transaction=True)
def test_many_who_hold_and_release_at_once_take_turns():
    results = in_threads(*[lambda n=n: hold(f"r{n}") for n in range(4)])
    assert sorted(result.news for result in results) == ["begun", "reason", "reason", "reason"]
    results = in_threads(*[release for _ in range(3)])
    assert sorted(type(result).__name__ for result in results) == ["PreconditionFailed"] * 2 + ["Released"]
    assert Hold.objects.count() == 1


# The gate ---------------------------------------------------------------------------------------------------------


def test_the_gate_is_one_query_and_only_for_a_transaction(transactional_db):
    with pytest.raises(transaction.TransactionManagementError):
        hold_gate()
    with transaction.atomic(), CaptureQueriesContext(connection) as captured:
        assert hold_gate() is None
    assert len(captured) == 1
    hold()
    with transaction.atomic():
        assert hold_gate().reason == "chiller work"


@pytest.mark.django_db(transaction=True)
def test_a_hold_waits_for_who_passed_the_gate_before():
    passed, go_on = threading.Event(), threading.Event()

    def begin_something() -> None:
        with transaction.atomic():
            assert hold_gate() is None
            passed.set()
            assert go_on.wait(20)

    working = Background(begin_something)
    assert passed.wait(20)
    holding_ = Background(hold)
    wait_for_blocked()
    with transaction.atomic():
        assert hold_gate() is not None  # on for everybody else already, and nobody waits behind it
    go_on.set()
    assert holding_.join().news == "begun"
    assert working.join() is None


@pytest.mark.django_db(transaction=True)
def test_a_stuck_session_keeps_the_hold_from_being_confirmed_not_from_being_on(monkeypatch):
    monkeypatch.setattr(holding, "UNDER_WAY", timedelta(milliseconds=200))
    with session() as stuck:
        stuck.execute("SELECT pg_advisory_xact_lock_shared(%s, %s)", [LOCKS, GATE])
        with pytest.raises(Busy, match="hold is on, but") as told:
            hold()
        assert told.value.reason == "UNDER_WAY"
        assert hold_current() is not None
    assert hold().news == "unchanged"


@pytest.mark.django_db(transaction=True)
def test_a_gate_that_cannot_be_passed_nor_is_held_is_busy():
    """Put on and released in one breath: nobody may go on without the lock."""
    with session() as other:
        other.execute("SELECT pg_advisory_xact_lock(%s, %s)", [LOCKS, GATE])
        with pytest.raises(Busy), transaction.atomic():
            hold_gate()


# Direct operations ------------------------------------------------------------------------------------------------


def test_a_direct_operation_is_refused_with_why_who_and_since_when():
    racks = make_rack("r1"), make_rack("r2")
    hold()
    with pytest.raises(PreconditionFailed) as refused:
        submit(*racks)
    assert refused.value.reason == "HELD"
    for part in ("chiller work", "alice", "2026-12-01 12:00:00Z", "dispatch release"):
        assert part in refused.value.message
    assert not Task.objects.exists()
    assert "chiller work" in AuditEntry.objects.get(verb="task.submit").refused
    release()
    assert [outcome.state for outcome in submit(*racks)] == ["submitted"] * 2


def test_a_repeated_request_is_answered_while_held():
    racks, key = (make_rack("r1"), make_rack("r2")), uuid4()
    first = submit(*racks, idempotency_key=key)
    hold()
    assert submit(*racks, idempotency_key=key) == first
    with pytest.raises(Held):
        submit(*racks, make_rack("r3"), idempotency_key=key)
    assert Task.objects.count() == 2


def test_a_hold_between_two_chunks_refuses_the_racks_that_are_left(monkeypatch):
    monkeypatch.setattr(submission, "MAX_BATCH", 2)
    real, racks = submission._chunk, [make_rack(f"r{n}") for n in range(5)]

    def chunk(*args):
        outcomes = real(*args)
        hold()
        return outcomes

    monkeypatch.setattr(submission, "_chunk", chunk)
    outcomes = submit(*racks)
    assert sorted((o.state, o.reason_code) for o in outcomes) == [("rejected", "held")] * 3 + [("submitted", "")] * 2
    assert all("chiller work" in o.reason for o in outcomes if o.state == "rejected")
    assert Task.objects.count() == 2


def test_a_hold_that_begins_while_a_locked_rack_is_waited_for_refuses_that_rack(monkeypatch):
    real, racks = submission._chunk, [make_rack(f"r{n}") for n in range(2)]

    def chunk(chunk, request):
        first, second = chunk
        outcomes = [*real([first], request), submission._locked(second)]
        hold()
        return outcomes

    monkeypatch.setattr(submission, "_chunk", chunk)
    assert sorted(o.reason_code for o in submit(*racks)) == ["", "held"]
    assert Task.objects.count() == 1


def test_admission_itself_refuses():
    """Whoever calls it: nothing is written."""
    hold()
    with pytest.raises(Held):
        admit(sub(make_rack()))
    assert not Task.objects.exists()


# Who waits --------------------------------------------------------------------------------------------------------


def two_in_a_row(timeout=None, now=NOW):
    rack = make_rack(f"r{uuid4().hex[:6]}")
    return admit_one(rack, now=now), admit_one(rack, queue=True, queue_timeout=timeout, now=now)


def test_nobody_is_promoted_until_the_release(engine):
    first, waiting = two_in_a_row()
    hold()
    task_cancel(task_id=first.id, by=ALICE, now=NOW)  # cancelling is allowed
    assert status(first) == "terminated"
    assert lanes_sweep(now=NOW) == 0
    with transaction.atomic():
        assert lanes_promote([waiting.lane], now=NOW) == []
    assert status(waiting) == "waiting"
    assert release().promoted == 1
    assert status(waiting) == "pending"
    assert waiting.id in engine.ids


def test_an_unknown_outcome_can_be_acknowledged_while_held():
    first, waiting = two_in_a_row()
    start_run(first, state="unknown")
    hold()
    assert task_acknowledge(task_id=first.id, as_="failed", by=ALICE, now=NOW).status == "failed"
    assert status(waiting) == "waiting"


def test_nobody_s_time_runs_out_and_the_hold_is_added_to_it():
    """Waiting 10 minutes, 4 of them passed; after a hold of 3 hours 6 are left."""
    _, waiting = two_in_a_row(timedelta(minutes=10))
    hold(now=NOW + timedelta(minutes=4))
    later = NOW + timedelta(hours=3, minutes=4)
    assert tasks_expire(now=later) == 0
    assert lanes_sweep(now=later) == 0
    assert status(waiting) == "waiting"
    assert release(later).waiting == 1
    assert tasks_expire(now=later + timedelta(minutes=6)) == 0
    assert tasks_expire(now=later + timedelta(minutes=6, microseconds=1)) == 1
    assert status(waiting) == "terminated"


def test_the_chores_look_at_no_lane_while_held():
    """However many wait beyond their time: one query a round."""
    two_in_a_row(SECOND)
    hold()
    for chore in (tasks_expire, lanes_sweep):
        with CaptureQueriesContext(connection) as captured:
            assert chore(now=NOW + HOUR) == 0
        assert len(captured) == 1


def test_time_that_was_over_before_the_hold_stays_over():
    _, waiting = two_in_a_row(timedelta(minutes=10))
    hold(now=NOW + timedelta(minutes=11))
    assert release(NOW + HOUR).waiting == 0
    assert status(waiting) == "terminated"  # by the sweep of the release


def test_a_full_lane_is_not_touched_by_a_finish_while_held():
    """Neither promoted nor ended, in whatever transaction lanes are settled."""
    first, waiting = two_in_a_row(SECOND)
    hold()
    task_cancel(task_id=first.id, by=ALICE, now=NOW + HOUR)
    assert status(waiting) == "waiting"


def test_a_release_that_cannot_go_on_at_once_is_a_release(monkeypatch, caplog):
    """The chores do within a minute what it could not."""

    def away(**_options):
        raise Busy("a lock")

    monkeypatch.setattr(holding, "lanes_sweep", away)
    hold()
    assert (release().started, hold_current()) == (0, None)
    assert "within a minute" in caplog.text


def test_the_clock_of_the_database_is_the_clock_of_a_hold():
    """A door passes flowsched.clock.now(); what is stored is what it passed."""
    now = clock.now()
    assert hold(now=now).hold.held_at == now
