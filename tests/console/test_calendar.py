"""The calendar's page (admin.md 2.7): what was, what will be, filters, limits, price."""

import re
from datetime import UTC, datetime, timedelta
from html import unescape
from zoneinfo import ZoneInfo

import pytest

from console.calendar.filters import Filters
from console.calendar.marks import MOST_A_DAY, TooMany
from console.calendar.past import look_up_ends, past
from console.calendar.planned import planned
from dispatcher.models import Firing, FiringScope
from flowsched import clock
from schedules.models import TaskSchedule
from schedules.specs import spec_of
from tasks.models import Task
from tests.console.helpers import stored
from tests.console.history import fill, relive
from tests.console.people import MARKUP, browse, statements, writes
from tests.dispatcher.helpers import due_schedule, racks

pytestmark = pytest.mark.django_db
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
NEW_YORK = ZoneInfo("America/New_York")
ALL = Filters()


def shown(client, address="/admin/calendar/"):
    answer = client.get(address)
    assert answer.status_code == 200
    return answer.content.decode()


def plain(html):
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]*>", " ", html)))


def edges(now, days, back=0):
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    return [midnight + n * DAY for n in range(-back, days + 1)]


def nightly(now, name="nightly", on=2, **changes):
    values = {"cron": "0 2 * * *", "timezone": "America/New_York", "late": -5 * HOUR} | changes
    row = due_schedule(name, racks(on), now=now, **values)
    TaskSchedule.objects.filter(pk=row.pk).update(next_run_at=spec_of(row).next_after(now))
    row.refresh_from_db()
    return row


# What will be -------------------------------------------------------------------------------------------------------


def test_every_run_is_one_mark_and_a_busy_day_is_one():
    now = clock.now()
    row = nightly(now)
    due_schedule("quarter", racks(1), cron="*/15 * * * *", late=-MINUTE, now=now)
    found = planned(ALL, edges(now, 10), now=now).marks
    expected = [at for day in spec_of(row).days(now, edges(now, 10)[-1]) for at in day]
    assert [mark.at for mark in found if mark.name == "nightly"] == expected
    assert {mark.racks for mark in found if mark.name == "nightly"} == {2}
    quarters = [mark for mark in found if mark.name == "quarter"]
    assert len(quarters) in {9, 10}
    assert {(mark.count, mark.every) for mark in quarters[1:]} == {(96, 15 * MINUTE)}
    assert quarters[-1].often == "every 15 min · 96"


def test_nothing_runs_in_days_that_are_over():
    now = clock.now()
    nightly(now)
    assert planned(ALL, [now - 3 * DAY, now - 2 * DAY, now - DAY], now=now).marks == []


def test_what_is_overdue_stands_at_now():
    now = clock.now()
    due_schedule("late", racks(1), every="240h", late=HOUR, now=now)
    assert [mark.at for mark in planned(ALL, edges(now, 5), now=now).marks] == [now]


def test_paused_schedules_are_absent_until_asked_for():
    now = clock.now()
    row = nightly(now)
    TaskSchedule.objects.filter(pk=row.pk).update(
        enabled=False, disabled_kind="person", disabled_by="ann", disabled_reason="chiller work", disabled_at=now
    )
    assert planned(ALL, edges(now, 5), now=now).marks == []
    marks = planned(ALL, edges(now, 5), now=now, paused=True).marks
    assert len(marks) in {4, 5}
    assert {(mark.kind, mark.why) for mark in marks} == {("paused", "paused by ann: chiller work")}


def test_a_spec_that_cannot_be_read_is_listed_with_its_reason():
    now = clock.now()
    row = nightly(now, name="poison")
    nightly(now, name="fine")
    TaskSchedule.objects.filter(pk=row.pk).update(spec="nonsense")
    text = plain(shown(browse()))
    assert "poison cannot be shown: invalid cron spec 'nonsense'" in text
    assert "fine" in text


def test_too_many_to_draw_is_said_and_half_a_plan_is_not_shown():
    now = clock.now()
    fill(now, racks=5, schedules=400, firings=0)
    with pytest.raises(TooMany):
        planned(ALL, edges(now, 10), now=now)
    html = shown(browse(), f"/admin/calendar/?date={now + 40 * DAY:%Y-%m-%d}")
    assert "Too many to draw: filter by rack or schedule." in html
    assert "Fill" not in html
    one = TaskSchedule.objects.earliest("name")
    assert one.name in shown(browse(name="other"), f"/admin/calendar/?schedule={one.pk}")


