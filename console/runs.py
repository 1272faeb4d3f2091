"""Runs: what became of each execution, newest first; of HTTP calls with what came back."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import ClassVar, Final
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from console.call_shown import CallRun, call_run
from console.listing import MAX_PAGE, PER_PAGE, Rows, chips, with_parameter
from console.pages import Page
from console.words import WORDS
from inventory.identifiers import MAX_NAME, uuid_or_none
from schedules.models import TaskSchedule
from tasks.history.reading import RunsRead, runs_read
from tasks.models import Run
from tasks.operations import operation_label
from tasks.states import RunState

LABELS: Final = {"state": "State", "schedule": "Schedule"}


@dataclass(frozen=True, slots=True)
class RunRow:
    """One line."""

    run: Run
    label: str
    took: timedelta | None
    call: CallRun | None
    stored: bool  # here, with its task; else ClickHouse alone has it


class RunsPage(Page):
    """The list; `?state=` and `?schedule=`, an id or a name, narrow it."""

    verbs: ClassVar = {"GET": "task.read"}
    title = "Runs"

    def get(self, request: HttpRequest) -> HttpResponse:
        """Show the page of it that the address names."""
        state = request.GET.get("state", "")
        schedule = request.GET.get("schedule", "").replace("\x00", "").strip()[:MAX_NAME]
        schedule_id = uuid_or_none(schedule)
        known = TaskSchedule.objects.filter(pk=schedule_id).first() if schedule_id else None
        found, note = _found(request, state, schedule_id or schedule)
        return self.render(
            "console/runs.html",
            crumbs=[("Tasks", reverse("admin:tasks"))],
            rows=[_row(run) for run in found.rows],
            found=found,
            note=note,
            chips=chips(request, LABELS),
            wanted={"state": state, "schedule": schedule},
            about=known,
            states=[(each.value, WORDS[each.value].word) for each in RunState],
        )


def _found(request: HttpRequest, state: str, schedule: UUID | str) -> tuple[Rows, str]:
    """The page, and what is not on it; a state that is none has no runs."""
    text = request.GET.get("page", "1")
    page = min(int(text), MAX_PAGE) if text.isascii() and text.isdecimal() and len(text) < 8 and int(text) else 1  # noqa: PLR2004
    read = RunsRead([], 0)
    if not state or state in set(RunState):
        read = runs_read(
            states=[state] if state else (), schedule=schedule or None, limit=PER_PAGE, offset=(page - 1) * PER_PAGE
        )
    rows = Rows(
        rows=read.runs,
        page=page,
        total=read.total,
        previous=with_parameter(request, page=str(page - 1)) if page > 1 else "",
        next=with_parameter(request, page=str(page + 1)) if page * PER_PAGE < read.total else "",
    )
    return rows, read.note


def _row(run: Run) -> RunRow:
    task = run.task
    took = run.finished_at - run.started_at if run.finished_at else None
    label = operation_label(task.type, task.code, task.information)
    return RunRow(run, label, took, call_run(run), stored=not run._state.adding)  # noqa: SLF001  Django documents it
