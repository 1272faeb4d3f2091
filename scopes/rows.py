"""The scope rows of one schedule, written in sets: a statement for any number of rows, never one a row.

Every function here runs inside the caller's transaction, which holds the schedule's lock. Rows that a firing's
write-back may hold as well are locked in the order of their ids first: without that, two sets updated in plan order
deadlock.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Sequence
from datetime import datetime
from uuid import UUID

from django.conf import settings
from django.db import connection

from flowsched.errors import InvalidInput
from inventory.targets import ResolvedTarget
from schedules.checks import check_scope_count
from schedules.models import TaskSchedule
from schedules.template import rackless
from scopes.filters import ComponentFilter, filter_dump, filter_of
from scopes.models import TaskScheduleScope
from scopes.plan import CurrentScope, FilterChange, IncomingScope

_INSERT = """
    INSERT INTO task_schedule_scope (id, schedule_id, rack_id, component_filter, position, skip_streak, created_at)
    SELECT given.id, %s, given.rack_id, given.component_filter, %s + given.place - 1, 0, %s
    FROM unnest(%s::uuid[], %s::uuid[], %s::text[]::jsonb[])
        WITH ORDINALITY AS given (id, rack_id, component_filter, place)
"""
_UPDATE = """
    UPDATE task_schedule_scope AS scope SET component_filter = given.component_filter
    FROM unnest(%s::uuid[], %s::text[]::jsonb[]) AS given (id, component_filter)
    WHERE scope.id = given.id AND scope.schedule_id = %s
"""


def incoming(targets: Sequence[ResolvedTarget]) -> list[IncomingScope]:
    """The resolved targets as scopes to be."""
    return [
        IncomingScope(target.rack_id, target.rack_name, filter_of(target.types, target.components))
        for target in targets
    ]


def scopes_read(schedule_id: UUID) -> tuple[list[CurrentScope], int]:
    """The schedule's scopes in their order, and the position after the last."""
    rows = list(
        TaskScheduleScope.objects.filter(schedule_id=schedule_id)
        .order_by("position", "id")
        .values_list("id", "rack_id", "rack__name", "component_filter", "position")
    )
    scopes = [CurrentScope(pk, rack_id, name or "", stored) for pk, rack_id, name, stored, _ in rows]
    return scopes, rows[-1][-1] + 1 if rows else 0


def scopes_insert(schedule_id: UUID, scopes: Sequence[IncomingScope], *, position: int, now: datetime) -> list[UUID]:
    """Insert `scopes`, positions counting up from `position`; return their ids in the order given."""
    ids = [uuid.uuid4() for _ in scopes]
    if ids:
        filters = [_json(scope.component_filter) for scope in scopes]
        racks = [scope.rack_id for scope in scopes]
        with connection.cursor() as cursor:
            cursor.execute(_INSERT, [schedule_id, position, now, ids, racks, filters])
    return ids


def scopes_lock(scope_ids: Iterable[UUID]) -> None:
    """Lock rows that are about to be changed, in the order of their ids."""
    ids = list(scope_ids)
    if ids:
        list(
            TaskScheduleScope.objects.select_for_update(no_key=True).filter(pk__in=ids).order_by("id").values_list("id")
        )


def scopes_write_filters(schedule_id: UUID, changes: Sequence[FilterChange]) -> None:
    """Replace the filters of locked rows. What a row remembers of its last task stays."""
    if changes:
        ids = [change.scope.id for change in changes]
        filters = [_json(change.component_filter) for change in changes]
        with connection.cursor() as cursor:
            cursor.execute(_UPDATE, [ids, filters, schedule_id])


def scopes_delete(schedule_id: UUID, scope_ids: Iterable[UUID]) -> int:
    """Delete locked rows of the schedule; return how many there were."""
    ids = list(scope_ids)
    if not ids:
        return 0
    return TaskScheduleScope.objects.filter(schedule_id=schedule_id, pk__in=ids).delete()[0]


# What schedules/ calls through its ports -------------------------------------------------------------------------


def create_scopes(schedule: TaskSchedule, targets: Sequence[ResolvedTarget], now: datetime, /) -> None:
    """Insert the scopes of a new schedule, in the order of `targets`; of a call that names no rack the one it has.

    Raises InvalidInput for none or too many.
    """
    if not targets and rackless(schedule.operation_template):
        TaskScheduleScope.objects.create(schedule=schedule, rack=None, position=0, created_at=now)
        return
    if not targets:
        raise InvalidInput("a schedule needs at least one rack", reason="NO_SCOPES", field="target_spec")
    check_scope_count(len(targets), limit=settings.FLOWSCHED_MAX_SCOPES_PER_SCHEDULE)
    scopes_insert(schedule.pk, incoming(targets), position=0, now=now)


def delete_scopes(schedule_id: UUID, /) -> None:
    """Delete all scopes of a schedule, locked in the order of their ids: the cascade would take them in any order."""
    ids = TaskScheduleScope.objects.select_for_update().filter(schedule_id=schedule_id).order_by("id")
    scopes_delete(schedule_id, list(ids.values_list("id", flat=True)))


def reset_streaks(schedule_id: UUID, /) -> None:
    """Start the skip streaks of a schedule anew."""
    streaks = TaskScheduleScope.objects.filter(schedule_id=schedule_id, skip_streak__gt=0)
    ids = list(streaks.select_for_update(no_key=True).order_by("id").values_list("id", flat=True))
    if ids:
        TaskScheduleScope.objects.filter(pk__in=ids).update(skip_streak=0)


def _json(value: ComponentFilter | None) -> str | None:
    stored = filter_dump(value)
    return None if stored is None else json.dumps(stored)
