"""Reading tasks: one by id or the beginning of it, lists, runs."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db.models import BooleanField, Count, F, Func, OuterRef, Q, QuerySet, Subquery, Value

from flowsched.errors import InvalidInput, NotFound
from inventory.models import Rack
from tasks.models import Run, Task
from tasks.states import ACTIVE, TaskStatus

MIN_PREFIX = 4
MAX_LIMIT = 1000
MOST_COUNTED = 100_000


def task_get(name: UUID | str) -> Task:
    """The task with this id, or the only one whose id begins so (at least 4 hex digits).

    NotFound if there is none, InvalidInput if the text is no id or fits several.
    """
    if isinstance(name, UUID):
        found = list(Task.objects.filter(id=name)[:1])
    else:
        low, high = _range(name)
        found = list(Task.objects.filter(id__gte=low, id__lte=high).order_by("id")[:2])
    if not found:
        raise NotFound(f"no task has the id {name}")
    if len(found) > 1:
        raise InvalidInput(f"'{name}' begins the ids of several tasks: give more of the id", field="task_id")
    return found[0]


def _range(text: str, kind: str = "task") -> tuple[UUID, UUID]:
    """The ids that begin with `text`, as bounds the primary key's index can use."""
    digits = text.strip().replace("-", "").lower()
    if not re.fullmatch(rf"[0-9a-f]{{{MIN_PREFIX},32}}", digits):
        raise InvalidInput(
            f"'{text[:64]}' is no {kind} id: give the id or at least its first {MIN_PREFIX} hex digits",
            field=f"{kind}_id",
        )
    return UUID(digits.ljust(32, "0")), UUID(digits.ljust(32, "f"))


def tasks_by_ids(ids: Sequence[UUID]) -> list[Task]:
    """The tasks in the order asked for, repeated where asked for twice; unknown ids are left out (F-171)."""
    found = Task.objects.in_bulk(set(ids))
    return [found[task_id] for task_id in ids if task_id in found]


def tasks_list(
    *,
    rack: UUID | str | None = None,
    schedule: UUID | str | None = None,
    component_id: UUID | None = None,
    statuses: Collection[str] = (),
    active: bool = False,
    limit: int = 50,
    offset: int = 0,
) -> tuple[list[Task], int]:
    """A page of tasks, newest first, and how many there are in all (F-170).

    Racks and schedules by id or name, also those that are gone: a task keeps both. `active` means waiting, pending or
    running.
    """
    _check_page(limit, offset)
    query = Task.objects.order_by("-created_at", "-id")
    if rack is not None:
        query = query.filter(on_rack(rack))
    if schedule is not None:
        query = query.filter(**_of_schedule(schedule))
    if component_id is not None:
        query = query.filter(acts_on(component_id))
    if statuses:
        query = query.filter(status__in=_statuses(statuses))
    if active:
        query = query.filter(status__in=sorted(ACTIVE))
    return list(query[offset : offset + limit]), query.count()


def on_rack(rack: UUID | str) -> Q:
    """Tasks on a rack by id; a name means the rack of this name now, and if there is none, the name a task kept.

    Raises NotFound for a name that no rack has and no task kept.
    """
    by_id = _as_uuid(rack)
    if by_id is None:
        by_id = Rack.objects.filter(name=rack).values_list("id", flat=True).first()
    if by_id is not None:
        return Q(rack_id=by_id)
    if not Task.objects.filter(rack_name=rack).exists():
        raise NotFound(f"no rack is called '{rack}', and no task was on one")
    return Q(rack_name=rack)


def acts_on(component_id: UUID) -> Func:
    """The condition that a task acts on this component."""
    path = f'$.components_by_type.*[*] ? (@ == "{component_id}")'
    return Func(
        F("attributes"),
        Value(path),
        template="jsonb_path_exists(%(expressions)s::jsonpath)",
        output_field=BooleanField(),
    )


def with_run(tasks: QuerySet[Task]) -> QuerySet[Task]:
    """`tasks`, each with `run_id`: its newest run, or None. No query more."""
    newest = Run.objects.filter(task_id=OuterRef("id")).order_by("-started_at", "-id").values("id")[:1]
    return tasks.annotate(run_id=Subquery(newest))


@dataclass(slots=True)
class ActiveCounts:
    """How many tasks of a rack have not ended, by state."""

    waiting: int = 0
    pending: int = 0
    running: int = 0


def active_counts(racks: Collection[UUID]) -> dict[UUID, ActiveCounts]:
    """The counts of each of these racks; one query."""
    found = {rack: ActiveCounts() for rack in racks}
    rows = Task.objects.filter(lane__in=list(racks), status__in=sorted(ACTIVE)).order_by()
    for rack, status, count in rows.values_list("lane", "status").annotate(count=Count("id")):
        setattr(found[rack], status, count)
    return found


def runs_of(task_id: UUID) -> list[Run]:
    """The task's runs, oldest first."""
    return list(Run.objects.filter(task_id=task_id).order_by("started_at", "id"))


def runs_list(
    *,
    states: Collection[str] = (),
    schedule: UUID | str | None = None,
    task_id: UUID | None = None,
    limit: int = 50,
    offset: int = 0,
) -> tuple[list[Run], int]:
    """A page of runs with their tasks, newest first, and how many there are, counted up to 100,000 (I-68, I-101).

    Newest by when they were asked for (I-58). The schedule by id or name, also one that is gone: its tasks keep both.
    """
    _check_page(limit, offset)
    query = Run.objects.order_by("-queued_at", "-attempt", "-id").select_related("task")
    if states:
        query = query.filter(state__in=states)
    if schedule is not None:
        query = query.filter(**{f"task__{column}": value for column, value in _of_schedule(schedule).items()})
    if task_id is not None:
        query = query.filter(task_id=task_id)
    found = list(query[offset : offset + limit])
    return found, max(query[:MOST_COUNTED].count(), offset + len(found) if found else 0)


def run_get(name: UUID | str) -> Run:
    """The run with this id and its task, or the only one whose id begins so. Raises as `task_get` does."""
    low, high = (name, name) if isinstance(name, UUID) else _range(name, "run")
    found = list(Run.objects.select_related("task").filter(id__gte=low, id__lte=high).order_by("id")[:2])
    if not found:
        raise NotFound(f"no run has the id {name}: it never was, or its history is over", reason="RUN")
    if len(found) > 1:
        raise InvalidInput(f"'{name}' begins the ids of several runs: give more of the id", field="run_id")
    return found[0]


def _of_schedule(schedule: UUID | str) -> dict[str, UUID | str]:
    """The condition on tasks."""
    by_id = _as_uuid(schedule)
    return {"schedule_id": by_id} if by_id else {"schedule_name": schedule}


def _check_page(limit: int, offset: int) -> None:
    if not 1 <= limit <= MAX_LIMIT:
        raise InvalidInput(f"limit must be 1 to {MAX_LIMIT}", field="limit")
    if offset < 0:
        raise InvalidInput("offset must not be negative", field="offset")


def _as_uuid(value: UUID | str) -> UUID | None:
    if isinstance(value, UUID):
        return value
    try:
        return UUID(value)
    except ValueError:
        return None


def _statuses(statuses: Collection[str]) -> list[TaskStatus]:
    try:
        return [TaskStatus(status) for status in statuses]
    except ValueError:
        raise InvalidInput(f"status must be one of {', '.join(TaskStatus)}", field="status") from None
