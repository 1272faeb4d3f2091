"""What a preview says of a run that a clock change touches (T-5)."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings

from flowsched.errors import InvalidInput
from schedules.timing import Spec
from tests.timing.strategies import expressions, moments

NEW_YORK = "America/New_York"
SPRING = datetime(2026, 3, 8, 7, 0, tzinfo=UTC)  # 02:00 EST becomes 03:00 EDT
AUTUMN = datetime(2026, 11, 1, 6, 0, tzinfo=UTC)  # 02:00 EDT becomes 01:00 EST


def run_and_change(spec, after, zone=NEW_YORK, dst="once"):
    parsed = Spec.parse("cron", spec, zone, dst=dst)
    run = parsed.next_after(after)
    return run, parsed.clock_change(run)


def test_a_time_in_the_gap_is_named_and_runs_after_it():
    run, change = run_and_change("30 2 * * *", SPRING - timedelta(hours=20))
    assert run == SPRING
    assert change == (datetime(2026, 3, 8, 2, 30), True)


def test_the_first_of_several_times_in_the_gap_is_named():
    assert run_and_change("15,45 2 * * *", SPRING - timedelta(hours=1))[1] == (datetime(2026, 3, 8, 2, 15), True)


def test_a_run_that_is_named_at_the_end_of_the_gap_is_ordinary():
    assert run_and_change("0 3 * * *", SPRING - timedelta(hours=1)) == (SPRING, None)


def test_a_time_that_comes_twice():
    run, change = run_and_change("30 1 * * *", AUTUMN - timedelta(hours=20))
    assert run == AUTUMN - timedelta(minutes=30)
    assert change == (datetime(2026, 11, 1, 1, 30), False)


def test_ordinary_days_say_nothing():
    assert run_and_change("30 2 * * *", SPRING)[1] is None
    assert run_and_change("30 1 * * *", AUTUMN)[1] is None


@pytest.mark.parametrize(("spec", "dst"), [("30 * * * *", "once"), ("30 1 * * *", "wall")])
def test_what_follows_real_time_says_nothing(spec, dst):
    assert run_and_change(spec, AUTUMN - timedelta(hours=1), dst=dst)[1] is None


def test_other_kinds_say_nothing():
    assert Spec.parse("interval", "1h", NEW_YORK).clock_change(SPRING) is None
    assert Spec.parse("cron", "@every 1h", NEW_YORK).clock_change(AUTUMN - timedelta(minutes=30)) is None
    assert Spec.parse("one-time", "2026-11-01T05:30:00Z", NEW_YORK).clock_change(AUTUMN) is None


@settings(deadline=None)
@given(expressions(hours=(0, 1, 2, 3)), moments())
def test_it_tells_of_every_run_that_the_clock_does_not_show_as_named_and_of_no_other(expression, moment):
    text, named = expression
    zone, after = moment
    try:
        spec = Spec.parse("cron", text, zone)
    except InvalidInput:  # names no date
        return
    run = spec.next_after(after)
    if run is None or len(named.hours) == 24:
        return
    change = spec.clock_change(run)
    shown = run.astimezone(ZoneInfo(zone)).replace(tzinfo=None, fold=0)
    as_named = shown.minute in named.minutes and shown.hour in named.hours
    if change is None:
        assert as_named
    elif change.skipped:
        assert change.named < shown
        assert (change.named.hour in named.hours, change.named.minute in named.minutes) == (True, True)
    else:
        assert change.named == shown
        assert as_named
