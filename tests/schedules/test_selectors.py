"""Reading schedules: F-133 to F-136."""

import uuid
from datetime import timedelta

import pytest

from flowsched.errors import InvalidInput, NotFound
from schedules.models import TaskSchedule
from schedules.selectors import schedule_get, schedules_list
from schedules.services import schedule_pause
from schedules.template import summary
from tests.schedules.helpers import ALICE, NOW, make_racks, make_schedule, statements, whole

pytestmark = pytest.mark.django_db


def test_f133_get_by_id_or_name():
    """F-133."""
    schedule = make_schedule("nightly")
    make_schedule("other")
    for key in (schedule.pk, str(schedule.pk), schedule.pk.hex.upper(), f"{{{schedule.pk}}}", "nightly"):
        assert schedule_get(key) == schedule


@pytest.mark.parametrize("key", ["nothing", str(uuid.UUID(int=7)), uuid.UUID(int=7)])
def test_f133_an_absent_schedule_is_not_found(key):
    """F-133."""
    with pytest.raises(NotFound) as refused:
        schedule_get(key)
    assert str(key) in refused.value.message


@pytest.mark.parametrize("key", ["", "a\x00b", "\ud800", "x" * 300], ids=["empty", "nul", "surrogate", "long"])
def test_f133_what_can_be_no_name_is_refused(key):
    """F-133."""
    with pytest.raises(InvalidInput):
        schedule_get(key)


def test_an_id_goes_before_a_name_that_looks_like_it():
    schedule = make_schedule()
    thief = make_schedule(str(schedule.pk))
    assert schedule_get(str(schedule.pk)) == schedule
    assert schedule_get(thief.pk) == thief


def test_f134_oldest_first_then_by_id():
    """F-134."""
    later = make_schedule(now=NOW + timedelta(seconds=1))
    same = sorted((make_schedule() for _ in range(3)), key=lambda row: row.pk)
    rows, total = schedules_list()
    assert rows == [*same, later]
    assert total == 4


def test_f134_filters_by_rack_and_enabled_both():
    """F-134."""
    rack, other = make_racks(2)
    both = make_schedule(targets=whole(rack, other))
    paused = make_schedule(targets=whole(rack))
    alone = make_schedule(targets=whole(other))
    schedule_pause(schedule_id=paused.pk, by=ALICE, now=NOW)
    assert set(schedules_list(rack_id=rack.pk)[0]) == {both, paused}
    assert set(schedules_list(enabled_only=True)[0]) == {both, alone}
    assert schedules_list(rack_id=rack.pk, enabled_only=True) == ([both], 1)
    assert schedules_list(rack_id=uuid.uuid4()) == ([], 0)


def test_f134_f135_total_is_before_paging():
    """F-134, F-135."""
    rows = sorted((make_schedule() for _ in range(5)), key=lambda row: row.pk)
    assert schedules_list(limit=2, offset=1) == (rows[1:3], 5)
    assert schedules_list(limit=2, offset=9) == ([], 5)
    assert schedules_list(offset=3) == (rows[3:], 5)


def test_f135_no_limit_unless_asked_for():
    """F-135."""
    for _ in range(60):
        make_schedule()
    assert len(schedules_list()[0]) == 60
    assert len(schedules_list(limit=0)[0]) == 60
    assert len(schedules_list(limit=0, offset=10)[0]) == 50


@pytest.mark.parametrize("paging", [{"limit": -1}, {"offset": -1}])
def test_f135_negatives_are_refused(paging):
    """F-135."""
    with pytest.raises(InvalidInput) as refused:
        schedules_list(**paging)
    assert refused.value.field == next(iter(paging))


def test_f136_f316_a_spoilt_row_is_listed_with_empty_words():
    """F-136, F-316."""
    good, bad = make_schedule(), make_schedule()
    TaskSchedule.objects.filter(pk=bad.pk).update(operation_template=[1], spec="gibberish", timezone="Mars")
    rows, total = schedules_list()
    assert total == 2
    said = {row.pk: summary(row.operation_template) for row in rows}
    assert said == {good.pk: ("POWER_ON", "Power On"), bad.pk: ("", "")}
    assert schedule_get(bad.pk).spec == "gibberish"


def test_budget_of_a_list():
    for _ in range(3):
        make_schedule()
    with statements() as found:
        schedules_list(limit=2, rack_id=uuid.uuid4(), enabled_only=True)
    assert len(found) <= 2
