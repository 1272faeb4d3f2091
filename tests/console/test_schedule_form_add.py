"""Adding a schedule: every kind with every filter, what is refused, what stays typed, and who may."""

from datetime import timedelta

import pytest
from django.urls import reverse

from audit.models import AuditEntry
from inventory.models import Component, Rack
from schedules.models import TaskSchedule
from schedules.services import schedule_create
from tasks.operations import operation
from tests.console.form import ADD, CRON, EVERY, ONCE, errors_of, fields_of, filled, full_rack, lines, parts_of, scopes
from tests.console.helpers import BUDGET, queries_of, stored, text_of
from tests.factories import ComponentFactory, DomainFactory, RackFactory
from tests.schedules.helpers import ALICE, NOW, make_schedule

pytestmark = pytest.mark.django_db


def only() -> TaskSchedule:
    return TaskSchedule.objects.get()


# Creating ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("timing", "row"),
    [
        (CRON, ("cron", "30 2 * * *", "America/New_York")),
        (EVERY, ("interval", "15m", "UTC")),
        (
            {"kind": "every", "every_number": "15", "every_unit": "m", "every_text": "1h30m"},
            ("interval", "1h30m", "UTC"),
        ),
        (ONCE, ("one-time", "2031-06-01T02:00:00Z", "Europe/Berlin")),
    ],
)
@pytest.mark.parametrize("filter_", ["whole", "types", "components"])
def test_every_kind_with_every_filter(signed_in, timing, row, filter_):
    rack, other = full_rack("r01"), full_rack("r02")
    part = parts_of(rack)[0]
    line, expected = {
        "whole": (f"{rack.pk}", None),
        "types": (f"{rack.pk} types Compute,NVSwitch", {"kind": "types", "types": ["Compute", "NVSwitch"]}),
        "components": (f"{rack.pk} components {part}", {"kind": "components", "components": [part]}),
    }[filter_]
    answer = signed_in("planner").post(ADD, filled(**timing, racks=f"{line}\n{other.pk}"), follow=True)
    schedule = only()
    assert (schedule.spec_type, schedule.spec, schedule.timezone) == row
    assert scopes(schedule) == [("r01", expected), ("r02", None)]
    assert answer.redirect_chain[-1][0] == reverse("admin:schedule", args=[schedule.pk])
    components = {"whole": 12, "types": 10, "components": 7}[filter_]
    assert f"{components} components on 2 racks" in text_of(answer)
    assert "Created. First run" in text_of(answer)
    assert "<span>Created. First run <time" in answer.content.decode(), "one run of words in the box of a message"


@pytest.mark.parametrize(
    ("fields", "made"),
    [
        ({"operation": "power_on", "forced": "on"}, operation("power_on")),
        ({"operation": "power_off", "forced": "on"}, operation("power_off", forced=True)),
        ({"operation": "power_reset"}, operation("power_reset")),
        ({"operation": "bring_up"}, operation("bring_up")),
        ({"operation": "ingest", "target_version": "9"}, operation("ingest")),
        (
            {"operation": "upgrade_firmware", "target_version": "25.1"},
            operation("upgrade_firmware", target_version="25.1"),
        ),
    ],
)
def test_every_operation_with_the_fields_it_has(signed_in, fields, made):
    signed_in("planner").post(ADD, filled(full_rack("r01"), **fields))
    template = only().operation_template
    assert (template["type"], template["code"], template["information"]) == (made.type, made.code, made.information)


def test_overlap_and_grace(signed_in):
    signed_in("planner").post(
        ADD, filled(full_rack("r01"), overlap="queue", late="skip", grace_number="1.5", grace_unit="h")
    )  # fmt: skip
    assert (only().overlap_policy, only().misfire_grace) == ("queue", timedelta(minutes=90))


def test_what_the_page_itself_sends_is_what_it_shows(signed_in):
    client, rack = signed_in("planner"), full_rack("r01")
    sent = fields_of(client.get(f"{ADD}?rack=r01"))
    assert sent["racks"] == [str(rack.pk)]
    client.post(ADD, {**sent, "name": "from the page", "operation": "power_on", "cron": "0 2 * * *"})
    assert scopes(only()) == [("r01", None)]
    assert (only().overlap_policy, only().misfire_grace, only().timezone) == ("skip", None, "UTC")


