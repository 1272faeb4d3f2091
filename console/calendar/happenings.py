"""What a feed holds: a week back from the firings, thirty days ahead from the specs, at most a thousand events.

Where there are more, what fires often gives way to what fires seldom, and the far to the near: a thousand events of a
schedule that fires every minute would hide the one that matters.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.db.models import Count, Q

from console import links
from console.calendar.filters import Filters
from console.calendar.ics import Happening
from console.words import reach, type_of
from dispatcher.models import Firing
from flowsched.errors import InvalidInput
from schedules.models import TaskSchedule
from schedules.specs import spec_of
from schedules.template import summary
from schedules.upcoming import first_run, next_runs
from scopes.models import TaskScheduleScope

MOST: Final = 1000
BACK: Final = timedelta(days=7)
AHEAD: Final = timedelta(days=30)
OFTEN: Final = 8  # a day
_SELDOM_AHEAD: Final = OFTEN * AHEAD.days
_SELDOM_BACK: Final = OFTEN * BACK.days

Address = Callable[[str], str]  # a path -> the whole address


@dataclass(frozen=True, slots=True)
class Happenings:
    """The events in order of time; whether some were left out, and how many schedules could not be read."""

    events: list[Happening]
    cut: bool
    unreadable: int

    @property
    def about(self) -> str:
        """In a sentence, for the calendar's description."""
        parts = [f"Firings of the last {BACK.days} days and runs planned for the next {AHEAD.days}."]
        if self.cut:
            parts.append(f"More than {MOST} events: of schedules that fire often, and of far days, some are left out.")
        if self.unreadable:
            parts.append(f"{self.unreadable} schedules cannot be read and are left out.")
        return " ".join(parts)


def happenings(filters: Filters, *, now: datetime, with_past: bool, address: Address) -> Happenings:
    """What the filters leave: at most three queries beside the filters' own."""
    found = _ahead(filters, now)
    if with_past:
        found.candidates.extend(_back(filters, now))
    nearest = sorted(found.candidates, key=lambda each: (each.often, abs(each.at - now)))[:MOST]
    racks = _racks({each.row.pk for each in nearest if isinstance(each.row, TaskSchedule)})
    events = {happening.uid: happening for happening in (_happening(each, racks, address) for each in nearest)}
    return Happenings(
        sorted(events.values(), key=lambda happening: (happening.at, happening.summary)),
        cut=found.more or len(found.candidates) > MOST,
        unreadable=found.unreadable,
    )


@dataclass(frozen=True, slots=True)
class _Candidate:
    """One firing or run, and whether its schedule fires often."""

    often: bool
    at: datetime
    row: TaskSchedule | Firing


@dataclass(slots=True)
class _Found:
    candidates: list[_Candidate]
    more: bool = False
    unreadable: int = 0


def _ahead(filters: Filters, now: datetime) -> _Found:
    """The runs to come, of each schedule as many as there may be in all."""
    until = now + AHEAD
    coming = filters.schedules().filter(enabled=True, next_run_at__lt=until).order_by("next_run_at", "id")
    rows = list(coming[: MOST + 1])
    found = _Found([], more=len(rows) > MOST)
    for row in rows[:MOST]:
        try:
            spec = spec_of(row)
            first = first_run(spec, due=row.next_run_at, now=now)
        except InvalidInput:
            found.unreadable += 1
            continue
        runs = next_runs(spec, first=first, most=MOST + 1, until=until)
        found.candidates += [_Candidate(len(runs) > _SELDOM_AHEAD, at, row) for at in runs]
    return found


def _back(filters: Filters, now: datetime) -> list[_Candidate]:
    """The firings that were, the latest first."""
    rows = filters.firings().filter(due_at__gte=now - BACK, due_at__lte=now).order_by("-due_at", "-id")
    firings = list(rows[: MOST + 1])
    times = Counter(firing.schedule_id for firing in firings)
    return [_Candidate(times[firing.schedule_id] > _SELDOM_BACK, firing.due_at, firing) for firing in firings]


def _happening(each: _Candidate, racks: dict[UUID, int], address: Address) -> Happening:
    if isinstance(each.row, Firing):
        return _gone(each.row, address)
    return _coming(each.row, each.at, racks.get(each.row.pk, 0), address)


def _coming(row: TaskSchedule, at: datetime, racks: int, address: Address) -> Happening:
    operation = summary(row.operation_template)[1]
    words = reach(racks, type_of(row.operation_template))
    return Happening(
        schedule_id=row.pk,
        at=at,
        changed=row.updated_at,
        summary=f"{row.name} ({words})",
        description=f"Planned: {operation}, {words}",
        operation=operation,
        url=address(links.schedule(row.pk)),
    )


def _gone(firing: Firing, address: Address) -> Happening:
    counts = {
        "submitted": firing.submitted_count,
        "skipped": firing.skipped_count,
        "rejected": firing.rejected_count,
        "missed": firing.missed_count,
        "failed": firing.failed_count,
    }
    racks = sum(counts.values())
    words = reach(racks, type_of(firing.operation_template))
    operation = summary(firing.operation_template)[1]
    outcome = ", ".join(f"{count} {word}" for word, count in counts.items() if count) or "under way"
    return Happening(
        schedule_id=firing.schedule_id,
        at=firing.due_at,
        changed=firing.closed_at or firing.fired_at,
        summary=f"{firing.schedule_name} ({words})" if racks else firing.schedule_name,
        description=f"Fired: {operation}, {outcome}",
        operation=operation,
        url=address(links.firing(firing.schedule_id, firing.pk)),
    )


def _racks(ids: Collection[UUID]) -> dict[UUID, int]:
    rows = TaskScheduleScope.objects.filter(schedule_id__in=ids).values("schedule_id")
    return dict(rows.annotate(n=Count("pk", filter=Q(rack_id__isnull=False))).values_list("schedule_id", "n"))
