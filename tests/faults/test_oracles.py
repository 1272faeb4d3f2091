"""The oracles themselves: each must see the fault that it is there for."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from tests.faults.invariants import effects_judged
from tests.faults.oracles import Fired, Recurrence, cron, every, history_gaps, ticks_judged

START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
EVERY_MINUTE = Recurrence(START, every(MINUTE), since=START)
FIVE_PAST = Recurrence(START + 5 * MINUTE, cron("*/5 * * * *", "Asia/Kathmandu"), since=START)


def at(minutes: float) -> datetime:
    return START + minutes * MINUTE


def fired(*minutes: float, late: float = 0.0) -> list[Fired]:
    return [Fired("automatic", at(minute), at(minute + late)) for minute in minutes]


def judged(recurrence, firings, until, allowance=MINUTE):
    return [text.partition(":")[0] for text in ticks_judged(recurrence, firings, until=at(until), allowance=allowance)]


@pytest.mark.parametrize(
    ("firings", "until", "verdict"),
    [
        (fired(0, 1, 2), 3.5, []),
        (fired(0, 2), 3.5, ["lost"]),
        (fired(0, 1), 3.5, ["lost"]),
        (fired(0, 1, 1, 2), 3.5, ["doubled"]),
        (fired(0, 0.5, 1), 2.5, ["extra", "extra"]),
        (fired(0, 1, 2) + fired(3, late=1.5), 5, ["late"]),
        (fired(0, 1) + fired(2, late=-0.5), 2, ["early"]),
        ([*fired(0), Fired("manual", at(0.5), at(0.5)), *fired(1.5, 2.5)], 3, []),
        ([*fired(0), Fired("manual", at(1), at(1.5)), *fired(2.5)], 3, []),
        ([*fired(0), Fired("manual", at(0.5), at(0.5)), *fired(1)], 2, ["extra"]),
    ],
)
def test_each_wrong_history_of_an_interval_is_named(firings, until, verdict):
    """O1, T-41: dispatch time plus duration, a firing by hand included."""
    assert judged(EVERY_MINUTE, firings, until) == verdict


def test_a_cron_is_found_by_looking_at_every_minute():
    """O1: in the zone's wall clock, three quarters of an hour off the whole one."""
    at_half = cron("30 9,17 * * 1", "Asia/Kathmandu")
    assert at_half(datetime(2026, 3, 1, 0, 0, tzinfo=UTC)) == datetime(2026, 3, 2, 3, 45, tzinfo=UTC)
    assert at_half(datetime(2026, 3, 2, 3, 45, tzinfo=UTC)) == datetime(2026, 3, 2, 11, 45, tzinfo=UTC)
    assert judged(FIVE_PAST, fired(5, 10, 15), 19) == []
    assert judged(FIVE_PAST, fired(5, 15), 19) == ["lost"]


def test_a_gap_in_history_is_named():
    """O3: a late firing covers what fell into the outage before it, nothing else does."""
    after_outage = [*fired(5), *fired(10, late=31), *fired(45)]
    assert history_gaps(FIVE_PAST, after_outage, until=at(49)) == []
    assert len(history_gaps(FIVE_PAST, fired(5, 15), until=at(19))) == 1
    assert len(history_gaps(FIVE_PAST, fired(5), until=at(19))) == 1
    assert len(history_gaps(FIVE_PAST, [Fired("automatic", at(5), at(5), "open")], until=at(9))) == 1


def run(key="k", state="succeeded", results=None, in_flight="", said=""):
    return {"key": key, "state": state, "results": results or {}, "in_flight": in_flight, "said": said}


CHANGED = {"c": {"state": "changed"}}


@pytest.mark.parametrize(
    ("keys", "runs", "problems"),
    [
        (["k:c"], [run(results=CHANGED)], 0),
        (["k:c", "k:c"], [run(results=CHANGED)], 1),
        ([], [run(results=CHANGED)], 1),
        (["k:c"], [run()], 1),
        (["other:c"], [], 1),
        (["k:c"], [run(state="unknown", in_flight="c")], 0),
        (["k:c"], [run(state="failed", said="'restart' may have happened on c")], 0),
        ([], [run(results={"c": {"state": "no_effect"}})], 0),
    ],
)
def test_the_effect_log_and_the_runs_are_held_against_each_other(keys, runs, problems):
    """O2: each applied effect once, and known; each result that changed something with its effect."""
    assert len(effects_judged([{"key": key, "applied": True} for key in keys], runs)) == problems
