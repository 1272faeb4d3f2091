"""How long a next run takes, and how many calendar steps: `python bench/timing.py`.

The peer in the same run is croniter alone: the same expression as it stands in the spec, a naive start, no zone, the
object built for each question, which is how it is commonly used. It answers an easier question (no clock changes, and
its own dialect), so the ratio says what ours costs, not which is right.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from croniter import croniter

from schedules.timing import Search, Spec, tzdata_version
from schedules.zones import zone_names

SPECS = (
    "* * * * *",
    "*/5 * * * *",
    "0 * * * *",
    "0 2 * * 1",
    "30 2 * * *",
    "30 8 * * 1-5",
    "0 0 1 * *",
    "0 0 13 * 5",
    "0 0 31 * *",
    "59 23 31 12 *",
    "0 0 29 2 *",
    "0 0 29 2 1",
    "30 2 9 3 *",
    "*/7 0-3,22,23 1-7,15-21 1,3,10,11 *",
)
# A plain day, the night before and the hour of New York's and Paris' clock changes, and before the year 2100.
STARTS = tuple(
    datetime.fromisoformat(text).replace(tzinfo=UTC)
    for text in ("2025-06-10T12:34:56", "2025-03-09T06:30", "2025-03-29T23:30", "2025-11-02T05:45", "2096-03-01T00:00")
)
REPEATS = 3


def best_ms(call: Callable[[], object]) -> float:
    """Return the best of a few runs in milliseconds: the rest is the machine's noise."""
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times) * 1000


def measure() -> list[tuple[float, float, int, str]]:
    """Return (our ms, the peer's ms, steps, what) for every spec, zone, policy and start."""
    zones = [*sorted(zone_names())[::29], "America/New_York", "Europe/Paris", "Pacific/Apia", "Australia/Lord_Howe"]
    rows = []
    for text in SPECS:
        for start in STARTS:
            naive = start.replace(tzinfo=None)
            peer = best_ms(lambda text=text, naive=naive: croniter(text, naive).get_next(datetime))
            for zone in zones:
                for dst in ("once", "wall"):
                    spec = Spec.parse("cron", text, zone, dst=dst)
                    found: Search = spec.search(start)
                    ours = best_ms(lambda spec=spec, start=start: spec.next_after(start))
                    rows.append((ours, peer, found.steps, f"{text!r} {zone} {dst} after {naive}"))
    return rows


def report(rows: list[tuple[float, float, int, str]]) -> None:
    """Print the figures of a run."""
    ours, peers = [row[0] for row in rows], [row[1] for row in rows]
    slowest = max(rows)
    most = max(rows, key=lambda row: row[2])
    print(f"{len(rows)} questions, tzdata {tzdata_version()}, Python {sys.version.split()[0]}")
    print(f"slowest   {slowest[0]:.3f} ms/next run, {slowest[2]} steps: {slowest[3]}")
    print(f"          croniter alone {slowest[1]:.3f} ms: ratio {slowest[0] / slowest[1]:.2f}")
    median, peer_median = statistics.median(ours), statistics.median(peers)
    print(f"median    {median:.3f} ms/next run; croniter alone {peer_median:.3f} ms: ratio {median / peer_median:.2f}")
    print(f"peer's    slowest {max(peers):.3f} ms: ratio of the slowest {slowest[0] / max(peers):.2f}")
    print(f"steps     median {statistics.median(row[2] for row in rows):.0f}, most {most[2]}: {most[3]}")


def report_parsing() -> None:
    """Print what reading a spec costs, first and again."""
    texts = [f"{minute} {hour} * * 1-5" for minute in range(60) for hour in range(5)]
    for label in ("first", "again"):
        start = time.perf_counter()
        for text in texts:
            Spec.parse("cron", text, "Europe/Paris").next_after(STARTS[0] + timedelta(days=1))
        print(f"parse + next, {label}: {(time.perf_counter() - start) * 1000 / len(texts):.3f} ms a spec")


if __name__ == "__main__":
    report(measure())
    report_parsing()
