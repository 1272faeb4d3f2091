"""Schedules that come due every second while a test breaks things; brought to rest and judged at the end."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from flowsched.actor import Actor, Door
from schedules.models import TaskSchedule
from schedules.services import schedule_pause
from tests.dispatcher.helpers import due_schedule, racks
from tests.faults.harness import Product, database_clock, query, wait_for
from tests.faults.invariants import at_rest, check_invariants
from tests.faults.oracles import Recurrence, cron, every, firings_of, history_gaps, ticks_judged

SECOND = timedelta(seconds=1)
MINUTE_BY_MINUTE = "* * * * *"
ZONE = "Asia/Kathmandu"
# Nothing is asserted about speed: a machine that is busy with other tests may be this late and still be right.
ALLOWANCE = timedelta(seconds=90)
BY = Actor("tester", Door.CLI)


@dataclass
class Load:
    """Schedules with what the reference says of each."""

    recurrences: dict[TaskSchedule, Recurrence]

    def fired(self) -> int:
        [(count,)] = query("SELECT count(*) FROM firing WHERE closed_at IS NOT NULL")
        return int(count)

    def goes_on(self, firings: int) -> None:
        """Wait until that many more firings are done: the product lives."""
        before = self.fired()
        wait_for(lambda: self.fired() >= before + firings, 120, f"{firings} more firings are done")

    def judge(self, product: Product) -> None:
        """Pause everything, let it come to rest, and ask all three oracles."""
        paused = {}
        for row in self.recurrences:
            schedule_pause(schedule_id=row.id, reason="the test is over", by=BY, now=database_clock())
            paused[row] = database_clock()
        wait_for(lambda: at_rest(but_unknown=True), 180, "everything is at rest")
        problems = {}
        for row, recurrence in self.recurrences.items():
            firings = firings_of(row.id)
            wrong = ticks_judged(recurrence, firings, until=paused[row], allowance=ALLOWANCE)
            wrong += history_gaps(recurrence, firings, until=paused[row] - ALLOWANCE)
            if wrong or not firings:
                problems[row.name] = wrong or ["it never fired"]
        assert problems == {}
        check_invariants(product)


def start_load(resets: int = 8, pairs: int = 4, by_minute: int = 2) -> Load:
    """Resets, which must not be repeated; on and off in turn on one rack, which wait for each other; crons."""
    now = database_clock()
    rows: dict[TaskSchedule, Recurrence] = {}

    def add(name: str, on, **how) -> None:
        row = due_schedule(name, on, now=now, **how)
        following = cron(how["cron"], how["timezone"]) if "cron" in how else every(SECOND)
        rows[row] = Recurrence(row.next_run_at, following, since=now)

    for n in range(resets):
        add(f"reset {n}", racks(1), kind="power_reset", every="1s")
    for n in range(pairs):
        rack = racks(1)
        add(f"on {n}", rack, kind="power_on", every="1s", overlap="queue")
        add(f"off {n}", rack, kind="power_off", every="1s", overlap="queue")
    for n in range(by_minute):
        # Due an hour ago in its own zone's minutes: the late firing covers what fell into the outage.
        add(f"cron {n}", racks(2), kind="power_reset", cron=MINUTE_BY_MINUTE, timezone=ZONE, late=timedelta(hours=1))
    return Load(rows)
