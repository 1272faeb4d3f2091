"""How fast due schedules become tasks: `bin/bench drain`.

10,000 schedules of one rack each (half of them cron), then 200 schedules of 50 racks each, all due at once, on racks
of 35 components; fired by one dispatcher, then two, in batches of 10 and of 100; beside a bare psycopg loop that
writes the same rows in batches of the same size (bench/bare.py). Measured from the moment all are due to the commit of
the last firing; lag is per schedule, from due to its batch's commit. Tables are warmed by one untimed round and
analysed. Last: what a dispatcher costs that has 100,000 schedules and nothing to do.
"""

from __future__ import annotations

import argparse
import logging
import multiprocessing
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.synchronize import Barrier
from typing import Any

from bench import store

OPERATION = '{"type": "power_control", "code": "power_on", "information": {"operation": 1, "forced": false}}'
SCHEDULES = """
INSERT INTO task_schedule (id, name, spec_type, spec, timezone, operation_template, overlap_policy, enabled,
                           disabled_kind, disabled_reason, disabled_by, next_run_at, version)
SELECT gen_random_uuid(), %s || n, CASE WHEN n %% 2 = 0 THEN 'cron' ELSE 'interval' END,
       CASE WHEN n %% 2 = 0 THEN (n %% 60) || ' ' || (n %% 24) || ' * * *' ELSE '24h' END,
       (ARRAY['UTC', 'America/New_York', 'Europe/Berlin', 'Asia/Tokyo'])[1 + n %% 4], %s::jsonb, 'skip', true,
       '', '', '', clock_timestamp() + interval '1 day', 1
  FROM generate_series(1, %s) AS n
"""
SCOPES = """
INSERT INTO task_schedule_scope (id, schedule_id, rack_id, position, skip_streak)
SELECT gen_random_uuid(), s.id, r.id, (r.n - 1) %% %s, 0
  FROM (SELECT id, row_number() OVER (ORDER BY name) AS n FROM rack) r
  JOIN (SELECT id, row_number() OVER (ORDER BY name) AS n FROM task_schedule) s ON s.n = 1 + (r.n - 1) / %s
 WHERE r.n <= %s
"""


@dataclass(frozen=True)
class Round:
    """One measured round."""

    seconds: float
    schedules: int
    tasks: int
    lags: list[float]

    @property
    def rate(self) -> float:
        """Schedules a second."""
        return self.schedules / self.seconds


def fill(schedules: int, racks_each: int) -> None:
    """Schedules that are far from due, with racks of their own."""
    store.execute("TRUNCATE task_schedule, task_schedule_scope, firing, firing_scope, task, run CASCADE")
    store.execute(SCHEDULES, "drain ", OPERATION, schedules)
    store.execute(SCOPES, racks_each, racks_each, schedules * racks_each)
    store.execute("VACUUM ANALYZE")


def reset() -> None:
    """As after a night: tasks done, nothing due, statistics fresh.

    Jobs stay: emptied and analysed, their table would be checked by sequential scans for the whole next round.
    """
    store.execute("UPDATE task SET status = 'completed', finished_at = clock_timestamp() WHERE status = 'pending'")
    store.execute("VACUUM ANALYZE")
    store.execute("CHECKPOINT")


def make_due() -> None:
    """Everything comes due in one commit."""
    store.execute("UPDATE task_schedule SET next_run_at = clock_timestamp() WHERE enabled")
    store.execute("VACUUM ANALYZE task_schedule")


def _dispatcher(batch: int, barrier: Barrier, results: Any, number: int) -> None:
    """One dispatcher process: its loop as it is, with each batch's end noted."""
    store.start()
    store.switch(store.NAME)
    logging.disable(logging.INFO)  # a terminal's speed is not the product's
    from dispatcher import firing  # noqa: PLC0415  after start()
    from dispatcher.loop import Loop  # noqa: PLC0415

    ends: list[tuple[float, int]] = []
    real = firing.fire_due

    def noted(*args: Any, **options: Any) -> firing.Fired:
        fired = real(*args, **options)
        ends.append((time.monotonic(), fired.claimed))
        return fired

    firing.fire_due = noted
    loop = Loop(batch_size=batch, poll_interval=10)
    loop.run_once()  # connected, imported, prepared
    ends.clear()
    barrier.wait()
    began = time.monotonic()
    while loop.run_once():
        pass
    results[number] = (began, time.monotonic(), ends)


def drain(batch: int, dispatchers: int) -> Round:
    """One round of the product."""
    context = multiprocessing.get_context("spawn")
    with context.Manager() as manager:
        results, barrier = manager.dict(), context.Barrier(dispatchers + 1)
        children = [
            context.Process(target=_dispatcher, args=(batch, barrier, results, number)) for number in range(dispatchers)
        ]
        for child in children:
            child.start()
        while barrier.n_waiting < dispatchers:
            time.sleep(0.05)
            if any(child.exitcode for child in children):
                raise SystemExit("a dispatcher died; see above")
        make_due()
        barrier.wait()
        for child in children:
            child.join()
        reports = list(results.values())
    began = min(report[0] for report in reports)
    lags = [end - began for _, _, ends in reports for end, claimed in ends for _ in range(claimed)]
    return Round(max(lags), len(lags), _count_tasks(), sorted(lags))


