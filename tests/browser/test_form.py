"""The schedule's form in a browser: what it says while somebody types (admin.md 6, checks 11 to 16)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from audit.models import AuditEntry
from flowsched import clock
from flowsched.actor import Actor, Door
from inventory.targets import RackTarget
from schedules.changes import ScheduleChanges, schedule_update
from schedules.models import TaskSchedule
from schedules.services import schedule_create
from tasks.operations import operation
from tests.factories import RackFactory

BY = Actor("alice", Door.CLI)
KINDS = ("Compute", "NVSwitch")
NAME, CRON = "#id_name", "#id_cron"


@pytest.fixture
def racks(transactional_db):
    """r01 and r02: thirty components each, eighteen of r02 compute trays."""
    first = RackFactory(name="r01", components=30, types=KINDS)
    second = RackFactory(name="r02", components=30, types=("Compute",) * 3 + ("NVSwitch",) * 2)
    return first, second


@pytest.fixture
def form(open_as, racks):
    """The empty form, filled in as far as every check needs it."""
    seen = open_as("planner")
    seen.goto(reverse("admin:schedule_add"))
    seen.page.fill(NAME, "Nightly power reset")
    seen.page.select_option("#id_operation", "power_reset")
    seen.page.check("#id_kind_calendar")
    seen.page.fill("#id_timezone", "America/New_York")
    return seen


def pick(page, name: str) -> None:
    """Take a rack by the keyboard."""
    page.fill("#rack-search", name)
    expect(page.locator("#rack-hits [role=option]").first).to_be_visible()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.locator("#racks tbody th", has_text=name)).to_be_visible()


def coming_year(month: int) -> int:
    """The year of this month's next coming, the month itself left out."""
    now = clock.now()
    return now.year if now.month < month else now.year + 1


def sunday_of(year: int, month: int, week: int) -> int:
    """The day of the month of its first (0), second (1) Sunday."""
    return next(
        day for day in range(7 * week + 1, 7 * week + 8) if datetime(year, month, day, tzinfo=UTC).weekday() == 6
    )


def test_11_a_wrong_cron_says_so_after_blur_and_a_right_one_shows_ten_runs(form):
    page = form.page
    page.fill(CRON, "30 2 * *")
    page.wait_for_timeout(700)
    error = page.locator("[data-error-for=cron]")
    assert error.is_hidden(), "marked while still typing"
    page.press(CRON, "Tab")
    expect(error).to_be_visible(timeout=1000)
    assert "5 fields" in error.inner_text() or "five fields" in error.inner_text(), error.inner_text()
    assert page.locator("#preview .runs li").count() == 0
    page.fill(CRON, "30 2 * * *")
    expect(page.locator("#preview .runs li")).to_have_count(10)
    page.press(CRON, "Tab")
    expect(error).to_be_hidden()


def test_11_five_fast_keystrokes_draw_at_most_two_answers_and_the_last_wins(form):
    page = form.page
    page.fill(CRON, "0 1 * * ")
    page.wait_for_timeout(1500)
    page.evaluate(
        """() => { window.drawn = 0; document.addEventListener("htmx:afterSwap",
            (event) => { if (event.detail.target.id === "preview") window.drawn += 1; }); }"""
    )
    page.locator(CRON).press_sequentially("1,2,3", delay=60)
    expect(page.locator("#preview .when")).to_contain_text("Wednesday")
    page.wait_for_timeout(1000)
    assert 1 <= page.evaluate("window.drawn") <= 2
    assert page.input_value(CRON) == "0 1 * * 1,2,3"


def test_12_the_spring_night_is_marked_and_runs_at_three(form):
    sunday = sunday_of(coming_year(3), 3, 1)
    form.page.fill(CRON, f"30 2 {sunday - 1}-{sunday + 1} 3 *")
    runs = form.page.locator("#preview .runs li")
    expect(runs.first).to_be_visible()
    marked = [text for text in runs.all_inner_texts() if "clocks go forward" in text.lower()]
    ours = [text for text in marked if f"{sunday} Mar" in text]
    assert ours, runs.all_inner_texts()
    assert f"Sun {sunday} Mar" in ours[0]
    assert "03:00 EDT" in ours[0]


def test_12_the_autumn_night_runs_once_in_the_first_pass(form):
    year = coming_year(11)
    sunday = sunday_of(year, 11, 0)
    form.page.fill(CRON, f"30 1 {sunday} 11 *")
    runs = form.page.locator("#preview .runs li")
    expect(runs.first).to_be_visible()
    days = runs.locator("time").evaluate_all("all => all.map(time => time.dateTime.slice(0, 10))")
    assert days.count(f"{year}-11-{sunday:02}") == 1, days
    assert f"Sun {sunday} Nov" in runs.first.inner_text()
    assert "01:30 EDT (first pass)" in runs.first.inner_text()


