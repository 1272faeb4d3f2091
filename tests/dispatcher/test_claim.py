"""Phase 1: what is claimed, what is decided, how the schedule advances."""

from __future__ import annotations

import json
import logging
import uuid
from datetime import UTC, datetime, timedelta

import pytest

from dispatcher import firing
from dispatcher.claim import claim
from dispatcher.models import Firing, FiringScope
from dispatcher.records import scope_key, tick_key
from inventory.models import Rack
from schedules.models import TaskSchedule
from schedules.services import schedule_delete
from scopes.models import TaskScheduleScope
from tasks.models import Task
from tests.dispatcher.helpers import (
    BY,
    NOW,
    due_schedule,
    finish_tasks,
    fire,
    firing_of,
    holder,
    outcomes,
    racks,
    reread,
    row_held,
)

pytestmark = pytest.mark.django_db


def test_a_due_schedule_gives_one_task_a_rack_and_a_record():
    """F-225, F-230, D-4: one firing, one scope row and one task per rack; next run is dispatch time plus interval."""
    on = racks(3)
    row = due_schedule("nightly", on, every="1h")
    assert fire() == 1
    record = firing_of(row)
    assert (record.state, record.cause, record.due_at, record.fired_at) == (
        "done",
        "automatic",
        NOW - timedelta(seconds=1),
        NOW,
    )
    assert record.submitted_count == 3
    assert outcomes(row) == [("submitted", "")] * 3
    assert reread(row).next_run_at == NOW + timedelta(hours=1)
    assert row.last_run_at == NOW
    tasks = Task.objects.filter(schedule_id=row.id)
    assert {task.rack_id for task in tasks} == {rack.id for rack in on}
    last = dict(TaskScheduleScope.objects.filter(schedule=row).values_list("rack_id", "last_task_id"))
    assert last == {task.rack_id: task.id for task in tasks}
    assert fire() == 0


def test_the_description_and_strategy_of_a_task():
    """F-232: the description names schedule and time; SKIP submits with reject, QUEUE waits."""
    [rack] = racks(1)
    row = due_schedule("nightly", [rack])
    fire()
    task = Task.objects.get(schedule_id=row.id)
    assert task.description == "nightly — 2026-11-29T12:00:00Z"
    assert (task.type, task.code, task.information) == ("power_control", "power_on", {"operation": 1, "forced": False})
    second = due_schedule("second", [rack], overlap="queue")
    fire()
    assert Task.objects.get(schedule_id=second.id).status == "waiting"


def test_skip_leaves_out_only_the_racks_whose_previous_task_is_active():
    """F-231: per scope; NULL last_task is eligible."""
    on = racks(3)
    row = due_schedule("nightly", on)
    fire()
    finish_tasks(rack_id=on[0].id)
    TaskScheduleScope.objects.filter(schedule=row, rack=on[2]).update(last_task=None)
    finish_tasks(rack_id=on[2].id)
    TaskSchedule.objects.filter(id=row.id).update(next_run_at=NOW)
    later = NOW + timedelta(minutes=1)
    assert fire(later) == 1
    assert outcomes(row)[3:] == [("submitted", ""), ("skipped", "overlap"), ("submitted", "")]
    reason = FiringScope.objects.filter(state="skipped").get().reason
    assert "previous task of this schedule" in reason
    previous = TaskScheduleScope.objects.get(schedule=row, rack=on[1]).last_task
    assert reason.endswith(f"is still pending, since {previous.created_at:%Y-%m-%dT%H:%M:%SZ} (task {previous.pk})")


@pytest.mark.parametrize("status", ["waiting", "pending", "running"])
def test_every_active_status_counts_as_overlap(status):
    """F-231, F-240: waiting, pending and running are active for overlap."""
    on = racks(1)
    row = due_schedule("nightly", on)
    fire()
    expiry = NOW + timedelta(hours=1) if status == "waiting" else None
    Task.objects.filter(schedule_id=row.id).update(status=status, queue_expires_at=expiry)
    TaskSchedule.objects.filter(id=row.id).update(next_run_at=NOW)
    fire(NOW + timedelta(minutes=1))
    assert outcomes(row)[1:] == [("skipped", "overlap")]


def test_queue_policy_submits_every_scope():
    """F-231: under queue nothing is dropped; the task waits instead."""
    on = racks(1)
    row = due_schedule("nightly", on, overlap="queue")
    fire()
    TaskSchedule.objects.filter(id=row.id).update(next_run_at=NOW)
    fire(NOW + timedelta(minutes=1))
    assert outcomes(row) == [("submitted", "")] * 2
    assert sorted(Task.objects.values_list("status", flat=True)) == ["pending", "waiting"]


