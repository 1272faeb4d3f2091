"""Fields and racks of a schedule changed at once, as a form changes them: one version, one commit, one audit row."""

from datetime import timedelta

import pytest

from audit.models import AuditEntry
from flowsched.errors import AlreadyExists, InvalidInput, NotFound, PreconditionFailed, VersionMismatch
from inventory.targets import PickedTarget
from schedules.changes import UNSET, ScheduleChanges
from scopes.models import TaskScheduleScope
from scopes.services import schedule_change
from tests.schedules.helpers import (
    BOB,
    NOW,
    columns,
    consumed,
    last_audit,
    make_component,
    make_racks,
    make_schedule,
    whole,
)

pytestmark = pytest.mark.django_db
LATER = NOW + timedelta(minutes=7)


def change(schedule, targets=None, version=None, **fields):
    return schedule_change(
        schedule_id=schedule.pk, changes=ScheduleChanges(**fields), targets=targets, by=BOB, now=LATER,
        expected_version=version,
    )  # fmt: skip


def racks(schedule):
    rows = TaskScheduleScope.objects.filter(schedule=schedule).order_by("position", "id")
    return [(row.rack_id, row.component_filter) for row in rows]


def refused_whole(schedule, kind, **wanted):
    """The change is refused, nothing of it is written, and the refusal is in the trail."""
    before, scopes = columns(schedule), racks(schedule)
    with pytest.raises(kind) as error:
        change(schedule, **wanted)
    assert columns(schedule) == before
    assert racks(schedule) == scopes
    assert last_audit().refused == error.value.message
    return error.value


def test_both_at_once(withdrawals, notified):
    old, new = make_racks(2)
    part = make_component(new)
    schedule = make_schedule(targets=whole(old))
    entries = set(AuditEntry.objects.values_list("pk", flat=True))
    made = change(
        schedule, [PickedTarget(new.pk, components=(part.pk,))], version=1, name="other", spec_type="cron",
        spec="0 2 * * *", timezone="Asia/Tokyo", misfire_grace=timedelta(minutes=5),
    )  # fmt: skip
    assert racks(schedule) == [(new.pk, {"kind": "components", "components": [str(part.pk)]})]
    stored = columns(schedule)
    assert {name: stored[name] for name in ("name", "spec_type", "spec", "timezone")} == {
        "name": "other", "spec_type": "cron", "spec": "0 2 * * *", "timezone": "Asia/Tokyo",
    }  # fmt: skip
    assert made.version == stored["version"]
    assert len(withdrawals) == 1
    assert notified
    [row] = AuditEntry.objects.exclude(pk__in=entries)
    assert row.verb == "schedule.update"
    assert row.before["version"] == 1
    assert row.after["version"] == stored["version"]
    assert row.before["name"] == schedule.name
    assert row.after["name"] == "other"
    assert list(row.after["added"]) == [new.name]
    assert row.after["removed"] == [old.name]


def test_only_racks(withdrawals):
    old, new = make_racks(2)
    schedule = make_schedule(targets=whole(old))
    change(schedule, [PickedTarget(old.pk), PickedTarget(new.pk)], version=1)
    assert [rack for rack, _ in racks(schedule)] == [old.pk, new.pk]
    row = last_audit()
    assert row.verb == "scope.reconcile"
    assert row.after["version"] == columns(schedule)["version"] == 2


def test_only_fields():
    schedule = make_schedule()
    scopes = racks(schedule)
    change(schedule, version=1, overlap_policy="queue")
    assert columns(schedule)["overlap_policy"] == "queue"
    assert racks(schedule) == scopes
    assert last_audit().verb == "schedule.update"


def test_nothing_different_writes_nothing():
    [rack] = make_racks(1)
    schedule = make_schedule(targets=whole(rack))
    before, entries = columns(schedule), AuditEntry.objects.count()
    change(schedule, [PickedTarget(rack.pk)], name=schedule.name)
    assert columns(schedule) == before
    assert AuditEntry.objects.count() == entries


def test_another_version_changes_neither():
    schedule = make_schedule()
    [new] = make_racks(1)
    change(schedule, version=1, overlap_policy="queue")
    error = refused_whole(schedule, VersionMismatch, targets=[PickedTarget(new.pk)], version=1, name="mine")
    assert "overlap_policy" in error.message


def test_a_refused_rack_leaves_the_fields_alone():
    schedule = make_schedule()
    [gone] = make_racks(1)
    type(gone).objects.filter(pk=gone.pk).update(deleted_at=NOW)
    refused_whole(schedule, NotFound, targets=[PickedTarget(gone.pk)], name="mine")


def test_a_refused_field_leaves_the_racks_alone():
    schedule, other = make_schedule(), make_schedule(name="taken")
    [new] = make_racks(1)
    refused_whole(schedule, AlreadyExists, targets=[PickedTarget(new.pk)], name=other.name)
    refused_whole(schedule, InvalidInput, targets=[PickedTarget(new.pk)], spec="never")


def test_no_rack_is_refused():
    refused_whole(make_schedule(), InvalidInput, targets=[], name="mine")


def test_timing_of_what_has_run_is_refused_with_its_racks():
    [new] = make_racks(1)
    refused_whole(consumed(), PreconditionFailed, targets=[PickedTarget(new.pk)], spec="2027-01-01T00:00:00Z")


def test_too_many_racks(settings):
    settings.FLOWSCHED_MAX_SCOPES_PER_SCHEDULE = 1
    error = refused_whole(make_schedule(), InvalidInput, targets=[PickedTarget(r.pk) for r in make_racks(2)], name="x")
    assert "limit of 1" in error.message


def test_unset_is_no_change():
    assert ScheduleChanges(name=UNSET).empty
