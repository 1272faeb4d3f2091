"""D-29, the firing side: nothing is claimed or submitted while held; at the release D-6 and D-9 decide."""

from __future__ import annotations

import logging
import uuid
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from audit.models import AuditEntry
from dispatcher import firing
from dispatcher import submit as submit_module
from dispatcher.claim import claim
from dispatcher.models import Firing, FiringScope
from dispatcher.recover import MAX_TAKEOVERS, recover
from dispatcher.submit import submit
from flowsched import clock
from flowsched.errors import PreconditionFailed
from schedules.models import TaskSchedule
from tasks.hold import Held
from tasks.holding import hold_release, hold_set
from tasks.models import Task
from tests.dispatcher.helpers import (
    BY,
    NOW,
    due_schedule,
    finish_tasks,
    firing_of,
    holder,
    outcomes,
    queries,
    racks,
    row_held,
)
from tests.dispatcher.test_loop import loop

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)


@pytest.fixture(autouse=True)
def _quiet(caplog):
    caplog.set_level(logging.CRITICAL, "dispatcher")


def hold(reason="chiller work", now=NOW):
    return hold_set(reason=reason, by=BY, now=now)


def release(now=NOW):
    return hold_release(by=BY, now=now)


def expire_leases() -> None:
    Firing.objects.filter(closed_at=None).update(lease_until=NOW - timedelta(seconds=1))


def put_down(row: TaskSchedule, now=NOW) -> None:
    """Claimed before a hold that begins before the submission."""
    mine = holder()
    _, ids = claim(now, 10, holder=mine)
    hold(now=now)
    assert submit(ids, holder=mine, now=now) == []
    assert outcomes(row) == [("pending", "")]


def test_nothing_is_claimed():
    row = due_schedule("nightly", racks(1))
    hold()
    assert claim(NOW, 10, holder=holder()) == (0, [])
    assert loop().run_once(NOW) == 0
    assert not Firing.objects.exists()
    row.refresh_from_db()
    assert row.next_run_at < NOW


def test_a_held_loop_does_not_look_for_work_and_does_not_spin():
    """Two queries a scan, the sleep as long as without a due schedule; no claim is even tried."""
    due_schedule("nightly", racks(1))
    hold()
    idle = loop()
    idle._slow_chores(clock.now())
    with CaptureQueriesContext(connection) as captured:
        assert idle.run_once() == 0
        pause = idle._pause(0)
    assert queries(captured) <= 2
    assert 4.5 <= pause <= 5.1


def test_a_tick_that_came_due_fires_once_at_the_release():
    """D-9, D-10: however many periods passed."""
    row = due_schedule("nightly", racks(1), every="1h")
    hold()
    later = NOW + 10 * HOUR
    assert loop().run_once(later) == 0
    release(later)
    assert loop().run_once(later) == 1
    assert outcomes(row) == [("submitted", "")]
    row.refresh_from_db()
    assert row.next_run_at == later + HOUR


def test_a_tick_beyond_its_grace_is_missed_at_the_release():
    """D-9."""
    row = due_schedule("nightly", racks(1), grace=timedelta(minutes=5))
    hold()
    release(NOW + HOUR)
    assert loop().run_once(NOW + HOUR) == 1
    assert outcomes(row) == [("missed", "too_late")]


def test_an_open_firing_stays_pending_and_is_submitted_at_the_release():
    """D-6: within grace, and its schedule is not due again; it is no takeover."""
    row = due_schedule("nightly", racks(1))
    put_down(row)
    for _ in range(2 * MAX_TAKEOVERS):
        expire_leases()
        assert recover(NOW, 10, holder=holder()) == (0, [])
        assert loop().run_once(NOW) == 0
    assert outcomes(row) == [("pending", "")]
    release()
    loop().run_once(NOW + timedelta(minutes=1))
    assert outcomes(row) == [("submitted", "")]
    assert (firing_of(row).takeovers, firing_of(row).state) == (0, "done")


