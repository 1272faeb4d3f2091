"""What a spec promises: refusals, the first run, and what a firing leaves behind."""

import subprocess
import sys
from datetime import UTC, datetime, timedelta, timezone

import pytest

from flowsched.errors import InvalidInput
from schedules.timing import Advance, Spec

NOW = datetime(2026, 3, 1, 12, 0, 0, 250_000, tzinfo=UTC)


def refusal(*args, **kwargs):
    with pytest.raises(InvalidInput) as caught:
        Spec.parse(*args, **kwargs)
    return caught.value


def test_an_unknown_type_is_refused_first():
    error = refusal("weekly", "nonsense", "Nowhere")
    assert error.field == "spec_type"
    assert "use one of interval, cron, one-time" in error.message


@pytest.mark.parametrize("spec_type", ["interval", "cron", "one-time"])
def test_the_zone_is_checked_before_the_spec_and_for_every_type(spec_type):
    """T-7, D-12, F-295: a bad zone is never stored, not even where it is not used."""
    assert refusal(spec_type, "nonsense", "Nowhere").fields.keys() == {"timezone"}
    assert refusal(spec_type, "nonsense", "").fields.keys() == {"spec"}


@pytest.mark.parametrize(("spec_type", "text"), [("interval", "1h"), ("one-time", "2026-06-01T04:00:00Z")])
def test_the_zone_is_kept_but_not_interpreted(spec_type, text):
    """D-12: stored for every type, and only cron reads it."""
    tokyo, none = Spec.parse(spec_type, text, "Asia/Tokyo"), Spec.parse(spec_type, text, "")
    assert (tokyo.timezone, none.timezone) == ("Asia/Tokyo", "UTC")
    assert tokyo.first_run(NOW) == none.first_run(NOW)


def test_an_empty_zone_is_utc_for_cron():
    """F-129, T-6."""
    spec = Spec.parse("cron", "0 6 * * *", "")
    assert spec.timezone == "UTC"
    assert spec.first_run(NOW) == datetime(2026, 3, 2, 6, tzinfo=UTC)


def test_the_text_is_kept_as_written():
    """F-218: what an operator wrote is what the schedule shows."""
    text = "2026-06-01T04:00:00.123456789+02:00"
    assert Spec.parse("one-time", text).spec == text
    assert Spec.parse("cron", "  0\t6 * * mon ").spec == "  0\t6 * * mon "


def test_an_unknown_policy_is_a_fault_of_the_configuration():
    with pytest.raises(ValueError, match="use one of once, wall"):
        Spec.parse("cron", "0 6 * * *", dst="twice")


@pytest.mark.parametrize("ask", ["first_run", "next_after", "search"])
def test_a_time_without_a_zone_is_a_fault_of_the_caller(ask):
    with pytest.raises(ValueError, match="aware"):
        getattr(Spec.parse("cron", "0 6 * * *"), ask)(datetime(2026, 3, 1))


# First run


def test_the_first_interval_run_is_one_interval_away():
    """F-224: now + duration, sub-second parts kept to the microsecond."""
    assert Spec.parse("interval", "1h30m").first_run(NOW) == NOW + timedelta(minutes=90)
    assert Spec.parse("interval", "1.0000019s").first_run(NOW) == NOW + timedelta(seconds=1, microseconds=1)


def test_the_first_cron_run_is_the_next_after_now():
    """F-224, F-221: strictly after, even on the minute itself."""
    spec = Spec.parse("cron", "0 12 * * *")
    assert spec.first_run(NOW.replace(microsecond=0)) == datetime(2026, 3, 2, 12, tzinfo=UTC)


def test_the_first_one_time_run_is_its_instant_even_a_past_one():
    """F-224, T-0: due at the next poll."""
    at = datetime(2020, 1, 1, tzinfo=UTC)
    spec = Spec.parse("one-time", "2020-01-01T00:00:00Z")
    assert spec.first_run(NOW) == at
    assert spec.next_after(NOW) is None
    assert spec.next_after(at) is None
    assert spec.next_after(at - timedelta(microseconds=1)) == at


