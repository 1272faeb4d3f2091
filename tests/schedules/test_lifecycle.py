"""Pause, resume, delete, and disabling by the system: F-147 to F-149."""

import uuid
from datetime import UTC, datetime, timedelta

import pytest

from audit.models import AuditEntry
from flowsched.errors import InvalidInput, NotFound, PreconditionFailed, VersionMismatch
from schedules.models import TaskSchedule
from schedules.ports import ports
from schedules.selectors import schedule_get
from schedules.services import (
    ScheduleChanges,
    schedule_delete,
    schedule_disable,
    schedule_pause,
    schedule_resume,
    schedule_update,
)
from schedules.specs import spec_of
from scopes.models import TaskScheduleScope
from tasks.models import Task
from tests.schedules.helpers import (
    ALICE,
    BOB,
    NOW,
    columns,
    consumed,
    last_audit,
    make_schedule,
    scope_lock,
    statements,
)

pytestmark = pytest.mark.django_db
LATER = NOW + timedelta(minutes=7)
PAUSED = {"enabled", "disabled_kind", "disabled_reason", "disabled_by", "disabled_at", "version", "updated_at"}


def pause(schedule, reason="", **more):
    return schedule_pause(schedule_id=schedule.pk, reason=reason, by=BOB, now=LATER, **more)


def resume(schedule, *, now=LATER, **more):
    return schedule_resume(schedule_id=schedule.pk, by=BOB, now=now, **more)


def differences(before, after):
    return {name for name in after if after[name] != before[name]}


def test_f147_f115_pause_disables_with_a_reason_and_leaves_next_run_at(notified):
    """F-147, F-115."""
    schedule = make_schedule()
    notified.clear()
    before = columns(schedule)
    returned = pause(schedule, "replacing a PDU\nuntil noon")
    row = columns(schedule)
    assert differences(before, row) == PAUSED
    assert (row["enabled"], row["disabled_kind"], row["disabled_by"]) == (False, "person", "bob")
    assert row["disabled_reason"] == "replacing a PDU\nuntil noon"
    assert row["disabled_at"] == row["updated_at"] == LATER
    assert row["version"] == 2
    assert {name: getattr(returned, name) for name in row} == row
    assert notified == ["flowsched_schedules"]


def test_d14_a_pause_without_a_reason_says_who():
    """D-14."""
    schedule = make_schedule()
    pause(schedule, "  ")
    assert columns(schedule)["disabled_reason"] == "paused by bob"


@pytest.mark.parametrize("reason", ["a\x00b", "\x1b[31m", "x" * 1001])
def test_a_reason_that_cannot_be_kept_is_refused(reason):
    schedule = make_schedule()
    with pytest.raises(InvalidInput) as refused:
        pause(schedule, reason)
    assert refused.value.field == "reason"
    assert columns(schedule)["enabled"]


def test_f147_pausing_twice_returns_the_schedule_unchanged(withdrawals):
    """F-147."""
    schedule = make_schedule()
    pause(schedule, "first")
    before, rows = columns(schedule), AuditEntry.objects.count()
    withdrawals.clear()
    assert pause(schedule, "second").disabled_reason == "first"
    assert columns(schedule) == before
    assert AuditEntry.objects.count() == rows
    assert withdrawals == []


def test_f147_a_consumed_schedule_cannot_be_paused(withdrawals):
    """F-147."""
    schedule = consumed()
    before = columns(schedule)
    with pytest.raises(PreconditionFailed, match="has run"):
        pause(schedule)
    assert columns(schedule) == before
    assert last_audit().refused
    assert withdrawals == []


def test_f310_d11_pause_withdraws_pending_work_under_the_lock(withdrawals):
    """F-310, D-11."""
    schedule = make_schedule()
    with statements() as found:
        pause(schedule)
    assert withdrawals == [(schedule.pk, None, "paused")]
    assert "FOR NO KEY UPDATE" in found[0]
    assert last_audit().after["withdrawn"] == 2


def test_pausing_what_the_system_disabled_keeps_its_reason_and_withdraws(withdrawals):
    schedule = make_schedule()
    schedule_disable(schedule_id=schedule.pk, reason="cannot be read", now=NOW)
    before = columns(schedule)
    assert pause(schedule, "mine").disabled_reason == "cannot be read"
    assert columns(schedule) == before
    assert withdrawals == [(schedule.pk, None, "paused")]
    assert last_audit().after == {"withdrawn": 2}