# What was -----------------------------------------------------------------------------------------------------------


def test_firings_stand_where_they_were_due_in_the_colour_of_their_worst():
    now = clock.now()
    fill(now, racks=9, schedules=6, firings=120, each=3, span=5 * DAY)
    found = past(ALL, edges(now, 1, back=6), now=now)
    assert sorted(mark.at for mark in found) == sorted(Firing.objects.values_list("due_at", flat=True))
    look_up_ends(found)
    for mark in found:
        scopes = FiringScope.objects.filter(firing_id=mark.firing_id)
        ends = set(Task.objects.filter(pk__in=scopes.values("task_id")).values_list("status", flat=True))
        assert sum(count.racks for count in mark.counts) == 3
        assert mark.key == mark.counts[0].key
        assert (mark.key == "completed") == (ends == {"completed"})
        assert (mark.key == "failed") == ("failed" in ends)


def test_a_day_of_many_firings_of_one_schedule_is_one_mark_with_all_their_counts():
    now = clock.now()
    due_schedule("busy", racks(2), late=-HOUR, now=now)
    noon = now.replace(hour=0, minute=0, second=0, microsecond=0) - DAY + 20 * HOUR
    relive(noon, firings=MOST_A_DAY + 1, span=10 * HOUR)
    [mark] = past(ALL, edges(now, 1, back=3), now=now)
    assert mark.count == MOST_A_DAY + 1
    assert sum(count.racks for count in mark.counts) == 2 * (MOST_A_DAY + 1)
    assert mark.at == Firing.objects.earliest("due_at").due_at
    Firing.objects.latest("due_at").delete()
    assert len(past(ALL, edges(now, 1, back=3), now=now)) == MOST_A_DAY


def test_who_may_not_see_firings_sees_the_plan_alone():
    now = clock.now()
    fill(now, racks=3, schedules=2, firings=10, span=DAY)
    address = f"/admin/calendar/?view=list&days=3&date={now - DAY:%Y-%m-%d}"
    assert "Completed" in shown(browse(), address)
    html = shown(browse(verbs=["schedule.read"]), address)
    assert "Completed" not in html
    assert "planned" in html


# The page -----------------------------------------------------------------------------------------------------------


def test_a_month_has_four_lines_a_day_and_leads_to_the_rest():
    now = clock.now()
    for n in range(8):
        nightly(now, name=f"night {n}", cron=f"{n} 3 * * *")
    client = browse(zone="America/New_York")
    html = shown(client, f"/admin/calendar/?date={now + 40 * DAY:%Y-%m-%d}")
    cells = html.split('<td class="')[1:]
    assert len(cells) % 7 == 0
    assert all(cell.split("</td>")[0].count('class="mark planned') == 4 for cell in cells)
    more = re.search(r'<a class="more" href="([^"]+)">\+4 more</a>', html)
    listed = shown(client, unescape(more[1]))
    assert listed.count("<tr class=") == 8
    assert "03:07 E" in listed


def test_the_views_lead_to_each_other_and_keep_the_filters():
    now = clock.now()
    nightly(now)
    client = browse()
    html = shown(client, "/admin/calendar/?view=week&date=2027-03-10&operation=power_on")
    addresses = [unescape(each) for each in re.findall(r'href="(/admin/calendar/\?[^"]+)"', html)]
    assert "/admin/calendar/?view=week&date=2027-03-01&operation=power_on" in addresses
    assert "/admin/calendar/?view=week&date=2027-03-15&operation=power_on" in addresses
    assert "/admin/calendar/?view=month&date=2027-03-08&operation=power_on" in addresses
    for address in addresses:
        shown(client, address)


def test_a_day_of_23_hours_says_so_and_the_run_in_its_gap_moves():
    at = datetime(2027, 3, 12, tzinfo=UTC)
    nightly(at, cron="30 2 * * *")
    client = browse(zone="America/New_York")
    html = shown(client, "/admin/calendar/?view=list&days=3&date=2027-03-13")
    days = html.split('<section class="day-list">')[1:]
    assert ["23 hours" in day for day in days] == [False, True, False]
    assert [re.search(r"<time[^>]*>(\d\d:\d\d E.T)", day)[1] for day in days] == ["02:30 EST", "03:00 EDT", "02:30 EDT"]
    assert "clocks go forward: EST → EDT" in html