def test_the_zone_of_now_does_not_matter():
    there = NOW.astimezone(timezone(timedelta(hours=9)))
    for spec in (Spec.parse("interval", "1h"), Spec.parse("cron", "0 6 * * *", "Asia/Tokyo")):
        assert spec.first_run(there) == spec.first_run(NOW)
        assert spec.first_run(there).tzinfo is UTC


# After a firing


def test_an_interval_runs_again_one_interval_after_its_dispatch():
    """F-225, D-10: from the time of dispatch, not from when it was due."""
    late = NOW + timedelta(seconds=7)
    assert Spec.parse("interval", "10m").after_fire(late) == Advance(late + timedelta(minutes=10), enabled_after=True)


def test_a_cron_schedule_goes_on_to_the_next_named_time():
    """F-225."""
    after = Spec.parse("cron", "0 * * * *").after_fire(NOW)
    assert after == Advance(datetime(2026, 3, 1, 13, tzinfo=UTC), enabled_after=True)


def test_a_one_time_schedule_is_used_up():
    """F-225, F-226, D-10: also when it fires before its time, by a trigger."""
    assert Spec.parse("one-time", "2026-06-01T04:00:00Z").after_fire(NOW) == Advance(None, enabled_after=False)


@pytest.mark.parametrize(("spec_type", "text"), [("interval", "1m"), ("cron", "* * * * *"), ("cron", "@every 60s")])
def test_missed_runs_are_not_made_up_for(spec_type, text):
    """F-227: a month of downtime leaves one next run, in the future."""
    back = NOW + timedelta(days=30)
    advance = Spec.parse(spec_type, text).after_fire(back)
    assert back < advance.next_run_at <= back + timedelta(minutes=1)


# Bounds


def test_the_minimum_interval_is_a_parameter():
    """T-1, F-283: a setting; the message names it in short form."""
    quarter = timedelta(minutes=15)
    assert "must be at least 15m" in refusal("interval", "14m59s", min_interval=quarter).message
    assert "must be at least 15m" in refusal("cron", "@every 899s", min_interval=quarter).message
    assert Spec.parse("interval", "15m", min_interval=quarter)
    assert Spec.parse("cron", "@every 15m", min_interval=quarter)
    assert Spec.parse("interval", "100ms", min_interval=timedelta(milliseconds=100))


def test_every_never_stands_still():
    """T-3: it counts whole seconds, so a smaller minimum does not let it fall to none."""
    assert "must be at least 1s" in refusal("cron", "@every 500ms", min_interval=timedelta(milliseconds=1)).message


def test_every_cuts_to_the_second():
    """T-3: both the moment and the delay."""
    assert Spec.parse("cron", "@every 1999ms").next_after(NOW) == datetime(2026, 3, 1, 12, 0, 1, tzinfo=UTC)


@pytest.mark.parametrize("ask", ["first_run", "next_after", "after_fire"])
def test_an_interval_beyond_the_years_is_refused(ask):
    spec = Spec.parse("interval", "2562047h")
    with pytest.raises(InvalidInput, match="no next run before the year 9999") as caught:
        getattr(spec, ask)(datetime(9900, 1, 1, tzinfo=UTC))
    assert caught.value.field == "spec"


@pytest.mark.parametrize("text", ["0 0 1 1 *", "0 0 29 2 *", "0 0 29 2 1", "* * * * *", "@every 24h"])
@pytest.mark.parametrize("zone", ["UTC", "Pacific/Kiritimati", "Etc/GMT+12"])
def test_cron_ends_with_the_calendar(text, zone):
    """D-8: nothing next is None and disabled, never an exception or a year of no meaning; F-282."""
    spec = Spec.parse("cron", text, zone)
    for last in (datetime(9998, 12, 31, 23, 59, 30, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 30, tzinfo=UTC)):
        assert spec.next_after(last) is None
        assert spec.after_fire(last) == Advance(None, enabled_after=False)
        with pytest.raises(InvalidInput, match="no next run before the year 9999"):
            spec.first_run(last)


def test_a_date_that_has_ended_does_not_silence_the_weekdays_beside_it():
    """T-4: no 29 February comes after 9996, Mondays in February do."""
    spec = Spec.parse("cron", "0 0 29 2 1")
    assert spec.next_after(datetime(9997, 1, 1, tzinfo=UTC)) == datetime(9997, 2, 3, tzinfo=UTC)


