"""What will run, from the specs: computed for each look, never stored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Count, Q, QuerySet

from console import links
from console.calendar.filters import Filters
from console.calendar.marks import MOST_A_DAY, MOST_MARKS, Kind, Mark, TooMany
from console.dashboard.ahead import is_disruptive
from console.words import type_of
from flowsched.errors import InvalidInput
from schedules.models import TaskSchedule
from schedules.specs import spec_of
from schedules.template import summary
from schedules.upcoming import Stretch, first_run, runs_within
from scopes.models import TaskScheduleScope


@dataclass(frozen=True, slots=True)
class Planned:
    """Runs to come, and the schedules whose runs cannot be told, each with why."""

    marks: list[Mark]
    unreadable: list[tuple[TaskSchedule, str]]


def planned(filters: Filters, edges: Sequence[datetime], *, now: datetime, paused: bool = False) -> Planned:
    """The runs between the first and the last edge, a schedule's day as one where there are many. At most 3 queries.

    Raises TooMany.
    """
    coming = _coming(filters, edges[-1])
    found = _expanded(coming, edges, now, "planned")
    if paused:
        stopped = filters.schedules().filter(enabled=False, disabled_kind=TaskSchedule.DisabledKind.PERSON)
        more = _expanded(stopped.order_by("name")[: MOST_MARKS + 1], edges, now, "paused")
        found = Planned(found.marks + more.marks, found.unreadable + more.unreadable)
    if len(found.marks) > MOST_MARKS:
        raise TooMany
    count_racks(found.marks)
    return found


def next_of(filters: Filters, *, now: datetime) -> TaskSchedule | None:
    """The schedule that runs next of all: what an empty calendar points to."""
    return filters.schedules().filter(enabled=True, next_run_at__gte=now).order_by("next_run_at", "id").first()


def count_racks(marks: Sequence[Mark]) -> None:
    """Fill in how many racks each mark's schedule has: one query."""
    ids = {mark.schedule_id for mark in marks}
    if not ids:
        return
    rows = TaskScheduleScope.objects.filter(schedule_id__in=ids).values("schedule_id")
    counted = rows.annotate(n=Count("pk", filter=Q(rack_id__isnull=False))).values_list("schedule_id", "n")
    found: dict[UUID, int] = dict(counted)
    for mark in marks:
        mark.racks = found.get(mark.schedule_id, 0)


def _coming(filters: Filters, until: datetime) -> QuerySet[TaskSchedule]:
    """The schedules that run before `until`; one more than can be shown tells that there are too many."""
    rows = filters.schedules().filter(enabled=True, next_run_at__lt=until)
    return rows.order_by("next_run_at", "id")[: MOST_MARKS + 1]


def _expanded(rows: QuerySet[TaskSchedule], edges: Sequence[datetime], now: datetime, kind: Kind) -> Planned:
    found = Planned([], [])
    for row in rows:
        try:
            found.marks.extend(marks_of(row, edges, now=now, kind=kind))
        except InvalidInput as error:
            found.unreadable.append((row, error.message))
        if len(found.marks) > MOST_MARKS:
            raise TooMany
    return found


def marks_of(row: TaskSchedule, edges: Sequence[datetime], *, now: datetime, kind: Kind) -> list[Mark]:
    """The marks of one schedule. Raises InvalidInput for a spec that cannot be read."""
    spec = spec_of(row)
    due = row.next_run_at if row.enabled else None
    if kind == "paused" and row.spec_type == TaskSchedule.SpecType.ONE_TIME:
        due = row.next_run_at
    first = first_run(spec, due=due, now=now)
    ahead = [edge for edge in edges if edge > now]  # what is before now has been, or will not be
    if len(ahead) < len(edges):
        ahead.insert(0, now)
    stretches = runs_within(spec, first=first, edges=ahead, most=MOST_A_DAY) if len(ahead) > 1 else []
    facts = _facts(row, kind)
    return [mark for stretch in stretches for mark in _of_stretch(stretch, facts)]


def _of_stretch(stretch: Stretch, facts: dict[str, Any]) -> list[Mark]:
    if stretch.count > MOST_A_DAY:
        return [Mark(at=stretch.at[0], count=stretch.count, every=stretch.every, **facts)]
    return [Mark(at=at, **facts) for at in stretch.at]


def _facts(row: TaskSchedule, kind: Kind) -> dict[str, Any]:
    template = row.operation_template
    return {
        "kind": kind,
        "schedule_id": row.pk,
        "name": row.name,
        "operation": summary(template)[1],
        "disruptive": is_disruptive(template),
        "url": links.schedule(row.pk),
        "type": type_of(template),
        "why": _paused_words(row) if kind == "paused" else "",
    }


def _paused_words(row: TaskSchedule) -> str:
    who, reason = f"paused by {row.disabled_by}", row.disabled_reason
    return f"{who}: {reason}" if reason not in {"", who} else who