def test_all_skipped_advances_without_touching_last_run():
    """F-226: interval T+d, last_run_at unchanged when every scope was skipped."""
    row = due_schedule("nightly", racks(1))
    fire()
    TaskSchedule.objects.filter(id=row.id).update(next_run_at=NOW)
    later = NOW + timedelta(minutes=5)
    fire(later)
    assert reread(row).last_run_at == NOW
    assert row.next_run_at == later + timedelta(hours=1)
    assert "nothing was submitted" in Firing.objects.filter(schedule_id=row.id).latest("id").reason


def test_one_time_all_skipped_is_consumed_without_last_run():
    """D-10, F-291: consumed with its reason recorded, last_run_at stays null."""
    on = racks(1)
    row = due_schedule("once", on, at="2026-11-29T11:00:00Z")
    TaskScheduleScope.objects.filter(schedule=row).update(component_filter={"kind": "nonsense"})
    fire()
    assert not reread(row).enabled
    assert (row.disabled_kind, row.next_run_at, row.last_run_at) == ("consumed", None, None)
    assert outcomes(row) == [("failed", "filter_unreadable")]


def test_one_time_is_consumed_by_its_firing():
    """F-225: next_run_at NULL and enabled false; last_run_at set; it says that it fired."""
    row = due_schedule("once", racks(1), at="2026-11-29T11:00:00Z")
    fire()
    assert (reread(row).enabled, row.next_run_at, row.disabled_kind, row.last_run_at) == (False, None, "consumed", NOW)
    assert "it fired at 2026-11-29T12:00:00Z" in row.disabled_reason


def test_cron_advances_to_the_next_time_in_its_zone():
    """F-225: cron next after T, in the schedule's zone."""
    row = due_schedule("cron", racks(1), cron="0 2 * * *", timezone="America/New_York")
    fire()
    assert reread(row).next_run_at == datetime(2026, 11, 30, 7, 0, tzinfo=UTC)


def test_missed_periods_are_not_replayed():
    """F-227: one firing after a day down, then the next from now."""
    row = due_schedule("nightly", racks(1), every="1m", late=timedelta(days=1))
    assert fire() == 1
    assert fire() == 0
    assert Firing.objects.count() == 1
    assert reread(row).next_run_at == NOW + timedelta(minutes=1)


def test_disabled_and_future_schedules_are_left_alone():
    """F-229: only enabled rows whose next_run_at has come."""
    on = racks(1)
    paused = due_schedule("paused", on)
    TaskSchedule.objects.filter(id=paused.id).update(enabled=False, disabled_kind="person", disabled_at=NOW)
    future = due_schedule("future", on)
    TaskSchedule.objects.filter(id=future.id).update(next_run_at=NOW + timedelta(microseconds=1))
    assert fire() == 0
    assert Firing.objects.count() == 0


def test_the_oldest_due_come_first_and_no_more_than_the_limit():
    """F-229: ordered by next_run_at, limited to the batch."""
    on = racks(1)
    for number in (3, 1, 2):
        due_schedule(f"s{number}", on, late=timedelta(minutes=10 - number))
    assert fire(limit=2) == 2
    assert set(Firing.objects.values_list("schedule_name", flat=True)) == {"s1", "s2"}


def test_later_than_the_grace_is_missed():
    """D-9: outcome missed with the lateness, advanced, nothing submitted, last_run_at untouched."""
    row = due_schedule("graced", racks(1), grace=timedelta(minutes=5), late=timedelta(minutes=5, seconds=1))
    fire()
    assert outcomes(row) == [("missed", "too_late")]
    scope = FiringScope.objects.get()
    assert "301 s late" in scope.reason
    assert "300 s" in scope.reason
    assert reread(row).next_run_at == NOW + timedelta(hours=1)
    assert row.last_run_at is None
    assert not Task.objects.exists()


def test_within_the_grace_fires():
    """D-9: at the limit it still fires."""
    row = due_schedule("graced", racks(1), grace=timedelta(minutes=5), late=timedelta(minutes=5))
    fire()
    assert outcomes(row) == [("submitted", "")]


