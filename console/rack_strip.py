"""What ran on a rack in the last days and what will run in the next: items for its strip. At most three queries."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import groupby
from typing import Final
from uuid import UUID
from zoneinfo import ZoneInfo

from console import links
from console.calendar.planned import marks_of
from console.calendar.window import midnight
from console.charts.strip import Item, Strip, draw
from console.tasks_reads import word_of
from console.viewer import Viewer
from console.words import WORDS, outcome, worst
from dispatcher.models import FiringScope
from flowsched.errors import InvalidInput
from schedules.models import TaskSchedule
from schedules.template import summary
from tasks.models import Run, Task
from tasks.operations import operation_label
from tasks.states import RunState, TaskStatus

AROUND: Final = timedelta(days=7)
MOST_A_DAY: Final = 8  # of one schedule on one day; with more its day is one bar
MOST_READ: Final = 1000  # of the rack's newest tasks, and of its newest outcomes
MOST_PLANNED: Final = 200


@dataclass(frozen=True, slots=True)
class RackStrip:
    """The drawing, and the schedules whose runs cannot be told, each with why. `since`: where what is known begins."""

    drawing: Strip
    unreadable: list[tuple[str, str]]
    since: datetime | None  # later than the strip's begin where more ran than is read


@dataclass(frozen=True, slots=True)
class _Past:
    item: Item
    schedule_id: UUID | None
    name: str


def rack_strip(rack_id: UUID, schedules: Iterable[TaskSchedule], *, viewer: Viewer) -> RackStrip:
    """A rack's strip, of the nouns that the viewer may read."""
    now, zone = viewer.now, viewer.zone
    since, until = now - AROUND, now + AROUND
    today = now.astimezone(zone).date()
    days = [midnight(today + timedelta(days=n), zone) for n in range(-AROUND.days, AROUND.days + 1)]
    past: list[_Past] = []
    known: list[datetime] = []
    if viewer.caller.may("task.read"):
        past += _tasks(rack_id, since, now, known)
    if viewer.caller.may("firing.read") and viewer.caller.may("schedule.read"):
        past += _not_submitted(rack_id, since, known)
    begin = max(known, default=None)
    items = _folded([each for each in past if begin is None or each.item.at >= begin], zone)
    coming, unreadable = _planned(schedules, [now, *(day for day in days if now < day < until), until], now)
    if not viewer.caller.may("schedule.read"):
        coming = [replace(item, url="") for item in coming]
    drawing = draw(items + coming, since=since, until=until, now=now, midnights=days, zone=zone)
    return RackStrip(drawing, unreadable, begin)


def _tasks(rack_id: UUID, since: datetime, now: datetime, known: list[datetime]) -> list[_Past]:
    """The rack's tasks: two queries. Where they are cut, `known` gets the time from which on they are whole."""
    rows = list(Task.objects.filter(rack_id=rack_id, created_at__gte=since).order_by("-created_at", "-id")[:MOST_READ])
    if len(rows) == MOST_READ:
        known.append(rows[-1].created_at)
    running = [task.pk for task in rows if task.status == TaskStatus.RUNNING]
    unknown = set(Run.objects.filter(task_id__in=running, state=RunState.UNKNOWN).values_list("task_id", flat=True))
    return [_task(task, now, unknown=task.pk in unknown) for task in rows]


def _task(task: Task, now: datetime, *, unknown: bool) -> _Past:
    key = word_of(task, unknown=unknown)
    what = operation_label(task.type, task.code, task.information)
    item = Item(
        at=task.started_at or task.created_at,
        until=task.finished_at or now,
        what=f"{what}, {task.schedule_name}" if task.schedule_name else what,
        key=key,
        tone=WORDS[key].tone,
        word=WORDS[key].word,
        why=task.message if key != "completed" else "",
        url=links.task(task.pk),
    )
    return _Past(item, task.schedule_id, task.schedule_name)


def _not_submitted(rack_id: UUID, since: datetime, known: list[datetime]) -> list[_Past]:
    """What did not come to a task: one query over the newest outcomes, whatever the length of the history."""
    rows = list(FiringScope.objects.filter(rack_id=rack_id).select_related("firing").order_by("-id")[:MOST_READ])
    if len(rows) == MOST_READ and rows[-1].firing.due_at > since:
        known.append(rows[-1].firing.due_at)
    quiet = {FiringScope.State.SUBMITTED, FiringScope.State.PENDING}
    return [_outcome(row) for row in rows if row.state not in quiet and row.firing.due_at >= since]


def _outcome(row: FiringScope) -> _Past:
    firing = row.firing
    key = outcome(row.state, None)
    item = Item(
        at=firing.due_at,
        until=None,
        what=f"{summary(firing.operation_template)[1]}, {firing.schedule_name}",
        key=key,
        tone=WORDS[key].tone,
        word=WORDS[key].word,
        why=row.reason or firing.reason,
        url=links.firing(firing.schedule_id, firing.pk),
    )
    return _Past(item, firing.schedule_id, firing.schedule_name)


def _folded(past: Sequence[_Past], zone: ZoneInfo) -> list[Item]:
    """A schedule's day as one bar where it is full, in the colour of the worst of it."""

    def day_of(each: _Past) -> tuple[str, str]:
        return str(each.schedule_id or ""), each.item.at.astimezone(zone).date().isoformat()

    found: list[Item] = []
    for (schedule, _), group in groupby(sorted(past, key=lambda each: (*day_of(each), each.item.at)), day_of):
        day = list(group)
        if not schedule or len(day) <= MOST_A_DAY:
            found += [each.item for each in day]
        else:
            found.append(_one_of(day))
    return found


def _one_of(day: Sequence[_Past]) -> Item:
    items = [each.item for each in day]
    counted = {key: sum(item.key == key for item in items) for key in {item.key for item in items}}
    key = worst(counted)
    others = [f"{number} {WORDS[name].word.lower()}" for name, number in sorted(counted.items())]
    return Item(
        at=items[0].at,
        until=max(item.until or item.at for item in items),
        what=day[-1].name,
        key=key,
        tone=WORDS[key].tone,
        word=WORDS[key].word,
        why=", ".join(others) if key != "completed" else "",
        url=f"{links.schedule(day[0].schedule_id or '')}?tab=firings",
        count=len(items),
    )


def _planned(
    schedules: Iterable[TaskSchedule], edges: Sequence[datetime], now: datetime
) -> tuple[list[Item], list[tuple[str, str]]]:
    """The runs to come, a schedule's day as one where there are many; and what cannot be told. No query."""
    marks, unreadable = [], []
    for row in schedules:
        if not row.enabled or row.next_run_at is None:
            continue
        try:
            marks += marks_of(row, edges, now=now, kind="planned")
        except InvalidInput as error:
            unreadable.append((row.name, error.message))
    soonest = sorted(marks, key=lambda mark: (mark.at, mark.name))[:MOST_PLANNED]
    items = [
        Item(
            at=mark.at,
            until=_end_of(mark.at, edges) if mark.count > 1 else None,
            what=f"{mark.operation}, {mark.name}",
            tone="planned",
            url=mark.url,
            count=mark.count,
            every=mark.every,
        )
        for mark in soonest
    ]
    return items, unreadable


def _end_of(at: datetime, edges: Sequence[datetime]) -> datetime:
    """The end of the day that it is in."""
    return next(edge for edge in edges if edge > at)
