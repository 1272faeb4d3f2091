"""The calendar's pure half: which days a view shows, and where a week's marks stand."""

from calendar import monthrange
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.calendar.marks import Mark, by_day
from console.calendar.window import MOST_DAYS, VIEWS, midnight, month_from, window_of
from console.charts import week
from console.charts.week import BOX, GUTTER, MOST_LANES, Column, Entry

DAY, HOUR = timedelta(days=1), timedelta(hours=1)
NEW_YORK = ZoneInfo("America/New_York")
ZONES = ("UTC", "America/New_York", "Asia/Beirut", "Pacific/Apia", "Australia/Lord_Howe", "Africa/Cairo")
zones = st.sampled_from([ZoneInfo(name) for name in ZONES])
dates = st.dates(date(2005, 1, 1), date(2035, 12, 31))

# Days ---------------------------------------------------------------------------------------------------------------


@given(st.sampled_from(VIEWS), dates, zones, st.integers(-3, 100))
def test_a_view_is_days_without_gaps_with_the_one_asked_for(view, anchor, zone, days):
    window = window_of(view, anchor, zone, days=days)
    assert anchor in {day.date for day in window.days}
    assert 1 <= len(window.days) <= MOST_DAYS
    assert all(later.date - earlier.date == DAY for earlier, later in pairwise(window.days))
    assert all(earlier.until == later.since for earlier, later in pairwise(window.days))
    assert window.edges == sorted(window.edges)
    assert window.before < anchor < window.after
    for day in window.days:
        if day.since < day.until:  # a date that the zone skips has none
            assert day.since.astimezone(zone).date() == day.date
            assert (day.since - timedelta(microseconds=1)).astimezone(zone).date() < day.date


@given(dates, zones)
def test_a_month_is_whole_weeks_from_monday_around_it(anchor, zone):
    window = window_of("month", anchor, zone)
    assert all(len(row) == 7 and row[0].date.weekday() == 0 for row in window.weeks)
    inside = [day for day in window.days if day.date.month == anchor.month and day.date.year == anchor.year]
    assert len(inside) == monthrange(anchor.year, anchor.month)[1]
    assert window.title == f"{anchor:%B %Y}"
    assert window_of("month", window.after, zone).before <= anchor
    assert window_of("month", window.before, zone).after == anchor.replace(day=1)


@pytest.mark.parametrize(
    ("zone", "day", "hours", "words"),
    [
        ("America/New_York", date(2027, 3, 14), 23, "clocks go forward: EST → EDT"),
        ("America/New_York", date(2027, 11, 7), 25, "clocks go back: EDT → EST"),
        ("America/New_York", date(2027, 3, 13), 24, None),
        ("Asia/Beirut", date(2027, 3, 28), 23, "clocks go forward: EET → EEST"),  # at midnight
        ("Europe/Berlin", date(2027, 10, 31), 25, "clocks go back: CEST → CET"),
    ],
)
def test_days_of_another_length_say_so(zone, day, hours, words):
    [found] = window_of("list", day, ZoneInfo(zone), days=1).days
    assert found.hours == hours
    assert found.odd == ("" if hours == 24 else f"{hours} hours")
    assert (found.change.words if found.change else None) == words


def test_where_midnight_is_skipped_the_day_begins_at_one():
    at = midnight(date(2027, 3, 28), ZoneInfo("Asia/Beirut"))
    assert at.astimezone(ZoneInfo("Asia/Beirut")).strftime("%d %H:%M") == "28 01:00"


@pytest.mark.parametrize(
    ("view", "days", "title"),
    [
        ("month", 14, "March 2027"),
        ("week", 14, "8 to 14 March 2027"),
        ("list", 1, "Wednesday 10 March 2027"),
        ("list", 30, "10 March to 8 April 2027"),
    ],
)
def test_titles(view, days, title):
    assert window_of(view, date(2027, 3, 10), NEW_YORK, days=days).title == title


def test_a_title_over_new_year_names_both_years():
    assert window_of("week", date(2027, 1, 1), NEW_YORK).title == "28 December 2026 to 3 January 2027"


# A week -------------------------------------------------------------------------------------------------------------

MONDAY = date(2027, 3, 8)


def columns(entries_by_day, zone=NEW_YORK):
    days = window_of("week", MONDAY, zone).days
    return [
        Column(day.since, day.until, str(day.date), f"/{day.date}", entries_by_day(day) if entries_by_day else [])
        for day in days
    ]


@st.composite
def weeks(draw):
    plan = {}
    for day in window_of("week", MONDAY, NEW_YORK).days:
        length = int((day.until - day.since) / timedelta(minutes=1))
        minutes = draw(st.lists(st.integers(0, length - 1), max_size=40))
        often = draw(st.integers(0, 6))
        plan[day.date] = [
            *(Entry(day.since, f"often {n}", "", "/", "", all_day=True) for n in range(often)),
            *(Entry(day.since + m * timedelta(minutes=1), "name", "", "/", "") for m in sorted(minutes)),
        ]
    return columns(lambda day: plan[day.date])


