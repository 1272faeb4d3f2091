"""Firing by hand, and taking back what is owed (pause, delete, scope changes)."""

from __future__ import annotations

import logging
import uuid
from datetime import timedelta

import pytest

from audit.models import AuditEntry
from dispatcher import firing
from dispatcher.claim import claim
from dispatcher.models import Firing, FiringScope
from dispatcher.recover import recover
from dispatcher.submit import submit
from dispatcher.writeback import write_back
from flowsched.errors import FlowschedError, InvalidInput, NotFound, PreconditionFailed, QueueFull
from inventory.targets import RackTarget
from schedules.models import TaskSchedule
from schedules.services import schedule_delete, schedule_pause, schedule_resume
from scopes.models import TaskScheduleScope
from scopes.services import scope_remove, scopes_add, scopes_reconcile
from tasks.models import Task
from tests.dispatcher.helpers import BY, NOW, due_schedule, finish_tasks, firing_of, holder, in_thread, outcomes, racks

pytestmark = pytest.mark.django_db


def not_due(name, on, **options):
    return due_schedule(name, on, late=timedelta(minutes=-30), **options)


def trigger(row, **options):
    return firing.trigger(schedule_id=row.id, by=BY, now=options.pop("now", NOW), **options)


def test_a_trigger_fires_now_and_postpones_the_next_run():
    """F-150, F-151, F-225: interval from the trigger's time, last_run_at set, ids in scope order."""
    on = racks(3)
    row = not_due("nightly", on)
    result = trigger(row)
    scopes = list(TaskScheduleScope.objects.filter(schedule=row).order_by("position"))
    assert [Task.objects.get(id=task).rack_id for task in result.task_ids] == [scope.rack_id for scope in scopes]
    row.refresh_from_db()
    assert (row.next_run_at, row.last_run_at) == (NOW + timedelta(hours=1), NOW)
    record = firing_of(row)
    assert (record.cause, record.actor, record.due_at, record.state) == ("manual", "tester", NOW, "done")
    assert AuditEntry.objects.get(verb="schedule.trigger").actor == "tester"


def test_a_trigger_ignores_the_overlap_policy_but_not_the_rack():
    """F-150, F-152: no overlap check; under skip a busy rack still refuses."""
    on = racks(2)
    row = not_due("nightly", on)
    trigger(row)
    finish_tasks(rack_id=on[0].id)
    again = trigger(row)
    assert [scope.state for scope in again.scopes] == ["submitted", "rejected"]
    assert len(again.task_ids) == 1
    assert again.refusals[0].reason_code == "rack_busy"


def test_a_queue_schedule_waits_on_a_busy_rack():
    """F-152: the overlap policy still chooses the conflict strategy."""
    row = not_due("nightly", racks(1), overlap="queue")
    trigger(row)
    trigger(row)
    assert sorted(Task.objects.values_list("status", flat=True)) == ["pending", "waiting"]


def test_all_refused_is_an_error_with_each_reason_and_stays_recorded():
    """F-154, D-13: the state has advanced, the firing is there."""
    on = racks(2)
    row = not_due("nightly", on)
    trigger(row)
    with pytest.raises(PreconditionFailed) as refused:
        trigger(row, now=NOW + timedelta(minutes=1))
    assert all(rack.name in refused.value.message for rack in on)
    assert [(r.rack_id, r.rack_name, r.outcome, r.code) for r in refused.value.refusals] == [
        (rack.id, rack.name, "rejected", "rack_busy") for rack in on
    ]
    assert Firing.objects.filter(schedule_id=row.id).count() == 2
    row.refresh_from_db()
    assert row.last_run_at == NOW + timedelta(minutes=1)


def test_all_refused_by_full_queues_is_queue_full(settings):
    """F-154: the shared code of the failures."""
    settings.FLOWSCHED_MAX_WAITING_PER_RACK = 1
    row = not_due("nightly", racks(1), overlap="queue")
    trigger(row)
    trigger(row)
    with pytest.raises(QueueFull):
        trigger(row)


def test_some_refused_is_a_success_that_names_them():
    """F-155, F-315, D-13."""
    on = racks(2)
    other = not_due("other", on[:1])
    trigger(other)
    result = trigger(not_due("nightly", on))
    assert len(result.task_ids) == 1
    assert [(scope.rack_name, scope.reason_code) for scope in result.refusals] == [(on[0].name, "rack_busy")]
    assert [(r.rack_id, r.code, r.reason) for r in result.refused] == [
        (on[0].id, "rack_busy", result.refusals[0].reason)
    ]


def test_a_paused_schedule_can_be_triggered_and_stays_paused():
    """F-151: enabled preserved, its own reason kept."""
    row = not_due("nightly", racks(1))
    schedule_pause(schedule_id=row.id, reason="chiller work", by=BY, now=NOW)
    assert len(trigger(row).task_ids) == 1
    row.refresh_from_db()
    assert (row.enabled, row.disabled_kind, row.disabled_reason) == (False, "person", "chiller work")
    assert row.next_run_at == NOW + timedelta(hours=1)


def test_a_trigger_consumes_a_one_time_schedule():
    """F-150, F-225: disabled and cleared; a second trigger is refused."""
    row = not_due("once", racks(1), at="2026-12-24T00:00:00Z")
    trigger(row)
    row.refresh_from_db()
    assert (row.enabled, row.next_run_at, row.disabled_kind) == (False, None, "consumed")
    with pytest.raises(PreconditionFailed, match="create a new one"):
        trigger(row)
    assert AuditEntry.objects.filter(verb="schedule.trigger").exclude(refused="").count() == 1


