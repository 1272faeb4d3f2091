"""The dashboard (admin.md 2.1): what it says in each state, to whom, at what price."""

import re
import uuid
from collections import Counter
from datetime import datetime, timedelta
from html import unescape

import pytest
from django.db import connection

from console.dashboard import counts, facts, page
from console.dashboard.counts import scope_outcomes, task_ends
from console.dashboard.needs import MOST
from dispatcher.models import Firing, FiringScope
from flowsched import clock
from flowsched.errors import Unavailable
from schedules.models import TaskSchedule
from scopes.models import TaskScheduleScope
from tasks.lanes import EXPIRED_MESSAGE
from tasks.models import Process, Run, Task
from tasks.processes import process_register
from tests.console.history import analyse, fill, relive
from tests.console.people import MARKUP, browse, statements, writes
from tests.dispatcher.helpers import due_schedule, finish_tasks, fire, racks

pytestmark = pytest.mark.django_db
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
PANELS = ("next-title", "outcomes-title", "What came due", "How tasks ended", "Firing now", "Active tasks")


def alive():
    for kind in ("dispatcher", "worker"):
        process_register(kind=kind, now=clock.now())


def shown(client, address="/admin/"):
    answer = client.get(address)
    assert answer.status_code == 200
    return answer.content.decode()


def plain(html):
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]*>", " ", html)))


# States -------------------------------------------------------------------------------------------------------------


def test_an_empty_installation_says_what_to_do_first():
    html = shown(browse())
    text = plain(html)
    assert "manage.py import_racks FILE" in text
    assert "bin/up" in text
    assert '/admin/schedules/add/"' in html
    assert not [panel for panel in PANELS if panel in html]


def test_steps_that_are_done_are_ticked():
    racks(1)
    text = plain(shown(browse()))
    assert "Racks are there." in text
    assert "Create a schedule:" in text
    alive()
    assert "Processes are alive." in plain(shown(browse(name="other")))


def test_who_may_not_create_schedules_is_told_whom_to_ask():
    html = shown(browse("viewer"))
    assert "Ask someone who may create schedules" in html
    assert "schedules/add" not in html


def test_all_is_well():
    alive()
    now = clock.now()
    due_schedule("nightly", racks(2), now=now)
    fire(now)
    Firing.objects.update(state="done", closed_at=now, submitted_count=2, lease_token=None, lease_until=None)
    text = plain(shown(browse()))
    assert "Nothing needs you." in text
    assert re.search(r"Last firing \w{3} \d+ \w{3} \d\d:\d\d UTC *: nightly , 2 of 2 racks submitted", text)


def test_nothing_planned_and_nothing_done():
    alive()
    due_schedule("far", racks(1), cron="0 0 1 1 *", late=-40 * DAY, now=clock.now())
    text = plain(shown(browse()))
    assert "Nothing is planned in the next 24 hours." in text
    assert "No firing was due in this time." in text
    assert "No task ended in this time." in text


@pytest.mark.parametrize(
    ("verbs", "there"),
    [
        (["rack.read"], set()),
        (["schedule.read"], {"next-title"}),
        (["firing.read"], {"outcomes-title", "What came due", "Firing now"}),
        (["task.read"], {"outcomes-title", "How tasks ended", "Active tasks"}),
    ],
)
def test_panels_of_what_one_may_not_see_are_absent(verbs, there):
    alive()
    due_schedule("nightly", racks(1), now=clock.now())
    html = shown(browse(verbs=verbs))
    assert {panel for panel in PANELS if panel in html} == there


@pytest.mark.parametrize(
    ("module", "name", "what"),
    [
        (facts, "facts", "the numbers"),
        (page, "needs", "what needs you"),
        (page, "ahead", "the next 24 hours"),
        (counts, "scope_outcomes", "outcomes"),
        (counts, "task_ends", "how tasks ended"),
    ],
)
def test_a_panel_that_cannot_be_read_says_so_and_the_others_stay(monkeypatch, module, name, what):
    alive()
    due_schedule("nightly", racks(1), now=clock.now())

    def fail(*args, **kwargs):
        raise Unavailable("the database took too long")

    monkeypatch.setattr(page if module is facts else module, name, fail)
    html = shown(browse())
    assert html.count("Could not read") == 1
    assert re.search(rf"Could not read {what} \(id \w{{8}}\): the database took too long\.", html)
    assert "Other panels are current." in html
    assert "Processes" in html


