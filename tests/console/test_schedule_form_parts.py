"""The parts of the form that are asked for while somebody works on it: the rack list, the search, the preview."""

import re
from datetime import UTC, datetime

import pytest
from django.db import connection
from django.http import QueryDict
from django.test.utils import CaptureQueriesContext

from access import callers
from audit.models import AuditEntry
from console.schedule_form.form import form_posted
from console.schedule_form.preview import preview_of
from inventory.models import Component, Rack
from inventory.targets import PickedTarget
from schedules.models import TaskSchedule
from tasks.operations import operation
from tests.console.form import ADD, CRON, EVERY, ONCE, errors_of, fields_of, filled, full_rack, lines, parts_of, scopes
from tests.console.helpers import BUDGET, queries_of, stored, text_of
from tests.factories import DomainFactory, RackFactory
from tests.schedules.helpers import make_schedule

pytestmark = pytest.mark.django_db
RACKS = f"{ADD}racks/"
PREVIEW = f"{ADD}preview/"
SEARCH = "/admin/schedules/rack-search/"
HOSTILE = '<img src=x onerror="alert(1)">\'&amp;{{ 7 }}'


@pytest.fixture
def client(signed_in):
    return signed_in("planner")


def act(client, do, *racks, **fields):
    """The rack list after a button."""
    return client.post(RACKS, {**filled(*racks), "do": do, **fields})


def kept(response) -> str:
    """The racks as the form keeps them after a button."""
    found = re.search(r"data-racks>(.*?)</textarea>", response.content.decode(), re.DOTALL)
    return found[1].strip()


# The rack list -----------------------------------------------------------------------------------------------------


def test_a_rack_is_added_by_its_hit(client):
    first, second = full_rack("r01"), full_rack("r02")
    answer = act(client, "add", first, pick=f"rack:{second.pk}")
    assert kept(answer) == lines([first, second])
    assert "r02 added." in text_of(answer)
    answer = act(client, "add", first, pick=f"rack:{first.pk}")
    assert kept(answer) == lines([first])
    assert "Already in the list." in text_of(answer)


def test_a_domain_adds_its_racks_now_and_says_so(client):
    domain = DomainFactory(name="nvl-3")
    racks = [full_rack(f"r{n}", nvl_domain=domain) for n in range(3)]
    answer = act(client, "add", racks[0], pick=f"domain:{domain.pk}")
    assert kept(answer) == lines(racks)
    assert "2 racks of nvl-3 added. Racks that join the domain later are not included." in text_of(answer)


def test_names_are_pasted_and_unknown_ones_stay_in_the_box(client):
    racks = [full_rack(f"r{n:02}") for n in range(3)]
    domain = DomainFactory(name="nvl-1")
    member = full_rack("r09", nvl_domain=domain)
    answer = act(client, "add", names=" r02 \r\nr00\n\nnothing <b>\nnvl-1\nr02")
    assert kept(answer) == lines([racks[2], racks[0], member])
    assert "2 racks added." in text_of(answer)
    assert "1 rack of nvl-1 added." in text_of(answer)
    assert "No rack and no NVLink domain has the name nothing <b>." in text_of(answer)
    assert 'id="id_names"' in answer.content.decode()
    assert ">nothing &lt;b&gt;</textarea>" in answer.content.decode()


def test_the_name_in_the_search_box_is_added_too(client):
    rack = full_rack("r01")
    assert kept(act(client, "add", find="r01")) == lines([rack])


def test_without_a_script_the_same_buttons_show_the_whole_page(client):
    rack = full_rack("r01")
    page = client.post(ADD, {**filled(), "name": "half", "do": "add", "names": "r01"})
    sent = fields_of(page)
    assert (sent["name"], sent["racks"]) == (["half"], [lines([rack])])
    page = client.post(ADD, {**sent, "do": f"open:{rack.pk}"})
    page = client.post(ADD, {**fields_of(page), "do": "list", "reach": "components"})
    part = parts_of(rack)[0]
    assert part in page.content.decode()
    page = client.post(ADD, {**fields_of(page), "component": part, "do": "close"})
    assert fields_of(page)["racks"] == [f"{rack.pk} components {part}"]
    page = client.post(ADD, {**fields_of(page), "do": "preset:weekdays"})
    assert fields_of(page)["cron"] == ["30 8 * * 1-5"]
    client.post(ADD, fields_of(page))
    assert TaskSchedule.objects.get().name == "half"


