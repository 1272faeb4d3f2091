"""Tasks as pages show them: which, in what state, behind whom, how far. A constant number of queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django.db.models import Q, QuerySet

from console.asked import moment_of
from console.schedules_reads import OPERATIONS
from tasks.lanes import EXPIRED_MESSAGE
from tasks.models import Run, Task
from tasks.operations import operation_label
from tasks.states import ACTIVE, HOLDS_RACK, RunState, TaskStatus

LABELS: Final[Mapping[str, str]] = {
    "rack": "Rack",
    "schedule": "Schedule",
    "operation": "Operation",
    "status": "State",
    "after": "From",
    "before": "To",
    "end": "Ended",
}
BETWEEN: Final = ("from", "to")  # instants, of the view `ended`
VIEWS: Final[Mapping[str, str]] = {"active": "Active", "failed": "Failed, 24 h", "unknown": "Unknown", "all": "All"}
DAY: Final = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class TaskRow:
    """One line of the list. `why` is the sentence beside the state."""

    task: Task
    label: str
    word: str
    why: str
    components: str


def tasks_found(view: str, wanted: Mapping[str, str], *, now: datetime) -> QuerySet[Task]:
    """The tasks that the view and the filters keep, newest first."""
    rows = Task.objects.order_by("-created_at", "-id")
    if view == "active":
        rows = rows.filter(status__in=sorted(ACTIVE))
    elif view == "failed":
        rows = rows.filter(status=TaskStatus.FAILED, finished_at__gte=now - DAY)
    elif view == "unknown":
        rows = rows.filter(pk__in=Run.objects.filter(state=RunState.UNKNOWN).values("task_id"))
    elif view == "ended":
        rows = rows.filter(_ended(wanted))
    return rows.filter(_narrow(wanted))


def _ended(wanted: Mapping[str, str]) -> Q:
    """How and when tasks ended, as the dashboard's chart counts them; what is unknown stands where it began."""
    since, until = moment_of(_text(wanted, "from")), moment_of(_text(wanted, "to"))
    finished = Q(finished_at__isnull=False) & _between("finished_at", since, until)
    runs = Run.objects.filter(_between("started_at", since, until), state=RunState.UNKNOWN)
    ends = {
        "completed": finished & Q(status=TaskStatus.COMPLETED),
        "failed": finished & Q(status=TaskStatus.FAILED),
        "expired": finished & Q(status=TaskStatus.TERMINATED, message=EXPIRED_MESSAGE),
        "cancelled": finished & Q(status=TaskStatus.TERMINATED) & ~Q(message=EXPIRED_MESSAGE),
        "unknown": Q(pk__in=runs.values("task_id")),
    }
    end = _text(wanted, "end")
    return ends.get(end, Q(pk__in=[])) if end else finished | ends["unknown"]


def _between(column: str, since: datetime | None, until: datetime | None) -> Q:
    match = Q(**{f"{column}__gte": since}) if since else Q()
    return match & Q(**{f"{column}__lt": until}) if until else match


def counts_of(*, now: datetime) -> dict[str, int]:
    """How many each view but the last holds: three queries on partial indexes."""
    return {
        "active": Task.objects.filter(status__in=sorted(ACTIVE)).count(),
        "failed": Task.objects.filter(status=TaskStatus.FAILED, finished_at__gte=now - DAY).count(),
        "unknown": Run.objects.filter(state=RunState.UNKNOWN).count(),
    }


def task_rows(tasks: Sequence[Task]) -> list[TaskRow]:
    """The lines of these tasks: two queries, for runs in doubt and for who stands before the waiting ones."""
    running = [task.pk for task in tasks if task.status == TaskStatus.RUNNING]
    unknown = set(Run.objects.filter(task_id__in=running, state=RunState.UNKNOWN).values_list("task_id", flat=True))
    before = _in_front({task.lane for task in tasks if task.status == TaskStatus.WAITING})
    return [_row(task, unknown=task.pk in unknown, before=before.get(task.lane)) for task in tasks]


def word_of(task: Task, *, unknown: bool) -> str:
    """The vocabulary's key of a task's state."""
    if unknown:
        return "unknown"
    if task.status == TaskStatus.TERMINATED:
        return "expired" if task.message == EXPIRED_MESSAGE else "cancelled"
    return task.status


def _row(task: Task, *, unknown: bool, before: Task | None) -> TaskRow:
    word = word_of(task, unknown=unknown)
    why = task.message if word not in {"completed", "running"} or unknown else ""
    if word == "waiting" and before is not None:
        why = f"behind {operation_label(before.type, before.code, before.information)} ({str(before.pk)[:8]})"
    return TaskRow(task, operation_label(task.type, task.code, task.information), word, why, components_said(task))


def components_said(task: Task) -> str:
    """`18 Compute, 9 NVSwitch`."""
    by_type = task.attributes.get("components_by_type") if isinstance(task.attributes, dict) else None
    if not isinstance(by_type, dict):
        return ""
    return ", ".join(f"{len(ids)} {name}" for name, ids in sorted(by_type.items()) if isinstance(ids, list))


def _in_front(lanes: set[UUID]) -> dict[UUID, Task]:
    """The oldest task that holds each of these racks."""
    rows = Task.objects.filter(lane__in=lanes, status__in=sorted(HOLDS_RACK)).order_by("-created_at", "-id")
    return {task.lane: task for task in rows} if lanes else {}


def _narrow(wanted: Mapping[str, str]) -> Q:
    match = Q()
    if rack := _text(wanted, "rack"):
        match &= Q(rack_name=rack)
    if schedule := _text(wanted, "schedule"):
        match &= Q(schedule_name=schedule)
    if operation := _text(wanted, "operation"):
        match &= Q(code__in=OPERATIONS[operation][1] if operation in OPERATIONS else [])
    if status := _text(wanted, "status"):
        match &= Q(status=status)
    for name, lookup in (("after", "created_at__date__gte"), ("before", "created_at__date__lte")):
        if day := _day(_text(wanted, name)):
            match &= Q(**{lookup: day})
    return match


def _text(wanted: Mapping[str, Any], name: str) -> str:
    return str(wanted.get(name, "")).replace("\x00", "").strip()


def _day(text: str) -> Any:
    try:
        return datetime.strptime(text, "%Y-%m-%d").date() if text else None  # noqa: DTZ007  a day, not an instant
    except ValueError:
        return None
