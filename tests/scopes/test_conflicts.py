"""The coarse check which schedules share racks: F-164, F-264."""

import itertools
import uuid
from datetime import timedelta

import pytest

from flowsched.errors import InvalidInput, NotFound
from inventory.targets import RackTarget
from schedules.models import TaskSchedule
from schedules.services import schedule_pause
from scopes.selectors import schedule_conflicts
from tasks.operations import Operation, operation
from tests.schedules.helpers import ALICE, NOW, POWER_ON, make_racks, make_schedule, of_types, statements, whole

pytestmark = pytest.mark.django_db
KINDS = ["power_on", "power_off", "power_reset", "bring_up", "ingest", "upgrade_firmware"]


@pytest.mark.parametrize(("one", "other"), list(itertools.product(KINDS, KINDS)))
def test_f264_every_pair_of_schedulable_operations_may_meet(one, other):
    """F-264."""
    rack = make_racks(1)[0]
    schedule = make_schedule(targets=whole(rack), operation=operation(one))
    assert schedule_conflicts(operation=operation(other), rack_ids=[rack.pk]) == [schedule]


def test_f264_what_no_rule_names_does_not_conflict():
    """F-264."""
    rack = make_racks(1)[0]
    make_schedule(targets=whole(rack))
    inject = Operation("inject_expectation", "inject_expectation", {})
    assert schedule_conflicts(operation=inject, rack_ids=[rack.pk]) == []
    bring_up = make_schedule(targets=whole(rack), operation=operation("bring_up"))
    assert schedule_conflicts(operation=inject, rack_ids=[rack.pk]) == [bring_up]


def test_f264_d21_filters_times_and_policies_do_not_matter():
    """F-264, D-21."""
    rack = make_racks(1)[0]
    schedule = make_schedule(
        targets=of_types(rack, "cdu"), spec_type="one-time", spec="2030-01-01T00:00:00Z", overlap_policy="queue"
    )
    assert schedule_conflicts(operation=POWER_ON, rack_ids=[rack.pk]) == [schedule]


def test_f264_only_enabled_ones_on_these_racks_and_not_the_excluded_one():
    """F-264."""
    rack, other = make_racks(2)
    schedule = make_schedule(targets=whole(rack))
    paused = make_schedule(targets=whole(rack))
    schedule_pause(schedule_id=paused.pk, by=ALICE, now=NOW)
    make_schedule(targets=whole(other))
    assert schedule_conflicts(operation=POWER_ON, rack_ids=[rack.pk]) == [schedule]
    assert schedule_conflicts(operation=POWER_ON, rack_ids=[rack.pk], exclude_schedule_id=schedule.pk) == []
    assert schedule_conflicts(operation=POWER_ON, rack_ids=[rack.pk], exclude_schedule_id=uuid.uuid4()) == [schedule]
    assert schedule_conflicts(operation=POWER_ON, rack_ids=[uuid.uuid4()]) == []


def test_f164_each_once_oldest_first_and_read_only():
    """F-164."""
    racks = make_racks(3)
    late = make_schedule(targets=whole(*racks), now=NOW + timedelta(hours=1))
    early = sorted((make_schedule(targets=whole(*racks)) for _ in range(2)), key=lambda row: row.pk)
    with statements() as found:
        assert schedule_conflicts(operation=POWER_ON, rack_ids=[rack.pk for rack in racks]) == [*early, late]
    assert len(found) == 1
    assert found[0].startswith("SELECT")


def test_f164_at_least_one_rack():
    """F-164."""
    with pytest.raises(InvalidInput):
        schedule_conflicts(operation=POWER_ON, rack_ids=[])
    with pytest.raises(InvalidInput):
        schedule_conflicts(operation=POWER_ON, targets=[])


def test_f164_targets_are_resolved_first():
    """F-164."""
    rack = make_racks(1)[0]
    schedule = make_schedule(targets=whole(rack))
    assert schedule_conflicts(operation=POWER_ON, targets=of_types(rack, "cdu")) == [schedule]
    with pytest.raises(NotFound):
        schedule_conflicts(operation=POWER_ON, targets=[RackTarget(id=uuid.UUID(int=7))])


@pytest.mark.parametrize("template", [[], {}, {"type": 1}, {"type": None}])
def test_f136_f316_an_unreadable_template_does_not_fail_the_check(template):
    """F-136, F-316."""
    rack = make_racks(1)[0]
    make_schedule(targets=whole(rack))
    TaskSchedule.objects.update(operation_template=template)
    assert schedule_conflicts(operation=operation("bring_up"), rack_ids=[rack.pk]) == []