def test_what_of_a_rack_is_chosen_counts_as_soon_as_the_form_is_sent(client):
    first, second = full_rack("r01"), full_rack("r02")
    part = parts_of(second)[1]
    opened = act(client, f"open:{second.pk}", first, second)
    assert "compute trays (2) " in text_of(opened)
    chosen = {"open": str(second.pk), "reach": "types", "type": ["Compute", "PowerShelf"]}
    answer = act(client, "close", first, second, **chosen)
    assert kept(answer) == f"{first.pk}\n{second.pk} types Compute,PowerShelf"
    assert "compute trays, power shelves (4 of 6)" in text_of(answer)
    answer = act(client, "close", first, second, open=str(second.pk), reach="components", component=[part])
    assert kept(answer) == f"{first.pk}\n{second.pk} components {part}"
    client.post(ADD, {**filled(first, second), **chosen})
    assert [s.component_filter for s in TaskSchedule.objects.get().scopes.order_by("position")] == [
        None, {"kind": "types", "types": ["Compute", "PowerShelf"]},
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("reach", "said"),
    [
        ("types", "Choose at least one type of component, or the whole rack"),
        ("components", "Choose at least one component, or the whole rack"),
        ("", "Choose what of the rack it reaches"),
    ],
)
def test_choices_that_do_not_add_up_stay_open_and_are_not_saved(client, reach, said):
    rack = full_rack("r01")
    for do in ("close", f"open:{rack.pk}", "page:1"):
        answer = act(client, do, rack, open=str(rack.pk), reach=reach)
        assert said.lower() in text_of(answer).lower()
        assert f'name="open" value="{rack.pk}"' in answer.content.decode()
    client.post(ADD, {**filled(rack), "open": str(rack.pk), "reach": reach})
    assert not TaskSchedule.objects.exists()


def test_the_same_types_for_all(client):
    racks = [full_rack("r01"), full_rack("r02")]
    answer = act(client, "all", *racks, all_type=["Compute"])
    assert kept(answer) == "\n".join(f"{rack.pk} types Compute" for rack in racks)
    assert kept(act(client, "all", *racks)) == lines(racks)
    assert "unknown component type" in text_of(act(client, "all", *racks, all_type=["Toaster"])).lower()


def ticked(response) -> list[str]:
    """The types ticked for all racks."""
    return re.findall(r'name="all_type" value="([^"]*)" checked', response.content.decode())


def test_ticks_for_all_racks_show_what_all_racks_have(client):
    first, second = full_rack("r01"), full_rack("r02")
    assert ticked(act(client, "open:none", first, second)) == []
    applied = act(client, "all", first, second, all_type=["Compute"])
    assert ticked(applied) == ["Compute"]
    one_whole = f"{first.pk} types Compute\n{second.pk}"
    assert ticked(act(client, "x", first, racks=one_whole, all_type=["Compute"], was_all_type=["Compute"])) == []


def test_ticks_that_were_not_applied_keep_the_form_from_being_saved(client):
    """Without a script nothing applies them: three whole racks were reset where compute trays were ticked."""
    racks = [full_rack(f"r0{n}") for n in (1, 2, 3)]
    refused = client.post(ADD, {**filled(*racks), "all_type": ["Compute"]})
    said = "compute trays is ticked but not applied to the 3 racks: apply it, or untick it"
    assert errors_of(refused)["racks"] == said
    assert ticked(refused) == ["Compute"]
    assert not TaskSchedule.objects.exists()
    sent = fields_of(refused)
    applied = client.post(ADD, {**sent, "do": "all"})
    assert "compute trays (2 of 6)" in text_of(applied)
    assert client.post(ADD, fields_of(applied)).status_code == 302
    assert all(found["types"] == ["Compute"] for _, found in scopes(TaskSchedule.objects.get()))


