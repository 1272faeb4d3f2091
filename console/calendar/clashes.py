"""Runs that may meet on a rack: what a week's view outlines, before anything is rejected at night.

Coarse, as the check on the wire (D-21): types of operations and shared racks, no components; a run is assumed to take
its operation's whole budget. It warns, and blocks nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from uuid import UUID
from zoneinfo import ZoneInfo

from django.db import connection

from console.calendar.marks import Mark
from console.moments import clock
from scopes.forecast import takes_of
from scopes.selectors import types_that_may_meet

MOST_PAIRS: Final = 500  # of schedules, compared for one page

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
        takes, partners = takes_of(earlier.type), types_that_may_meet(earlier.type)
        for later in coming[place + 1 :]:
            if later.at - earlier.at >= takes:
                break
            if earlier.schedule_id != later.schedule_id and later.type in partners:
                found.append((earlier, later))
    return found


def _sharing(pairs: Sequence[tuple[UUID, UUID]]) -> set[tuple[UUID, UUID]]:
    if not pairs:
        return set()
    with connection.cursor() as cursor:
        cursor.execute(_SHARING, [[one for one, _ in pairs], [other for _, other in pairs]])
        return set(cursor.fetchall())


def _words(mark: Mark, zone: ZoneInfo) -> str:
    return f"may meet {mark.name} at {clock(mark.at, zone)} on the same racks"
