"""Reading scopes, and the coarse check which schedules share racks. A constant number of queries for any number."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

from django.db.models import QuerySet

from flowsched.errors import InvalidInput, NotFound
from inventory.selectors import targets_resolve
from inventory.targets import Target
from schedules.models import TaskSchedule
from schedules.rows import not_found
from scopes.models import TaskScheduleScope
from tasks.conflicts import RULES
from tasks.operations import Operation, OperationType


def scopes_all(schedule_id: UUID) -> QuerySet[TaskScheduleScope]:
    """The scopes of a schedule in their order, with rack and last task; none if there is no such schedule."""
    rows = TaskScheduleScope.objects.filter(schedule_id=schedule_id).select_related("rack", "last_task")
    return rows.order_by("position", "id")


def scopes_of(schedule_id: UUID) -> list[TaskScheduleScope]:
    """The scopes of a schedule in their order, with rack and last task.

    A schedule may have none. Raises NotFound if there is no such schedule.
    """
    rows = list(scopes_all(schedule_id))
    if not rows and not TaskSchedule.objects.filter(pk=schedule_id).exists():
        raise not_found(schedule_id)
    return rows


def scope_filters(schedule_id: UUID) -> list[tuple[UUID | None, Any]]:
    """The racks of a schedule in their order, each with its filter as stored."""
    rows = TaskScheduleScope.objects.filter(schedule_id=schedule_id).order_by("position", "id")
    return list(rows.values_list("rack_id", "component_filter"))


def scopes_by_id(scope_ids: Iterable[UUID]) -> dict[UUID, TaskScheduleScope]:
    """These scopes, with rack and last task, by id; absent ones are left out."""
    rows = TaskScheduleScope.objects.filter(pk__in=list(scope_ids)).select_related("rack", "last_task")
    return {row.pk: row for row in rows}


def scope_get(scope_id: UUID) -> TaskScheduleScope:
    """One scope, with schedule, rack and last task. Raises NotFound."""
    row = TaskScheduleScope.objects.select_related("schedule", "rack", "last_task").filter(pk=scope_id).first()
    if row is None:
        raise NotFound(f"there is no scope '{scope_id}'", reason="SCOPE")
    return row


def schedule_conflicts(
    *,
    operation: Operation,
    targets: Sequence[Target] | None = None,
    rack_ids: Iterable[UUID] = (),
    exclude_schedule_id: UUID | None = None,
) -> list[TaskSchedule]:
    """The enabled schedules on any of these racks whose operation may not meet `operation` there, oldest first.

    The racks are what `targets` come to now, if given, else `rack_ids`.

    Coarse on purpose: filters, times and overlap policies are not compared. It never blocks anything. A schedule whose
    operation cannot be read cannot fire and is left out. Raises InvalidInput without racks, and as targets do.
    """
    racks = list(rack_ids) if targets is None else [target.rack_id for target in targets_resolve(targets)]
    if not racks:
        raise InvalidInput("name at least one rack", reason="NO_SCOPES", field="target_spec")
    sharing = TaskScheduleScope.objects.filter(rack_id__in=racks).values("schedule_id")
    rows = TaskSchedule.objects.filter(enabled=True, pk__in=sharing).order_by("created_at", "id")
    if exclude_schedule_id is not None:
        rows = rows.exclude(pk=exclude_schedule_id)
    return [row for row in rows if _may_meet(operation.type, _type_of(row.operation_template))]


def _type_of(template: Any) -> str | None:
    kind = template.get("type") if isinstance(template, dict) else None
    return kind if isinstance(kind, str) else None


def types_that_may_meet(one: str) -> frozenset[str]:
    """The operation types that some row of the conflict table keeps from `one`, whatever the components."""
    return frozenset(other.value for other in OperationType if _may_meet(one, other.value))


def _may_meet(one: str, other: str | None) -> bool:
    """Whether a row of the conflict table names both types, whatever the components."""
    pairs = ((one, other), (other, one))
    return (
        other is not None
        and OperationType.HTTP not in (one, other)
        and any(rule.one.type in (None, a) and rule.other.type in (None, b) for rule in RULES for a, b in pairs)
    )
