"""Firings whose process died: finished, missed or given up, never twice (D-6)."""

from __future__ import annotations

import logging
from datetime import timedelta

import pytest
from django.db import connection, transaction

from dispatcher import firing
from dispatcher import recover as recover_module
from dispatcher import submit as submit_module
from dispatcher.claim import claim
from dispatcher.loop import Loop
from dispatcher.models import Firing, FiringScope
from dispatcher.recover import MAX_TAKEOVERS, recover
from dispatcher.retention import firings_forget
from dispatcher.submit import fail_scopes, submit
from dispatcher.writeback import write_back
from flowsched import clock, db
from flowsched.errors import Busy
from schedules.models import TaskSchedule
from scopes.models import TaskScheduleScope
from tasks.models import Task
from tests.dispatcher.helpers import NOW, due_schedule, finish_tasks, firing_of, holder, outcomes, racks, row_held

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _quiet(caplog):
    caplog.set_level(logging.CRITICAL, "dispatcher")


def died_after_claim(*rows: TaskSchedule) -> None:
    """The process that claimed these died at once; its lease has run out."""
    claim(NOW, 100, holder=holder())
    expire_leases()


def expire_leases() -> None:
    Firing.objects.filter(closed_at=None).update(lease_until=NOW - timedelta(seconds=1))


def test_death_after_phase_one_loses_nothing():
    """F-237, F-287, D-6, X-2: exactly once: whoever takes over submits what is pending."""
    row = due_schedule("nightly", racks(3))
    died_after_claim(row)
    assert recover(NOW, 10, holder=holder()) == (1, [])
    assert outcomes(row) == [("submitted", "")] * 3
    assert Task.objects.count() == 3
    assert (firing_of(row).state, firing_of(row).takeovers) == ("done", 1)


def test_death_between_chunks_goes_on_with_the_rest():
    """X-2: what has an outcome keeps it; the rest is submitted; no key gets a second task."""
    row = due_schedule("nightly", racks(2))
    mine = holder()
    _, [open_firing] = claim(NOW, 10, holder=mine)
    first = FiringScope.objects.order_by("id").first()
    fail_scopes([first.id], "submission_error", "by hand", mine)
    expire_leases()
    recover(NOW, 10, holder=holder())
    assert sorted(outcomes(row)) == [("failed", "submission_error"), ("submitted", "")]
    assert Task.objects.count() == 1
    assert Firing.objects.get(id=open_firing).failed_count == 1


def test_death_before_phase_three_is_written_back():
    """F-236, F-289, X-3: last tasks are remembered, the firing closed, nothing submitted again."""
    row = due_schedule("nightly", racks(2))
    mine = holder()
    _, ids = claim(NOW, 10, holder=mine)
    submit(ids, holder=mine, now=NOW)
    assert not TaskScheduleScope.objects.filter(last_task__isnull=False).exists()
    expire_leases()
    recover(NOW, 10, holder=holder())
    assert TaskScheduleScope.objects.filter(schedule=row, last_task__isnull=False).count() == 2
    assert Task.objects.count() == 2
    assert firing_of(row).submitted_count == 2


def test_a_live_lease_is_not_taken_over():
    """D-6: only a lease that has run out."""
    due_schedule("nightly", racks(1))
    claim(NOW, 10, holder=holder())
    Firing.objects.update(lease_until=NOW)
    assert recover(NOW, 10, holder=holder()) == (0, [])


def test_the_sleeper_writes_nothing_after_a_takeover():
    """X-15, D-6: every write compares the token."""
    row = due_schedule("nightly", racks(1))
    sleeper = holder()
    _, ids = claim(NOW, 10, holder=sleeper)
    Firing.objects.update(lease_token=holder().token)
    assert submit(ids, holder=sleeper, now=NOW) == []
    scope = FiringScope.objects.get()
    assert fail_scopes([scope.id], "x", "y", sleeper) == 0
    assert outcomes(row) == [("pending", "")]
    FiringScope.objects.update(state="skipped")
    assert write_back(ids, holder=sleeper, now=NOW) == 0
    assert firing_of(row).state == "open"


def test_a_late_one_is_superseded_by_the_next_tick():
    """D-6: a late firing is never followed at once by its successor."""
    row = due_schedule("nightly", racks(1), every="1m")
    died_after_claim(row)
    later = NOW + timedelta(minutes=2)
    recover(later, 10, holder=holder())
    assert outcomes(row) == [("missed", "superseded")]
    assert "superseded by the tick due at 2026-11-29T12:01:00Z" in FiringScope.objects.get().reason
    assert firing.fire_due(later, 10, holder=holder()).claimed == 1
    assert Task.objects.count() == 1


def test_beyond_the_grace_it_is_missed():
    """D-6, D-9: pending scopes are submitted only within grace."""
    row = due_schedule("graced", racks(1), grace=timedelta(minutes=5))
    died_after_claim(row)
    recover(NOW + timedelta(minutes=6), 10, holder=holder())
    assert outcomes(row) == [("missed", "too_late")]
    assert not Task.objects.exists()


