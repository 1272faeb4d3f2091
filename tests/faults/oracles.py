"""Which ticks were due, by a reference that shares nothing with the product (O1), and whether history has gaps (O3).

An interval is dispatch time plus duration, so its ticks follow from the times recorded; a cron expression is read by a
scan of every minute against the zone's clock. Firings are judged one after the other: lost, doubled, extra, late.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from uuid import UUID
from zoneinfo import ZoneInfo

from tests.faults.harness import query

MINUTE = timedelta(minutes=1)
FIELDS = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 6))


@dataclass(frozen=True)
class Fired:
    """One firing as the reference needs it."""

    cause: str
    due_at: datetime
    fired_at: datetime
    state: str = "done"


@dataclass(frozen=True)
class Recurrence:
    """What a schedule should do: its first tick, and the tick that follows a dispatch. Nobody fires before `since`."""

    first: datetime
    following: Callable[[datetime], datetime]
    since: datetime


def every(step: timedelta) -> Callable[[datetime], datetime]:
    return lambda dispatched: dispatched + step


def cron(expression: str, zone: str) -> Callable[[datetime], datetime]:
    """The first minute after a dispatch whose wall clock matches; found by looking at every one."""
    fields = [_values(text, *bounds) for text, bounds in zip(expression.split(), FIELDS, strict=True)]
    clock = ZoneInfo(zone)

    def following(dispatched: datetime) -> datetime:
        moment = dispatched.replace(second=0, microsecond=0) + MINUTE
        while not _matches(moment.astimezone(clock), fields):
            moment += MINUTE
        return moment

    return following


def _values(text: str, least: int, most: int) -> set[int]:
    part, _, step = text.partition("/")
    numbers = range(least, most + 1) if part == "*" else [int(number) for number in part.split(",")]
    return {number for number in numbers if (number - least) % int(step or 1) == 0}


def _matches(wall: datetime, fields: list[set[int]]) -> bool:
    shown = (wall.minute, wall.hour, wall.day, wall.month, wall.isoweekday() % 7)
    return all(value in field for value, field in zip(shown, fields, strict=True))


def ticks_judged(
    recurrence: Recurrence, firings: Sequence[Fired], *, until: datetime, allowance: timedelta
) -> list[str]:
    """What is wrong with the firings of one schedule, in the order they were recorded (O1)."""
    problems: list[str] = []
    due, seen = recurrence.first, set()
    for one in firings:
        by_hand = one.cause == "manual" and one.due_at == one.fired_at and due > one.fired_at
        if one.due_at in seen and one.cause == "automatic":
            problems.append(f"doubled: the tick due {one.due_at}")
        elif one.due_at != due and not by_hand:
            problems.append(f"lost: the tick due {due}" if due < one.due_at else f"extra: a firing due {one.due_at}")
        if one.fired_at < one.due_at:
            problems.append(f"early: {one.due_at} at {one.fired_at}")
        if one.fired_at - max(one.due_at, recurrence.since) > allowance:
            problems.append(f"late: {one.due_at} at {one.fired_at}")
        seen.add(one.due_at)
        due = recurrence.following(one.fired_at)
    if due + allowance < until:
        problems.append(f"lost: the tick due {due}, with nothing after it")
    return problems


def history_gaps(recurrence: Recurrence, firings: Sequence[Fired], *, until: datetime) -> list[str]:
    """Due ticks that no closed firing covers (O3): its own, or the late one after the outage that it fell into."""
    problems = [f"not closed: {one.due_at}" for one in firings if one.state not in {"done", "failed"}]
    if not firings:
        return problems
    for before, after in pairwise(firings):
        tick = recurrence.following(before.fired_at)
        if tick < after.due_at:
            problems.append(f"a gap: nothing tells of the tick due {tick}")
    tick = recurrence.following(firings[-1].fired_at)
    if tick < until:
        problems.append(f"a gap: nothing tells of the tick due {tick}")
    return problems


def firings_of(schedule_id: UUID) -> list[Fired]:
    """The schedule's firings in the order in which its row's lock let them be recorded."""
    rows = query("SELECT cause, due_at, fired_at, state FROM firing WHERE schedule_id = %s ORDER BY id", schedule_id)
    return [Fired(*row) for row in rows]
