"""Changing a schedule: only what was changed is written, and what somebody else changed meanwhile is not run over."""

from datetime import timedelta
from uuid import UUID

import pytest
from django.urls import reverse

from audit.models import AuditEntry
from inventory.models import Rack
from inventory.targets import PickedTarget
from schedules.changes import ScheduleChanges
from schedules.models import TaskSchedule
from schedules.services import schedule_delete, schedule_pause, schedule_update
from scopes.models import TaskScheduleScope
from scopes.services import scopes_add, scopes_reconcile
from tests.console.form import EVERY, ONCE, edit_path, errors_of, fields_of, full_rack, lines, parts_of, scopes
from tests.console.helpers import BUDGET, queries_of, stored, text_of
from tests.schedules.helpers import ALICE, NOW, columns, consumed, make_schedule

pytestmark = pytest.mark.django_db
LATER = NOW + timedelta(minutes=5)


@pytest.fixture
def racks():
    return [full_rack("r01"), full_rack("r02")]


@pytest.fixture
def schedule(racks):
    return make_schedule(
        "Nightly", spec_type="cron", spec="0 2 * * *", timezone="America/New_York",
        targets=[PickedTarget(racks[0].pk), PickedTarget(racks[1].pk, ("Compute",))],
    )  # fmt: skip


def opened(client, schedule, **typed):
    """The form as a browser has it after opening it and typing."""
    return {**fields_of(client.get(edit_path(schedule))), **typed}


def changed(schedule, before):
    """The columns that differ from what they were."""
    after = columns(schedule)
    return {name for name in after if after[name] != before[name]}


# What is written ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("typed", "written"),
    [
        ({"name": "Weekly"}, {"name"}),
        ({"overlap": "queue"}, {"overlap_policy"}),
        ({"late": "skip", "grace_number": "10"}, {"misfire_grace"}),
        ({"cron": "30 3 * * *"}, {"spec", "next_run_at"}),
        ({"timezone": "Asia/Tokyo"}, {"timezone", "next_run_at"}),
        (EVERY, {"spec_type", "spec", "next_run_at"}),
        (ONCE, {"spec_type", "spec", "timezone", "next_run_at"}),
    ],
)
def test_only_what_was_changed_is_written(signed_in, schedule, typed, written):
    client = signed_in("planner")
    form, before = opened(client, schedule, **typed), columns(schedule)
    answer = client.post(edit_path(schedule), form, follow=True)
    assert changed(schedule, before) == written | {"version", "updated_at"}
    assert answer.redirect_chain[-1][0] == reverse("admin:schedule", args=[schedule.pk])
    assert "Saved." in text_of(answer)
    assert ("Next run" in text_of(answer).partition("Saved.")[2][:30]) == ("next_run_at" in written)


def test_what_a_firing_moved_meanwhile_is_left_alone(signed_in, schedule):
    client = signed_in("planner")
    form = opened(client, schedule, name="Weekly")
    moved = NOW + timedelta(days=9)
    TaskSchedule.objects.filter(pk=schedule.pk).update(next_run_at=moved, last_run_at=NOW)
    client.post(edit_path(schedule), form)
    row = TaskSchedule.objects.get()
    assert (row.name, row.next_run_at, row.last_run_at) == ("Weekly", moved, NOW)


@pytest.mark.parametrize(
    ("timing", "grace"),
    [
        (("interval", "1h0m0s", ""), None),
        (("interval", "90m", ""), timedelta(seconds=90)),
        (("one-time", "2031-06-01T04:00:30.5+02:00", "Europe/Berlin"), timedelta(seconds=20, microseconds=500)),
        (("cron", "@daily", "Asia/Kolkata"), timedelta(hours=2)),
    ],
)
def test_a_form_sent_as_it_was_opened_writes_nothing(signed_in, racks, timing, grace):
    kind, spec, zone = timing
    chosen = tuple(map(UUID, parts_of(racks[0])))
    schedule = make_schedule(
        "Odd", spec_type=kind, spec=spec, timezone=zone, misfire_grace=grace,
        targets=[PickedTarget(racks[0].pk, components=chosen), PickedTarget(racks[1].pk)],
    )  # fmt: skip
    client = signed_in("planner")
    form, before = opened(client, schedule), stored()
    answer = client.post(edit_path(schedule), form, follow=True)
    assert "Nothing was changed." in text_of(answer)
    assert stored() == before