def test_a_tick_that_was_taken_away_and_not_applied_is_refused_too(client):
    racks = [full_rack("r01"), full_rack("r02")]
    kept = "\n".join(f"{rack.pk} types Compute" for rack in racks)
    refused = client.post(ADD, {**filled(*racks, racks=kept), "was_all_type": ["Compute"]})
    assert "compute trays no longer ticked" in errors_of(refused)["racks"]
    sent = {**filled(*racks, racks=kept), "was_all_type": ["Compute"], "all_type": ["Compute"]}
    assert client.post(ADD, sent).status_code == 302


def test_a_reset_of_whole_racks_says_what_else_it_resets(client):
    first, second = full_rack("r01"), full_rack("r02")
    warned = "r01, r02: whole rack, NVLink switches and power shelves too."
    assert warned in text_of(client.post(PREVIEW, filled(first, second)))
    assert "too." not in text_of(client.post(PREVIEW, filled(first, second, operation="power_on")))
    narrowed = f"{first.pk} types Compute\n{second.pk}"
    assert "r02: whole rack," in text_of(client.post(PREVIEW, filled(racks=narrowed)))
    assert "r01, r02" not in text_of(client.post(PREVIEW, filled(racks=narrowed)))


def test_racks_are_taken_out(client):
    first, second = full_rack("r01"), full_rack("r02")
    assert kept(act(client, f"remove:{first.pk}", first, second)) == lines([second])
    answer = act(client, f"remove:{second.pk}", first, second, open=str(second.pk), reach="types")
    assert kept(answer) == lines([first])
    assert kept(act(client, "clear", first, second)) == ""
    assert "No racks picked yet." in text_of(act(client, "clear", first))


def test_long_lists_are_shown_by_fifty(client):
    racks = [RackFactory(name=f"r{n:03}") for n in range(101)]
    shown = text_of(act(client, "", *racks))
    assert ("r000" in shown, "r049" in shown, "r050" in shown) == (True, True, False)
    assert "101 racks" in shown
    assert "Page 1 of 3" in shown
    assert "r100" in text_of(act(client, "page:3", *racks))
    assert "r100" in text_of(act(client, "page:99", *racks))
    added = RackFactory(name="zz")
    assert "zz" in text_of(act(client, "add", *racks, pick=f"rack:{added.pk}"))


@pytest.mark.parametrize("do", ["dance", "open:nobody", "remove:", "page:x", "preset:x", "add", "list", "close"])
def test_buttons_that_ask_for_nothing_do_nothing(client, do):
    rack = full_rack("r01")
    assert kept(act(client, do, rack)) == lines([rack])


def test_a_rack_that_reaches_nothing_says_so(client):
    rack = RackFactory(name="empty")
    assert "nothing to act on: its task would be refused" in text_of(act(client, "", rack))


# Search and components ---------------------------------------------------------------------------------------------


def test_hits_are_grouped_and_twenty_in_all(client):
    domain = DomainFactory(name="rack-domain")
    for n in range(25):
        RackFactory(name=f"rack-{n:02}", nvl_domain=domain)
    answer = client.get(f"{SEARCH}?find=rack")
    assert answer.content.decode().count('role="option"') == 20
    assert "19 racks, 1 NVLink domain" in text_of(answer)
    assert "25 racks" in text_of(answer)
    assert "No rack and no NVLink domain has “zz” in its name." in text_of(client.get(f"{SEARCH}?find=zz"))
    assert client.get(f"{SEARCH}?find=r").content.strip() == b""
    assert queries_of(client, f"{SEARCH}?find=rack") <= 6


def test_the_components_of_a_rack_by_type_and_slot_with_power(client):
    rack = full_rack("r01")
    Component.objects.filter(rack=rack, type="Compute").update(slot_id=7, power_state="on")
    shown = text_of(client.get(f"/admin/schedules/rack-components/{rack.pk}/"))
    assert shown.startswith("Compute trays")
    assert "slot 7 · power on" in shown
    assert "power unknown" in shown
    assert "Power as last reported." in shown


def test_searching_takes_permissions_of_the_inventory(signed_in, client):
    rack = full_rack("r01")
    viewer = signed_in("viewer")
    assert viewer.get(f"{SEARCH}?find=r01").status_code == 200
    viewer.logout()
    assert viewer.get(f"{SEARCH}?find=r01").status_code == 302
    assert viewer.get(f"{SEARCH}?find=r01", headers={"HX-Request": "true"}).status_code == 401
    assert viewer.get(f"/admin/schedules/rack-components/{rack.pk}/").status_code == 302