def test_days_are_the_viewer_s():
    now = clock.now()
    due_schedule("late evening", racks(1), cron="30 23 * * *", timezone="UTC", late=-MINUTE, now=now)
    day = f"{now + 9 * DAY:%Y-%m-%d}"
    utc = shown(browse(zone="UTC"), f"/admin/calendar/?view=list&days=1&date={day}")
    tokyo = shown(browse(zone="Asia/Tokyo", name="tokyo"), f"/admin/calendar/?view=list&days=1&date={day}")
    assert "23:30 UTC" in utc
    assert "08:30 JST" in tokyo


def test_the_week_outlines_runs_that_may_meet_on_a_rack():
    now = clock.now()
    on = racks(3)
    at = (now + 2 * DAY).replace(hour=3, minute=0)
    for name, kind, minute, where in (
        ("reset", "power_reset", 0, on[:2]),
        ("also", "power_off", 20, on[1:]),
        ("elsewhere", "power_off", 20, racks(1)),
        ("much later", "power_off", 20, on[:1]),
    ):
        hour = 9 if name == "much later" else 3
        row = due_schedule(name, where, kind=kind, cron=f"{minute} {hour} * * *", late=-HOUR, now=now)
        TaskSchedule.objects.filter(pk=row.pk).update(next_run_at=spec_of(row).next_after(now))
    html = shown(browse(), f"/admin/calendar/?view=week&date={at:%Y-%m-%d}")
    boxes = re.findall(r'aria-label="([^"]+)" class="box ([^"]+)"', html)
    clashing = {label.split(",")[0] for label, css in boxes if "clash" in css}
    assert clashing == {"reset", "also"}
    assert any("may meet also at 03:20 UTC on the same racks" in label for label, _ in boxes)


def test_the_week_s_boxes_and_its_table_are_the_same_marks():
    now = clock.now()
    nightly(now)
    due_schedule("quarter", racks(1), cron="*/15 * * * *", late=-MINUTE, now=now)
    html = shown(browse(), f"/admin/calendar/?view=week&date={now + 10 * DAY:%Y-%m-%d}")
    chart = html.split('data-chart="week"')[1].split("</svg>")[0]
    table = html.split('id="week-table"')[1].split("</details>")[0]
    assert chart.count('class="box ') == table.count("<tr class=") == 14


def test_filters_by_rack_schedule_and_operation():
    now = clock.now()
    one, other = nightly(now, name="one"), nightly(now, name="other", kind="power_off")
    rack = one.scopes.select_related("rack").first().rack
    client = browse()
    day = f"&view=list&days=3&date={now + 2 * DAY:%Y-%m-%d}"
    for query, expected in (
        (f"rack={rack.name}", {"one"}),
        (f"rack={rack.pk}", {"one"}),
        ("schedule=other", {"other"}),
        (f"schedule={other.pk}", {"other"}),
        ("operation=power_off", {"other"}),
        ("operation=nonsense", {"one", "other"}),
        ("rack=nowhere", set()),
        ("rack=%00", {"one", "other"}),
    ):
        html = shown(client, f"/admin/calendar/?{query}{day}")
        found = set(re.findall(r'<th scope="row"><a [^>]+>([^<]+)</a>', html))
        assert found == expected, query
    assert "No rack is called &#x27;nowhere&#x27;: nothing is shown." in shown(
        client, f"/admin/calendar/?rack=nowhere{day}"
    )


def test_the_feed_is_offered_with_the_filter_in_force():
    now = clock.now()
    rack = nightly(now).scopes.select_related("rack").first().rack
    client = browse()
    html = shown(client, f"/admin/calendar/?rack={rack.name}&operation=power_on")
    address = unescape(re.search(r'href="(/admin/calendar/feeds/[^"]*)"', html)[1])
    assert f'name="rack" value="{rack.name}"' in shown(client, address)


def test_a_deleted_schedule_is_still_found_by_the_name_of_its_firings():
    now = clock.now()
    due_schedule("gone", racks(1), late=-HOUR, now=now)
    relive(now, firings=3, span=3 * HOUR)
    TaskSchedule.objects.all().delete()
    found = past(Filters.of({"schedule": "gone"}), edges(now, 1, back=1), now=now)
    assert len(found) == 3


