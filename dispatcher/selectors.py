"""Reading what fired, what is due, and what the loop needs to know before it sleeps."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import QuerySet

from dispatcher.models import Firing, FiringScope
from flowsched.errors import InvalidInput, NotFound
from schedules.selectors import schedule_get
from scopes.filters import filter_parse
from tasks.models import Task

# One statement tells an idle loop all it needs; each subquery reads the head of a partial index. Moments are clamped
# to what Python can hold, so that a row with an infinite or absurd time is seen as due, and dealt with by the claim.
_PEEK = """
WITH clock AS MATERIALIZED (SELECT clock_timestamp() AS now)
SELECT now,
       (SELECT LEAST(GREATEST(next_run_at, 'epoch'), now + interval '1 day')
          FROM task_schedule WHERE enabled ORDER BY next_run_at, id LIMIT 1),
       (SELECT lease_until FROM firing WHERE closed_at IS NULL ORDER BY lease_until LIMIT 1),
       (SELECT queue_expires_at FROM task WHERE status = 'waiting' ORDER BY queue_expires_at LIMIT 1),
       EXISTS (SELECT 1 FROM hold WHERE released_at IS NULL)
  FROM clock
"""


@dataclass(frozen=True, slots=True)
class Peek:
    """The database's clock and the next moments at which something has to be done; None where there is none.

    `on_hold` is a hint: what begins something passes the gate itself.
    """

    now: datetime
    next_due: datetime | None
    next_lease_end: datetime | None
    next_expiry: datetime | None
    on_hold: bool

    def due(self, now: datetime) -> bool:
        """A schedule is due."""
        return self.next_due is not None and self.next_due <= now

    def orphaned(self, now: datetime) -> bool:
        """A firing's lease has run out."""
        return self.next_lease_end is not None and self.next_lease_end < now

    def expired(self, now: datetime) -> bool:
        """A waiting task's time is up."""
        return self.next_expiry is not None and self.next_expiry < now


def peek() -> Peek:
    """What an idle loop needs to know: one query."""
    with connection.cursor() as cursor:
        cursor.execute(_PEEK)
        row = cursor.fetchone()
    return Peek(*row)


def firings_all() -> QuerySet[Firing]:
    """All firings, newest first.

    By id, which is the order they were written in: an index on the time for this list alone would cost every firing
    two more index entries.
    """
    return Firing.objects.order_by("-id")


def of_schedule(firings: QuerySet[Firing], schedule_id: UUID) -> QuerySet[Firing]:
    """Those of one schedule, existing or deleted, in the order of the index that has them."""
    return firings.filter(schedule_id=schedule_id).order_by("-fired_at", "-id")


def firing_get(firing_id: int) -> Firing:
    """One firing. Raises NotFound."""
    row = Firing.objects.filter(pk=firing_id).first()
    if row is None:
        raise NotFound(f"there is no firing {firing_id}: it never was, or its history is over", reason="FIRING")
    return row


def schedule_known(schedule_id: UUID) -> None:
    """Raise NotFound for a schedule that does not exist and of which no firing tells."""
    if not Firing.objects.filter(schedule_id=schedule_id).exists():
        schedule_get(schedule_id)


def firings_of(schedule_id: UUID | None, *, limit: int, offset: int = 0) -> tuple[list[Firing], int]:
    """Firings, newest first, of one schedule or of all; and how many there are in all."""
    rows = firings_all() if schedule_id is None else of_schedule(firings_all(), schedule_id)
    return list(rows[offset : offset + limit]), rows.count()


def firings_named(name: str | None, *, limit: int, offset: int = 0) -> tuple[list[Firing], int]:
    """Firings of the schedule that `name` names (name or id, existing or deleted), or of all. Raises NotFound."""
    if name is None:
        return firings_of(None, limit=limit, offset=offset)
    try:
        schedule_id = schedule_get(name).id
    except NotFound:
        deleted = Firing.objects.filter(schedule_name=name)
        with suppress(ValueError):
            deleted |= Firing.objects.filter(schedule_id=UUID(name))
        newest = deleted.order_by("-id").first()
        if newest is None:
            raise
        schedule_id = newest.schedule_id
    return firings_of(schedule_id, limit=limit, offset=offset)


def scopes_of_firings(firing_ids: Sequence[int]) -> dict[int, list[tuple[FiringScope, Task | None]]]:
    """The scopes of these firings in scope order, each with its task: two queries."""
    scopes = list(FiringScope.objects.filter(firing_id__in=firing_ids).order_by("firing_id", "position", "scope_id"))
    tasks = Task.objects.in_bulk([scope.task_id for scope in scopes if scope.task_id])
    found: dict[int, list[tuple[FiringScope, Task | None]]] = {firing_id: [] for firing_id in firing_ids}
    for scope in scopes:
        found[scope.firing_id].append((scope, tasks.get(scope.task_id) if scope.task_id else None))
    return found


@dataclass(frozen=True, slots=True)
class RackOutcome:
    """What a firing did about one rack, and how its task stands."""

    scope_id: UUID
    rack_id: UUID | None
    rack_name: str
    outcome: str
    reason_code: str
    reason: str
    task_id: UUID | None
    task_status: str | None
    task_message: str | None


