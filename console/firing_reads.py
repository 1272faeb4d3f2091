"""Firings as pages show them: a page of them with their outcomes, and one of them rack by rack."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from uuid import UUID

from django.db.models import QuerySet
from django.http import HttpRequest

from console.listing import Rows, rows_of
from console.outcomes_shown import Count, counts
from console.words import WORST_FIRST, outcome
from dispatcher.models import Firing, FiringScope
from dispatcher.tallies import Tally, tally
from inventory.models import Rack
from tasks.lanes import EXPIRED_MESSAGE
from tasks.models import Run, Task
from tasks.states import RunState

MOST_RACKS: Final = 500
OUTCOMES: Final = ("submitted", "skipped", "rejected", "missed", "failed")


@dataclass(frozen=True, slots=True)
class FiringRow:
    """One firing with what became of its racks."""

    tally: Tally
    counts: list[Count]


@dataclass(frozen=True, slots=True)
class RackOutcome:
    """What one firing did about one rack: the word, the sentence why, and its task."""

    scope: FiringScope
    word: str
    why: str
    task: Task | None


def firings_page(request: HttpRequest, schedule_id: UUID, *, outcome: str, rack: str) -> tuple[list[FiringRow], Rows]:
    """The page of a schedule's firings that the URL names, newest first."""
    query: QuerySet[Firing] = Firing.objects.filter(schedule_id=schedule_id).order_by("-fired_at", "-id")
    if outcome in OUTCOMES:
        query = query.filter(**{f"{outcome}_count__gt": 0})
    if rack:
        racks = list(Rack.objects.filter(name=rack.replace("\x00", "")).values_list("id", flat=True))
        query = query.filter(pk__in=FiringScope.objects.filter(rack_id__in=racks).values("firing_id"))
    found = rows_of(request, query)
    tallies = [Tally(f.pk, f.due_at, f.fired_at, f.cause, f.actor, f.state, f.reason) for f in found.rows]
    tally(tallies)
    return [FiringRow(each, counts(each.groups)) for each in tallies], found


def rack_rows(firing_id: int, schedule_id: UUID) -> list[RackOutcome]:
    """The racks of one firing of this schedule, the worst first, at most MOST_RACKS: three queries."""
    scopes = FiringScope.objects.filter(firing_id=firing_id, firing__schedule_id=schedule_id)
    rows = list(scopes.order_by("position", "scope_id"))
    tasks = Task.objects.in_bulk([scope.task_id for scope in rows if scope.task_id])
    unknown = set(Run.objects.filter(task_id__in=list(tasks), state=RunState.UNKNOWN).values_list("task_id", flat=True))
    found = []
    for scope in rows:
        task = tasks.get(scope.task_id) if scope.task_id else None
        status = task.status if task else None
        expired = task is not None and task.message == EXPIRED_MESSAGE
        word = outcome(scope.state, status, run_unknown=scope.task_id in unknown, expired=expired)
        why = scope.reason or (task.message if task and task.status != "completed" else "")
        found.append(RackOutcome(scope, word, why, task))
    order = {key: place for place, key in enumerate(WORST_FIRST)}
    return sorted(found, key=lambda row: (order.get(row.word, 99), row.scope.rack_name))[:MOST_RACKS]
