"""Changing schedules: F-137 to F-146."""

import uuid
from datetime import UTC, datetime, timedelta

import pytest

from audit.models import AuditEntry
from flowsched.errors import AlreadyExists, InvalidInput, NotFound, PreconditionFailed, VersionMismatch
from schedules.models import TaskSchedule
from schedules.services import ScheduleChanges, schedule_disable, schedule_pause, schedule_update
from scopes.services import scopes_add
from tasks.operations import operation
from tests.schedules.helpers import (
    ALICE,
    BOB,
    NOW,
    columns,
    consumed,
    last_audit,
    make_racks,
    make_schedule,
    statements,
    whole,
)

pytestmark = pytest.mark.django_db
LATER = NOW + timedelta(minutes=7)
CRON = {"spec_type": "cron", "spec": "0 2 * * *"}
ONCE = {"spec_type": "one-time", "spec": "2026-06-01T04:00:00Z"}


def update(schedule, *, by=BOB, now=LATER, expected_version=None, **changes):
    return schedule_update(
        schedule_id=schedule.pk, changes=ScheduleChanges(**changes), by=by, now=now, expected_version=expected_version
    )


def changed(schedule, **changes) -> dict:
    """Update, and return the stored columns that differ, without version and updated_at."""
    before = columns(schedule)
    returned = update(schedule, **changes)
    after = columns(schedule)
    assert {name: getattr(returned, name) for name in after} == after, "what is returned is what is stored"
    assert after["version"] == before["version"] + 1
    assert after["updated_at"] == LATER
    return {k: v for k, v in after.items() if v != before[k] and k not in {"version", "updated_at"}}


def test_f137_the_fields_that_can_be_changed():
    """F-137, F-146: neither operation nor scope can even be named."""
    names = set(ScheduleChanges.__dataclass_fields__)
    assert names == {"name", "overlap_policy", "spec_type", "spec", "timezone", "misfire_grace"}


def test_f137_name_and_policy_alone_change_nothing_else():
    """F-137."""
    schedule = make_schedule("old")
    assert changed(schedule, name="new") == {"name": "new"}
    assert changed(schedule, overlap_policy="queue") == {"overlap_policy": "queue"}
    assert changed(schedule, misfire_grace=timedelta(minutes=5)) == {"misfire_grace": timedelta(minutes=5)}
    assert changed(schedule, misfire_grace=None) == {"misfire_grace": None}


def test_f139_a_rename_does_not_put_back_what_a_firing_moved_on():
    """F-139, F-145: only the changed columns are written."""
    schedule = make_schedule()
    moved = NOW + timedelta(hours=5)
    TaskSchedule.objects.filter(pk=schedule.pk).update(next_run_at=moved, last_run_at=NOW)
    assert changed(schedule, name="new") == {"name": "new"}
    assert columns(schedule)["next_run_at"] == moved
    with statements() as found:
        update(schedule, name="newer")
    [write] = [sql for sql in found if sql.startswith('UPDATE "task_schedule"')]
    assert "next_run_at" not in write.split("WHERE")[0]
    [lock] = [sql for sql in found if "FOR NO KEY UPDATE" in sql]
    assert found.index(lock) == 0


def test_f138_an_empty_request_is_refused_before_the_id_is_looked_up():
    """F-138."""
    with pytest.raises(InvalidInput) as refused:
        schedule_update(schedule_id=uuid.uuid4(), changes=ScheduleChanges(), by=BOB, now=NOW)
    assert refused.value.field == "update_mask"


def test_f138_order_of_what_is_wrong():
    """F-138."""
    missing = TaskSchedule(id=uuid.uuid4())
    with pytest.raises(InvalidInput):
        update(missing, name="")
    with pytest.raises(NotFound) as refused:
        update(missing, name="x")
    assert str(missing.pk) in refused.value.message
    with pytest.raises(NotFound):  # a spec in the request locks the row first
        update(missing, spec="bad")
    one = consumed()
    with pytest.raises(InvalidInput):  # what cannot be read, before the state that does not allow it
        update(one, spec_type="cron", spec="bad")


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"name": ""}, "name"),
        ({"name": " x"}, "name"),
        ({"overlap_policy": ""}, "overlap_policy"),
        ({"spec_type": "", "spec": "1h"}, "spec_type"),
        ({"spec_type": "interval", "spec": ""}, "spec"),
        ({"spec_type": "cron"}, "spec"),
        ({"spec_type": "cron", "timezone": "UTC"}, "spec"),
        ({"spec_type": "weekly", "spec": "x"}, "spec_type"),
        ({"spec_type": "cron", "spec": "99 * * * *"}, "spec"),
        ({"spec_type": "cron", "spec": "0 2 * * *", "timezone": "Local"}, "timezone"),
        ({"misfire_grace": timedelta(seconds=1)}, "misfire_grace"),
    ],
)
def test_f138_bad_fields_are_named_and_nothing_changes(changes, field):
    """F-138."""
    schedule = make_schedule()
    before = columns(schedule)
    with pytest.raises(InvalidInput) as refused:
        update(schedule, **changes)
    assert refused.value.field == field
    assert columns(schedule) == before
    assert last_audit().refused == refused.value.message


