"""T-9: a next run takes a bounded number of calendar steps, whatever the spec, the zone and the moment."""

from datetime import UTC, datetime, timedelta

import pytest

from schedules import cron, firings
from schedules.timing import Spec
from tests.timing.strategies import clock_changes, zone_list

# Ordinary: one question to the calendar. Around a clock change: a second one and two bisections of at most a day.
MOST_STEPS = 40

SPECS = (
    "* * * * *",
    "*/7 * * * *",
    "59 23 31 12 *",
    "0 0 29 2 *",
    "30 2 29 2 0",
    "* 1 * * *",
    "*/5 0-3,22,23 * * *",
    "30 2 8-31 3,10 *",
)


@pytest.mark.parametrize("policy", ["once", "wall"])
@pytest.mark.parametrize("text", SPECS)
def test_steps_around_clock_changes(text, policy):
    for name in [*zone_list()[::23], "Pacific/Apia", "Asia/Tehran", "Australia/Lord_Howe", "Antarctica/Troll"]:
        spec = Spec.parse("cron", text, name, dst=policy)
        for change in clock_changes(name)[::9]:
            for shift in (-180, -61, -60, -30, -1, 0, 1, 30):
                search = spec.search(change + timedelta(minutes=shift))
                assert 1 <= search.steps <= MOST_STEPS, (name, change, shift)


@pytest.mark.parametrize("policy", ["once", "wall"])
def test_a_day_that_does_not_exist_is_one_step(policy):
    """1,440 named minutes were skipped in Samoa; they are not tried one by one."""
    spec = Spec.parse("cron", "* 0-22 30 12 *", "Pacific/Apia", dst=policy)
    assert spec.search(datetime(2011, 12, 30, 9, 59, tzinfo=UTC)).steps <= MOST_STEPS


@pytest.mark.parametrize("policy", ["once", "wall"])
def test_a_date_that_the_clock_skips_year_after_year(policy):
    """Tehran skipped 22 March 00:00 in three years running (2017 to 2019)."""
    spec = Spec.parse("cron", "30 0 22 3 *", "Asia/Tehran", dst=policy)
    search = spec.search(datetime(2016, 3, 23, tzinfo=UTC))
    assert search.steps <= 3 * MOST_STEPS
    assert search.at.year == (2017 if policy == "once" else 2020)


def test_an_ordinary_answer_is_one_step():
    spec = Spec.parse("cron", "0 2 * * 1", "America/New_York")
    assert spec.search(datetime(2025, 6, 1, tzinfo=UTC)).steps == 1


def test_a_date_that_never_comes_is_not_searched_for():
    """T-9: only the weekdays are asked; 30 February would cost nine years of searching at every question."""
    spec = Spec.parse("cron", "0 0 30 2 1", "Europe/Paris")
    assert spec.search(datetime(2025, 6, 1, tzinfo=UTC)).at == datetime(2026, 2, 1, 23, tzinfo=UTC)
    assert firings._expressions(cron.parse_cron("0 0 30 2 1")) == ["0 0 * 2 1"]