def test_a_pause_whose_withdrawal_fails_does_not_happen(monkeypatch):
    def broken(*args):
        raise RuntimeError("no")

    schedule = make_schedule()
    monkeypatch.setattr(ports, "withdraw", broken)
    with pytest.raises(RuntimeError):
        pause(schedule)
    assert columns(schedule)["enabled"]


def test_f148_f224_resume_counts_from_now(notified):
    """F-148, F-224."""
    schedule = make_schedule()
    pause(schedule)
    notified.clear()
    much_later = NOW + timedelta(days=2)
    before = columns(schedule)
    returned = resume(schedule, now=much_later)
    row = columns(schedule)
    assert differences(before, row) == PAUSED | {"next_run_at"}
    assert row["next_run_at"] == much_later + timedelta(hours=1)
    assert (row["enabled"], row["disabled_kind"], row["disabled_reason"]) == (True, "", "")
    assert (row["disabled_by"], row["disabled_at"], row["version"]) == ("", None, 3)
    assert {name: getattr(returned, name) for name in row} == row
    assert notified == ["flowsched_schedules"]


def test_f148_resume_of_a_cron_schedule_uses_its_zone():
    """F-148."""
    schedule = make_schedule(spec_type="cron", spec="0 2 * * *", timezone="Asia/Tokyo")
    pause(schedule)
    resume(schedule, now=datetime(2026, 5, 1, tzinfo=UTC))
    assert columns(schedule)["next_run_at"] == datetime(2026, 5, 1, 17, tzinfo=UTC)


def test_f148_a_one_time_schedule_keeps_its_instant_even_if_it_has_passed():
    """F-148."""
    schedule = make_schedule(spec_type="one-time", spec="2026-03-01T13:00:00Z")
    pause(schedule)
    resume(schedule, now=NOW + timedelta(days=1))
    assert columns(schedule)["next_run_at"] == datetime(2026, 3, 1, 13, tzinfo=UTC)


def test_f148_enabled_already_is_returned_unchanged():
    """F-148."""
    schedule = make_schedule()
    before, rows = columns(schedule), AuditEntry.objects.count()
    assert resume(schedule).enabled
    assert columns(schedule) == before
    assert AuditEntry.objects.count() == rows


def test_f148_a_consumed_schedule_cannot_be_resumed():
    """F-148."""
    schedule = consumed()
    before = columns(schedule)
    with pytest.raises(PreconditionFailed, match="create a new one"):
        resume(schedule)
    assert columns(schedule) == before


@pytest.mark.parametrize("spoilt", [{"spec": "gibberish"}, {"timezone": "Mars/Olympus"}])
def test_f148_d14_what_cannot_be_read_is_resumed_only_after_it_is_mended(spoilt):
    """F-148, D-14."""
    schedule = make_schedule()
    TaskSchedule.objects.filter(pk=schedule.pk).update(**spoilt)
    schedule_disable(schedule_id=schedule.pk, reason="cannot be read", now=NOW)
    before = columns(schedule)
    with pytest.raises(PreconditionFailed, match="mended") as refused:
        resume(schedule)
    assert refused.value.reason == "SPEC_UNREADABLE"
    assert columns(schedule) == before
    mended = ScheduleChanges(spec="2h", timezone="UTC")
    schedule_update(schedule_id=schedule.pk, changes=mended, by=BOB, now=LATER)
    resume(schedule)
    assert columns(schedule)["next_run_at"] == LATER + timedelta(hours=2)
    assert columns(schedule)["disabled_kind"] == ""


def test_d14_a_schedule_whose_operation_cannot_be_read_is_not_resumed():
    """D-14."""
    schedule = make_schedule()
    TaskSchedule.objects.filter(pk=schedule.pk).update(operation_template={"type": "magic"})
    schedule_disable(schedule_id=schedule.pk, reason="cannot be read", now=NOW)
    with pytest.raises(PreconditionFailed, match="create it anew"):
        resume(schedule)


def test_d14_resume_starts_the_skip_streaks_anew():
    """D-14."""
    schedule, other = make_schedule(racks=3), make_schedule()
    TaskScheduleScope.objects.update(skip_streak=4)
    pause(schedule)
    with statements() as found:
        resume(schedule)
    assert found[scope_lock(found)].endswith("FOR NO KEY UPDATE")
    assert set(TaskScheduleScope.objects.filter(schedule=schedule).values_list("skip_streak", flat=True)) == {0}
    assert TaskScheduleScope.objects.get(schedule=other).skip_streak == 4


