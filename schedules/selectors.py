"""Reading schedules: a constant number of queries for any number of rows.

Nothing here interprets a template or a spec, so one that cannot be read empties no list.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django.db.models import Count, OuterRef, Q, QuerySet, Subquery

from flowsched.errors import InvalidInput
from inventory.identifiers import check_name, uuid_or_none
from schedules.models import TaskSchedule
from schedules.rows import not_found


def schedule_get(name_or_id: str | UUID) -> TaskSchedule:
    """The schedule with this id or, failing that, this name, in one query. Raises NotFound, InvalidInput."""
    key = name_or_id if isinstance(name_or_id, UUID) else uuid_or_none(name_or_id)
    match = Q() if key is None else Q(pk=key)
    if isinstance(name_or_id, str):
        match |= Q(name=check_name(name_or_id, what="the schedule's name", field="schedule"))
    rows = list(TaskSchedule.objects.filter(match))
    if not rows:
        raise not_found(name_or_id)
    return next((row for row in rows if row.pk == key), rows[0])


def schedules_list(
    *, rack_id: UUID | None = None, enabled_only: bool = False, limit: int | None = None, offset: int = 0
) -> tuple[list[TaskSchedule], int]:
    """A page of schedules, oldest first, and how many match in all.

    `rack_id` keeps those with a scope on that rack. `limit` 0 or None is no limit. Raises InvalidInput for negatives.
    """
    for field, value in (("limit", limit or 0), ("offset", offset)):
        if value < 0:
            raise InvalidInput(f"{field} must not be negative", field=field)
    matching = TaskSchedule.objects.order_by("created_at", "id")
    if rack_id is not None:
        matching = matching.filter(scopes__rack_id=rack_id)  # one row at most: a rack is in a schedule once
    if enabled_only:
        matching = matching.filter(enabled=True)
    if not limit and not offset:
        rows = list(matching)
        return rows, len(rows)
    return list(matching[offset : offset + limit] if limit else matching[offset:]), matching.count()


def name_taken(name: str, *, except_id: UUID | None = None) -> bool:
    """Whether a schedule other than this one has the name: to say so early. Only the database can promise it."""
    rows = TaskSchedule.objects.filter(name=name.replace("\0", ""))
    return rows.exclude(pk=except_id).exists() if except_id is not None else rows.exists()


def schedules_all() -> QuerySet[Any]:
    """All schedules, oldest first, each with the number of its `racks`, in the same query."""
    itself = TaskSchedule.objects.filter(pk=OuterRef("pk")).order_by().values("pk")
    racks = Subquery(itself.annotate(racks=Count("scopes__rack")).values("racks"))
    return TaskSchedule.objects.annotate(racks=racks).order_by("created_at", "id")


def racks_counted(schedule_ids: Iterable[UUID]) -> dict[UUID, int]:
    """How many racks each of these schedules has: one query."""
    rows = TaskSchedule.objects.filter(pk__in=list(schedule_ids)).annotate(racks=Count("scopes__rack"))
    return dict(rows.values_list("pk", "racks"))
