"""What became of each rack: the list behind the numbers of the dashboard, with the reason in every row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, ClassVar, Final
from uuid import UUID

from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse

from console import links
from console.asked import moment_of
from console.listing import rows_of
from console.pages import Page
from console.tasks_reads import word_of
from console.words import WORDS, outcome
from dispatcher.models import FiringScope
from inventory.identifiers import uuid_or_none
from inventory.models import Rack
from tasks.models import Run, Task
from tasks.states import RunState

RANGES: Final = (("24 hours", timedelta(hours=24)), ("7 days", timedelta(days=7)))

# Word of the vocabulary -> the stored states; `not_submitted` is all that left a rack without a task.
STATES: Final[Mapping[str, tuple[str, ...]]] = {
    "pending": ("pending",),
    "submitted": ("submitted",),
    "skipped": ("skipped",),
    "rejected": ("rejected",),
    "missed": ("missed",),
    "unresolved": ("failed",),
    "not_submitted": ("skipped", "rejected", "missed", "failed"),
}
_CHOICES: Final = [
    ("", "any"),
    *((key, WORDS[key].word) for key in STATES if key in WORDS and key != "pending"),
    ("not_submitted", "Without a task"),
    ("pending", "Being submitted"),
]


@dataclass(frozen=True, slots=True)
class Asked:
    """The filters, as the address has them; what cannot be read counts as not given."""

    outcome: str
    since: datetime | None
    until: datetime | None
    schedule: str
    rack: str

    @classmethod
    def of(cls, request: HttpRequest, now: datetime) -> Asked:
        """Read the address. Without a stretch of time it is the last day; what is under way has no bounds."""
        given = request.GET
        key = given.get("outcome", "")
        since, until = moment_of(given.get("from", "")), moment_of(given.get("to", ""))
        if since is None and until is None and key != "pending":
            since = now - RANGES[0][1]
        return cls(
            key if key in STATES else "", since, until, given.get("schedule", "")[:255], given.get("rack", "")[:255]
        )

    def rows(self) -> QuerySet[FiringScope]:
        """The rows, the last due first."""
        found = FiringScope.objects.select_related("firing").order_by("-firing__due_at", "-id")
        if self.outcome == "pending":
            found = found.filter(firing__closed_at=None)
        elif self.outcome:
            found = found.filter(state__in=STATES[self.outcome])
        if self.since is not None:
            found = found.filter(firing__due_at__gte=self.since)
        if self.until is not None:
            found = found.filter(firing__due_at__lt=self.until)
        if self.schedule:
            key = uuid_or_none(self.schedule)
            found = found.filter(Q(firing__schedule_id=key) if key else Q(firing__schedule_name=self.schedule))
        if self.rack:
            found = found.filter(_rack(self.rack))
        return found


@dataclass(frozen=True, slots=True)
class Row:
    """One rack of one firing: its outcome and, where it got a task, how that stands."""

    scope: FiringScope
    key: str
    task: Task | None
    task_key: str
    schedule_url: str
    task_url: str


class OutcomesPage(Page):
    """The list."""

    verbs: ClassVar = {"GET": "firing.read"}
    title = "Outcomes"

    def get(self, request: HttpRequest) -> HttpResponse:
        """Show one page of it."""
        asked = Asked.of(request, self.viewer.now)
        found = rows_of(request, asked.rows())
        return self.render(
            "console/outcomes.html",
            asked=asked,
            found=found,
            rows=_rows(found.rows),
            choices=_CHOICES,
            ranges=[
                (words, links.outcomes(outcome=asked.outcome, since=self.viewer.now - length))
                for words, length in RANGES
            ],
        )


def _rows(scopes: Sequence[FiringScope]) -> list[Row]:
    """With their tasks: two queries for any number."""
    tasks = Task.objects.in_bulk([scope.task_id for scope in scopes if scope.task_id])
    running = [task.pk for task in tasks.values() if task.status == "running"]
    unknown = set(Run.objects.filter(task__in=running, state=RunState.UNKNOWN).values_list("task_id", flat=True))
    return [_row(scope, tasks.get(scope.task_id) if scope.task_id else None, unknown) for scope in scopes]


def _row(scope: FiringScope, task: Task | None, unknown: set[UUID]) -> Row:
    end = word_of(task, unknown=task.pk in unknown) if task is not None else ""
    return Row(
        scope,
        outcome(scope.state, None),
        task,
        end,
        links.firing(scope.firing.schedule_id, scope.firing_id),
        links.task(task.pk) if task else "",
    )


def _rack(name: str) -> Q:
    """By the rack of this name now; failing that, by the name that the firing kept."""
    rack_id: Any = Rack.objects.filter(name=name).values_list("pk", flat=True).first()
    return Q(rack_id=rack_id) if rack_id else Q(rack_name=name)