def test_the_longest_gap_is_found():
    """F-222, F-282: eight years without a 29 February, and no zero time."""
    spec = Spec.parse("cron", "0 0 29 2 *")
    assert spec.next_after(datetime(2096, 2, 29, tzinfo=UTC)) == datetime(2104, 2, 29, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("0 22-2 * * *", "range '22-2' is reversed: write 22-23,0-2"),
        ("0 23-0 * * *", "write 23,0"),
        ("0 20-4/3 * * *", "write 20,23,2"),
        ("0 0 * * fri-mon", "write 5-6,0-1"),
        ("0 0 * * 7", "use 0 (or SUN) for Sunday, not 7"),
    ],
)
def test_a_refusal_says_what_to_write_instead(text, advice):
    """T-3."""
    assert advice in refusal("cron", text).message


@pytest.mark.parametrize("text", ["0\u00a00 * * *", "0\u00a00 * * * *", "0\v0\v*\v*\v*", "\u30000 0 * * *"])
def test_only_plain_blanks_separate(text):
    """T-3: what looks like five fields may be none."""
    assert refusal("cron", text).field == "spec"


def test_quoted_text_is_cut_and_in_single_quotes():
    """T-7."""
    assert refusal("interval", "'\n" + "9" * 400).message.startswith("invalid interval spec '\\'\\n" + "9" * 254 + "'")


@pytest.mark.parametrize(
    ("one", "other"),
    [("0 * * * *", "0 0-23 * * *"), ("0 * * * *", "0 0-11,12/1 * * *"), ("*/30 1 * * *", "0,30 1-1 ? * ?/1")],
)
def test_equal_sets_fire_equally(one, other):
    """T-5: the text does not matter, on the day the clock goes back either."""
    start = datetime(2025, 11, 2, 4, 40, tzinfo=UTC)
    for policy in ("once", "wall"):
        specs = [Spec.parse("cron", text, "America/New_York", dst=policy) for text in (one, other)]
        a = b = start
        for _ in range(6):
            a, b = specs[0].next_after(a), specs[1].next_after(b)
            assert a == b


def test_a_fixed_time_fires_once_in_the_repeated_hour_and_after_the_gap():
    """F-297, T-5: the policy `once`, in Paris: 30 March 02:30 does not exist, 26 October 02:30 comes twice."""
    spec = Spec.parse("cron", "30 2 * * *", "Europe/Paris")
    assert spec.next_after(datetime(2025, 3, 29, 12, tzinfo=UTC)) == datetime(2025, 3, 30, 1, 0, tzinfo=UTC)
    first = spec.next_after(datetime(2025, 10, 25, 12, tzinfo=UTC))
    assert first == datetime(2025, 10, 26, 0, 30, tzinfo=UTC)
    assert spec.next_after(first) == datetime(2025, 10, 27, 1, 30, tzinfo=UTC)


def test_the_wall_policy_is_the_literal_clock():
    """F-221, T-5: skipped in the gap, twice in the repeated hour, and midnight too where midnight is skipped."""
    spec = Spec.parse("cron", "30 2 * * *", "Europe/Paris", dst="wall")
    assert spec.next_after(datetime(2025, 3, 29, 12, tzinfo=UTC)) == datetime(2025, 3, 31, 0, 30, tzinfo=UTC)
    first = spec.next_after(datetime(2025, 10, 25, 12, tzinfo=UTC))
    assert spec.next_after(first) == first + timedelta(hours=1)
    cairo = Spec.parse("cron", "0 0 * * *", "Africa/Cairo", dst="wall")
    assert cairo.next_after(datetime(2025, 4, 24, 12, tzinfo=UTC)) == datetime(2025, 4, 25, 21, tzinfo=UTC)


def test_parsing_twice_reads_once():
    """A dispatcher parses the same specs at every tick."""
    assert Spec.parse("cron", "1 2 3 * *", "Europe/Paris") is Spec.parse("cron", "1 2 3 * *", "Europe/Paris")


def test_no_django_and_no_clock():
    """The rules are pure: they load no framework."""
    code = "import sys, schedules.timing; print(sorted(m for m in sys.modules if m.startswith(('django', 'psycopg'))))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