def test_a_form_sent_twice_creates_one(signed_in):
    client = signed_in("planner")
    form = filled(full_rack("r01"), nonce="6f1c0f3e-6f4e-4d2c-9c55-0a3f8f0f9c11")
    client.post(ADD, form)
    again = client.post(ADD, {**form, "name": "another"}, follow=True)
    assert only().name == "Nightly power reset"
    assert "was created by this form before: nothing was created again" in text_of(again)


def test_it_is_in_the_trail_as_the_person_who_did_it(signed_in):
    signed_in("planner").post(ADD, filled(full_rack("r01")))
    row = AuditEntry.objects.latest("id")
    assert (row.actor, row.door, row.verb, row.object_name) == (
        "planner", "admin", "schedule.create", "Nightly power reset",
    )  # fmt: skip


# Refused, and shown again ------------------------------------------------------------------------------------------

WRONG = [
    ({"name": ""}, "name", "give it a name"),
    ({"name": "x" * 256}, "name", "at most 255"),
    ({"operation": ""}, "operation", "say what it does"),
    ({"operation": "dance"}, "operation", "unknown operation"),
    ({"operation": "upgrade_firmware"}, "target_version", "to which version"),
    ({"kind": ""}, "kind", "say when it runs"),
    ({"cron": ""}, "cron", "write a cron expression"),
    ({"cron": "30 2 * *"}, "cron", "expected exactly 5 fields, found 4"),
    ({"cron": "0 0 30 2 *"}, "cron", "this day-of-month never occurs"),
    ({"timezone": "US/Pacific-New"}, "timezone", "'US/Pacific-New' is not a time zone; did you mean US/Pacific?"),
    ({**EVERY, "every_number": ""}, "every_number", "say how often"),
    ({**EVERY, "every_number": "soon"}, "every_number", "'soon' is no number"),
    ({**EVERY, "every_number": "0", "every_unit": "s"}, "every_number", "must be a positive duration"),
    ({**EVERY, "every_text": "1h30"}, "every_text", "missing unit"),
    ({**ONCE, "once_date": ""}, "once_date", "choose a day"),
    ({**ONCE, "once_date": "2031-02-30"}, "once_date", "there is no day 2031-02-30"),
    ({**ONCE, "once_date": "31/2/2031"}, "once_date", "is no day"),
    ({**ONCE, "once_date": "0001-01-01"}, "once_date", "the year must be"),
    ({**ONCE, "once_time": "25:00"}, "once_time", "there is no time of day"),
    ({**ONCE, "once_time": "noon"}, "once_time", "is no time of day"),
    ({**ONCE, "once_zone": "Mars"}, "once_zone", "'Mars' is not a time zone"),
    (
        {**ONCE, "once_date": "2031-03-09", "once_time": "02:30", "once_zone": "America/New_York"},
        "once_time",
        "02:30 does not exist on that day in America/New_York, where the clocks go forward: choose 03:00 or later",
    ),
    ({"overlap": "dance"}, "overlap", "unknown overlap policy"),
    ({"late": "skip", "grace_number": "1", "grace_unit": "s"}, "grace_number", "too short: it must be at least 20s"),
    ({"late": "skip", "grace_number": ""}, "grace_number", "say how late"),
    ({"late": "skip", "grace_number": "x"}, "grace_number", "is no number"),
    ({"racks": ""}, "racks", "add at least one rack"),
    ({"racks": "r01"}, "racks", "came damaged"),
    ({"racks": "00000000-0000-4000-8000-000000000000"}, "racks", "there is no rack"),
]