def test_a_schedule_deleted_behind_our_back_is_skipped():
    """D-6: its rows were deleted by hand; the firing closes and says so."""
    row = due_schedule("gone", racks(1))
    died_after_claim(row)
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM task_schedule WHERE id = %s", [row.id])
    recover(NOW, 10, holder=holder())
    assert outcomes(row) == [("skipped", "deleted")]


def test_after_three_takeovers_it_is_given_up():
    """D-6, X-26: closed as failed, the schedule disabled, what was submitted stays."""
    row = due_schedule("poison", racks(1))
    died_after_claim(row)
    Firing.objects.update(takeovers=MAX_TAKEOVERS)
    recover(NOW, 10, holder=holder())
    record = firing_of(row)
    assert (record.state, record.failed_count) == ("failed", 1)
    assert outcomes(row) == [("failed", "given_up")]
    row.refresh_from_db()
    assert (row.enabled, row.disabled_kind) == (False, "system")
    assert "taken over 3 times" in row.disabled_reason


@pytest.mark.parametrize("held", [False, True])
def test_giving_up_one_whose_schedule_is_deleted_or_held_does_not_stop_the_others(monkeypatch, held):
    """D-6, X-26: the given up one is closed, now or when its lease has run out again; its neighbour is finished."""
    bad, good = due_schedule("bad", racks(1)), due_schedule("good", racks(1))
    died_after_claim(bad, good)
    Firing.objects.filter(schedule_id=bad.id).update(takeovers=MAX_TAKEOVERS)
    Firing.objects.filter(schedule_id=good.id).update(takeovers=1)
    if held:

        def busy(**_):
            raise Busy("held by psql")

        monkeypatch.setattr("dispatcher.recover.schedule_disable", busy)
    else:
        with connection.cursor() as cursor:
            cursor.execute("DELETE FROM task_schedule WHERE id = %s", [bad.id])
    recover(NOW, 10, holder=holder())
    assert outcomes(good) == [("submitted", "")]
    assert outcomes(bad) == [("pending", "") if held else ("failed", "given_up")]
    assert firing_of(bad).state == ("open" if held else "failed")


def test_what_was_taken_over_before_is_taken_over_alone():
    """X-26: a firing that kills its dispatchers raises nobody else's count after the first time."""
    rows = [due_schedule(f"s{n}", racks(1)) for n in range(3)]
    died_after_claim(*rows)
    Firing.objects.update(takeovers=1)
    real = recover_module.submit
    calls = []

    def submit_one(ids, **how):
        calls.append(list(ids))
        taken = Firing.objects.filter(closed_at=None, takeovers__gt=1)
        assert list(taken.values_list("id", flat=True)) == calls[-1]
        return real(ids, **how)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recover_module, "submit", submit_one)
        assert recover(NOW, 10, holder=holder())[0] == 3
    assert [len(ids) for ids in calls] == [1, 1, 1]
    assert not Firing.objects.filter(closed_at=None).exists()


def test_after_an_outage_what_is_in_hand_goes_on_unless_its_lease_has_run_out():
    """X-4: a dispatcher whose connection was lost need not wait for its own lease; what is late is recovery's."""
    row = due_schedule("nightly", racks(1))
    mine = holder()
    _, ids = claim(NOW, 10, holder=mine)
    assert firing.in_hand(holder=mine) == ids
    assert firing.in_hand(holder=holder()) == []
    assert firing.resume_held(ids, holder=mine, now=NOW) == []
    assert firing_of(row).takeovers == 0
    due_schedule("late", racks(1))
    claim(NOW, 10, holder=mine)
    Firing.objects.filter(closed_at=None).update(lease_until=clock.now() - timedelta(seconds=1))
    assert firing.in_hand(holder=mine) == []


def test_a_firing_given_up_counts_every_outcome_it_has():
    """D-31: what was skipped before it was given up is counted beside what failed."""
    row = due_schedule("poison", racks(3))
    died_after_claim(row)
    first = FiringScope.objects.order_by("id").first()
    FiringScope.objects.filter(id=first.id).update(state="skipped", reason_code="scope_changed", reason="by hand")
    Firing.objects.update(takeovers=MAX_TAKEOVERS)
    recover(NOW, 10, holder=holder())
    record = firing_of(row)
    assert (record.state, record.skipped_count, record.failed_count) == ("failed", 1, 2)
    assert "taken over 3 times" in record.reason


def test_the_third_takeover_still_tries():
    """D-6: three, not two."""
    row = due_schedule("unlucky", racks(1))
    died_after_claim(row)
    Firing.objects.update(takeovers=MAX_TAKEOVERS - 1)
    recover(NOW, 10, holder=holder())
    assert outcomes(row) == [("submitted", "")]