def test_racks_and_fields_are_one_change(signed_in, schedule, racks):
    client, new = signed_in("planner"), full_rack("r03")
    form = opened(client, schedule, name="Weekly", racks=f"{racks[0].pk} types PowerShelf\n{new.pk}")
    last = AuditEntry.objects.latest("id").id
    client.post(edit_path(schedule), form)
    assert scopes(schedule) == [("r01", {"kind": "types", "types": ["PowerShelf"]}), ("r03", None)]
    [row] = AuditEntry.objects.filter(id__gt=last)
    assert (row.verb, row.actor, row.after["name"], row.after["removed"]) == (
        "schedule.update", "planner", "Weekly", ["r02"],
    )  # fmt: skip


def test_racks_in_another_order_are_no_change(signed_in, schedule, racks):
    client = signed_in("planner")
    form, before = opened(client, schedule, racks=f"{racks[1].pk} types Compute\n{racks[0].pk}"), stored()
    client.post(edit_path(schedule), form)
    assert stored() == before


def test_the_operation_is_shown_with_the_reason_and_cannot_be_sent(signed_in, schedule):
    client = signed_in("planner")
    page = client.get(edit_path(schedule))
    assert "The operation cannot be changed, so that this schedule's history keeps one meaning." in text_of(page)
    assert f"{reverse('admin:schedule_add')}?copy={schedule.pk}" in page.content.decode()
    assert "operation" not in fields_of(page)
    before = columns(schedule)["operation_template"]
    client.post(edit_path(schedule), opened(client, schedule, operation="power_off", name="Weekly"))
    assert columns(schedule)["operation_template"] == before


def test_moving_the_time_says_from_when_to_when(signed_in, schedule):
    client = signed_in("planner")
    shown = client.post(f"{edit_path(schedule)}preview/", opened(client, schedule, cron="30 3 * * *"))
    assert "Next run moves from" in text_of(shown)
    shown = client.post(f"{edit_path(schedule)}preview/", opened(client, schedule, name="Weekly"))
    assert "Next run moves from" not in text_of(shown)


def test_a_paused_one_says_that_it_stays_so(signed_in, schedule):
    schedule_pause(schedule_id=schedule.pk, reason="chiller work", by=ALICE, now=LATER)
    page = text_of(signed_in("planner").get(edit_path(schedule)))
    assert "It does not fire now: chiller work. It runs at these times only after it is resumed." in page


# Refused -----------------------------------------------------------------------------------------------------------


def test_the_last_rack_cannot_go(signed_in, schedule):
    client = signed_in("planner")
    form, before = opened(client, schedule, racks="", name="Weekly"), stored()
    answer = client.post(edit_path(schedule), form)
    said = "A schedule needs at least one rack. Delete the schedule instead, or pause it."
    assert said in text_of(answer)
    assert "racks" in errors_of(answer)
    assert stored() == before
    assert fields_of(answer)["name"] == ["Weekly"]


def test_the_time_of_what_has_run(signed_in):
    schedule = consumed()
    client = signed_in("planner")
    page = client.get(edit_path(schedule))
    assert "It has run, and its time cannot be set anew." in text_of(page)
    answer = client.post(edit_path(schedule), {**fields_of(page), "once_date": "2031-01-01"})
    assert "has run and cannot be set to another time" in errors_of(answer)["once_date"]


def test_a_taken_name(signed_in, schedule):
    make_schedule("Weekly")
    client = signed_in("planner")
    answer = client.post(edit_path(schedule), opened(client, schedule, name="Weekly", overlap="queue"))
    assert "another schedule has the name 'Weekly'" in errors_of(answer)["name"]
    assert columns(schedule)["overlap_policy"] == "skip"


def test_one_that_was_deleted_meanwhile(signed_in, schedule):
    client = signed_in("planner")
    form = opened(client, schedule, name="Weekly")
    schedule_delete(schedule_id=schedule.pk, by=ALICE, now=LATER)
    assert client.post(edit_path(schedule), form).status_code == 404
    assert client.get(edit_path(schedule)).status_code == 404