# Preview -----------------------------------------------------------------------------------------------------------


def look(client, *racks, **fields):
    return text_of(client.post(PREVIEW, filled(*racks, **fields)))


def at(client, monkeypatch, now):
    """Let the form be looked at at another time."""
    real = callers.by_user

    def by_user(user_id):
        caller = real(user_id)
        object.__setattr__(caller, "now", now)
        return caller

    monkeypatch.setattr("console.viewer.by_user", by_user)


def test_it_writes_nothing(client):
    racks = [full_rack("r01"), full_rack("r02")]
    entries, before = AuditEntry.objects.count(), stored()
    for timing in (CRON, EVERY, ONCE, {"cron": "x"}):
        assert client.post(PREVIEW, filled(*racks, **timing)).status_code == 200
        assert client.post(RACKS, filled(*racks, do="clear")).status_code == 200
    assert (AuditEntry.objects.count(), stored()) == (entries, before)


def test_sentence_operation_and_what_it_reaches(client):
    first, second = full_rack("r01"), full_rack("r02")
    shown = look(client, racks=f"{first.pk}\n{second.pk} types Compute", operation="power_off", forced="on")
    assert "every day at 02:30, America/New_York" in shown
    assert "Forced power off · 8 components on 2 racks" in shown
    assert "r02: compute trays (2 of 6)" in shown
    assert len(re.findall(r"02:30 E[SD]T in America/New_York", shown)) == 10


def test_ten_runs_in_the_viewers_zone_in_utc_and_in_the_schedules(client):
    client.cookies["fs_tz"] = "Europe/Berlin"
    body = client.post(PREVIEW, filled(full_rack("r01"), timezone="Asia/Tokyo")).content.decode()
    assert body.count('<li><span class="moment">') == 10
    assert "02:30 JST in Asia/Tokyo" in body
    assert re.search(r"\d\d:30 (CET|CEST)</time>", body)


def test_a_gap_is_marked(client, monkeypatch):
    client.cookies["fs_tz"] = "America/New_York"
    at(client, monkeypatch, datetime(2026, 3, 6, 12, tzinfo=UTC))
    shown = look(client, full_rack("r01"))
    assert "Sun 8 Mar 03:00 EDT" in shown
    assert "clocks go forward: 02:30 does not exist that day, runs at 03:00" in shown
    assert shown.count("clocks go") == 1


def test_a_fold_is_marked_and_runs_once(client, monkeypatch):
    client.cookies["fs_tz"] = "America/New_York"
    at(client, monkeypatch, datetime(2026, 10, 30, 12, tzinfo=UTC))
    shown = look(client, full_rack("r01"), cron="30 1 * * *")
    assert "Sun 1 Nov 01:30 EDT (first pass)" in shown
    assert "clocks go back: 01:30 comes twice that day, runs in the first pass" in shown
    assert shown.count("Sun 1 Nov") == 1


def test_a_typed_time_that_comes_twice_is_told(client):
    shown = look(
        client, full_rack("r01"), kind="once", once_date="2031-11-02", once_time="01:30", once_zone="America/New_York"
    )
    assert "01:30 comes twice on that day in America/New_York: the first pass is meant." in shown


def test_what_is_wrong_is_said_instead_of_runs(client):
    body = client.post(PREVIEW, filled(full_rack("r01"), cron="30 2 * *")).content.decode()
    assert 'data-field="cron">Invalid cron spec &#x27;30 2 * *&#x27;: expected exactly 5 fields, found 4' in body
    assert "Next" not in body


def test_what_is_missing_is_asked_for_and_not_called_wrong(client):
    body = client.post(PREVIEW, {}).content.decode()
    assert "data-missing" in body
    assert re.findall(r'data-field="(\w+)">', body) == ["overlap"]
    shown = text_of(client.post(PREVIEW, {}))
    assert "Say when it runs." in shown
    assert "Say what it does." in shown
    assert "no racks yet" in shown


