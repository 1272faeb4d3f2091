"""Rows that cannot be read or advanced: disabled or failed with the reason, and nobody else is held up (D-8)."""

from __future__ import annotations

import logging
from datetime import timedelta

import pytest

from dispatcher.models import Firing, FiringScope
from schedules.models import TaskSchedule
from tasks.models import Task
from tests.dispatcher.helpers import due_schedule, fire, firing_of, outcomes, racks, raw, reread

pytestmark = pytest.mark.django_db


POISON = {
    "zone": ("UPDATE task_schedule SET timezone = 'Mars/Base' WHERE id = %s", "Mars/Base"),
    "cron": ("UPDATE task_schedule SET spec_type = 'cron', spec = '61 * * * *' WHERE id = %s", "61"),
    "never": ("UPDATE task_schedule SET spec_type = 'cron', spec = '0 0 30 2 *' WHERE id = %s", "never occurs"),
    "template text": ("UPDATE task_schedule SET operation_template = '\"x\"' WHERE id = %s", "operation"),
    "template code": (
        'UPDATE task_schedule SET operation_template = \'{"type": "power_control", "code": "explode"}\' WHERE id = %s',
        "explode",
    ),
    "template null": ("UPDATE task_schedule SET operation_template = 'null' WHERE id = %s", "operation"),
    "overlap interval": ("UPDATE task_schedule SET spec = '-5s' WHERE id = %s", "-5s"),
}


@pytest.mark.parametrize("name", sorted(POISON))
def test_a_poison_row_is_disabled_and_holds_up_nobody(name, caplog):
    """F-234, F-284, D-8, X-25: disabled with the reason, firing failed, the good ones fire in the same batch."""
    caplog.set_level(logging.CRITICAL, "dispatcher")
    sql, word = POISON[name]
    good = [due_schedule(f"good {n}", racks(1)) for n in range(3)]
    bad = due_schedule("bad", racks(1), late=timedelta(hours=1))
    raw(sql, bad.id)
    assert fire() == 4
    assert all(outcomes(row) == [("submitted", "")] for row in good)
    assert (reread(bad).enabled, bad.disabled_kind) == (False, "system")
    assert word in bad.disabled_reason
    record = firing_of(bad)
    assert record.state == "failed"
    assert word in record.reason
    assert outcomes(bad) == [("failed", "schedule_unreadable")]
    assert not Task.objects.filter(schedule_id=bad.id).exists()
    assert fire() == 0


@pytest.mark.parametrize("moment", ["-infinity", "0044-03-15 00:00:00+00 BC"])
def test_a_row_the_driver_cannot_read_is_disabled_too(moment, caplog):
    """D-8, X-25: such a row fails the fetch of its whole batch; the batch goes row by row."""
    caplog.set_level(logging.CRITICAL, "dispatcher")
    good = [due_schedule(f"good {n}", racks(1)) for n in range(3)]
    bad = due_schedule("bad", racks(1))
    raw("UPDATE task_schedule SET next_run_at = %s::timestamptz WHERE id = %s", moment, bad.id)
    assert fire() == 4
    assert all(outcomes(row) == [("submitted", "")] for row in good)
    found = TaskSchedule.objects.get(id=bad.id)  # every list can read it again, and say why it was disabled
    assert (found.enabled, found.disabled_kind, found.next_run_at) == (False, "system", None)
    assert "cannot be read" in found.disabled_reason
    assert Firing.objects.get(schedule_id=bad.id).state == "failed"


@pytest.mark.parametrize(
    "bad", ['"x"', "{}", '{"kind": "types", "types": []}', '{"kind": "types", "types": ["Toaster"]}', "7"]
)
def test_an_unreadable_filter_fails_its_scope_only(bad):
    """F-232, D-8: the other racks of the schedule get their tasks."""
    on = racks(2)
    row = due_schedule("nightly", on)
    raw("UPDATE task_schedule_scope SET component_filter = %s::jsonb WHERE rack_id = %s", bad, on[0].id)
    fire()
    assert outcomes(row) == [("failed", "filter_unreadable"), ("submitted", "")]
    assert FiringScope.objects.get(state="failed").reason
    assert reread(row).enabled