def test_a_trigger_without_scopes_succeeds_empty():
    """F-153."""
    row = not_due("empty", racks(1))
    TaskScheduleScope.objects.all().delete()
    assert trigger(row).task_ids == []
    row.refresh_from_db()
    assert row.last_run_at == NOW


def test_a_trigger_takes_a_due_tick_along():
    """D-10: the manual firing names the due_at it consumed, and no automatic one follows."""
    row = due_schedule("nightly", racks(1), late=timedelta(minutes=3))
    trigger(row)
    assert firing_of(row).due_at == NOW - timedelta(minutes=3)
    assert firing.fire_due(NOW, 10, holder=holder()).claimed == 0


def test_the_same_request_id_answers_the_first_result():
    """X-24, X-38: each request id one occurrence; the recurrence advances once."""
    row = not_due("nightly", racks(1))
    request = uuid.uuid4()
    first = trigger(row, request_id=request)
    again = trigger(row, request_id=request, now=NOW + timedelta(minutes=5))
    assert (again.firing.id, again.task_ids) == (first.firing.id, first.task_ids)
    row.refresh_from_db()
    assert row.last_run_at == NOW
    with pytest.raises(InvalidInput, match="nightly"):
        trigger(not_due("other", racks(1)), request_id=request)


def test_what_cannot_be_triggered_says_why():
    """F-150: absent is NotFound; an unreadable one is refused and nothing is written."""
    with pytest.raises(NotFound):
        firing.trigger(schedule_id=uuid.uuid4(), by=BY, now=NOW)
    row = not_due("bad", racks(1))
    TaskSchedule.objects.filter(id=row.id).update(operation_template={"type": "x"})
    with pytest.raises(PreconditionFailed, match="Mend it"):
        trigger(row)
    assert not Firing.objects.exists()


def test_a_write_back_that_fails_is_no_error_of_the_trigger(monkeypatch, caplog):
    """F-156: the tasks exist; a dispatcher finishes the firing."""
    caplog.set_level(logging.CRITICAL, "dispatcher")

    def fails(*_args, **_options):
        raise FlowschedError("no")

    monkeypatch.setattr(firing, "write_back", fails)
    row = not_due("nightly", racks(1))
    assert len(trigger(row).task_ids) == 1
    assert firing_of(row).state == "open"
    Firing.objects.update(lease_until=NOW - timedelta(seconds=1))
    recover(NOW, 10, holder=holder())
    assert firing_of(row).state == "done"


@pytest.mark.parametrize("verb", ["pause", "delete"])
def test_after_pause_or_delete_no_task_of_an_older_tick_appears(verb):
    """F-310, D-11, X-37: the pending scopes become skipped with the reason; the firing closes."""
    row = due_schedule("nightly", racks(2))
    mine = holder()
    _, ids = claim(NOW, 10, holder=mine)
    if verb == "pause":
        schedule_pause(schedule_id=row.id, reason="chiller work", by=BY, now=NOW)
    else:
        schedule_delete(schedule_id=row.id, by=BY, now=NOW)
    assert submit(ids, holder=mine, now=NOW) == []
    assert [state for state, _ in outcomes(row)] == ["skipped"] * 2
    assert not Task.objects.exists()
    assert FiringScope.objects.first().reason
    assert write_back(ids, holder=mine, now=NOW) == 1


def test_removing_or_changing_a_scope_withdraws_that_scope_only():
    """D-5, D-11: scope changes touch the scopes they change."""
    on = racks(3)
    row = due_schedule("nightly", on)
    mine = holder()
    _, ids = claim(NOW, 10, holder=mine)
    scope = TaskScheduleScope.objects.get(schedule=row, rack=on[0])
    scope_remove(scope_id=scope.id, by=BY, now=NOW)
    scopes_reconcile(
        schedule_id=row.id,
        targets=[RackTarget(id=on[1].id, component_types=("compute",)), RackTarget(id=on[2].id)],
        by=BY, now=NOW,
    )  # fmt: skip
    submit(ids, holder=mine, now=NOW)
    assert [state for state, _ in outcomes(row)] == ["skipped", "skipped", "submitted"]
    assert Task.objects.count() == 1


def test_widening_a_scope_withdraws_what_was_planned_with_the_narrow_one():
    """D-11: a changed scope's pending work is of the old filter."""
    on = racks(1)
    row = due_schedule("nightly", on, types=("compute",))
    mine = holder()
    claim(NOW, 10, holder=mine)
    scopes_add(schedule_id=row.id, targets=[RackTarget(id=on[0].id)], by=BY, now=NOW)
    assert outcomes(row)[0][0] == "skipped"


def test_resume_does_not_fire_what_was_missed():
    """F-148: recomputed from now."""
    row = due_schedule("nightly", racks(1))
    schedule_pause(schedule_id=row.id, reason="", by=BY, now=NOW)
    schedule_resume(schedule_id=row.id, by=BY, now=NOW)
    assert firing.fire_due(NOW, 10, holder=holder()).claimed == 0


@pytest.mark.django_db(transaction=True)
def test_trigger_against_poller_gives_one_firing_of_the_tick():
    """X-38, D-10: whoever locks the schedule first takes the tick; nobody takes it twice."""
    for round_ in range(5):
        row = due_schedule(f"race {round_}", racks(1))
        errors: list[Exception] = []

        def by_hand(row=row, errors=errors):
            try:
                trigger(row)
            except FlowschedError as error:  # the poller's task has the rack
                errors.append(error)

        threads = [in_thread(by_hand), in_thread(lambda: firing.fire_due(NOW, 10, holder=holder()))]
        for thread in threads:
            thread.join(20)
        ticks = Firing.objects.filter(schedule_id=row.id, due_at=NOW - timedelta(seconds=1))
        assert ticks.count() == 1
        assert Task.objects.filter(schedule_id=row.id).count() == 1