@pytest.mark.parametrize(("fields", "name", "said"), WRONG)
def test_what_is_wrong_is_said_on_its_field_and_all_that_was_typed_stays(signed_in, fields, name, said):
    client, form = signed_in("planner"), filled(full_rack("r01"), **fields)
    before = stored()
    answer = client.post(ADD, form)
    assert said in errors_of(answer)[name]
    assert text_of(answer).count(errors_of(answer)[name][1:]) >= 1
    kept = fields_of(answer)
    for field, text in form.items():
        if field not in {"racks", "operation", "forced", "kind", "overlap"} or text:
            shown = kept.get(field, [""])[0]
            assert shown == text or (field in {"operation", "overlap", "racks"} and name == field)
    assert not TaskSchedule.objects.exists()
    assert "Created" not in text_of(answer)
    if name != "racks":
        assert stored() == before  # nothing was asked of a service, so there is no refusal in the trail either


def test_all_that_is_wrong_is_said_at_once(signed_in):
    answer = signed_in("planner").post(ADD, {"kind": "calendar", "cron": "x", "timezone": "UTC"})
    assert set(errors_of(answer)) == {"name", "operation", "cron", "overlap", "late", "racks"}
    assert "Not saved. Nothing you typed is lost." in text_of(answer)


def test_a_taken_name_is_refused_on_the_name(signed_in):
    make_schedule("Nightly power reset")
    answer = signed_in("planner").post(ADD, filled(full_rack("r01")))
    assert "another schedule has the name" in errors_of(answer)["name"]
    assert TaskSchedule.objects.count() == 1


def test_a_rack_that_left_meanwhile_is_refused_by_name(signed_in):
    rack = full_rack("r09")
    Rack.objects.filter(pk=rack.pk).update(deleted_at=NOW)
    answer = signed_in("planner").post(ADD, filled(rack))
    assert errors_of(answer)["racks"] == "rack 'r09' is no longer in the inventory: take it out"
    assert "it is no longer in the inventory: take it out" in text_of(answer)


def test_a_component_that_moved_meanwhile_is_refused(signed_in):
    rack = full_rack("r01")
    part = parts_of(rack)[0]
    Component.objects.filter(pk=part).update(rack=RackFactory())
    answer = signed_in("planner").post(ADD, filled(racks=f"{rack.pk} components {part}"))
    assert "is no longer in rack 'r01'" in errors_of(answer)["racks"]
    assert "1 of its chosen components left the rack" in text_of(answer)


def test_a_past_time_is_warned_of_and_may_be_saved(signed_in):
    client, past = signed_in("planner"), {**ONCE, "once_date": "2020-01-01"}
    shown = client.post(f"{ADD}preview/", filled(full_rack("r01"), **past))
    assert "ago. The schedule will run within 10 s of saving." in text_of(shown)
    client.post(ADD, filled(Rack.objects.get(), **past))
    assert only().next_run_at.year == 2020


def test_more_racks_than_a_schedule_may_have_are_refused_whole(signed_in, settings):
    settings.FLOWSCHED_MAX_SCOPES_PER_SCHEDULE = 3
    racks = [RackFactory() for _ in range(4)]
    client = signed_in("planner")
    answer = client.post(ADD, filled(*racks))
    assert "at most 3 racks, and this has 4: split it into several schedules" in errors_of(answer)["racks"]
    names = "\n".join(rack.name for rack in racks)
    answer = client.post(ADD, {**filled(), "names": names, "do": "add"})
    assert "4 names are more than the 3 racks of a schedule: nothing was added" in text_of(answer)
    answer = client.post(ADD, {**filled(*racks[:3]), "names": racks[3].name, "do": "add"})
    assert "at most 3 racks, and this makes 4: nothing was added" in text_of(answer)
    assert fields_of(answer)["racks"] == [lines(racks[:3])]
    assert not TaskSchedule.objects.exists()


def test_a_rack_may_have_every_one_of_its_components_ticked(signed_in):
    rack = full_rack("r01")
    Component.objects.bulk_create(ComponentFactory.build(rack=rack) for _ in range(994))
    ticked = [str(pk) for pk in Component.objects.filter(rack=rack).values_list("pk", flat=True)]
    form = {**filled(rack), "open": str(rack.pk), "reach": "components", "component": ticked}
    signed_in("planner").post(ADD, form)
    assert len(scopes(only())[0][1]["components"]) == 1000