@pytest.mark.parametrize(
    ("spec_type", "spec", "advance"),
    [
        ("interval", "1h", (LATER + timedelta(hours=1), True)),
        ("cron", "0 2 * * *", (datetime(2026, 3, 1, 17, tzinfo=UTC), True)),
        ("one-time", "2026-03-01T12:00:00Z", (None, False)),
    ],
)
def test_f225_f226_what_a_firing_leaves_of_a_stored_schedule(spec_type, spec, advance):
    """F-225, F-226: counted from the firing; a one-time schedule is used up."""
    schedule = make_schedule(spec_type=spec_type, spec=spec, timezone="Asia/Tokyo")
    assert spec_of(schedule_get(schedule.pk)).after_fire(LATER) == advance


def test_f149_delete_takes_the_scopes_and_leaves_tasks(withdrawals, notified):
    """F-149."""
    schedule, other = make_schedule("gone", racks=3), make_schedule()
    task = Task.objects.create(
        type="power_control", code="power_on", executor_type="simulated", lane=uuid.uuid4(), status="running",
        schedule_id=schedule.pk, schedule_name="gone",
    )  # fmt: skip
    TaskScheduleScope.objects.filter(schedule=schedule).update(last_task=task)
    notified.clear()
    with statements() as found:
        schedule_delete(schedule_id=schedule.pk, by=BOB, now=LATER)
    assert set(TaskScheduleScope.objects.values_list("schedule_id", flat=True)) == {other.pk}
    assert list(TaskSchedule.objects.all()) == [other]
    task.refresh_from_db()
    assert (task.status, task.schedule_id, task.schedule_name) == ("running", schedule.pk, "gone")
    assert withdrawals == [(schedule.pk, None, "deleted")]
    assert notified == ["flowsched_schedules"]
    assert found[0].endswith("FOR UPDATE")
    assert found[scope_lock(found)].endswith("FOR UPDATE")
    assert len(found) <= 6, found  # lock, scopes' lock, their delete, delete, notify, audit
    entry = last_audit()
    assert (entry.verb, entry.object_name, entry.before["spec"]) == ("schedule.delete", "gone", "1h")


def test_f149_the_database_cascades_to_scopes_by_itself():
    """F-149."""
    schedule = make_schedule(racks=2)
    TaskSchedule.objects.filter(pk=schedule.pk).delete()
    assert not TaskScheduleScope.objects.exists()


def test_disabling_by_the_system_is_no_persons_change(notified):
    schedule = make_schedule()
    notified.clear()
    before = columns(schedule)
    schedule_disable(schedule_id=schedule.pk, reason="spec: \x00 cannot be read", now=LATER)
    row = columns(schedule)
    assert differences(before, row) == PAUSED - {"version"}
    assert (row["disabled_kind"], row["disabled_by"], row["disabled_at"]) == ("system", "system", LATER)
    assert row["disabled_reason"] == r"spec: \x00 cannot be read"
    assert notified == ["flowsched_schedules"]
    assert (last_audit().actor, last_audit().verb) == ("system", "schedule.disable")


def test_disabling_what_is_disabled_keeps_its_reason():
    schedule = make_schedule()
    pause(schedule, "mine")
    before = columns(schedule)
    schedule_disable(schedule_id=schedule.pk, reason="other", now=LATER)
    assert columns(schedule) == before


@pytest.mark.parametrize("verb", [schedule_pause, schedule_resume, schedule_delete])
def test_f147_f148_f149_an_unknown_id_is_not_found_and_the_attempt_recorded(verb):
    """F-147, F-148, F-149."""
    missing = uuid.uuid4()
    with pytest.raises(NotFound) as refused:
        verb(schedule_id=missing, by=ALICE, now=NOW)
    assert str(missing) in refused.value.message
    entry = last_audit()
    assert (entry.object_id, entry.refused) == (str(missing), refused.value.message)


@pytest.mark.parametrize("verb", [schedule_pause, schedule_resume, schedule_delete])
def test_every_verb_can_be_told_the_version_it_was_decided_on(verb):
    schedule = make_schedule()
    with pytest.raises(VersionMismatch):
        verb(schedule_id=schedule.pk, by=ALICE, now=NOW, expected_version=7)
    assert columns(schedule)["enabled"]


def test_f319_pause_and_resume_leave_before_and_after():
    """F-319."""
    schedule = make_schedule("nightly")
    pause(schedule, "works")
    entry = last_audit()
    assert entry.before["enabled"] is True
    assert (entry.after["enabled"], entry.after["disabled_reason"]) == (False, "works")
    resume(schedule)
    entry = last_audit()
    assert (entry.verb, entry.before["disabled_reason"], entry.after["enabled"]) == ("schedule.resume", "works", True)