def test_without_scopes_it_advances_and_says_so():
    """F-230, D-19: advance-only, recorded."""
    row = due_schedule("empty", racks(1))
    TaskScheduleScope.objects.filter(schedule=row).delete()
    fire()
    assert reread(row).next_run_at == NOW + timedelta(hours=1)
    record = firing_of(row)
    assert record.state == "done"
    assert "no scopes" in record.reason
    assert row.enabled


def test_streaks_count_what_was_not_done():
    """D-31: skipped, rejected and missed raise the streak; a submission ends it."""
    [rack] = racks(1)
    row = due_schedule("nightly", [rack])
    fire()
    for minute in (1, 2):
        TaskSchedule.objects.filter(id=row.id).update(next_run_at=NOW + timedelta(seconds=minute))
        fire(NOW + timedelta(minutes=minute))
    assert TaskScheduleScope.objects.get(schedule=row).skip_streak == 2
    finish_tasks()
    TaskSchedule.objects.filter(id=row.id).update(next_run_at=NOW)
    fire(NOW + timedelta(minutes=3))
    assert TaskScheduleScope.objects.get(schedule=row).skip_streak == 0


def test_a_firing_leaves_version_alone_and_moves_updated_at():
    """model.md: version counts people's changes only."""
    row = due_schedule("nightly", racks(1))
    version = row.version
    fire()
    assert reread(row).version == version
    assert row.updated_at == NOW


def test_a_vanished_rack_fails_its_scope_only():
    """F-244, D-8, D-30: soft-deleted racks are named in the reason."""
    on = racks(2)
    row = due_schedule("nightly", on)
    Rack.objects.filter(id=on[0].id).update(deleted_at=NOW)
    fire()
    assert [state for state, _ in outcomes(row)] == ["failed", "submitted"]
    assert on[0].name in FiringScope.objects.get(state="failed").reason


def test_a_tick_recorded_before_only_advances(caplog):
    """D-4: a second firing of a tick is impossible, and does not stop its batch."""
    on = racks(2)
    twice = due_schedule("twice", on[:1])
    other = due_schedule("other", on[1:])
    fire()
    finish_tasks()
    TaskSchedule.objects.update(next_run_at=NOW - timedelta(seconds=1))
    TaskSchedule.objects.filter(id=other.id).update(next_run_at=NOW)
    caplog.set_level(logging.CRITICAL, "dispatcher")
    assert fire(NOW + timedelta(seconds=5)) == 2
    assert Firing.objects.filter(schedule_id=twice.id).count() == 1
    assert Firing.objects.filter(schedule_id=other.id).count() == 2
    assert reread(twice).next_run_at == NOW + timedelta(seconds=5, hours=1)


def test_the_database_itself_allows_a_tick_one_firing(caplog):
    """D-4: whatever key a second one carries, firing_tick_once refuses it, and its batch goes on."""
    twice, other = due_schedule("twice", racks(1)), due_schedule("other", racks(1))
    fire()
    Firing.objects.filter(schedule_id=twice.id).update(key=uuid.uuid4())
    TaskSchedule.objects.filter(id=twice.id).update(next_run_at=NOW - timedelta(seconds=1))
    TaskSchedule.objects.filter(id=other.id).update(next_run_at=NOW)
    caplog.set_level(logging.CRITICAL, "dispatcher")
    assert fire(NOW + timedelta(seconds=5)) == 2
    assert Firing.objects.filter(schedule_id=twice.id).count() == 1
    assert Firing.objects.filter(schedule_id=other.id).count() == 2


def test_keys_come_from_schedule_time_and_scope():
    """D-6: the same after a failover, never from a sequence."""
    row = due_schedule("nightly", racks(1))
    claim(NOW, 10, holder=holder())
    record = firing_of(row)
    assert record.key == tick_key(row.id, NOW - timedelta(seconds=1))
    scope = FiringScope.objects.get()
    assert scope.key == scope_key(record.key, scope.scope_id)
    assert tick_key(row.id, NOW) != tick_key(row.id, NOW + timedelta(microseconds=1))


def test_an_open_firing_counts_as_overlap():
    """D-6: what an earlier firing still owes, or gave and has not written back, is active."""
    on = racks(1)
    row = due_schedule("nightly", on)
    claim(NOW, 10, holder=holder())
    TaskSchedule.objects.filter(id=row.id).update(next_run_at=NOW)
    claim(NOW + timedelta(minutes=1), 10, holder=holder())
    assert outcomes(row) == [("pending", ""), ("skipped", "overlap")]


