"""Sentences of timings, in a table: a wrong one tells an operator of a run that never comes."""

import pytest
from hypothesis import given, settings

from schedules.wording import either_day, timing_words
from tests.timing.strategies import expressions

CRON = {
    "30 2 * * *": "every day at 02:30",
    "0 0 * * *": "every day at 00:00",
    "@daily": "every day at 00:00",
    "0 8,20 * * *": "every day at 08:00 and 20:00",
    "0,30 2 * * *": "every day at 02:00 and 02:30",
    "0 9-17 * * *": "every day hourly from 09:00 to 17:00",
    "0 22 * * 0": "Sundays at 22:00",
    "0 22 * * SUN": "Sundays at 22:00",
    "@weekly": "Sundays at 00:00",
    "0 0 ? * MON": "Mondays at 00:00",
    "30 8 * * 1-5": "weekdays at 08:30",
    "0 2 * * 6,0": "Saturdays and Sundays at 02:00",
    "0 0 * * 1-6": "Mondays to Saturdays at 00:00",
    "30 2,14 * * 1,3,5": "Mondays, Wednesdays and Fridays at 02:30 and 14:30",
    "15 8-11 * * 2-4": "Tuesdays to Thursdays hourly from 08:15 to 11:15",
    "0 0 1 * *": "on day 1 of the month at 00:00",
    "@monthly": "on day 1 of the month at 00:00",
    "15 3 1,15 * *": "on days 1 and 15 of the month at 03:15",
    "* * * * *": "every minute",
    "*/15 * * * *": "every 15 minutes",
    "0,15,30,45 * * * *": "every 15 minutes",
    "0 * * * *": "every hour",
    "*/61 * * * *": "every hour",
    "@hourly": "every hour",
    "30 * * * *": "at 30 minutes past the hour",
    "0 */6 * * *": "every 6 hours",
    "*/10 9-17 * * 1-5": "every 10 minutes, between 09:00 and 17:59, Monday through Friday",
    "0 4 * 1,7 *": "at 04:00, only in January and July",
    "@yearly": "at 00:00, on day 1 of the month, only in January",
    "0 0 29 2 *": "at 00:00, on day 29 of the month, only in February",
    # What the library says wrongly, or what has no short sentence, stands for itself.
    "0 0 1 * 0-6": "custom: 0 0 1 * 0-6",
    "0 0 13 * 5": "custom: 0 0 13 * 5",
    "0 0 */2 * 1": "custom: 0 0 */2 * 1",
    "5/15 * * * *": "custom: 5/15 * * * *",
    "*/7 * * * *": "custom: */7 * * * *",
    "0 1-23/2 * * *": "custom: 0 1-23/2 * * *",
    "0 22-2 * * *": "custom: 0 22-2 * * *",
    "no cron at all": "custom: no cron at all",
}
INTERVALS = {
    "15s": "every 15 s",
    "1s": "every second",
    "60s": "every minute",
    "15m": "every 15 min",
    "1h": "every hour",
    "90m": "every 1 h 30 min",
    "24h": "every 24 h",
    "1h0m1s": "every 1 h 1 s",
    "1.5s": "every 1.5 s",
    "500ms": "every 0.5 s",
    "soon": "every soon",
}


@pytest.mark.parametrize(("spec", "said"), CRON.items())
def test_cron(spec, said):
    assert timing_words("cron", spec, "Asia/Tokyo") == f"{said}, Asia/Tokyo"


@pytest.mark.parametrize(("spec", "said"), INTERVALS.items())
def test_interval(spec, said):
    assert timing_words("interval", spec, "Asia/Tokyo") == said


def test_every_in_cron_counts_real_time_and_has_no_zone():
    assert timing_words("cron", "@every 90m", "Asia/Tokyo") == "every 1 h 30 min"


def test_without_a_zone_it_is_utc():
    assert timing_words("cron", "0 2 * * *") == "every day at 02:00, UTC"


def test_once_leaves_the_time_to_the_page():
    assert timing_words("one-time", "2026-06-01T04:00:00Z", "UTC") == "once"


@settings(deadline=None)
@given(expressions())
def test_whatever_our_parser_reads_has_a_sentence_of_one_line(expression):
    text, _ = expression
    said = timing_words("cron", text, "UTC")
    assert said.endswith(", UTC")
    assert said.isprintable()


@pytest.mark.parametrize(
    ("spec", "either"),
    [("0 0 13 * 5", True), ("0 0 13 * *", False), ("0 0 * * 5", False), ("0 0 */2 * 1", True), ("bad", False)],
)
def test_either_day(spec, either):
    assert either_day(spec) is either