def test_a_rack_that_is_gone_is_shown_and_only_in_the_way_of_other_racks(signed_in, schedule, racks):
    Rack.objects.filter(name="r02").update(deleted_at=LATER)
    client = signed_in("planner")
    page = client.get(edit_path(schedule))
    assert "r02 nothing it is no longer in the inventory: take it out" in text_of(page)
    client.post(edit_path(schedule), {**fields_of(page), "name": "Weekly"})
    assert columns(schedule)["name"] == "Weekly"
    new = full_rack("r03")
    form = opened(client, schedule)
    answer = client.post(edit_path(schedule), {**form, "racks": f"{form['racks'][0]}\n{new.pk}"})
    assert errors_of(answer)["racks"] == "rack 'r02' is no longer in the inventory: take it out"


def test_a_filter_that_cannot_be_read_never_becomes_the_whole_rack(signed_in, schedule, racks):
    TaskScheduleScope.objects.filter(rack=racks[1]).update(component_filter={"kind": "types", "types": []})
    client = signed_in("planner")
    form = opened(client, schedule)
    client.post(edit_path(schedule), {**form, "name": "Weekly"})
    assert scopes(schedule)[1][1] == {"kind": "types", "types": []}
    form = opened(client, schedule)
    new = full_rack("r03")
    answer = client.post(edit_path(schedule), {**form, "racks": f"{form['racks'][0]}\n{new.pk}"})
    assert "cannot be read: change it, or take it out" in errors_of(answer)["racks"]
    opening = client.post(f"{edit_path(schedule)}racks/", {**form, "do": f"open:{racks[1].pk}"})
    assert 'name="reach" value="whole" checked' not in opening.content.decode()
    answer = client.post(edit_path(schedule), {**form, "open": str(racks[1].pk), "name": "Monthly"})
    assert errors_of(answer)["racks"] == "choose what of the rack it reaches"


# Somebody else was faster ------------------------------------------------------------------------------------------


def other_change(schedule, **fields):
    schedule_update(schedule_id=schedule.pk, changes=ScheduleChanges(**fields), by=ALICE, now=LATER)


def test_an_edit_conflict_changes_nothing_and_shows_all_three(signed_in, schedule):
    client = signed_in("planner")
    form = opened(client, schedule, name="Mine", cron="30 3 * * *")
    other_change(schedule, name="Theirs", overlap_policy="queue")
    before = columns(schedule)
    answer = client.post(edit_path(schedule), form)
    page = text_of(answer)
    assert columns(schedule) == before
    assert "alice changed this schedule at" in page
    assert "while you were editing. Nothing of yours was saved." in page
    assert "Name changed by both Nightly Theirs Mine" in page
    assert "every day at 02:00, America/New_York every day at 02:00, America/New_York every day at 03:30" in page
    assert "If the previous task is still active skip that rack queue skip that rack" in page
    kept = fields_of(answer)
    assert (kept["name"], kept["cron"], kept["version"]) == (["Mine"], ["30 3 * * *"], ["1"])
    assert kept["keep"] == ["name", "timing"]  # the field that only they changed is not mine to keep
    assert AuditEntry.objects.latest("id").refused


def test_keep_mine_for_the_marked_fields(signed_in, schedule, racks):
    client = signed_in("planner")
    form = opened(client, schedule, name="Mine", cron="30 3 * * *", racks=lines(racks[:1]))
    other_change(schedule, name="Theirs", overlap_policy="queue")
    page = client.post(edit_path(schedule), form)
    sent = {**fields_of(page), "do": "keep", "keep": ["timing", "racks"]}
    answer = client.post(edit_path(schedule), sent, follow=True)
    row = TaskSchedule.objects.get()
    assert "Saved." in text_of(answer)
    assert (row.name, row.spec, row.overlap_policy) == ("Theirs", "30 3 * * *", "queue")
    assert scopes(schedule) == [("r01", None)]


def test_keep_mine_against_yet_another_change_is_another_conflict(signed_in, schedule):
    client = signed_in("planner")
    form = opened(client, schedule, name="Mine")
    other_change(schedule, name="Theirs")
    page = client.post(edit_path(schedule), form)
    other_change(schedule, name="Theirs again")
    answer = client.post(edit_path(schedule), {**fields_of(page), "do": "keep"})
    assert "Nightly Theirs again Mine" in text_of(answer)
    assert columns(schedule)["name"] == "Theirs again"
    client.post(edit_path(schedule), {**fields_of(answer), "do": "keep"})
    assert columns(schedule)["name"] == "Mine"