# What needs a person ------------------------------------------------------------------------------------------------


@pytest.fixture
def troubles():
    """One of each kind."""
    alive()
    now = clock.now()
    on = racks(4)
    broken = due_schedule("broken", on[:1], late=-HOUR, now=now)
    TaskSchedule.objects.filter(pk=broken.pk).update(
        enabled=False, disabled_kind="system", disabled_reason="its zone is gone", disabled_at=now, next_run_at=None
    )
    stuck = due_schedule("stuck", on[1:3], late=-HOUR, now=now)
    first, second = TaskScheduleScope.objects.filter(schedule=stuck).order_by("position")
    TaskScheduleScope.objects.filter(pk=first.pk).update(skip_streak=3)
    TaskScheduleScope.objects.filter(pk=second.pk).update(skip_streak=7)
    gone = due_schedule("gone rack", on[3:], now=now)
    on[3].deleted_at = now
    on[3].save()
    fire(now)
    task = Task.objects.create(
        type="power_control", code="restart", status="running", lane=on[0].id, rack_id=on[0].id, rack_name=on[0].name
    )
    Run.objects.create(
        id=uuid.uuid4(), task=task, state="unknown", executor="simulated", queued_at=now, started_at=now,
        message="its worker is gone",
    )  # fmt: skip
    Process.objects.create(
        id=uuid.uuid4(), kind="worker", host="ops-3", pid=7, version="1", started_at=now, last_beat=now - 9 * MINUTE
    )
    return {"task": task, "stuck": stuck, "gone": gone, "racks": on}


def needed(html):
    section = html.split('class="panel needs"')[1].split("</section>")[0]
    return [plain(line).strip() for line in section.split('class="need">')[1:]]


def test_each_kind_of_trouble_has_its_line_the_worst_first(troubles):
    html = shown(browse())
    lines = needed(html)
    expected = [
        ("Disabled by the system", "broken", "its zone is gone"),
        ("Unknown", f"{troubles['racks'][0].name}: power reset", "its worker is gone"),
        ("Gone", "worker on ops-3 (process 7)", "no sign of life"),
        ("Failed", f"gone rack: {troubles['racks'][3].name}", "no longer in the inventory"),
        ("7 in a row", f"{troubles['racks'][2].name} in stuck", "skipped, rejected or missed"),
        ("3 in a row", f"{troubles['racks'][1].name} in stuck", "skipped, rejected or missed"),
    ]
    assert len(lines) == len(expected)
    for line, parts in zip(lines, expected, strict=True):
        assert all(part in line for part in parts), (line, parts)
    assert "6 things need you" in plain(html)
    assert f'/admin/tasks/{troubles["task"].pk}/decide/" aria-label="Decide' in html
    assert f"/admin/schedules/{troubles['stuck'].pk}/" in html


def test_who_may_not_decide_is_not_asked_to(troubles):
    html = shown(browse("viewer"))
    assert "Decide" not in html
    assert len(needed(html)) == 6


def test_troubles_of_what_one_may_not_see_are_absent(troubles):
    assert [line.split()[0] for line in needed(shown(browse(verbs=["task.read"])))] == ["Unknown", "Gone"]


def test_a_streak_of_a_paused_schedule_needs_nobody(troubles):
    TaskSchedule.objects.filter(pk=troubles["stuck"].pk).update(
        enabled=False, disabled_kind="person", disabled_at=clock.now()
    )
    assert len(needed(shown(browse()))) == 4