def overlaps(a, b):
    return a.x < b.x + b.width and b.x < a.x + a.width and a.y < b.y + BOX and b.y < a.y + BOX


@given(weeks())
def test_every_entry_is_drawn_or_counted_inside_its_day_and_none_covers_another(given_columns):
    drawn = week.draw(given_columns, zone=NEW_YORK, now=given_columns[0].since - HOUR)
    assert len(drawn.boxes) + sum(more.count for more in drawn.more) == sum(len(c.entries) for c in given_columns)
    room = (drawn.width - GUTTER) / 7
    for place, column in enumerate(given_columns):
        left = GUTTER + place * room
        inside = [box for box in drawn.boxes if any(box.entry is entry for entry in column.entries)]
        more = [each for each in drawn.more if each.url == column.url]
        for box in (*inside, *more):
            assert left <= box.x
            assert box.x + box.width <= left + room + 0.2
            assert 0 < box.y <= drawn.height - BOX
        for n, one in enumerate(inside):
            assert not any(overlaps(one, other) for other in inside[n + 1 :])
    assert drawn.now is None


def test_the_fourth_at_the_same_time_is_counted():
    def entries(day):
        return [Entry(day.since + 5 * HOUR, f"n{n}", "", "/", "") for n in range(5)] if day.date == MONDAY else []

    drawn = week.draw(columns(entries), zone=NEW_YORK, now=datetime(2027, 3, 8, 12, tzinfo=UTC))
    assert [box.entry.name for box in drawn.boxes] == ["n0", "n1"]
    assert len(drawn.boxes) < MOST_LANES
    [more] = drawn.more
    assert (more.count, more.url) == (3, "/2027-03-08")
    assert drawn.now is not None


def test_a_nightly_run_stands_at_the_same_height_every_day_but_the_one_that_lacks_its_hour():
    def entries(day):
        at = datetime(day.date.year, day.date.month, day.date.day, 2, 30, tzinfo=NEW_YORK).astimezone(UTC)
        return [Entry(at, "nightly", "", "/", "")]

    drawn = week.draw(columns(entries), zone=NEW_YORK, now=datetime(2027, 1, 1, tzinfo=UTC))
    *before, last = [box.y for box in drawn.boxes]
    assert len(set(before)) == 1
    assert last == before[0] + week.HOUR  # 02:30 does not exist on the 14th: it runs at 03:30
    [odd] = drawn.odd
    assert odd.words == "skipped this day"
    assert odd.height == week.HOUR
    assert odd.y == drawn.top + 2 * week.HOUR


def test_the_hour_that_comes_twice_is_marked():
    days = window_of("week", date(2027, 11, 7), NEW_YORK).days
    drawn = week.draw(
        [Column(day.since, day.until, "", "/", []) for day in days], zone=NEW_YORK, now=days[0].since - HOUR
    )
    [odd] = drawn.odd
    assert (odd.words, odd.y, odd.height) == ("comes twice", drawn.top + week.HOUR, week.HOUR)


def test_an_hour_skipped_at_midnight_is_marked_at_the_top():
    zone = ZoneInfo("Asia/Beirut")
    days = window_of("week", date(2027, 3, 28), zone).days
    drawn = week.draw([Column(day.since, day.until, "", "/", []) for day in days], zone=zone, now=days[0].since - HOUR)
    [odd] = drawn.odd
    assert (odd.y, odd.height) == (drawn.top, week.HOUR)


@pytest.mark.parametrize(
    ("today", "first", "last", "title"),
    [
        (date(2026, 11, 30), date(2026, 11, 30), date(2026, 12, 27), "30 November to 27 December 2026"),
        (date(2026, 11, 12), date(2026, 11, 9), date(2026, 12, 6), "9 November to 6 December 2026"),
        (date(2026, 12, 31), date(2026, 12, 28), date(2027, 1, 24), "28 December 2026 to 24 January 2027"),
    ],
)
def test_this_month_begins_with_this_week(today, first, last, title):
    """Late in a month the grid began with four weeks that were over, and today stood below the fold."""
    window = month_from(today, NEW_YORK)
    assert (window.days[0].date, window.days[-1].date, window.title) == (first, last, title)
    assert window.cut
    assert window.before == today.replace(day=1), "the whole month"
    assert window_of("month", window.before, NEW_YORK).days[0].date < first
    assert window.after.day == 1
    assert today < window.after <= last + timedelta(days=8)


def test_a_month_that_has_just_begun_is_whole():
    assert month_from(date(2026, 11, 1), NEW_YORK) == window_of("month", date(2026, 11, 1), NEW_YORK)


def test_what_is_rare_stands_before_what_runs_every_minute():
    at = datetime(2026, 3, 1, tzinfo=UTC)
    days = [Mark("planned", at + timedelta(hours=hour), UUID(int=0), name, "", disruptive=False, url="", count=count)
            for hour, name, count in ((0, "often", 96), (9, "late", 1), (2, "early", 1))]  # fmt: skip
    [found] = by_day(days, [at, at + timedelta(days=1)])
    assert [mark.name for mark in found] == ["early", "late", "often"]