def test_saving_again_without_deciding_is_the_same_conflict(signed_in, schedule):
    client = signed_in("planner")
    form = opened(client, schedule, name="Mine")
    other_change(schedule, name="Theirs")
    page = client.post(edit_path(schedule), form)
    client.post(edit_path(schedule), {**fields_of(page), "do": "save"})
    assert columns(schedule)["name"] == "Theirs"


def test_racks_that_somebody_changed_are_told_by_name(signed_in, schedule, racks):
    client = signed_in("planner")
    new, mine = full_rack("r03"), full_rack("r04")
    form = opened(client, schedule, racks=lines([*racks, mine]))
    scopes_add(schedule_id=schedule.pk, targets=[PickedTarget(new.pk)], by=ALICE, now=LATER)
    page = text_of(client.post(edit_path(schedule), form))
    assert "Racks changed by both 2 racks 3 racks: + r03 3 racks: + r04, r02: whole rack" in page
    assert [name for name, _ in scopes(schedule)] == ["r01", "r02", "r03"]


def test_a_pause_meanwhile_is_a_conflict_without_a_field(signed_in, schedule):
    client = signed_in("planner")
    form = opened(client, schedule, name="Mine")
    schedule_pause(schedule_id=schedule.pk, by=ALICE, now=LATER)
    page = client.post(edit_path(schedule), form)
    assert "alice changed this schedule" in text_of(page)
    client.post(edit_path(schedule), {**fields_of(page), "do": "keep"})
    row = TaskSchedule.objects.get()
    assert (row.name, row.enabled) == ("Mine", False)


def test_a_firing_is_no_conflict(signed_in, schedule):
    client = signed_in("planner")
    form = opened(client, schedule, name="Mine")
    TaskSchedule.objects.filter(pk=schedule.pk).update(next_run_at=LATER, updated_at=LATER)
    client.post(edit_path(schedule), form)
    assert columns(schedule)["name"] == "Mine"


# Who, and what it costs --------------------------------------------------------------------------------------------


def test_who_may_change_fields_but_not_racks(signed_in, schedule, racks):
    client = signed_in("operator")
    page = client.get(edit_path(schedule))
    assert "You may not change the racks of a schedule" in text_of(page)
    assert 'value="remove:' not in page.content.decode()
    client.post(edit_path(schedule), {**fields_of(page), "name": "Weekly"})
    assert columns(schedule)["name"] == "Weekly"
    before = columns(schedule)
    answer = client.post(edit_path(schedule), opened(client, schedule, name="Monthly", racks=lines(racks[:1])))
    assert answer.status_code == 403
    assert columns(schedule) == before
    assert AuditEntry.objects.latest("id").verb == "scope.reconcile"
    assert AuditEntry.objects.latest("id").refused
    assert client.post(f"{edit_path(schedule)}racks/", {}).status_code == 403


def test_who_may_only_look(signed_in, schedule):
    client = signed_in("viewer")
    before = columns(schedule)
    for method, path in (("get", ""), ("post", ""), ("post", "preview/"), ("post", "racks/")):
        assert getattr(client, method)(edit_path(schedule) + path).status_code == 403
    assert columns(schedule) == before


def test_opening_it_writes_nothing(signed_in, schedule):
    client = signed_in("planner")
    before = stored()
    assert client.get(edit_path(schedule)).status_code == 200
    assert stored() == before


def test_few_queries_for_any_number_of_racks(signed_in, schedule):
    client = signed_in("planner")
    few = queries_of(client, edit_path(schedule))
    racks = [full_rack(f"many-{n:03}") for n in range(60)]
    scopes_reconcile(schedule_id=schedule.pk, targets=[PickedTarget(r.pk) for r in racks], by=ALICE, now=LATER)
    make_schedule("other", spec_type="cron", spec="0 2 * * *", timezone="America/New_York",
                  targets=[PickedTarget(r.pk) for r in racks])  # fmt: skip
    many = queries_of(client, edit_path(schedule))
    assert few <= many <= BUDGET