def test_a_last_task_never_moves_back_to_an_older_firing():
    """model.md, phase 3: an older firing finished late does not hide the newer task from the overlap check."""
    row = due_schedule("nightly", racks(1))
    old = holder()
    _, old_ids = claim(NOW, 10, holder=old)
    submit(old_ids, holder=old, now=NOW)
    finish_tasks()
    TaskSchedule.objects.filter(id=row.id).update(next_run_at=NOW + timedelta(seconds=5))
    firing.fire_due(NOW + timedelta(minutes=1), 10, holder=holder())
    newer = TaskScheduleScope.objects.get().last_task_id
    write_back(old_ids, holder=old, now=NOW + timedelta(minutes=2))
    assert TaskScheduleScope.objects.get().last_task_id == newer
    assert not Firing.objects.filter(closed_at=None).exists()


def test_a_failing_chunk_goes_rack_by_rack(monkeypatch):
    """D-4, F-233, model.md: one bad scope costs its own outcome, not its chunk's."""
    on = racks(3)
    row = due_schedule("nightly", on)
    real = submit_module.tasks_admit

    def admit(submissions, **options):
        if any(s.rack_id == on[1].id for s in submissions):
            with connection.cursor() as cursor:
                cursor.execute("SELECT 1 / 0")
        return real(submissions, **options)

    monkeypatch.setattr(submit_module, "tasks_admit", admit)
    firing.fire_due(NOW, 10, holder=holder())
    assert outcomes(row) == [("submitted", ""), ("failed", "submission_error"), ("submitted", "")]
    reason = FiringScope.objects.get(state="failed").reason
    assert "SELECT" not in reason
    assert Task.objects.count() == 2


def test_write_back_is_tried_again(monkeypatch):
    """F-236: at most three attempts with waits between."""
    monkeypatch.setattr(db, "PAUSE_SECONDS", 0.001)
    row = due_schedule("nightly", racks(1))
    firing.fire_due(NOW, 10, holder=holder())
    assert firing_of(row).state == "done"


@pytest.mark.django_db(transaction=True)
def test_write_back_waits_out_a_lock_and_leaves_the_firing_for_later():
    """F-236: three attempts at a held scope row, then Busy; the firing stays open and is taken over."""
    row = due_schedule("nightly", racks(1))
    mine = holder()
    _, ids = claim(NOW, 10, holder=mine)
    submit(ids, holder=mine, now=NOW)
    with connection.cursor() as cursor:
        cursor.execute("SET lock_timeout = '50ms'")
    try:
        with row_held("SELECT 1 FROM task_schedule_scope WHERE schedule_id = %s", row.id):
            with pytest.raises(Busy):
                write_back(ids, holder=mine, now=NOW)
            assert not transaction.get_connection().in_atomic_block
    finally:
        with connection.cursor() as cursor:
            cursor.execute("RESET lock_timeout")
    expire_leases()
    recover(NOW, 10, holder=holder())
    assert firing_of(row).state == "done"


def test_old_closed_firings_are_forgotten_and_open_ones_never(settings):
    """D-30, R14: history is kept at least seven days; what is open counts as active, however old."""
    settings.FLOWSCHED_HISTORY_DAYS = 1
    on = racks(1)
    closed = due_schedule("closed", on)
    firing.fire_due(NOW, 10, holder=holder())
    still_open = due_schedule("open", on)
    claim(NOW, 10, holder=holder())
    assert firings_forget(now=NOW + timedelta(days=7)) == 0
    assert firings_forget(now=NOW + timedelta(days=7, seconds=1)) == 1
    assert not Firing.objects.filter(schedule_id=closed.id).exists()
    assert outcomes(closed) == []
    assert outcomes(still_open) == [("pending", "")]


def test_forgetting_goes_on_at_each_wake_up_until_nothing_old_is_left(monkeypatch):
    """More than one batch is due after an outage, or when the days are lowered: not one batch every five minutes."""
    on = racks(3)
    now = clock.now()
    for number in range(5):
        due_schedule(f"old {number}", on)
    firing.fire_due(NOW, 10, holder=holder())
    Firing.objects.update(fired_at=now - timedelta(days=400))
    monkeypatch.setattr("dispatcher.loop.firings_forget", lambda *, now: firings_forget(now=now, limit=4, scopes=7))
    seconds = iter([1e9, *[1e9 + n / 100 for n in range(1, 200)]])
    loop = Loop(batch_size=10, poll_interval=10.0, clock=lambda: next(seconds))
    left = []
    while loop._forgetting or not left:
        loop._slow_chores(now)
        left.append(Firing.objects.count())
    assert left == [3, 1, 0, 0]


def test_a_firing_larger_than_a_batch_is_forgotten_alone():
    on = racks(3)
    for number in range(2):
        due_schedule(f"large {number}", on)
    firing.fire_due(NOW, 10, holder=holder())
    assert firings_forget(now=NOW + timedelta(days=400), scopes=2) == 1
    assert firings_forget(now=NOW + timedelta(days=400), scopes=2) == 1
