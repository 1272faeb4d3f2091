"""Lanes: stand-in until the real module is merged."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime
from typing import Any
from uuid import UUID

from inventory.models import Rack
from tasks.engine import get_engine
from tasks.models import Task
from tasks.states import FINISHED, HOLDS_RACK, TaskStatus, sources


def lanes_lock(rack_ids: Iterable[UUID], *, skip_locked: bool = False) -> set[UUID]:
    """Lock racks in order."""
    rows = Rack.objects.filter(id__in=list(rack_ids)).order_by("id")
    return set(rows.select_for_update(no_key=True, skip_locked=skip_locked).values_list("id", flat=True))


def task_move(
    task_id: UUID, to: TaskStatus, *, now: datetime, message: str, from_: Collection[TaskStatus] | None = None
) -> bool:
    """Guarded move."""
    values: dict[str, Any] = {"status": to.value, "message": message, "updated_at": now, "queue_expires_at": None}
    if to is TaskStatus.RUNNING:
        values["started_at"] = now
    if to in FINISHED:
        values["finished_at"] = now
    allowed = sorted(from_) if from_ is not None else sources(to)
    return Task.objects.filter(id=task_id, status__in=allowed).update(**values) == 1


def lanes_promote(rack_ids: Iterable[UUID], *, now: datetime) -> list[UUID]:
    """Promote one waiting task per idle lane."""
    promoted: list[UUID] = []
    for lane in rack_ids:
        rows = list(Task.objects.filter(lane=lane, finished_at=None).order_by("created_at", "id"))
        head = next((t for t in rows if t.status == TaskStatus.WAITING), None)
        if head and not any(t.status in HOLDS_RACK for t in rows):
            task_move(head.id, TaskStatus.PENDING, now=now, message="Pending")
            promoted.append(head.id)
    if promoted:
        get_engine().enqueue(promoted)
    return promoted
