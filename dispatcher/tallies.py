"""How firings ended, counted: each rack's outcome, and its task's end where it has one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from django.db import connection

from tasks.lanes import EXPIRED_MESSAGE


@dataclass(frozen=True, slots=True)
class Group:
    """Racks of a firing that came to the same end. `task` is its task's status, None where there is none.

    `unknown`: the task's run stopped at an unknown outcome. `expired`: its time in the queue ran out.
    """

    state: str
    task: str | None
    unknown: bool
    expired: bool
    racks: int


@dataclass(slots=True)
class Tally:
    """A firing with its racks by end."""

    firing_id: int
    due_at: datetime
    fired_at: datetime
    cause: str
    actor: str
    state: str
    reason: str
    groups: list[Group] = field(default_factory=list)


_COLUMNS = "f.id, f.due_at, f.fired_at, f.cause, f.actor, f.state, f.reason"
_GROUPS = """
SELECT fs.firing_id, fs.state, t.status, r.id IS NOT NULL, COALESCE(t.message = %s, false), count(*)
  FROM firing_scope fs
  LEFT JOIN task t ON t.id = fs.task_id
  LEFT JOIN run r ON r.task_id = t.id AND r.state = 'unknown'
 WHERE fs.firing_id = ANY(%s)
 GROUP BY 1, 2, 3, 4, 5
"""


def last_firings(schedule_ids: Sequence[UUID]) -> dict[UUID, Tally]:
    """The newest firing of each of these schedules: two queries. Those that never fired are left out."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            SELECT s.id, {_COLUMNS}
              FROM unnest(%s::uuid[]) AS s (id)
             CROSS JOIN LATERAL (SELECT * FROM firing f WHERE f.schedule_id = s.id
                                  ORDER BY f.fired_at DESC, f.id DESC LIMIT 1) f
            """,  # noqa: S608  our own columns
            [list(schedule_ids)],
        )
        found = {row[0]: Tally(*row[1:]) for row in cursor.fetchall()}
    tally(list(found.values()))
    return found


def tally(firings: Sequence[Tally]) -> None:
    """Fill in the groups of these firings: one query."""
    by_id = {firing.firing_id: firing for firing in firings}
    if not by_id:
        return
    with connection.cursor() as cursor:
        cursor.execute(_GROUPS, [EXPIRED_MESSAGE, list(by_id)])
        for firing_id, *group in cursor.fetchall():
            by_id[firing_id].groups.append(Group(*group))
