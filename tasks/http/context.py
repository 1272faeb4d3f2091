"""What the templates of a call may name: plain text, numbers, objects, lists, and nothing that leads anywhere (D-25).

Read when the call is made, so that a rack's name and components are today's.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from inventory.models import Component, Rack
from tasks.models import Task
from tasks.operations import operation_label


def context_of(task: Task) -> dict[str, Any]:
    """The context of a task that is about to run: three queries, fewer without a rack."""
    rack = Rack.objects.filter(id=task.rack_id).values("id", "name").first() if task.rack_id else None
    wanted = [UUID(str(i)) for ids in task.attributes.get("components_by_type", {}).values() for i in ids]
    parts = Component.objects.filter(id__in=wanted, deleted_at=None).order_by("name", "id") if wanted else ()
    return context(
        fired_at=_fired_at(task),
        last_run=_last_run(task),
        task=task,
        rack={"id": str(rack["id"]), "name": rack["name"]} if rack else {},
        components=[{"id": str(part.id), "name": part.name, "type": part.type} for part in parts],
    )


def context(
    *,
    fired_at: datetime,
    last_run: datetime | None,
    task: Task,
    rack: dict[str, str],
    components: list[dict[str, str]],
) -> dict[str, Any]:
    """The context from what was read; times as ISO text in UTC.

    `now` is when the schedule fired (I-42): whoever repeats the call renders the same request, with the same key.
    """
    return {
        "now": _iso(fired_at),
        "run": {"id": str(task.id), "fired_at": _iso(fired_at)},
        "last_run": _iso(last_run) if last_run else "",
        "task": {
            "id": str(task.id),
            "schedule_id": str(task.schedule_id or ""),
            "schedule_name": task.schedule_name,
            "description": task.description,
            "operation": operation_label(task.type, task.code, task.information),
        },
        "rack": rack,
        "components": components,
    }


def _fired_at(task: Task) -> datetime:
    stored = task.attributes.get("fired_at")
    return datetime.fromisoformat(stored) if isinstance(stored, str) else task.created_at


def _last_run(task: Task) -> datetime | None:
    """When the schedule's call before this one was made."""
    if task.schedule_id is None:
        return None
    before = Task.objects.filter(schedule_id=task.schedule_id, type=task.type, created_at__lt=task.created_at)
    return before.order_by("-created_at", "-id").values_list("created_at", flat=True).first()


def _iso(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
