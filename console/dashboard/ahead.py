"""The next 24 hours: which schedules run, in lanes for the timeline. Two queries, whatever the number of schedules."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django.db import connection

from console import links
from console.charts.timeline import MOST_LANES, MOST_MARKS, Lane
from console.words import type_of
from flowsched.errors import InvalidInput
from schedules.models import TaskSchedule
from schedules.specs import spec_of
from schedules.template import summary
from schedules.upcoming import first_run, runs_within
from tasks.operations import disruptive

AHEAD: Final = timedelta(hours=24)
_CANDIDATES: Final = 200  # of which the first that can be read become lanes

_RACKS = """
SELECT s.id, (SELECT count(*) FROM task_schedule_scope c WHERE c.schedule_id = s.id AND c.rack_id IS NOT NULL),
       ARRAY(SELECT r.name FROM task_schedule_scope c JOIN rack r ON r.id = c.rack_id
              WHERE c.schedule_id = s.id ORDER BY c.position, c.id LIMIT 3),
       (SELECT count(*) FROM task_schedule WHERE enabled AND next_run_at < %(until)s)
  FROM unnest(%(ids)s::uuid[]) AS s(id)
"""


@dataclass(frozen=True, slots=True)
class Ahead:
    """Lanes in the order of their next run; how many schedules run in all; those that cannot be read, with why."""

    lanes: list[Lane]
    in_all: int
    unreadable: list[tuple[str, str]]


def ahead(now: datetime, until: datetime) -> Ahead:
    """What runs from `now` until `until`, as far as it is drawn."""
    rows = TaskSchedule.objects.filter(enabled=True, next_run_at__lt=until).order_by("next_run_at", "id")
    chosen: dict[UUID, tuple[TaskSchedule, Any]] = {}
    unreadable = []
    for row in rows[:_CANDIDATES]:
        try:
            spec = spec_of(row)
            first = first_run(spec, due=row.next_run_at, now=now)
            [stretch] = runs_within(spec, first=first, edges=[now, until], most=MOST_MARKS)
        except InvalidInput as error:
            unreadable.append((row.name, error.message))
            continue
        chosen[row.id] = row, stretch
        if len(chosen) == MOST_LANES:
            break
    reach, in_all = _reach(list(chosen), until)
    lanes = [_lane(row, stretch, *reach[row.id], now=now) for row, stretch in chosen.values()]
    return Ahead(lanes, max(in_all, len(lanes)), unreadable)


def _reach(ids: list[UUID], until: datetime) -> tuple[dict[UUID, tuple[int, list[str]]], int]:
    """How many racks each of these has and the first few names; and how many schedules run until then."""
    with connection.cursor() as cursor:
        cursor.execute(_RACKS, {"ids": ids, "until": until})
        rows = cursor.fetchall()
    return {row[0]: (row[1], row[2]) for row in rows}, rows[0][3] if rows else 0


def _lane(row: TaskSchedule, stretch: Any, racks: int, sample: list[str], *, now: datetime) -> Lane:
    return Lane(
        name=row.name,
        url=links.schedule(row.id),
        at=stretch.at,
        count=stretch.count,
        every=stretch.every,
        racks=racks,
        sample=tuple(sample),
        operation=summary(row.operation_template)[1],
        disruptive=is_disruptive(row.operation_template),
        overdue=row.next_run_at is not None and row.next_run_at < now,
        type=type_of(row.operation_template),
    )


def is_disruptive(template: Any) -> bool:
    """Whether the stored operation takes running work off its racks; one that cannot be read counts as if it did."""
    return not isinstance(template, dict) or disruptive(str(template.get("type")), str(template.get("code")))