def test_any_number_of_holds_gives_no_firing_up(monkeypatch):
    """Held again and again between takeover and submission: still no takeover, still enabled."""
    row = due_schedule("nightly", racks(1), every="1000h")
    put_down(row)
    real = submit_module._submit_chunk
    for n in range(MAX_TAKEOVERS + 2):
        release(NOW)
        monkeypatch.setattr(submit_module, "_submit_chunk", lambda *a: (hold(), real(*a))[1])
        expire_leases()
        assert recover(NOW, 10, holder=holder()) == (1, []), n
        monkeypatch.setattr(submit_module, "_submit_chunk", real)
        assert (firing_of(row).takeovers, firing_of(row).lease_token) == (0, None)
    release()
    expire_leases()
    recover(NOW, 10, holder=holder())
    assert outcomes(row) == [("submitted", "")]
    row.refresh_from_db()
    assert row.enabled


def test_a_dispatcher_that_died_under_a_hold_is_a_takeover_like_any_other():
    """D-6: its firing still has its token."""
    row = due_schedule("nightly", racks(1))
    claim(NOW, 10, holder=holder())
    hold()
    expire_leases()
    release()
    recover(NOW, 10, holder=holder())
    assert outcomes(row) == [("submitted", "")]
    assert firing_of(row).takeovers == 1


def test_an_open_firing_beyond_its_grace_is_missed_and_says_held():
    row = due_schedule("graced", racks(1), grace=timedelta(minutes=5))
    put_down(row)
    later = NOW + timedelta(minutes=10)
    release(later)
    Firing.objects.update(lease_until=NOW)
    recover(later, 10, holder=holder())
    assert outcomes(row) == [("missed", "too_late")]
    assert FiringScope.objects.get().reason.startswith("held; found 601 s late")


def test_an_open_firing_whose_schedule_is_due_again_is_superseded():
    """D-6: and the tick itself fires, once."""
    row = due_schedule("hourly", racks(1), every="1h")
    put_down(row)
    later = NOW + 3 * HOUR
    release(later)
    Firing.objects.update(lease_until=NOW)
    assert loop().run_once(later) == 1
    assert outcomes(row) == [("missed", "superseded"), ("submitted", "")]


def test_a_hold_between_two_chunks_stops_the_rest_and_only_the_rest(monkeypatch):
    """The firing that owes nothing more is closed; the other is put down and finished at the release."""
    monkeypatch.setattr(submit_module, "CHUNK", 2)
    on = sorted(racks(3), key=lambda rack: rack.id)
    done, open_ = due_schedule("done", on[:1]), due_schedule("open", on[1:])
    monkeypatch.setattr(submit_module, "fault", lambda name: hold() if name == "submit.between_chunks" else None)
    firing.fire_due(NOW, 10, holder=holder())
    assert firing_of(done).state == "done"
    assert (firing_of(open_).state, firing_of(open_).lease_token) == ("open", None)
    assert sorted(outcomes(open_)) == [("pending", ""), ("submitted", "")]
    monkeypatch.undo()
    release()
    expire_leases()
    loop().run_once(NOW)
    assert outcomes(open_) == [("submitted", "")] * 2
    assert Task.objects.count() == 3


def test_a_hold_met_rack_by_rack_is_no_rack_s_failure(monkeypatch):
    """A chunk that failed for its own reasons is repeated one by one: there a hold stops it too."""
    row = due_schedule("nightly", racks(1))
    mine = holder()
    _, ids = claim(NOW, 10, holder=mine)
    calls = []
    real = submit_module._submit_chunk

    def chunk(*args, **options):
        calls.append(args)
        if len(calls) == 1:
            hold()
            raise ValueError("no fault of the hold")
        return real(*args, **options)

    monkeypatch.setattr(submit_module, "_submit_chunk", chunk)
    assert submit(ids, holder=mine, now=NOW) == []
    assert len(calls) == 2
    assert outcomes(row) == [("pending", "")]
    assert firing_of(row).lease_token is None