def test_a_streak_leads_to_its_last_firing_with_the_reason_open():
    """Why was r12 skipped last night? Two clicks from the dashboard, and none for a firing of one rack."""
    alive()
    now = clock.now()
    row = due_schedule("stuck", racks(2), kind="power_reset", late=timedelta(0), now=now)
    fire(now)
    scope, other = TaskScheduleScope.objects.filter(schedule=row).select_related("rack").order_by("position")
    finish_tasks(rack_id=other.rack_id)
    TaskScheduleScope.objects.filter(pk=scope.pk).update(skip_streak=2)
    TaskSchedule.objects.filter(pk=row.pk).update(next_run_at=now + MINUTE)
    fire(now + MINUTE)
    task = Task.objects.get(rack_id=scope.rack_id)
    client = browse()
    [url] = re.findall(r'class="button secondary small" href="([^"]*)" aria-label="Open: ', shown(client))
    html = client.get(url.replace("&amp;", "&").partition("#")[0]).content.decode()
    assert f'id="{url.partition("#")[2]}"' in html
    began = f"{task.created_at:%Y-%m-%dT%H:%M:%SZ}"
    reason = f"the previous task of this schedule on {scope.rack.name} is still pending, since "
    link = f'(task <a href="/admin/tasks/{task.pk}/">{str(task.pk)[:8]}</a>)'
    assert html.count(reason) == 2, "in the row, as one rack is concerned, and where it is open"
    assert f'{reason}<time datetime="{began}">' in html
    assert link in html
    assert f"{scope.rack.name}: {reason}" in html
    tab = client.get(f"/admin/schedules/{row.pk}/").content.decode()
    assert f"skipped: {reason}" in tab
    assert "3 in a row" in plain(tab)
    without = shown(browse(verbs=["schedule.read"])).split('class="panel needs"')[1].split("</section>")[0]
    assert f'href="/admin/schedules/{row.pk}/"' in without


def test_at_most_eight_are_listed_and_the_others_counted():
    alive()
    row = due_schedule("stuck", racks(15), late=-HOUR, now=clock.now())
    TaskScheduleScope.objects.filter(schedule=row).update(skip_streak=5)
    html = shown(browse())
    assert len(needed(html)) == MOST
    assert "and 7 more" in html
    assert "15 things need you" in plain(html)


# Tiles and charts ---------------------------------------------------------------------------------------------------


def tile(html, words):
    found = re.search(rf'<span class="what">{words}</span><b[^>]*>([^<]*)</b><span[^>]*>([^<]*)<', html)
    return found[1], found[2].strip()


def test_the_tiles_count_what_is():
    alive()
    now = clock.now()
    due_schedule("nightly", racks(3), now=now)
    due_schedule("late", racks(1), late=6 * MINUTE, now=now)
    html = shown(browse())
    assert tile(html, "Oldest due")[0].startswith("6 min")
    assert tile(html, "Oldest due")[1] == "late and 1 more"
    fire(now)
    Firing.objects.update(state="open", closed_at=None)  # as while their tasks are submitted
    html = shown(browse(name="other"))
    assert tile(html, "Firing now") == ("2", "4 racks")
    assert tile(html, "Active tasks") == ("4", "0 waiting")
    assert tile(html, "Oldest due") == ("0 s", "nothing is overdue")


def test_every_run_of_the_next_day_is_a_mark_and_a_row():
    """Check 23 of admin.md 6, as far as it goes without a browser."""
    alive()
    now = clock.now()
    on = racks(2)
    hourly = due_schedule("hourly", on, late=-MINUTE, now=now)
    due_schedule("every quarter", on[:1], every="15m", late=-MINUTE, now=now)
    paused = due_schedule("paused one", on, late=-HOUR, now=now)
    TaskSchedule.objects.filter(pk=paused.pk).update(enabled=False, disabled_kind="person", disabled_at=now)
    html = shown(browse())
    chart = html.split('data-chart="timeline"')[1].split("</svg>")[0]
    table = html.split('data-table="timeline"')[1].split("</table>")[0]
    assert chart.count("<a href=") == table.count("<tr>") - 1
    assert chart.count(f"/admin/schedules/{hourly.pk}/") == 24
    assert chart.count('<rect class="band') == 1
    assert "every 15 min, 9" in table
    assert "paused one" not in html
    runs = int(re.search(r"Show as table \((\d+) firings\)", html)[1])
    assert runs in {24 + 95, 24 + 96}


def test_a_schedule_that_cannot_be_read_is_named_and_spoils_no_lane():
    alive()
    now = clock.now()
    due_schedule("fine", racks(1), late=-HOUR, now=now)
    bad = due_schedule("poison", racks(1), late=-HOUR, now=now)
    TaskSchedule.objects.filter(pk=bad.pk).update(spec="nonsense")
    text = plain(shown(browse()))
    assert "poison cannot be drawn: invalid interval spec" in text
    assert "2 schedules that fire" in text