def test_nothing_planned_points_to_the_next_run():
    now = clock.now()
    row = nightly(now, cron="0 0 29 2 *")
    html = shown(browse(), f"/admin/calendar/?schedule={row.pk}&date={now + 60 * DAY:%Y-%m-%d}")
    text = plain(html)
    assert re.search(r"Nothing is planned in \w+ \d{4} for nightly\.", text)
    assert re.search(r"The next run is \w{3} (28|29) Feb \d{4} \d\d:\d\d UTC *: nightly", text)


@pytest.mark.parametrize(
    "query",
    ["view=year", "date=2027-02-30", "date=9999-12-31", "date=1970-01-01", "days=0&view=list", "days=999&view=list",
     "days=-1&view=list", "days=%C2%B2&view=list", "paused=2", "schedule=%27%3B--"],
)  # fmt: skip
def test_an_address_that_makes_no_sense_is_read_as_far_as_it_does(query):
    nightly(clock.now())
    shown(browse(), f"/admin/calendar/?{query}")


def test_who_may_not_see_schedules_is_refused():
    assert browse(verbs=["task.read"]).get("/admin/calendar/").status_code == 403


# The price ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("view", ["month", "week", "list"])
def test_a_look_costs_the_same_for_few_and_for_many_and_writes_nothing(view):
    now = clock.now()
    nightly(now)
    client = browse()
    with statements() as few:
        shown(client, f"/admin/calendar/?view={view}")
    fill(now, racks=20, schedules=40, firings=800, each=2, span=6 * DAY)
    before = stored()
    with statements() as many:
        html = shown(client, f"/admin/calendar/?view={view}")
    assert "Fill" in html
    assert len(many) - len(few) <= 4  # past, its ends, what may meet: only where there is something
    assert len(many) < 15
    assert not writes(many)
    assert stored() == before
    assert len(html.encode()) < 350_000


def test_a_week_as_full_as_can_be_stays_small():
    now = clock.now()
    [rack] = racks(1)
    for n in range(35):
        row = due_schedule(f"busy {n} {'x' * 60}", [rack], cron=f"{n * 13 % 60} {n % 4}-23/4 * * *", now=now)
        TaskSchedule.objects.filter(pk=row.pk).update(next_run_at=now + HOUR)
    html = shown(browse(), f"/admin/calendar/?view=week&date={now + 10 * DAY:%Y-%m-%d}")
    assert html.count('class="box ') > 200
    assert len(html.encode()) < 350_000


def test_markup_is_text_in_every_view():
    now = clock.now()
    row = nightly(now)
    relive(now, firings=3, span=3 * HOUR)
    long = MARKUP + "y" * (255 - len(MARKUP))
    TaskSchedule.objects.filter(pk=row.pk).update(name=long)
    Firing.objects.update(schedule_name=long, reason=MARKUP)
    bad = nightly(now, name="bad")
    TaskSchedule.objects.filter(pk=bad.pk).update(spec=MARKUP)
    paused = nightly(now, name="paused")
    TaskSchedule.objects.filter(pk=paused.pk).update(
        enabled=False, disabled_kind="person", disabled_by=MARKUP, disabled_reason=MARKUP, disabled_at=now
    )
    client = browse()
    for view in ("month", "week", "list"):
        for filters in ("", f"&rack={MARKUP}", f"&schedule={MARKUP}"):
            html = shown(client, f"/admin/calendar/?view={view}&paused=1{filters}")
            assert "<img" not in html
            assert "&lt;img src=x onerror=alert(1)&gt;" in html


def test_today_is_in_the_first_week_and_the_weeks_before_are_a_link_away():
    now = clock.now()
    nightly(now)
    client = browse()
    html = shown(client)
    grid = html[html.index('id="month"') :]
    first = grid[: grid.index("</tr>", grid.index("<tbody>"))]
    assert 'aria-current="date"' in first
    today = now.astimezone(ZoneInfo("UTC")).date()
    whole = shown(client, f"/admin/calendar/?date={today.replace(day=1)}")
    assert "The weeks before" not in whole
    cut = today.day - 1 >= today.weekday() + 1
    assert ("The weeks before" in html) == cut
    assert (f"date={today.replace(day=1)}" in html) == cut
    listed = shown(client, "/admin/calendar/?view=list")
    assert '<th scope="col">Schedule</th>' in listed
    assert '<thead class="visually-hidden">' not in listed
