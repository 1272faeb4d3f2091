"""Listing what will run gives what asking for the next run again and again gives, and counts without listing."""

from datetime import UTC, datetime, timedelta
from itertools import chain, pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from flowsched.errors import InvalidInput
from schedules.timing import Spec
from schedules.upcoming import first_run, next_runs, runs_within
from tests.timing.strategies import clock_changes, expressions, moments, zone_list

NOW = datetime(2026, 3, 1, 12, 0, 0, 250_000, tzinfo=UTC)
DAY, HOUR = timedelta(days=1), timedelta(hours=1)
POLICIES = ("once", "wall")
bounded = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])


def asked_again_and_again(spec, after, until, most=400):
    """The reference: one question a run."""
    found, at = [], after
    while len(found) < most:
        at = spec.next_after(at)
        if at is None or (until is not None and at >= until):
            break
        found.append(at)
    return found


def parsed(kind, text, zone="UTC", dst="once"):
    try:
        return Spec.parse(kind, text, zone, dst=dst)
    except InvalidInput:
        assume(False)


@settings(bounded, max_examples=200)
@given(moments(), st.data(), st.sampled_from(POLICIES), st.integers(1, 96))
def test_days_are_what_next_after_says(moment, data, policy, hours):
    """T-5, with folds, gaps, days of 23 and 25 hours, and dates that a zone skips."""
    name, after = moment
    near = [(after.astimezone(ZoneInfo(name)).hour + shift) % 24 for shift in range(-3, 4)]
    text, _ = data.draw(expressions(hours=near))
    spec = parsed("cron", text, name, policy)
    until = after + hours * HOUR
    expected = asked_again_and_again(spec, after, until)
    listed = []
    for day in spec.days(after, until):
        assert day
        listed += day
        if len(listed) > 400:
            break
    assert listed[:400] == expected


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("text", ["*/10 * * * *", "*/20 0-4,22,23 * * *", "0 0 * * *"])
def test_days_over_every_kind_of_clock_change(text, policy):
    for name in [*zone_list()[::41], "Pacific/Apia", "Australia/Lord_Howe", "Antarctica/Troll", "America/Scoresbysund"]:
        spec = Spec.parse("cron", text, name, dst=policy)
        for change in clock_changes(name)[-6:]:
            after, until = change - timedelta(hours=30), change + timedelta(hours=30)
            assert list(chain.from_iterable(spec.days(after, until))) == asked_again_and_again(spec, after, until)


def test_days_of_a_calendar_without_end_stop_where_times_end():
    spec = Spec.parse("cron", "0 0 31 12 *")
    [*_, [last]] = spec.days(datetime(9990, 1, 1, tzinfo=UTC))
    assert last == datetime(9998, 12, 31, tzinfo=UTC)


def test_days_want_an_aware_time():
    with pytest.raises(ValueError, match="aware"):
        list(Spec.parse("cron", "0 0 31 12 *").days(datetime(2026, 1, 1)))


specs = st.one_of(
    st.integers(1, 3 * 86_400).map(lambda s: ("interval", f"{s}s")),
    st.integers(1, 5 * 10**6).map(lambda us: ("interval", f"{us + 10**6}us")),
    st.integers(60, 86_400).map(lambda s: ("cron", f"@every {s}s")),
    st.sampled_from(["*/15 * * * *", "0 2 * * *", "0 0 1 * *", "7 3 * * 1-5"]).map(lambda text: ("cron", text)),
    st.sampled_from(["2026-03-02T04:00:00Z", "2026-03-01T12:00:01Z"]).map(lambda text: ("one-time", text)),
)


@settings(bounded, max_examples=200)
@given(
    specs,
    st.integers(0, 2 * 86_400 * 10**6),
    st.lists(st.integers(-86_400, 3 * 86_400), min_size=2, max_size=5, unique=True),
    st.integers(1, 9),
)
def test_stretches_count_what_a_walk_finds(spec, due_in, offsets, most):
    kind, text = spec
    spec = Spec.parse(kind, text, "America/New_York")
    first = NOW + timedelta(microseconds=due_in)
    edges = [NOW + timedelta(seconds=offset) for offset in sorted(offsets)]
    walk = [first, *asked_again_and_again(spec, first, edges[-1], most=3000)]
    assume(len(walk) < 3000)
    stretches = runs_within(spec, first=first, edges=edges, most=most)
    assert [(s.since, s.until) for s in stretches] == list(pairwise(edges))
    for stretch in stretches:
        inside = [at for at in walk if stretch.since <= at < stretch.until]
        assert stretch.count == len(inside)
        assert list(stretch.at) == inside[:most]
        gaps = {later - earlier for earlier, later in pairwise(inside)}
        assert stretch.every in gaps | {None}
        assert len(gaps) == 1 or stretch.every is None


def test_a_second_s_interval_over_a_month_lists_nothing_it_does_not_show():
    spec = Spec.parse("interval", "1s")
    [stretch] = runs_within(spec, first=NOW, edges=[NOW, NOW + 45 * DAY], most=8)
    assert (stretch.count, len(stretch.at), stretch.every) == (45 * 86_400, 8, timedelta(seconds=1))


def test_regular_runs_say_how_far_apart_they_are():
    day = [NOW, NOW + DAY]
    [quarter] = runs_within(Spec.parse("cron", "*/15 * * * *"), first=NOW, edges=[NOW + HOUR, NOW + DAY], most=8)
    assert (quarter.count, quarter.every) == (92, timedelta(minutes=15))
    [office] = runs_within(Spec.parse("cron", "*/15 8-17 * * *"), first=NOW + HOUR, edges=day, most=8)
    assert office.every is None
    [once] = runs_within(Spec.parse("one-time", "2026-03-01T14:00:00Z"), first=NOW + 2 * HOUR, edges=day, most=8)
    assert (once.count, once.every) == (1, None)


@pytest.mark.parametrize(
    ("kind", "text", "most", "found"),
    [
        ("cron", "30 2 * * *", 10, 10),
        ("cron", "0 0 29 2 *", 10, 10),
        ("cron", "@every 1h", 3, 3),
        ("interval", "90m", 10, 10),
        ("one-time", "2026-04-01T00:00:00Z", 10, 1),
        ("cron", "30 2 * * *", 1, 1),
    ],
)
def test_the_next_runs(kind, text, most, found):
    spec = Spec.parse(kind, text, "Europe/Berlin")
    first = spec.first_run(NOW)
    runs = next_runs(spec, first=first, most=most)
    assert runs == [first, *asked_again_and_again(spec, first, None, most=most - 1)]
    assert len(runs) == found
    until = runs[-1]
    assert next_runs(spec, first=first, most=most, until=until) == [at for at in runs if at < until]
    assert next_runs(spec, first=first, most=most, until=until + timedelta(microseconds=1)) == runs


def test_what_is_overdue_runs_now_and_what_is_new_when_its_spec_says():
    spec = Spec.parse("cron", "0 6 * * *")
    assert first_run(spec, due=NOW - HOUR, now=NOW) == NOW
    assert first_run(spec, due=NOW + HOUR, now=NOW) == NOW + HOUR
    assert first_run(spec, due=None, now=NOW) == datetime(2026, 3, 2, 6, tzinfo=UTC)
    assert first_run(Spec.parse("one-time", "2020-01-01T00:00:00Z"), due=None, now=NOW) == NOW