def test_legend_tiles_and_lists_say_the_same_number():
    alive()
    now = clock.now()
    fill(now, racks=9, schedules=12, firings=300, each=2, span=2 * DAY)
    client = browse()
    html = shown(client)
    section = html.split('aria-label="What came due"')[1].split("</section>")[0]
    legend = re.findall(r'<a class="badge \w+" href="([^"]+)">.*?<span>(\d+) ', section, re.DOTALL)
    assert len(legend) >= 4
    for address, count in legend:
        listed = shown(client, unescape(address))
        assert f"<b data-total>{count}</b>" in listed
    bars = re.findall(r'<a href="([^"]+)" aria-label="[^"]+" data-count="(\d+)"', section.split("narrow-only")[0])
    assert sum(int(count) for _, count in bars) == sum(int(count) for _, count in legend)
    for address, count in bars[:3]:
        assert f"<b data-total>{count}</b>" in shown(client, unescape(address))
    without = sum(int(count) for address, count in legend if "submitted" not in address)
    assert tile(html, "Without a task, 24 h")[0] == str(without)


def test_the_ends_of_tasks_lead_to_lists_of_as_many():
    alive()
    fill(clock.now(), racks=9, schedules=12, firings=300, each=2, span=DAY)
    [task, *_] = Task.objects.filter(status="completed").order_by("-finished_at")
    Task.objects.filter(pk=task.pk).update(status="running", finished_at=None)
    Run.objects.create(
        id=uuid.uuid4(), task=task, state="unknown", executor="x", queued_at=clock.now(), started_at=clock.now()
    )
    client = browse()
    section = shown(client).split('aria-label="How tasks ended"')[1].split("</section>")[0]
    legend = re.findall(r'<a class="badge \w+" href="([^"]+)">.*?<span>(\d+) ([^<]+)<', section, re.DOTALL)
    assert [word for _, _, word in legend] == ["Failed", "Unknown", "Expired in queue", "Cancelled", "Completed"]
    bars = re.findall(r'<a href="([^"]+)" aria-label="[^"]+" data-count="(\d+)"', section.split("narrow-only")[0])
    for address, count in [*((address, count) for address, count, _ in legend), *bars[:3]]:
        assert f"{count} task" in plain(shown(client, unescape(address))), address


def test_the_week_is_a_choice_in_the_address():
    alive()
    fill(clock.now(), racks=3, schedules=3, firings=50, span=6 * DAY)
    html = shown(browse(), "/admin/?range=7d")
    assert re.search(r'href="\?range=7d" aria-current="true"', html)
    assert "(50 outcomes)" in html
    assert "(50 outcomes)" not in shown(browse(name="other"))


# The counts themselves ----------------------------------------------------------------------------------------------


def edges(now, hours):
    return [now - n * HOUR for n in range(hours, -1, -1)]


def counted_one_by_one(since, until):
    """The reference: every scope by its firing's due time."""
    words = {"failed": "unresolved"}
    found = FiringScope.objects.filter(firing__due_at__gte=since, firing__due_at__lt=until).exclude(state="pending")
    return Counter(words.get(state, state) for state in found.values_list("state", flat=True))


def test_scope_outcomes_are_exact_for_closed_and_open_firings():
    now = clock.now()
    fill(now, racks=9, schedules=12, firings=200, each=3, span=DAY)
    Firing.objects.filter(pk__in=Firing.objects.order_by("-due_at")[:20].values("pk")).update(
        state="open", closed_at=None, submitted_count=0, skipped_count=0, rejected_count=0, missed_count=0,
        failed_count=0,
    )  # fmt: skip
    FiringScope.objects.filter(pk=FiringScope.objects.latest("firing__due_at").pk).update(
        state="pending", task_id=None, reason=""
    )
    found = scope_outcomes(edges(now, 30))
    assert len(found) == 30
    for bucket in found:
        assert Counter(bucket.counts) == counted_one_by_one(bucket.since, bucket.until)
    assert sum(bucket.total for bucket in found) == 599


def test_task_ends_are_exact_and_tell_cancelled_from_expired():
    now = clock.now()
    fill(now - MINUTE, racks=9, schedules=12, firings=300, each=2, span=DAY)
    running = Task.objects.filter(status="completed").first()
    Task.objects.filter(pk=running.pk).update(status="running", finished_at=None)
    Run.objects.create(
        id=uuid.uuid4(), task=running, state="unknown", executor="x", queued_at=now, started_at=now - 2 * HOUR
    )
    found = task_ends(edges(now, 30))
    ended = Task.objects.exclude(finished_at=None)
    expected = {
        "completed": ended.filter(status="completed").count(),
        "failed": ended.filter(status="failed").count(),
        "expired": ended.filter(status="terminated", message=EXPIRED_MESSAGE).count(),
        "cancelled": ended.filter(status="terminated").exclude(message=EXPIRED_MESSAGE).count(),
        "unknown": 1,
    }
    assert min(expected.values()) > 0
    assert sum((Counter(bucket.counts) for bucket in found), Counter()) == expected
    assert [bucket.since for bucket in found if "unknown" in bucket.counts] == [now - 2 * HOUR]
    for bucket in found:
        inside = ended.filter(finished_at__gte=bucket.since, finished_at__lt=bucket.until)
        assert bucket.total - bucket.counts.get("unknown", 0) == inside.count()


