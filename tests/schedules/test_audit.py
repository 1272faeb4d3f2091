"""The audit trail is append-only, and the constraints it stands on have the names the code expects."""

import pytest
from django.db import DatabaseError, connection, transaction

from audit.models import AuditEntry
from audit.selectors import entries_of
from schedules import rows
from schedules.services import schedule_pause
from tests.schedules.helpers import ALICE, NOW, make_schedule

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("write", ["UPDATE audit_entry SET actor = 'nobody'", "DELETE FROM audit_entry"])
def test_d22_the_trail_cannot_be_changed(write):
    """D-22."""
    make_schedule()
    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(write)
    assert AuditEntry.objects.get().actor == "alice"


def test_d22_the_orm_cannot_change_it_either():
    """D-22."""
    make_schedule()
    entry = AuditEntry.objects.get()
    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
        entry.delete()
    entry.actor = "nobody"
    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
        entry.save()


def test_entries_of_a_schedule_newest_first():
    schedule = make_schedule()
    make_schedule()
    schedule_pause(schedule_id=schedule.pk, by=ALICE, now=NOW)
    assert [entry.verb for entry in entries_of("schedule", schedule.pk)] == ["schedule.pause", "schedule.create"]


def test_the_unique_name_has_the_name_we_look_for():
    with connection.cursor() as cursor:
        constraints = connection.introspection.get_constraints(cursor, "task_schedule")
    assert constraints[rows._NAME_TAKEN]["columns"] == ["name"]
    assert constraints[rows._NAME_TAKEN]["unique"]