def test_f140_a_new_spec_replaces_type_and_text_and_counts_from_now(notified):
    """F-140."""
    schedule = make_schedule()
    notified.clear()
    assert changed(schedule, spec_type="interval", spec="2h") == {
        "spec": "2h",
        "next_run_at": LATER + timedelta(hours=2),
    }
    assert notified == ["flowsched_schedules"]
    assert changed(schedule, **ONCE) == {
        "spec_type": "one-time",
        "spec": "2026-06-01T04:00:00Z",
        "next_run_at": datetime(2026, 6, 1, 4, tzinfo=UTC),
    }


def test_f140_a_spec_without_a_type_keeps_the_type():
    """F-140."""
    schedule = make_schedule(**CRON)
    assert changed(schedule, spec="0 3 * * *") == {
        "spec": "0 3 * * *",
        "next_run_at": datetime(2026, 3, 2, 3, tzinfo=UTC),
    }


def test_f140_f294_a_timezone_beside_the_spec_counts_if_it_is_not_empty():
    """F-140 as D-12 corrects it, F-294."""
    schedule = make_schedule(**CRON, timezone="Asia/Tokyo")
    assert changed(schedule, spec="0 3 * * *", timezone="") == {
        "spec": "0 3 * * *",
        "next_run_at": datetime(2026, 3, 1, 18, tzinfo=UTC),
    }
    assert changed(schedule, spec="0 4 * * *", timezone="Europe/Berlin") == {
        "spec": "0 4 * * *",
        "timezone": "Europe/Berlin",
        "next_run_at": datetime(2026, 3, 2, 3, tzinfo=UTC),
    }


def test_f141_a_timezone_alone_moves_a_cron_schedule_and_empty_is_utc(notified):
    """F-141."""
    schedule = make_schedule(**CRON, timezone="Asia/Tokyo")
    notified.clear()
    assert changed(schedule, timezone="") == {"timezone": "UTC", "next_run_at": datetime(2026, 3, 2, 2, tzinfo=UTC)}
    assert notified
    assert changed(schedule, timezone="Europe/Berlin")["timezone"] == "Europe/Berlin"
    with pytest.raises(InvalidInput):
        update(schedule, timezone="Nowhere")


@pytest.mark.parametrize("spec", [{"spec": "1h"}, ONCE])
def test_f141_d12_a_timezone_alone_is_refused_where_it_means_nothing(spec):
    """F-141, D-12."""
    schedule = make_schedule(**spec)
    before = columns(schedule)
    with pytest.raises(InvalidInput, match="means nothing") as refused:
        update(schedule, timezone="Asia/Tokyo")
    assert refused.value.field == "timezone"
    assert columns(schedule) == before


def test_f142_both_are_stored_for_every_type():
    """F-142 as D-12 corrects it."""
    schedule = make_schedule()
    assert changed(schedule, **CRON, timezone="Asia/Tokyo") == {
        **CRON,
        "timezone": "Asia/Tokyo",
        "next_run_at": datetime(2026, 3, 1, 17, tzinfo=UTC),
    }
    assert changed(schedule, spec_type="interval", spec="1h", timezone="Europe/Berlin") == {
        "spec_type": "interval",
        "spec": "1h",
        "timezone": "Europe/Berlin",
        "next_run_at": LATER + timedelta(hours=1),
    }


@pytest.mark.parametrize("changes", [{"spec": "2026-07-01T00:00:00Z"}, CRON, {"spec_type": "interval", "spec": "1h"}])
def test_f143_the_timing_of_a_consumed_schedule_cannot_be_changed(changes):
    """F-143."""
    schedule = consumed()
    before = columns(schedule)
    with pytest.raises(PreconditionFailed, match="create a new one") as refused:
        update(schedule, **changes)
    assert refused.value.reason == "CONSUMED"
    assert columns(schedule) == before


def test_f143_a_consumed_schedule_can_be_renamed():
    """F-143."""
    schedule = consumed()
    assert changed(schedule, name="done", overlap_policy="queue") == {"name": "done", "overlap_policy": "queue"}


def test_f144_the_policy_does_not_rewrite_the_template():
    """F-144."""
    schedule = make_schedule(queue_timeout=timedelta(seconds=60))
    before = columns(schedule)["operation_template"]
    update(schedule, overlap_policy="queue")
    assert columns(schedule)["operation_template"] == before