def test_more_than_a_form_may_hold_is_refused_in_words(signed_in):
    answer = signed_in("planner").post(ADD, filled(names="x" * 3 * 2**20))
    assert answer.status_code == 400
    assert "larger than 2.5 MiB. Nothing was done. Go back: what you typed is still there." in text_of(answer)


# Starting from something -------------------------------------------------------------------------------------------


def test_a_new_one_for_a_rack(signed_in):
    full_rack("r01")
    page = signed_in("planner").get(f"{ADD}?rack=r01&rack=nothing")
    assert "whole rack (6)" in text_of(page)
    assert "There is no rack “nothing”." in text_of(page)


def test_a_copy_says_all_but_the_name(signed_in):
    rack = full_rack("r01")
    client = signed_in("planner")
    client.post(
        ADD,
        filled(
            racks=f"{rack.pk} types Compute", operation="power_off", forced="on", overlap="queue", late="skip",
            grace_number="10", grace_unit="m",
        ),
    )  # fmt: skip
    first = only()
    page = client.get(f"{ADD}?copy={first.pk}")
    sent = fields_of(page)
    assert sent["name"] == ["Nightly power reset (copy)"]
    client.post(ADD, sent)
    copy = TaskSchedule.objects.exclude(pk=first.pk).get()
    for column in ("spec_type", "spec", "timezone", "operation_template", "overlap_policy", "misfire_grace"):
        assert getattr(copy, column) == getattr(first, column), column
    assert scopes(copy) == scopes(first)


def test_a_copy_says_what_it_leaves_out(signed_in):
    made = schedule_create(
        name="x" * 255, spec_type="interval", spec="1h0m0s", queue_timeout=timedelta(minutes=5),
        operation=operation("upgrade_firmware", target_version="2", override_version_check=True),
        targets=[full_rack_target()], by=ALICE, now=NOW,
    )  # fmt: skip
    page = signed_in("planner").get(f"{ADD}?copy={made.pk}")
    assert "Not copied, as this form has no field for it: override version check, queue timeout." in text_of(page)
    sent = fields_of(page)
    assert (sent["every_text"], sent["target_version"]) == (["1h0m0s"], ["2"])
    assert len(sent["name"][0]) == 255


def full_rack_target():
    from inventory.targets import PickedTarget  # noqa: PLC0415

    return PickedTarget(full_rack("r01").pk)


def test_a_copy_of_what_is_not_there(signed_in):
    assert signed_in("planner").get(f"{ADD}?copy=00000000-0000-4000-8000-000000000001").status_code == 404


def test_without_racks_in_the_inventory_it_says_what_to_do_first(signed_in):
    assert "No racks yet. Import them first: manage.py import_racks FILE" in text_of(signed_in("planner").get(ADD))


# Who, and what it costs --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", [ADD, f"{ADD}preview/", f"{ADD}racks/"])
@pytest.mark.parametrize("role", ["viewer", "operator"])
def test_only_who_may_create(signed_in, role, path):
    client, rack = signed_in(role), full_rack("r01")
    assert client.post(path, filled(rack)).status_code == 403
    assert AuditEntry.objects.filter(verb="schedule.create", actor=role).exclude(refused="").exists()
    assert not TaskSchedule.objects.exists()
    if path == ADD:
        assert client.get(path).status_code == 403


def test_a_get_writes_nothing(signed_in):
    client = signed_in("planner")
    full_rack("r01", nvl_domain=DomainFactory(name="nvl-1"))
    before = stored()
    for path in (ADD, f"{ADD}?rack=r01", "/admin/schedules/rack-search/?find=r0"):
        assert client.get(path).status_code == 200
    assert stored() == before


def test_the_page_takes_few_queries_for_any_number_of_racks(signed_in):
    client = signed_in("planner")
    names = [full_rack(f"r{n:03}").name for n in range(60)]
    few = queries_of(client, f"{ADD}?rack={names[0]}")
    many = queries_of(client, ADD + "?" + "&".join(f"rack={name}" for name in names))
    assert few == many <= BUDGET
