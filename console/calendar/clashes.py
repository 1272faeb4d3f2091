"""Runs that may meet on a rack: what a week's view outlines, before anything is rejected at night.

Coarse, as the check on the wire (D-21): types of operations and shared racks, no components; a run is assumed to take
its operation's whole budget. It warns, and blocks nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from functools import lru_cache
from typing import Final
from uuid import UUID
from zoneinfo import ZoneInfo

from django.db import connection

from console.calendar.marks import Mark
from console.moments import clock
from tasks.conflicts import RULES
from tasks.operations import BUDGETS

MOST_PAIRS: Final = 500  # of schedules, compared for one page
_LONGEST: Final = max(BUDGETS.values())
_ASSUMED: Final = timedelta(hours=1)

_SHARING = """
SELECT p.one, p.other FROM unnest(%s::uuid[], %s::uuid[]) AS p (one, other)
 WHERE EXISTS (SELECT 1 FROM task_schedule_scope a JOIN task_schedule_scope b ON b.rack_id = a.rack_id
                WHERE a.schedule_id = p.one AND b.schedule_id = p.other)
"""


def mark_clashes(marks: Sequence[Mark], zone: ZoneInfo) -> None:
    """Say on each mark which other run may meet it: at most one query."""
    close = _close(marks)
    wanted = list(dict.fromkeys((a.schedule_id, b.schedule_id) for a, b in close))[:MOST_PAIRS]
    shared = _sharing(wanted)
    for earlier, later in close:
        if (earlier.schedule_id, later.schedule_id) in shared:
            earlier.clash = earlier.clash or _words(later, zone)
            later.clash = later.clash or _words(earlier, zone)


def _close(marks: Sequence[Mark]) -> list[tuple[Mark, Mark]]:
    """Single runs to come of different schedules of which the second may find the first still at work."""
    coming = sorted((m for m in marks if m.kind == "planned" and m.count == 1), key=lambda mark: mark.at)
    found = []
    for place, earlier in enumerate(coming):
        takes = BUDGETS.get(earlier.type, _ASSUMED)
        for later in coming[place + 1 :]:
            if later.at - earlier.at >= min(takes, _LONGEST):
                break
            if earlier.schedule_id != later.schedule_id and _may_not_meet(earlier.type, later.type):
                found.append((earlier, later))
    return found


def _sharing(pairs: Sequence[tuple[UUID, UUID]]) -> set[tuple[UUID, UUID]]:
    if not pairs:
        return set()
    with connection.cursor() as cursor:
        cursor.execute(_SHARING, [[one for one, _ in pairs], [other for _, other in pairs]])
        return set(cursor.fetchall())


@lru_cache(maxsize=256)
def _may_not_meet(one: str, other: str) -> bool:
    """Whether a row of the conflict table names both types, whatever the components."""
    pairs = ((one, other), (other, one))
    return any(rule.one.type in (None, a) and rule.other.type in (None, b) for rule in RULES for a, b in pairs)


def _words(mark: Mark, zone: ZoneInfo) -> str:
    return f"may meet {mark.name} at {clock(mark.at, zone)} on the same racks"