def test_f145_a_paused_schedule_stays_paused_with_a_new_next_run():
    """F-145."""
    schedule = make_schedule()
    schedule_pause(schedule_id=schedule.pk, reason="works", by=ALICE, now=NOW)
    assert changed(schedule, spec="2h") == {"spec": "2h", "next_run_at": LATER + timedelta(hours=2)}
    row = columns(schedule)
    assert (row["enabled"], row["disabled_kind"], row["disabled_reason"]) == (False, "person", "works")


def test_d14_mending_the_spec_of_what_the_system_disabled_leaves_it_disabled():
    """D-14."""
    schedule = make_schedule()
    TaskSchedule.objects.filter(pk=schedule.pk).update(spec="gibberish")
    schedule_disable(schedule_id=schedule.pk, reason="cannot be read", now=NOW)
    assert changed(schedule, spec="2h")["spec"] == "2h"
    row = columns(schedule)
    assert (row["enabled"], row["disabled_kind"], row["disabled_reason"]) == (False, "system", "cannot be read")


def test_f123_a_taken_name_undoes_the_whole_request():
    """F-123."""
    make_schedule("taken")
    schedule = make_schedule("mine")
    before = columns(schedule)
    with pytest.raises(AlreadyExists) as refused:
        update(schedule, name="taken", overlap_policy="queue", spec="5h")
    assert (refused.value.reason, refused.value.field) == ("NAME_TAKEN", "name")
    assert columns(schedule) == before
    entry = last_audit()
    assert entry.object_name == "mine"
    assert entry.refused == refused.value.message


def test_f314_a_firmware_window_keeps_a_schedule_one_time():
    """F-314."""
    schedule = make_schedule(operation=operation("upgrade_firmware", start_time=100, end_time=200), **ONCE)
    with pytest.raises(InvalidInput, match="make no sense"):
        update(schedule, spec_type="interval", spec="1h")
    assert changed(schedule, spec="2026-07-01T00:00:00Z")["spec"] == "2026-07-01T00:00:00Z"


def test_what_changes_nothing_counts_as_nothing(notified):
    schedule = make_schedule("same", **CRON)
    notified.clear()
    before, rows = columns(schedule), AuditEntry.objects.count()
    update(schedule, name="same", overlap_policy="skip", spec="0 2 * * *")
    assert columns(schedule) == before
    assert AuditEntry.objects.count() == rows
    assert notified == []


def test_a_rename_wakes_nobody(notified):
    schedule = make_schedule()
    notified.clear()
    update(schedule, name="quiet")
    assert notified == []


def test_a_spoilt_template_does_not_stop_an_update():
    schedule = make_schedule()
    TaskSchedule.objects.filter(pk=schedule.pk).update(operation_template=["spoilt"])
    assert changed(schedule, spec="2h")["spec"] == "2h"


def test_version_mismatch_names_who_changed_what():
    schedule = make_schedule("nightly")
    update(schedule, by=BOB, spec="2h", expected_version=1)
    scopes_add(schedule_id=schedule.pk, targets=whole(*make_racks(1)), by=ALICE, now=NOW)
    before = columns(schedule)
    with pytest.raises(VersionMismatch) as refused:
        update(schedule, name="x", expected_version=1)
    message = refused.value.message
    assert "version 3, not 1" in message
    assert "bob: schedule.update (next_run_at, spec)" in message
    assert "alice: scope.add" in message
    assert columns(schedule) == before
    update(schedule, name="x", expected_version=3)


def test_version_mismatch_does_not_blame_older_changes():
    schedule = make_schedule("nightly")
    update(schedule, by=BOB, spec="2h")
    update(schedule, by=ALICE, overlap_policy="queue")
    with pytest.raises(VersionMismatch) as refused:
        update(schedule, name="x", expected_version=2)
    assert "overlap_policy" in refused.value.message
    assert "bob" not in refused.value.message


def test_f319_the_audit_row_holds_the_changed_fields_before_and_after():
    """F-319."""
    schedule = make_schedule("old")
    update(schedule, name="new", misfire_grace=timedelta(minutes=5))
    entry = last_audit()
    assert (entry.actor, entry.door, entry.verb, entry.object_id) == ("bob", "cli", "schedule.update", str(schedule.pk))
    assert entry.before == {"name": "old", "misfire_grace": None, "version": 1}
    assert entry.after == {"name": "new", "misfire_grace": "5m", "version": 2}


def test_budget_of_an_update():
    schedule = make_schedule()
    with statements() as found:
        update(schedule, name="x", spec="2h", expected_version=1)
    assert len(found) <= 4, found  # lock, update, notify, audit