def test_both_day_fields(client):
    assert "Day of month and weekday are both set: it runs when either matches." in look(
        client, full_rack("r01"), cron="0 2 13 * 5"
    )


def test_a_taken_name_is_told_before_saving(client):
    make_schedule("Nightly power reset")
    assert "Another schedule has this name: choose another one" in look(client, full_rack("r01"))


def firmware(*racks, name="Firmware SJC01", spec="45 2 * * *"):
    return make_schedule(
        name, spec_type="cron", spec=spec, timezone="America/New_York",
        operation=operation("upgrade_firmware", target_version="25.1"),
        targets=[PickedTarget(rack.pk, ("Compute",)) for rack in racks],
    )  # fmt: skip


def test_a_collision_names_schedule_rack_both_times_and_the_reason(client):
    racks = [full_rack("r01"), full_rack("r02")]
    firmware(racks[1])
    shown = look(client, *racks)
    assert "Collides with 1 schedule" in shown
    assert "“Firmware SJC01”: firmware upgrade to 25.1 on r02." in shown
    assert re.search(r"Theirs \w{3} \d+ \w{3}( \d{4})? \d\d:45 UTC", shown)
    assert re.search(r"This one \w{3} \d+ \w{3}( \d{4})? \d\d:30 UTC", shown)
    assert "each run assumed to take its whole time limit (this one 1 h)" in shown
    assert "collides with 1 schedule" in shown  # in the line above the button, too


def test_other_components_or_times_do_not_collide(client):
    rack = full_rack("r01")
    firmware(rack)
    quiet = "Meets no other schedule in the next 14 d"
    assert quiet in look(client, racks=f"{rack.pk} types NVSwitch")
    assert quiet in look(client, rack, cron="0 12 * * *")


def test_before_its_timing_is_known_only_who_shares_its_racks(client):
    rack = full_rack("r01")
    firmware(rack)
    shown = look(client, rack, cron="")
    assert "1 schedule with an operation that may not meet this one shares racks with it: Firmware SJC01." in shown
    assert "Components and times are compared once its timing is complete." in shown


def test_few_queries_for_any_number_of_racks(client):
    racks = [full_rack(f"r{n:03}") for n in range(60)]
    firmware(*racks)
    form = filled(*racks)
    with CaptureQueriesContext(connection) as queries:
        assert client.post(PREVIEW, form).status_code == 200
    assert len(queries) <= BUDGET


def test_markup_in_names_is_text_everywhere(client):
    domain = DomainFactory(name=f"d{HOSTILE}")
    rack = RackFactory(name=f"r{HOSTILE}", nvl_domain=domain)
    Component.objects.create(rack=rack, name=f"c{HOSTILE}", serial_number="1", manufacturer="m")
    other = firmware(rack, name=f"s{HOSTILE}")
    form = filled(rack, name=HOSTILE, target_version=HOSTILE, cron=HOSTILE, once_zone=HOSTILE)
    pages = [
        client.get(ADD, {"rack": rack.name, "copy": ""}),
        client.get(ADD, {"rack": HOSTILE}),
        client.get(ADD, {"copy": other.pk}),
        client.get(f"/admin/schedules/{other.pk}/edit/"),
        client.post(ADD, {**form, "operation": ""}),
        client.post(PREVIEW, form),
        client.post(PREVIEW, filled(rack, cron="0 * * * *")),
        act(client, f"open:{rack.pk}", rack),
        act(client, "add", names=HOSTILE),
        act(client, "add", pick=f"domain:{domain.pk}"),
        client.get(SEARCH, {"find": "img"}),
        client.get(SEARCH, {"find": HOSTILE + "x"}),
        client.get(f"/admin/schedules/rack-components/{rack.pk}/"),
    ]
    for page in pages:
        assert page.status_code == 200
        assert "<img" not in page.content.decode()
        assert "&lt;img" in page.content.decode()


def test_a_form_without_anything_is_looked_at_without_an_error():
    shown = preview_of(form_posted(QueryDict(""), None), datetime(2026, 1, 1, tzinfo=UTC))
    assert (shown.runs, shown.racks, shown.forecast) == ([], 0, None)
    assert Rack.objects.count() == 0
