"""One schedule: on or off and why, when next, did the last one work, which racks are stuck."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final
from uuid import UUID

from django.http import HttpRequest, HttpResponse

from audit.selectors import entries_of
from console.firing_reads import FiringRow, firings_page, rack_rows
from console.outcomes_shown import counts
from console.pages import Page
from console.schedule_call import facts_of, may_dry_run
from console.schedules import own_zone, state_of
from dispatcher import selectors
from dispatcher.rendering import audit_words
from dispatcher.selectors import Reach
from dispatcher.tallies import last_firings
from flowsched.errors import InvalidInput, NotFound
from inventory.identifiers import parse_uuid
from schedules.durations import format_duration, to_nanoseconds
from schedules.models import TaskSchedule
from schedules.selectors import schedule_get
from schedules.specs import runs_of
from schedules.template import summary
from schedules.wording import timing_words
from tasks.models import Task

TABS: Final = {"racks": "Racks", "firings": "Firings", "changes": "Changes"}
RACKS_PER_PAGE: Final = 50
NEXT_RUNS: Final = 10
LONG_STREAK: Final = 7
STREAK: Final = 3


@dataclass(frozen=True, slots=True)
class RackRow:
    """One rack of the schedule with its last task."""

    reach: Reach
    task: Task | None
    word: str
    why: str
    streak: str
    refusal: str = ""  # what the newest firing did instead of a task, and why


class SchedulePage(Page):
    """The page of one schedule; `?tab=` chooses racks, firings or changes."""

    verbs: ClassVar = {"GET": "schedule.read"}

    def get(self, request: HttpRequest, id: str) -> HttpResponse:
        """Show it."""
        schedule = self._schedule(id)
        tab = request.GET.get("tab", "racks")
        tab = tab if tab in TABS else "racks"
        word, why = state_of(schedule, self.viewer.now)
        reach = selectors.reach(schedule.pk) if tab == "racks" else []
        last = last_firings([schedule.pk]).get(schedule.pk) if self.viewer.caller.may("firing.read") else None
        return self.render(
            "console/schedule.html",
            title=schedule.name,
            crumbs=[("Schedules", "/admin/schedules/")],
            schedule=schedule,
            operation=summary(schedule.operation_template)[1] or "unreadable operation",
            call_facts=facts_of(schedule),
            may_dry_run=may_dry_run(self.viewer.caller, schedule),
            when=timing_words(schedule.spec_type, schedule.spec, schedule.timezone),
            own_zone=own_zone(schedule),
            overlap=_overlap(schedule),
            grace=_grace(schedule),
            word=word,
            why=why,
            runs=runs_of(schedule, NEXT_RUNS, self.viewer.now)[0] if schedule.enabled else [],
            last=last,
            last_counts=counts(last.groups) if last else [],
            tab=tab,
            tabs=TABS,
            **self._tab(tab, schedule, reach),
        )

    def _schedule(self, text: str) -> TaskSchedule:
        try:
            return schedule_get(parse_uuid(text))
        except (NotFound, InvalidInput):
            raise NotFound("there is no schedule with this address") from None

    def _tab(self, tab: str, schedule: TaskSchedule, reach: list[Reach]) -> dict[str, Any]:
        if tab == "changes":
            entries = entries_of("schedule", schedule.pk, limit=100)
            return {"entries": [(entry, audit_words(entry)) for entry in entries]}
        if tab == "firings":
            return self._firings(schedule.pk)
        rows = _rack_rows(reach)
        page = _page(self.request.GET.get("page", ""))
        start = (page - 1) * RACKS_PER_PAGE
        shown = rows[start : start + RACKS_PER_PAGE]
        return {
            "racks": _with_refusals(shown),
            "racks_total": len(rows),
            "page": page,
            "more": start + RACKS_PER_PAGE < len(rows),
            "gone": bool(rows) and all(row.reach.gone for row in rows),
        }

    def _firings(self, schedule_id: UUID) -> dict[str, Any]:
        if not self.viewer.caller.may("firing.read"):
            return {"firings": [], "hidden": True}
        asked = self.request.GET
        rows, found = firings_page(
            self.request, schedule_id, outcome=asked.get("outcome", ""), rack=asked.get("rack", "").strip()
        )
        opened = _number(asked.get("firing", ""))
        shown: list[FiringRow] = rows
        return {
            "firings": shown,
            "found": found,
            "opened": opened,
            "opened_racks": rack_rows(opened, schedule_id) if opened else [],
            "wanted": {"outcome": asked.get("outcome", ""), "rack": asked.get("rack", "")},
        }


def _rack_rows(reach: Sequence[Reach]) -> list[RackRow]:
    """Those with a problem first, then by name."""
    tasks = Task.objects.in_bulk([scope.last_task_id for scope in reach if scope.last_task_id])
    rows = []
    for scope in reach:
        task = tasks.get(scope.last_task_id) if scope.last_task_id else None
        word = "" if task is None else {"terminated": "cancelled"}.get(task.status, task.status)
        why = task.message if task is not None and task.status != "completed" else ""
        streak = "" if scope.skip_streak < STREAK else "streak" if scope.skip_streak < LONG_STREAK else "streak_long"
        rows.append(RackRow(scope, task, word, why, streak))
    return sorted(rows, key=_worst_first)


def _with_refusals(rows: Sequence[RackRow]) -> list[RackRow]:
    """The rows, those with a streak with its last reason: one query, none where all is well."""
    streaks = [row.reach.scope_id for row in rows if row.reach.skip_streak]
    refusals = selectors.last_refusals(streaks) if streaks else {}
    return [replace(row, refusal=refusals.get(row.reach.scope_id, "")) for row in rows]


def _worst_first(row: RackRow) -> tuple[int, bool, bool, str]:
    return -row.reach.skip_streak, row.word != "failed", not row.reach.gone, row.reach.rack_name


def _overlap(schedule: TaskSchedule) -> str:
    return "skip on overlap" if schedule.overlap_policy == "skip" else "queue on overlap"


def _grace(schedule: TaskSchedule) -> str:
    if schedule.misfire_grace is None:
        return "run however late"
    return f"skip if later than {format_duration(to_nanoseconds(schedule.misfire_grace))}"


def _page(text: str) -> int:
    return max(1, _number(text) or 1)


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 18 else 0  # noqa: PLR2004