@pytest.mark.django_db(transaction=True)
def test_a_firing_kept_open_by_a_locked_rack_is_put_down_and_goes_on_at_the_release():
    """Neither a takeover, nor failed because the hold outlasted the patience with a locked rack."""
    [rack] = racks(1)
    now = clock.now()
    row = due_schedule("nightly", [rack], now=now)
    one = loop()
    with row_held("SELECT 1 FROM rack WHERE id = %s", rack.id):
        assert one.run_once() == 1
        assert len(one.held) == 1
        hold(now=clock.now())
        assert one.run_once() == 0
        assert one.held == []
        assert firing_of(row).lease_token is None
        Firing.objects.update(fired_at=now - timedelta(hours=1))
        release(clock.now())
        other = loop()
        other.run_once()
        other.run_once()
        assert outcomes(row) == [("pending", "")]
    other.run_once()
    assert outcomes(row) == [("submitted", "")]
    assert firing_of(row).takeovers == 0


def test_waiting_tasks_are_not_ended_by_the_dispatcher():
    """ "Waiting ones wait": their time is up, the hold is on."""
    on = racks(1)
    now = clock.now()
    due_schedule("first", on, late=timedelta(minutes=1), now=now)
    second = due_schedule("second", on, overlap="queue", now=now)
    loop().run_once()
    hold(now=now)
    Task.objects.filter(schedule_id=second.id).update(queue_expires_at=clock.now() - timedelta(seconds=1))
    loop().run_once()
    assert Task.objects.get(schedule_id=second.id).status == "waiting"


# Trigger ----------------------------------------------------------------------------------------------------------


def trigger(row, **options):
    return firing.trigger(schedule_id=row.id, by=BY, now=NOW, **options)


def test_a_trigger_is_refused_with_why_who_and_since_when():
    row = due_schedule("nightly", racks(1))
    hold("chiller work")
    with pytest.raises(PreconditionFailed) as refused:
        trigger(row)
    assert refused.value.reason == "HELD"
    for part in ("chiller work", "tester", "2026-11-29 12:00:00Z", "dispatch release"):
        assert part in refused.value.message
    assert not Firing.objects.exists()
    entry = AuditEntry.objects.get(verb="schedule.trigger")
    assert "chiller work" in entry.refused
    release()
    assert len(trigger(row).task_ids) == 1


def test_a_repeated_trigger_is_answered_while_held():
    """It asks what became of the first: nothing is submitted."""
    row = due_schedule("nightly", racks(1))
    request = uuid.uuid4()
    first = trigger(row, request_id=request)
    hold()
    assert trigger(row, request_id=request).task_ids == first.task_ids
    assert Task.objects.count() == 1


def test_a_trigger_overtaken_by_a_hold_leaves_nothing_for_later(monkeypatch):
    """Refused means refused: nobody expects its tasks at the release, hours later."""
    row = due_schedule("nightly", racks(2))
    real = firing.submit
    monkeypatch.setattr(firing, "submit", lambda *a, **k: (hold(), real(*a, **k))[1])
    with pytest.raises(PreconditionFailed) as refused:
        trigger(row)
    assert refused.value.reason == "HELD"
    assert outcomes(row) == [("skipped", "held")] * 2
    assert firing_of(row).state == "done"
    release()
    expire_leases()
    loop().run_once(NOW)
    assert not Task.objects.exists()


def test_finished_firings_are_closed_while_held():
    """Writing back is not submitting."""
    row = due_schedule("nightly", racks(1))
    mine = holder()
    _, ids = claim(NOW, 10, holder=mine)
    submit(ids, holder=mine, now=NOW)
    hold()
    assert firing.write_back(ids, holder=mine, now=NOW) == 1
    assert firing_of(row).state == "done"
    assert finish_tasks() == 1


def test_a_chunk_raises_held_before_it_writes():
    due_schedule("nightly", racks(1))
    mine = holder()
    _, ids = claim(NOW, 10, holder=mine)
    hold()
    with pytest.raises(Held):
        submit(ids, holder=mine, now=NOW, wait=True)
