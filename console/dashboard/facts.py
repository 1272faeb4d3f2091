"""The numbers of the tiles, and whether there is anything to show yet: one query."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection

from console.words import reach

# Each subquery reads the head of an index, or a partial index of what is under way.
_FACTS = """
SELECT EXISTS (SELECT 1 FROM rack WHERE deleted_at IS NULL),
       EXISTS (SELECT 1 FROM task_schedule),
       EXISTS (SELECT 1 FROM firing),
       (SELECT count(*) FROM firing WHERE closed_at IS NULL),
       (SELECT count(*) FROM firing_scope WHERE firing_id IN (SELECT id FROM firing WHERE closed_at IS NULL)),
       (SELECT count(*) FROM task WHERE status IN ('waiting', 'pending', 'running')),
       (SELECT count(*) FROM task WHERE status = 'waiting'),
       (SELECT count(*) FROM task_schedule WHERE disabled_kind = 'system'),
       overdue.id, overdue.name, overdue.next_run_at, overdue.many,
       last.id, last.schedule_id, last.schedule_name, last.fired_at, last.submitted, last.racks,
       last.type
  FROM (SELECT 1) AS one
  LEFT JOIN LATERAL (
       SELECT id, name, next_run_at, count(*) OVER () AS many FROM task_schedule
        WHERE enabled AND next_run_at < %(now)s ORDER BY next_run_at, id LIMIT 1) AS overdue ON true
  LEFT JOIN LATERAL (
       SELECT id, schedule_id, schedule_name, fired_at, submitted_count AS submitted,
              submitted_count + skipped_count + rejected_count + missed_count + failed_count AS racks,
              operation_template ->> 'type' AS type
         FROM firing WHERE closed_at IS NOT NULL ORDER BY id DESC LIMIT 1) AS last ON true
"""


@dataclass(frozen=True, slots=True)
class Facts:
    """How it stands now. `overdue_…`: the schedule that has been due the longest, None where none is."""

    racks: bool
    schedules: bool
    fired: bool
    open_firings: int
    open_racks: int
    active_tasks: int
    waiting_tasks: int
    disabled_by_system: int
    overdue_id: UUID | None
    overdue_name: str | None
    overdue_since: datetime | None
    overdue_count: int | None
    last_firing_id: int | None
    last_schedule_id: UUID | None
    last_schedule: str | None
    last_fired_at: datetime | None
    last_submitted: int | None
    last_racks: int | None
    last_type: str | None

    @property
    def last_reach(self) -> str:
        """What the last firing was on."""
        return reach(self.last_racks or 0, self.last_type or "")

    @property
    def active(self) -> bool:
        """Something is under way."""
        return self.open_firings > 0 or self.active_tasks > 0


def facts(now: datetime) -> Facts:
    """Read them."""
    with connection.cursor() as cursor:
        cursor.execute(_FACTS, {"now": now})
        row: Any = cursor.fetchone()
    return Facts(*row)
