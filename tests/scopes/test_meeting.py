"""The walk over two schedules' runs against looking at every pair."""

from datetime import UTC, datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from schedules.timing import Spec
from scopes.meeting import Runs, first_meeting

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


def runs(kind, spec, takes=HOUR, *, due=None, days=14, zone="UTC"):
    parsed = Spec.parse(kind, spec, zone)
    first = due or max(parsed.first_run(NOW), NOW)
    return Runs.of(parsed, first=first, takes=takes, now=NOW, until=NOW + timedelta(days=days))


def at(day, hour, minute=0):
    return datetime(2026, 3, day, hour, minute, tzinfo=UTC)


def test_same_time_meets():
    assert first_meeting(runs("cron", "0 2 * * *"), runs("cron", "0 2 * * 1-5")) == (at(2, 2), at(2, 2))


def test_one_that_begins_while_the_other_runs_meets_either_way_round():
    early, late = runs("cron", "0 2 * * *"), runs("cron", "59 2 * * *")
    assert first_meeting(early, late) == (at(2, 2), at(2, 2, 59))
    assert first_meeting(late, early) == (at(2, 2, 59), at(2, 2))


def test_one_that_begins_when_the_other_is_over_does_not():
    assert first_meeting(runs("cron", "0 2 * * *"), runs("cron", "0 3 * * *")) is None


def test_each_holds_for_as_long_as_it_takes():
    long, short = runs("cron", "0 2 * * *", 2 * HOUR), runs("cron", "30 3 * * *", HOUR)
    assert first_meeting(long, short) == (at(2, 2), at(2, 3, 30))
    assert first_meeting(runs("cron", "0 2 * * *", HOUR), short) is None


def test_a_dense_one_is_met_at_the_end_of_the_horizon_too():
    once = runs("one-time", "2026-03-15T11:59:00Z")
    assert first_meeting(once, runs("interval", "1s"))[0] == at(15, 11, 59)
    assert first_meeting(runs("cron", "* * * * *"), once)[1] == at(15, 11, 59)


def test_nothing_beyond_the_horizon():
    assert first_meeting(runs("one-time", "2026-03-15T12:00:00Z"), runs("interval", "1s")) is None
    assert first_meeting(runs("interval", "400h"), runs("interval", "1s")) is None


def test_an_interval_counts_from_when_it_is_due():
    due = at(1, 15, 30)
    assert first_meeting(runs("interval", "6h", due=due), runs("cron", "0 21 * * *")) == (at(1, 21, 30), at(1, 21))


specs = st.one_of(
    st.integers(1200, 2 * 86_400).map(lambda s: ("interval", f"{s}s")),
    st.integers(600, 86_400).map(lambda s: ("cron", f"@every {s}s")),
    st.sampled_from(["*/15 * * * *", "0 2 * * *", "0 0 1 * *", "7 3,15 * * 1-5", "30 2 * * 0"]).map(
        lambda text: ("cron", text)
    ),
    st.integers(0, 3 * 86_400).map(lambda s: ("one-time", (NOW + timedelta(seconds=s)).strftime("%Y-%m-%dT%H:%M:%SZ"))),
)
lengths = st.integers(1, 300).map(lambda minutes: timedelta(minutes=minutes))


@settings(deadline=None, max_examples=60)
@given(specs, lengths, specs, lengths)
def test_it_finds_the_pair_that_every_pair_finds(one, one_takes, other, other_takes):
    mine, theirs = runs(*one, one_takes, days=2), runs(*other, other_takes, days=2)
    pairs = [(a, b) for a in _all(mine) for b in _all(theirs) if (a <= b < a + one_takes) or (b <= a < b + other_takes)]
    met = first_meeting(mine, theirs)
    assert (met is None) == (not pairs)
    if met is not None:
        assert met in pairs
        assert max(met) == min(max(pair) for pair in pairs)


def _all(runs):
    at, found = runs.first, []
    while at is not None:
        found.append(at)
        at = runs.after(at)
    return found
