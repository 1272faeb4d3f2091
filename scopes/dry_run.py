"""What a schedule's call would send: rendered for one of its racks, or for none; nothing is sent (I-73, I-89)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

from flowsched.errors import InvalidInput, NotFound, PreconditionFailed
from inventory.models import Component
from inventory.selectors import targets_resolve
from inventory.targets import Target
from schedules.models import TaskSchedule
from schedules.quoting import quote
from schedules.rows import not_found
from schedules.template import rackless
from scopes.filters import ComponentFilter, filter_of, filter_parse
from scopes.models import TaskScheduleScope
from tasks.http.dry_run import DryRun, dry_run
from tasks.models import Task
from tasks.operations import Operation, OperationType


def schedule_dry_run(*, schedule_id: UUID, rack: str = "", now: datetime) -> DryRun:
    """What the schedule's call would send now; for the rack of this name, else for the first it has.

    Raises NotFound (schedule, rack), PreconditionFailed for an operation that is no call.
    """
    schedule = TaskSchedule.objects.filter(pk=schedule_id).first()
    if schedule is None:
        raise not_found(schedule_id)
    operation = _call_of(schedule)
    scopes = TaskScheduleScope.objects.filter(schedule=schedule).select_related("rack").order_by("position", "id")
    scope = (scopes.filter(rack__name=rack) if rack else scopes).first()
    if scope is None and rack:
        raise NotFound(f"schedule {quote(schedule.name)} has no rack {quote(rack)}", field="rack")
    chosen = filter_parse(scope.component_filter) if scope is not None else None
    return dry_run(
        _task(
            operation,
            schedule=schedule,
            name=schedule.name,
            rack_id=scope.rack_id if scope is not None else None,
            chosen=chosen,
            now=now,
        )
    )


def operation_dry_run(*, operation: Operation, targets: Sequence[Target] = (), name: str = "", now: datetime) -> DryRun:
    """The same of a schedule that is not there yet, for the first rack of `targets`. Raises as targets do."""
    if operation.type != OperationType.HTTP:
        raise InvalidInput("only HTTP calls are rendered: give an operation of type http_call", field="operation")
    first = targets_resolve(targets)[0] if targets else None
    return dry_run(
        _task(
            operation,
            schedule=None,
            name=name,
            rack_id=first.rack_id if first else None,
            chosen=filter_of(first.types, first.components) if first else None,
            now=now,
        )
    )


def _call_of(schedule: TaskSchedule) -> Operation:
    """The call as it is stored: one that no longer passes is for the dry run to say, as it would fail (TH-8)."""
    stored = schedule.operation_template
    if not rackless(stored):
        raise PreconditionFailed(
            f"schedule {quote(schedule.name)} makes no HTTP call: there is nothing to render", reason="NO_CALL"
        )
    information = stored.get("information")
    return Operation(
        OperationType.HTTP.value, str(stored.get("code", "")), information if isinstance(information, dict) else {}
    )


def _task(
    operation: Operation,
    *,
    schedule: TaskSchedule | None,
    name: str,
    rack_id: UUID | None,
    chosen: ComponentFilter | None,
    now: datetime,
) -> Task:
    """The task that a firing would make, not stored."""
    return Task(
        id=uuid4(),
        type=operation.type,
        code=operation.code,
        information=dict(operation.information),
        schedule_id=schedule.pk if schedule is not None else None,
        schedule_name=name,
        description="dry run",
        rack_id=rack_id,
        attributes={"components_by_type": _components(rack_id, chosen), "fired_at": now.isoformat()},
        created_at=now,
    )


def _components(rack_id: UUID | None, chosen: ComponentFilter | None) -> dict[str, Any]:
    if rack_id is None:
        return {}
    rows = Component.objects.filter(rack_id=rack_id, deleted_at=None)
    if chosen is not None:
        rows = rows.filter(type__in=chosen.types) if chosen.kind == "types" else rows.filter(pk__in=chosen.components)
    found: dict[str, list[str]] = {}
    for pk, kind in rows.values_list("pk", "type"):
        found.setdefault(kind, []).append(str(pk))
    return found