@dataclass(slots=True)
class Outcomes:
    """The first racks of a firing in scope order, and how many it has."""

    racks: list[RackOutcome]
    total: int


_OUTCOMES = """
SELECT f.id, s.total, s.scope_id, s.rack_id, s.rack_name, s.state, s.reason_code, s.reason, s.task_id,
       t.status, t.message
  FROM unnest(%s::bigint[]) AS f(id)
 CROSS JOIN LATERAL (SELECT *, count(*) OVER () AS total FROM firing_scope
                      WHERE firing_id = f.id ORDER BY position, scope_id LIMIT %s) s
  LEFT JOIN task t ON t.id = s.task_id
 ORDER BY f.id, s.position, s.scope_id
"""


def outcomes_of(firing_ids: Sequence[int], *, most: int | None = None) -> dict[int, Outcomes]:
    """The racks of these firings, at most `most` of each: one query."""
    found = {firing_id: Outcomes([], 0) for firing_id in firing_ids}
    with connection.cursor() as cursor:
        cursor.execute(_OUTCOMES, [list(firing_ids), most])
        for firing_id, total, *rack in cursor.fetchall():
            found[firing_id].total = total
            found[firing_id].racks.append(RackOutcome(*rack))
    return found


@dataclass(frozen=True, slots=True)
class Backlog:
    """How the firing side stands: for --status."""

    now: datetime
    schedules: int
    enabled: int
    due: int
    oldest_due: datetime | None
    next_due: datetime | None
    open_firings: int
    disabled_by_system: int


def backlog() -> Backlog:
    """Counts of schedules and firings by the database's clock: one query."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT clock_timestamp(), count(*), count(*) FILTER (WHERE enabled),
                   count(*) FILTER (WHERE enabled AND next_run_at <= clock_timestamp()),
                   min(GREATEST(next_run_at, 'epoch')) FILTER (WHERE enabled AND next_run_at <= clock_timestamp()),
                   min(next_run_at) FILTER (WHERE enabled AND next_run_at > clock_timestamp()
                                              AND next_run_at < '9999-01-01'),
                   (SELECT count(*) FROM firing WHERE closed_at IS NULL),
                   count(*) FILTER (WHERE disabled_kind = 'system')
              FROM task_schedule
            """
        )
        row = cursor.fetchone()
    return Backlog(*row)


@dataclass(frozen=True, slots=True)
class Reach:
    """One scope and what it reaches in today's inventory."""

    scope_id: UUID
    rack_id: UUID | None
    rack_name: str
    component_filter: Any
    components: int
    last_task_id: UUID | None
    last_task_status: str | None
    skip_streak: int
    gone: bool

    @property
    def words(self) -> str:
        """The filter in words."""
        if self.gone:
            return "nothing: the rack was removed from the inventory"
        try:
            parsed = filter_parse(self.component_filter)
        except InvalidInput as error:
            return f"nothing: {error}"
        if parsed is None:
            return "whole rack"
        return ", ".join(parsed.types) if parsed.kind == "types" else f"{len(parsed.components)} named components"


FILTER = 3  # the column that holds the filter as text
_REACH = """
SELECT s.id, s.rack_id, COALESCE(r.name, ''), s.component_filter::text, COALESCE(c.n, 0), s.last_task_id, t.status,
       s.skip_streak, r.deleted_at IS NOT NULL
  FROM task_schedule_scope s
  LEFT JOIN rack r ON r.id = s.rack_id
  LEFT JOIN task t ON t.id = s.last_task_id
  LEFT JOIN LATERAL (
       SELECT count(*) AS n FROM component k
        WHERE k.rack_id = s.rack_id AND k.deleted_at IS NULL AND r.deleted_at IS NULL
          AND (s.component_filter IS NULL OR jsonb_typeof(s.component_filter) = 'null'
               OR s.component_filter -> 'types' @> to_jsonb(k.type::text)
               OR s.component_filter -> 'components' @> to_jsonb(k.id::text))) c ON true
 WHERE s.schedule_id = %s
 ORDER BY s.position, s.id
"""


def reach(schedule_id: UUID) -> list[Reach]:
    """The scopes of a schedule with the number of components each reaches now: one query."""
    with connection.cursor() as cursor:
        cursor.execute(_REACH, [schedule_id])
        rows = cursor.fetchall()
    return [
        Reach(*(json.loads(value) if i == FILTER and value else value for i, value in enumerate(row))) for row in rows
    ]


def last_refusals(scope_ids: Sequence[UUID]) -> dict[UUID, str]:
    """What the newest firing did about each of these scopes, where it gave a reason: `skipped: why`. One query.

    Scopes without a rack are left out: the index leads by the rack.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT c.id, l.state || ': ' || l.reason
              FROM task_schedule_scope c
             CROSS JOIN LATERAL (SELECT state, reason FROM firing_scope f
                                  WHERE f.rack_id = c.rack_id AND f.scope_id = c.id ORDER BY f.id DESC LIMIT 1) l
             WHERE c.id = ANY(%s) AND l.reason <> ''
            """,
            [list(scope_ids)],
        )
        return dict(cursor.fetchall())
