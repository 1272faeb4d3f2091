"""The forecast mode of the conflict check (D-21): components, the conflict table, and the next firings of both."""

from datetime import timedelta

import pytest

from inventory.models import Component
from inventory.selectors import targets_resolve
from inventory.targets import PickedTarget
from schedules.models import TaskSchedule
from schedules.services import schedule_pause
from schedules.specs import spec_parse
from scopes import forecast
from scopes.forecast import schedule_forecast
from scopes.models import TaskScheduleScope
from tasks.operations import operation
from tests.factories import RackFactory
from tests.schedules.helpers import ALICE, NOW, make_schedule

pytestmark = pytest.mark.django_db
KINDS = ("Compute", "NVSwitch", "PowerShelf")
FIRMWARE = operation("upgrade_firmware", target_version="2.0")
RESET = operation("power_reset")
TRAY = "a compute tray must keep its power while its firmware is written"
SHELF = "switching a power shelf could cut power in the middle of a firmware write"


@pytest.fixture
def rack():
    return RackFactory(name="r02", components=6, types=KINDS)


def pick(rack, *types, components=()):
    return PickedTarget(rack.pk, types, tuple(components))


def other(rack, *types, spec="30 2 * * *", kind="cron", operation=FIRMWARE, name="Firmware SJC01", **fields):
    fields.setdefault("targets", [pick(rack, *types)])
    return make_schedule(name, spec_type=kind, spec=spec, operation=operation, **fields)


def ask(*picks, operation=RESET, kind="cron", spec="0 2 * * *", **more):
    targets = targets_resolve(list(picks))
    return schedule_forecast(
        operation=operation, spec=spec_parse(kind, spec, "UTC"), targets=targets, now=NOW, **more
    )  # fmt: skip


def test_schedule_rack_both_times_and_the_physical_reason(rack):
    schedule = other(rack, "Compute")
    [found] = ask(pick(rack, "Compute")).collisions
    assert (found.schedule_id, found.schedule_name, found.operation) == (
        schedule.pk, "Firmware SJC01", "firmware upgrade to 2.0",
    )  # fmt: skip
    assert found.racks == ("r02",)
    assert (found.mine.hour, found.theirs.hour, found.theirs.minute) == (2, 2, 30)
    assert found.mine.date() == (NOW + timedelta(days=1)).date()
    assert found.reason == TRAY
    assert found.takes == timedelta(hours=1)


def test_components_decide_and_not_only_racks(rack):
    other(rack, "NVSwitch")
    assert ask(pick(rack, "Compute")).collisions == ()
    assert [c.reason for c in ask(pick(rack, "PowerShelf")).collisions] == [SHELF]
    assert len(ask(pick(rack)).collisions) == 1


def test_components_chosen_one_by_one(rack):
    first, second = Component.objects.filter(rack=rack, type="Compute").order_by("name")[:2]
    other(rack, targets=[pick(rack, components=[first.pk])])
    assert ask(pick(rack, components=[second.pk])).collisions == ()
    assert [c.reason for c in ask(pick(rack, components=[first.pk, second.pk])).collisions] == [TRAY]
    assert [c.reason for c in ask(pick(rack, "Compute")).collisions] == [TRAY]


def test_times_decide(rack):
    other(rack, spec="0 5 * * *")
    assert ask(pick(rack)).collisions == ()
    assert len(ask(pick(rack), spec="30 4 * * *").collisions) == 1


def test_a_bring_up_is_assumed_to_take_two_hours_and_meets_everything(rack):
    other(rack, spec="30 3 * * *", operation=operation("power_on"))
    answer = ask(pick(rack), operation=operation("bring_up"))
    assert answer.takes == timedelta(hours=2)
    assert [c.reason for c in answer.collisions] == ["a rack is brought up or ingested alone"]


def test_other_racks_do_not_count(rack):
    other(RackFactory(components=6, types=KINDS))
    assert ask(pick(rack)).collisions == ()


def test_what_does_not_fire_or_cannot_be_read_meets_nobody(rack):
    paused, broken, unread, lost = (other(rack, name=f"s{n}") for n in range(4))
    schedule_pause(schedule_id=paused.pk, by=ALICE, now=NOW)
    TaskSchedule.objects.filter(pk=broken.pk).update(spec="never")
    TaskSchedule.objects.filter(pk=unread.pk).update(operation_template={"type": "power_control", "code": "dance"})
    TaskScheduleScope.objects.filter(schedule=lost).update(component_filter={"kind": "types", "types": []})
    assert ask(pick(rack)).collisions == ()


def test_what_reaches_nothing_meets_nobody(rack):
    empty = RackFactory()
    other(empty)
    assert ask(pick(empty), operation=operation("bring_up")).collisions == ()
    other(rack, "CDU", name="cooling")
    assert ask(pick(rack), operation=operation("bring_up")).collisions == ()


def test_a_schedule_does_not_meet_itself(rack):
    mine = other(rack)
    assert ask(pick(rack), operation=FIRMWARE, spec="30 2 * * *", exclude_schedule_id=mine.pk).collisions == ()
    assert len(ask(pick(rack), operation=FIRMWARE, spec="30 2 * * *").collisions) == 1


def test_an_existing_interval_counts_from_when_it_is_due(rack):
    other(rack, spec="0 14 * * *")
    due = NOW + timedelta(hours=2)
    [found] = ask(pick(rack), kind="interval", spec="24h", due=due).collisions
    assert found.mine == due


def test_one_entry_for_each_reason_with_all_its_racks():
    racks = [RackFactory(name=f"r{n}", components=6, types=KINDS) for n in range(3)]
    targets = [pick(racks[0], "Compute"), pick(racks[1], "Compute"), pick(racks[2], "PowerShelf")]
    other(racks[0], targets=[pick(rack) for rack in racks])
    found = {c.reason: c.racks for c in ask(*targets).collisions}
    assert found == {TRAY: ("r0", "r1"), SHELF: ("r2",)}


def test_the_earliest_first_and_the_rest_counted(rack, monkeypatch):
    monkeypatch.setattr(forecast, "MOST_SHOWN", 2)
    for day in (4, 2, 3):
        other(rack, name=f"day {day}", kind="one-time", spec=f"2026-03-0{day}T02:10:00Z")
    answer = ask(pick(rack))
    assert [c.schedule_name for c in answer.collisions] == ["day 2", "day 3"]
    assert answer.more == 1


def test_what_was_not_compared_is_said(rack, monkeypatch):
    for n in range(3):
        other(rack, name=f"s{n}")
    monkeypatch.setattr(forecast, "MOST_SCHEDULES", 2)
    answer = ask(pick(rack))
    assert len(answer.collisions) == 2
    assert answer.cut == ("Only the 2 schedules that run next were compared.",)
    monkeypatch.setattr(forecast, "MOST_RACKS", 0)
    assert ask(pick(rack)).cut[1] == "Only the components of 0 racks were compared."


def test_three_queries_for_any_number(django_assert_num_queries):
    racks = [RackFactory(components=6, types=KINDS) for _ in range(8)]
    for n in range(8):
        other(racks[0], name=f"s{n}", targets=[pick(rack) for rack in racks])
    picks = targets_resolve([pick(rack) for rack in racks])
    with django_assert_num_queries(3):
        answer = schedule_forecast(
            operation=RESET, spec=spec_parse("cron", "0 2 * * *", "UTC"), targets=picks, now=NOW
        )  # fmt: skip
    assert len(answer.collisions) == 8