@pytest.mark.django_db(transaction=True)
def test_a_held_schedule_is_skipped_not_waited_for():
    """F-230, D-7: FOR UPDATE held by psql; the other fires at once, the held one at the next scan."""
    on = racks(2)
    held, free = due_schedule("held", on[:1]), due_schedule("free", on[1:])
    with row_held("SELECT 1 FROM task_schedule WHERE id = %s", held.id):
        assert fire() == 1
        assert outcomes(free) == [("submitted", "")]
        assert outcomes(held) == []
    assert fire() == 1
    assert outcomes(held) == [("submitted", "")]


@pytest.mark.django_db(transaction=True)
def test_a_held_rack_delays_that_rack_only():
    """D-15: the others are submitted, the held one stays pending and follows when it is free."""
    on = racks(3)
    row = due_schedule("nightly", on)
    mine = holder()
    with row_held("SELECT 1 FROM rack WHERE id = %s", on[1].id):
        fired = firing.fire_due(NOW, 10, holder=mine)
        assert sorted(outcomes(row)) == [("pending", ""), ("submitted", ""), ("submitted", "")]
        assert fired.held == [firing_of(row).id]
        assert firing.resume_held(fired.held, holder=mine, now=NOW) == fired.held
    assert firing.resume_held(fired.held, holder=mine, now=NOW) == []
    assert outcomes(row) == [("submitted", "")] * 3
    assert firing_of(row).state == "done"


@pytest.mark.django_db(transaction=True)
def test_a_rack_held_longer_than_the_patience_fails_with_the_reason(settings):
    """D-5: nothing is silent: the operator reads that a session held the rack."""
    on = racks(1)
    row = due_schedule("nightly", on)
    mine = holder()
    with row_held("SELECT 1 FROM rack WHERE id = %s", on[0].id):
        fired = firing.fire_due(NOW, 10, holder=mine)
        later = NOW + settings.FLOWSCHED_RACK_LOCK_PATIENCE + timedelta(seconds=1)
        assert firing.resume_held(fired.held, holder=mine, now=later) == []
    assert outcomes(row) == [("failed", "rack_locked")]


def test_two_schedules_on_one_rack_in_one_batch_are_decided_in_order():
    """F-229, F-253: the older tick gets the rack, the other is rejected with the first one's name."""
    on = racks(1)
    first = due_schedule("first", on, late=timedelta(minutes=2))
    second = due_schedule("second", on, late=timedelta(minutes=1))
    fire()
    assert outcomes(first) == [("submitted", "")]
    assert outcomes(second) == [("rejected", "rack_busy")]
    assert "first" in FiringScope.objects.get(state="rejected").reason


def test_filters_are_copied_and_evaluated_when_it_fires():
    """F-207: a types filter takes in what the rack has of that type now."""
    [rack] = racks(1, components=4)
    row = due_schedule("nightly", [rack], types=("compute",))
    fire()
    assert FiringScope.objects.get().component_filter == {"kind": "types", "types": ["Compute"]}
    assert set(Task.objects.get(schedule_id=row.id).attributes["components_by_type"]) == {"Compute"}


def test_the_stored_template_is_copied_into_the_firing():
    """model.md: history keeps what ran, whatever happens to the schedule."""
    row = due_schedule("nightly", racks(1))
    template = row.operation_template
    fire()
    schedule_delete(schedule_id=row.id, by=BY, now=NOW)
    record = Firing.objects.get(schedule_id=row.id)
    assert json.dumps(record.operation_template) == json.dumps(template)
    assert record.schedule_name == "nightly"
    assert FiringScope.objects.get().rack_name
    assert Task.objects.count() == 1


def test_a_firing_of_which_every_scope_failed_is_recorded_and_said_once(caplog):
    """F-233, F-235, F-239: no error for its schedule, its own record and one log line with ids and counts."""
    on = racks(2)
    row = due_schedule("doomed", on)
    good = due_schedule("good", racks(1))
    Rack.objects.filter(id__in=[rack.id for rack in on]).update(deleted_at=NOW)
    with caplog.at_level(logging.INFO, "dispatcher"):
        assert fire() == 2
    record = firing_of(row)
    assert (record.state, record.failed_count, record.submitted_count) == ("done", 2, 0)
    assert reread(row).enabled
    assert outcomes(good) == [("submitted", "")]
    lines = [entry.getMessage() for entry in caplog.records if str(row.id) in entry.getMessage()]
    assert len(lines) == 1
    assert "2 failed" in lines[0]
    assert f"firing {record.id}" in lines[0]