def test_13_picking_racks_and_types_counts_before_saving(form):
    page = form.page
    page.fill(CRON, "30 2 * * *")
    pick(page, "r01")
    expect(page.locator("#preview .what")).to_contain_text("30 components on 1 rack")
    pick(page, "r02")
    expect(page.locator("#preview .what")).to_contain_text("60 components on 2 racks")
    page.get_by_role("button", name="Change what of r02 it reaches").click()
    page.check("input[name=reach][value=types]")
    page.check("input[name=type][value=Compute]")
    expect(page.locator("#preview .what")).to_contain_text("48 components on 2 racks")
    assert not TaskSchedule.objects.exists()
    page.get_by_role("button", name="Done with r02").click()
    page.get_by_role("button", name="Create schedule").click()
    expect(page.locator("[role=status].message, .message")).to_contain_text("48 components on 2 racks")
    assert TaskSchedule.objects.count() == 1


def test_enter_in_the_time_zone_does_not_send_the_form(form):
    page = form.page
    pick(page, "r01")
    page.fill(CRON, "30 2 * * *")
    page.fill("#id_timezone", "New York")
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    said = "'New York' is not a time zone; did you mean America/New_York?"
    expect(page.locator("[data-error-for=timezone]")).to_have_text(said)
    assert page.locator("#errors").count() == 0
    assert not TaskSchedule.objects.exists()


def test_a_tick_for_all_racks_counts_at_once(form):
    page = form.page
    pick(page, "r01")
    pick(page, "r02")
    expect(page.locator("#preview")).to_contain_text("whole rack, NVLink switches too")
    page.get_by_text("Same components for all").click()
    page.get_by_label("compute trays").check()
    expect(page.locator("#preview .what")).to_contain_text("33 components on 2 racks")
    expect(page.get_by_label("compute trays")).to_be_checked()
    expect(page.get_by_label("compute trays")).to_be_focused()
    assert page.get_by_role("button", name="Apply to all").count() == 0
    page.get_by_label("compute trays").uncheck()
    expect(page.locator("#preview .what")).to_contain_text("60 components on 2 racks")


def test_14_a_collision_is_named_before_saving(form, racks):
    schedule_create(
        name="Firmware SJC01", spec_type="cron", spec="30 2 * * *", timezone="America/New_York",
        operation=operation("upgrade_firmware", target_version="25.1.0"), overlap_policy="skip",
        targets=[RackTarget(id=racks[1].id)], by=BY, now=clock.now(),
    )  # fmt: skip
    page = form.page
    page.fill(CRON, "45 2 * * *")
    pick(page, "r02")
    found = page.locator("#preview .collisions")
    expect(found).to_contain_text("Collides with 1 schedule")
    said = found.inner_text()
    for part in ("Firmware SJC01", "r02", "02:30 E", "02:45 E"):
        assert part in said, said
    assert TaskSchedule.objects.count() == 1


def test_15_the_second_saver_sees_both_and_loses_nothing(open_as, racks):
    row = schedule_create(
        name="Nightly", spec_type="cron", spec="30 2 * * *", timezone="America/New_York",
        operation=operation("power_reset"), overlap_policy="skip", targets=[RackTarget(id=racks[0].id)],
        by=BY, now=clock.now(),
    )  # fmt: skip
    seen = open_as("planner")
    seen.allowed = {409}
    seen.goto(reverse("admin:schedule_edit", args=[row.pk]))
    schedule_update(schedule_id=row.id, changes=ScheduleChanges(name="Nightly by Alice"), by=BY, now=clock.now())
    before = TaskSchedule.objects.values().get(pk=row.pk)
    page = seen.page
    page.fill(NAME, "Nightly by me")
    page.get_by_role("button", name="Save changes").click()
    table = page.locator(".conflict table")
    expect(table).to_be_visible()
    assert [cell.strip() for cell in table.locator("thead th").all_inner_texts()] == [
        "Field",
        "When you opened",
        "Now",
        "Yours",
    ]
    said = table.locator("tbody tr", has_text="Name").inner_text()
    for value in ("Nightly by Alice", "Nightly by me"):
        assert value in said
    assert "alice changed this schedule" in page.locator(".conflict").inner_text()
    assert page.input_value(NAME) == "Nightly by me"
    assert TaskSchedule.objects.values().get(pk=row.pk) == before
    page.get_by_role("button", name="Keep mine for the marked fields").click()
    page.wait_for_url(f"**{reverse('admin:schedule', args=[row.pk])}*")
    row.refresh_from_db()
    assert row.name == "Nightly by me"
    assert AuditEntry.objects.filter(door="admin", actor="planner").exists()


def test_16_a_refusal_appears_once_and_never_beside_a_success(form, racks):
    schedule_create(
        name="Nightly power reset", spec_type="interval", spec="1h", timezone="", operation=operation("power_on"),
        overlap_policy="skip", targets=[RackTarget(id=racks[0].id)], by=BY, now=clock.now() - timedelta(hours=1),
    )  # fmt: skip
    form.allowed = {400, 409, 422}
    page = form.page
    page.fill(CRON, "30 2 * * *")
    pick(page, "r01")
    page.get_by_role("button", name="Create schedule").click()
    summary = page.locator("#errors")
    expect(summary).to_be_focused()
    assert summary.locator("li").count() == 1
    said = summary.locator("li").inner_text()
    assert said in page.locator("[data-error-for=name]").inner_text()
    assert page.locator("[role=alert]:visible").count() == 1
    assert page.locator(".message.success, .messagelist .success").count() == 0
    assert page.input_value(CRON) == "30 2 * * *"
    assert page.locator("#racks tbody th", has_text="r01").count() == 1
    assert TaskSchedule.objects.count() == 1
