"""Firings as pages show them: a page of them with their outcomes, and one of them rack by rack."""

from __future__ import annotations

from collections.abc import Sequence
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
    why: str = ""  # of the one rack that got no task, where there is one such rack


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
    alone = _alone([each for each in tallies if _refused(each) == 1])
    return [FiringRow(each, counts(each.groups), alone.get(each.firing_id, "")) for each in tallies], found


def _refused(each: Tally) -> int:
    """How many racks of a firing got no task, and will get none from it."""
    return sum(group.racks for group in each.groups if group.state not in {"submitted", "pending"})


def _alone(tallies: Sequence[Tally]) -> dict[int, str]:
    """The rack that alone got no task, and why, of each of these firings: one query."""
    if not tallies:
        return {}
    rows = FiringScope.objects.filter(firing_id__in=[each.firing_id for each in tallies])
    refused = rows.exclude(state__in=["submitted", "pending"]).values_list("firing_id", "rack_name", "reason")
    return {firing_id: f"{rack}: {reason}" if rack else reason for firing_id, rack, reason in refused if reason}


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