def explained(sql, values):
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")  # whether the index serves, not what a small table is worth
        cursor.execute("EXPLAIN " + sql, values)
        return "\n".join(row[0] for row in cursor.fetchall())


def test_the_recent_part_of_the_history_is_found_by_an_index():
    """Of ninety days a day is read, not the table."""
    now = clock.now()
    fill(now, racks=20, schedules=200, firings=20_000, span=90 * DAY)
    analyse()
    values = {"edges": edges(now, 24), "since": now - DAY, "until": now, "expired": EXPIRED_MESSAGE}
    assert "firing_due" in explained(counts._SCOPES, values)
    plan = explained(counts._ENDS, values)
    assert "task_ended" in plan
    assert "Seq Scan on task" not in plan


# The price ----------------------------------------------------------------------------------------------------------


def test_a_look_costs_the_same_for_one_and_for_many_and_writes_nothing():
    """Check 25: fewer than 15 queries."""
    alive()
    now = clock.now()
    due_schedule("nightly", racks(1), late=-HOUR, now=now)
    client = browse()
    with statements() as few:
        shown(client, "/admin/?range=7d")
    fill(now, racks=50, schedules=400, firings=3000, each=2)
    with statements() as many:
        html = shown(client, "/admin/?range=7d")
    assert len(few) == len(many) < 15
    assert not writes(many)
    assert len(html.encode()) < 350_000


def test_a_full_timeline_stays_small():
    alive()
    now = clock.now()
    [rack] = racks(1)
    for n in range(20):
        due_schedule(f"busy {n} {'x' * 200}", [rack], every="31m", late=-MINUTE, now=now)
    assert len(shown(browse()).encode()) < 350_000


def test_markup_is_text_everywhere(troubles):
    """Check 24: in every column that the page shows, in titles and labels too."""
    now = clock.now()
    long = MARKUP + "y" * (255 - len(MARKUP))
    relive_rows = Firing.objects.filter(closed_at=None)
    relive_rows.update(state="done", closed_at=now, failed_count=1, schedule_name=long)
    FiringScope.objects.update(rack_name=long, reason=MARKUP)
    due_schedule("late one", racks(1), late=HOUR, now=now)
    for n, row in enumerate(TaskSchedule.objects.all()):
        TaskSchedule.objects.filter(pk=row.pk).update(name=f"{n}{long[:-1]}", disabled_reason=MARKUP)
    for rack in troubles["racks"]:
        rack.name = f"{rack.name}{MARKUP}"
        rack.save()
    Task.objects.update(rack_name=long, message=MARKUP)
    Run.objects.update(message=MARKUP)
    Process.objects.update(host=long, version=MARKUP)
    client = browse()
    for address in ("/admin/", "/admin/outcomes/"):
        html = shown(client, address)
        assert MARKUP not in html
        assert "<img" not in html
        assert "&lt;img src=x onerror=alert(1)&gt;" in html


def test_times_are_shown_in_the_viewer_s_zone():
    alive()
    due_schedule("nightly", racks(1), late=-HOUR, now=clock.now())
    html = shown(browse(zone="Asia/Tokyo"))
    times = re.findall(r'<time datetime="([^"]+)">([^<]+)</time>', html)
    assert times
    for iso, text in times:
        assert iso.endswith("Z")
        assert "JST" in text
    assert datetime.fromisoformat(times[0][0])


def test_history_of_schedules_that_are_there_can_be_made():
    """What other tests stand on: `relive` leaves rows that agree with each other."""
    now = clock.now()
    due_schedule("one", racks(2), late=-HOUR, now=now)
    relive(now, firings=10)
    assert Firing.objects.count() == 10
    assert FiringScope.objects.count() == 20
    assert Task.objects.count() == FiringScope.objects.filter(state="submitted").count()