def bare(batch: int) -> Round:
    """One round of the peer."""
    from bench import bare as peer  # noqa: PLC0415  after start()
    from flowsched import db  # noqa: PLC0415

    make_due()
    with db.separate_session() as own:
        began = time.monotonic()
        fired = peer.drain(own, batch)
        seconds = time.monotonic() - began
    return Round(seconds, fired, _count_tasks(), [])


def _count_tasks() -> int:
    [(count,)] = store.execute("SELECT count(*) FROM task WHERE status = 'pending'")
    return int(str(count))


def measure(title: str, *, rounds: int, batches: Sequence[int]) -> None:
    """Print one table: peer and product in the same rounds, medians, ratios."""
    print(f"\n{title}")
    heads = ("schedules/s", "tasks/s", "of bare", "p50 lag s", "p99 lag s")
    print(f"{'batch':>6} {'who':<16}" + "".join(f"{head:>13}" for head in heads))
    for batch in batches:
        found: dict[str, list[Round]] = {"bare loop": [], "one dispatcher": [], "two dispatchers": []}
        for number in range(rounds + 1):
            store.say(f"  batch {batch}: round {number} of {rounds}{' (warming, not counted)' if not number else ''}")
            for who, run in (
                ("bare loop", lambda: bare(batch)),  # noqa: B023  called at once
                ("one dispatcher", lambda: drain(batch, 1)),  # noqa: B023
                ("two dispatchers", lambda: drain(batch, 2)),  # noqa: B023
            ):
                result = run()
                reset()
                if number:
                    found[who].append(result)
        _print(batch, found)


def _print(batch: int, found: dict[str, list[Round]]) -> None:
    for who, results in found.items():
        ratios = [mine.rate / peer.rate for mine, peer in zip(results, found["bare loop"], strict=True)]
        rate = statistics.median(result.rate for result in results)
        tasks = statistics.median(result.tasks / result.seconds for result in results)
        lags = sorted(lag for result in results for lag in result.lags)
        p50, p99 = (f"{lags[int(len(lags) * q)]:.2f}" if lags else "-" for q in (0.5, 0.99))
        ratio = f"{statistics.median(ratios):.0%}"
        print(f"{batch:>6} {who:<16}{rate:>13,.0f}{tasks:>13,.0f}{ratio:>13}{p50:>13}{p99:>13}")


def idle(schedules: int, seconds: float) -> None:
    """What a dispatcher with nothing due costs, as a share of one core."""
    store.execute("TRUNCATE task_schedule, task_schedule_scope, firing, firing_scope, task, run CASCADE")
    store.execute(SCHEDULES, "idle ", OPERATION, schedules)
    store.execute("VACUUM ANALYZE")
    done = subprocess.run(
        [sys.executable, "-c", _IDLE],
        env=os.environ | {"BENCH_SECONDS": str(seconds)},
        stdout=subprocess.PIPE,
        check=True,
    )
    out = done.stdout.decode().split()
    share = float(out[0]) / seconds
    print(f"\nidle with {schedules:,} schedules for {seconds:g} s: {share:.2%} of a core, {out[1]} scans")


_IDLE = """
import os, threading, time
from bench import store
store.start(); store.switch(store.NAME)
from dispatcher.loop import Loop
loop = Loop(batch_size=10, poll_interval=10)
loop.run_once()
began, scans = time.process_time(), loop.scans
threading.Timer(float(os.environ["BENCH_SECONDS"]), loop.drain).start()
loop.run_forever()
print(time.process_time() - began, loop.scans - scans)
"""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--racks", type=int, default=10_000, help="racks of 35 components (default 10,000)")
    parser.add_argument("--rounds", type=int, default=3, help="measured rounds; medians are printed (default 3)")
    parser.add_argument("--batch-size", type=int, action="append", help="10 and 100 if left out")
    parser.add_argument("--idle-seconds", type=float, default=60, help="0 leaves the idle measurement out")
    options = parser.parse_args()
    batches = options.batch_size or [10, 100]
    store.start()
    from django.core.management import call_command  # noqa: PLC0415  after start()

    with store.database():
        store.say(f"making {options.racks:,} racks of 35 components …")
        call_command("demo_racks", racks=options.racks, components=35, stdout=sys.stderr)
        fill(options.racks, 1)
        measure(f"{options.racks:,} schedules of one rack, half of them cron", rounds=options.rounds, batches=batches)
        fill(options.racks // 50, 50)
        measure(f"{options.racks // 50} schedules of 50 racks", rounds=options.rounds, batches=batches)
        if options.idle_seconds:
            idle(100_000, options.idle_seconds)


if __name__ == "__main__":
    main()
