"""The charts' pure half: what is drawn, counted and listed is the same, and stays inside its frame."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.charts import outcomes, timeline
from console.charts.axis import Span, clock_changes, hour_ticks, rounded_up, whole_hours
from console.charts.outcomes import HEIGHT, LEAST, TOP, Bucket
from console.charts.timeline import MOST_IN_ALL, MOST_LANES, MOST_MARKS, Lane
from console.dashboard import ranges
from console.dashboard.counts import SCOPE_OUTCOMES, TASK_ENDS
from console.dashboard.panels import Kind, in_words, outcomes_panel

NOW = datetime(2027, 3, 13, 7, 14, 7, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
NEW_YORK = ZoneInfo("America/New_York")
ZONES = [
    ZoneInfo(name) for name in ("UTC", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "Asia/Kathmandu")
]
zones = st.sampled_from(ZONES)
moments = st.datetimes(datetime(2026, 1, 1), datetime(2028, 1, 1)).map(lambda at: at.replace(tzinfo=UTC))

# Axis ---------------------------------------------------------------------------------------------------------------


@given(moments, zones)
def test_whole_hours_are_whole_on_the_wall_and_none_is_left_out(now, zone):
    found = whole_hours(now, now + 2 * DAY, zone)
    assert all(at.astimezone(zone).strftime("%M%S%f") == "00000000" + "00" for at in found)
    minutes = [now.replace(second=0, microsecond=0) + n * timedelta(minutes=1) for n in range(2 * 1440 + 1)]
    assert found == [at for at in minutes if now <= at < now + 2 * DAY and not at.astimezone(zone).minute]


def test_the_spring_night_has_no_tick_for_the_hour_that_is_not_there():
    night = Span(datetime(2027, 3, 14, 5, tzinfo=UTC), datetime(2027, 3, 14, 9, tzinfo=UTC), 0, 400)
    assert [tick.label for tick in hour_ticks(night, NEW_YORK, every=1)] == ["00", "01", "03", "04"]
    [change] = clock_changes(night.since, night.until, NEW_YORK)
    assert change.at == datetime(2027, 3, 14, 7, tzinfo=UTC)
    assert change.words == "clocks go forward: EST → EDT"


def test_the_autumn_night_shows_its_hour_twice():
    night = Span(datetime(2027, 11, 7, 4, tzinfo=UTC), datetime(2027, 11, 7, 8, tzinfo=UTC), 0, 400)
    assert [tick.label for tick in hour_ticks(night, NEW_YORK, every=1)] == ["00", "01", "01", "02"]
    [change] = clock_changes(night.since, night.until, NEW_YORK)
    assert change.words == "clocks go back: EDT → EST"


def test_an_ordinary_day_has_no_clock_change():
    assert clock_changes(NOW, NOW + 12 * HOUR, NEW_YORK) == []


@given(st.integers(0, 10**9))
def test_the_axis_ends_at_a_round_number_not_far_above(value):
    end = rounded_up(value)
    assert end >= max(1, value)
    assert end <= max(1, value) * 2.5
    assert str(end).rstrip("0") in {"1", "2", "5"}


# Timeline -----------------------------------------------------------------------------------------------------------


@st.composite
def lanes(draw):
    found = []
    for n in range(draw(st.integers(0, 30))):
        count = draw(st.one_of(st.integers(1, 3), st.integers(1, 60), st.just(1440)))
        at = tuple(NOW + DAY * k / count for k in range(min(count, MOST_MARKS)))
        found.append(Lane(name=f"s{n}", url=f"/{n}", at=at, count=count, disruptive=draw(st.booleans())))
    return found


@given(lanes(), zones)
def test_every_run_is_one_mark_or_in_a_band_and_inside_the_frame(given_lanes, zone):
    chart = timeline.draw(given_lanes, since=NOW, until=NOW + DAY, now=NOW, zone=zone, in_all=len(given_lanes) + 3)
    shown = given_lanes[:MOST_LANES]
    assert chart.runs == sum(lane.count for lane in shown)
    bands = [row for row in chart.rows if row.lane.banded]
    assert len(chart.rows) - len(bands) + sum(row.lane.count for row in bands) == chart.runs
    assert len(chart.rows) <= MOST_IN_ALL
    assert {row.lane.name for row in chart.rows} == {lane.name for lane in shown}
    assert all(row.lane.banded for row in chart.rows if row.lane.count > MOST_MARKS)
    assert chart.hidden == len(given_lanes) + 3 - len(shown)
    for row in chart.rows:
        assert chart.left <= row.x <= row.x + row.width <= chart.width
        assert 0 <= row.y <= chart.height - timeline.MARK[1]
    for earlier, later in pairwise(chart.rows):
        assert earlier.lane is not later.lane or earlier.x <= later.x
    assert [row.at for row in chart.first] == sorted(row.at for row in chart.rows)[:12]


def test_a_mark_says_when_what_and_how_many_racks():
    lane = Lane(name="Nightly power reset", url="/", at=(NOW,), count=1, racks=38)
    quarter = Lane(name="Lab", url="/", at=(NOW,), count=96, every=timedelta(minutes=15), racks=1)
    irregular = Lane(name="Odd", url="/", at=(NOW,), count=60)
    chart = timeline.draw([lane, quarter, irregular], since=NOW, until=NOW + DAY, now=NOW, zone=NEW_YORK, in_all=3)
    assert [row.words for row in chart.rows] == [
        "02:14 EST Nightly power reset, 38 racks",
        "every 15 min, 96 firings from 02:14 EST: Lab, 1 rack",
        "60 firings from 02:14 EST: Odd, 0 racks",
    ]


def test_the_clock_change_is_a_line_across_the_lanes():
    since = datetime(2027, 3, 13, 22, tzinfo=UTC)
    chart = timeline.draw([], since=since, until=since + DAY, now=since, zone=NEW_YORK, in_all=0)
    [(x, change)] = chart.changes
    assert chart.left < x < chart.width
    assert "EST → EDT" in change.words


def test_a_long_name_is_cut_in_the_drawing_and_whole_beside_it():
    lane = Lane(name="x" * 255, url="/", at=(NOW,), count=1)
    [label] = timeline.draw([lane], since=NOW, until=NOW + DAY, now=NOW, zone=NEW_YORK, in_all=1).labels
    assert len(label.text) == timeline.LABEL_CHARACTERS
    assert label.name == "x" * 255


# Outcomes -----------------------------------------------------------------------------------------------------------

counts = st.dictionaries(st.sampled_from(SCOPE_OUTCOMES), st.one_of(st.integers(0, 3), st.integers(0, 5000)))


@st.composite
def buckets(draw):
    found = draw(st.lists(counts, min_size=1, max_size=30))
    return [Bucket(NOW + n * HOUR, NOW + (n + 1) * HOUR, each) for n, each in enumerate(found)]


def drawn(given_buckets, **changes):
    values = {"width": 560, "label": lambda _: "", "address": lambda _: "/", "words": lambda _: ""} | changes
    return outcomes.draw(given_buckets, SCOPE_OUTCOMES, **values)


@given(buckets())
def test_bars_legend_and_total_agree(given_buckets):
    chart = drawn(given_buckets)
    assert [bar.bucket for bar in chart.bars] == [bucket for bucket in given_buckets if bucket.total]
    assert sum(bar.bucket.total for bar in chart.bars) == chart.total == sum(chart.totals.values())
    for key in SCOPE_OUTCOMES:
        drawn_count = sum(part.count for bar in chart.bars for part in bar.parts if part.key == key)
        assert drawn_count == chart.totals.get(key, 0)


@given(buckets())
def test_parts_stack_without_gaps_the_worst_at_the_bottom_and_none_too_small_to_see(given_buckets):
    chart = drawn(given_buckets)
    for bar in chart.bars:
        assert [part.key for part in bar.parts] == [key for key in SCOPE_OUTCOMES if bar.bucket.counts.get(key)]
        bottom = TOP + HEIGHT
        for part in bar.parts:
            assert part.height >= LEAST - 0.1
            assert part.y + part.height == pytest.approx(bottom, abs=0.21)
            bottom = part.y
        assert bottom >= TOP - 0.1
        assert chart.left <= bar.x <= bar.x + bar.width <= chart.width + 0.1


def test_one_failure_under_four_hundred_is_three_pixels_high():
    [bar] = drawn([Bucket(NOW, NOW + HOUR, {"unresolved": 1, "submitted": 400})]).bars
    worst, rest = bar.parts
    assert (worst.key, worst.height) == ("unresolved", LEAST)
    assert worst.y + worst.height == TOP + HEIGHT
    assert rest.y + rest.height == pytest.approx(worst.y)


@given(buckets(), st.integers(1, 5))
def test_fewer_wider_buckets_hold_the_same(given_buckets, by):
    fewer = outcomes.merged(given_buckets, by)
    assert len(fewer) == -(-len(given_buckets) // by)
    assert outcomes.sums(fewer, SCOPE_OUTCOMES) == outcomes.sums(given_buckets, SCOPE_OUTCOMES)
    edges = [given_buckets[0].since, *(bucket.until for bucket in fewer)]
    assert outcomes.rebucketed(given_buckets, edges) == fewer


@given(buckets())
def test_the_table_has_the_bars_rows_and_the_legend_their_sums(given_buckets):
    chosen = ranges.Range("24h", "", (NOW, NOW + len(given_buckets) * HOUR), lambda _: "")
    kind = Kind("scopes", "", "", "", SCOPE_OUTCOMES)
    panel = outcomes_panel(given_buckets, kind, chosen=chosen, zone=NEW_YORK, address=lambda *parts: repr(parts))
    assert [line.bucket for line in panel.lines] == [bar.bucket for bar in panel.wide.bars]
    for place, entry in enumerate(panel.legend):
        assert entry.count == sum(line.cells[place].count for line in panel.lines)
        assert {line.cells[place].key for line in panel.lines} == {entry.key}
    assert panel.narrow.total == panel.wide.total == sum(line.bucket.total for line in panel.lines)


def test_the_whole_in_a_sentence():
    totals = {"failed": 3, "expired": 12, "completed": 397}
    assert in_words(totals) == "412 outcomes: 397 completed, 12 expired in queue, 3 failed"
    assert in_words({"completed": 1}) == "1 outcome: 1 completed"
    assert in_words({}) == "0 outcomes"
    assert set(TASK_ENDS) & set(SCOPE_OUTCOMES) == set()  # never one word for the two (D-5)


# Ranges -------------------------------------------------------------------------------------------------------------


@given(moments, zones)
def test_the_ranges_hold_now_in_their_last_stretch(now, zone):
    day, week = ranges.day(now, zone), ranges.week(now, zone)
    assert (len(day.edges), len(week.edges)) == (25, 29)
    for chosen in (day, week):
        assert chosen.edges[-2] <= now < chosen.edges[-1]
        assert list(chosen.edges) == sorted(set(chosen.edges))
    assert all(at.astimezone(zone).minute == 0 for at in (*day.edges, *week.edges))
    assert week.since <= day.since
    assert day.until <= week.until
    assert all(timedelta(hours=5) <= b - a <= timedelta(hours=7) for a, b in pairwise(week.edges))
