"""Tasks: what runs now, what happened to one; cancel it, or say how one ended that nobody can know the end of."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar, Final

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

from console.asked import moment_of
from console.call_shown import call_run, facts_of, is_call
from console.confirm import Confirmation, Moved, confirmed
from console.listing import chips, rows_of
from console.moments import span
from console.pages import Page, say
from console.schedules_reads import OPERATIONS
from console.stopping import afterwards
from console.tasks_reads import BETWEEN, LABELS, VIEWS, TaskRow, counts_of, task_rows, tasks_found
from console.viewer import Viewer
from dispatcher.models import FiringScope
from flowsched.errors import InvalidInput, NotFound
from inventory.identifiers import parse_uuid
from tasks.http.wording import endpoint_words
from tasks.models import Run, Task
from tasks.selectors import runs_of, task_get
from tasks.services import task_acknowledge, task_cancel
from tasks.states import ACTIVE, FINISHED, TaskStatus

MESSAGE_SHOWN: Final = 8192


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt of a run, as it was recorded; `more` are entries of other versions, as words."""

    began: datetime | None
    ended: datetime | None
    state: str
    message: str
    more: str

    @property
    def took(self) -> str:
        """How long it lasted; empty where that is not known."""
        return span(self.ended - self.began) if self.began and self.ended else ""


class TasksPage(Page):
    """The list; `?view=` chooses active, failed, unknown or all."""

    verbs: ClassVar = {"GET": "task.read"}
    title = "Tasks"

    def get(self, request: HttpRequest) -> HttpResponse:
        """Show the page of the list that the address names."""
        view = request.GET.get("view", "active")
        view = view if view in VIEWS or view == "ended" else "active"
        wanted = {name: request.GET.get(name, "") for name in (*LABELS, *BETWEEN)}
        found = rows_of(request, tasks_found(view, wanted, now=self.viewer.now))
        counted = counts_of(now=self.viewer.now)
        return self.render(
            "console/tasks.html",
            rows=task_rows(found.rows),
            found=found,
            chips=chips(request, LABELS),
            wanted=wanted,
            view=view,
            between=[moment_of(wanted[name]) for name in BETWEEN] if view == "ended" else [],
            views=[(key, label, counted.get(key)) for key, label in VIEWS.items()],
            operations={key: words for key, (words, _) in OPERATIONS.items()},
        )


class TaskPage(Page):
    """One task with its runs and their attempts."""

    verbs: ClassVar = {"GET": "task.read"}

    def get(self, request: HttpRequest, id: str) -> HttpResponse:
        """Show it."""
        task = _task(id)
        row = task_rows([task])[0]
        runs = runs_of(task.pk)
        scope = FiringScope.objects.filter(task_id=task.pk).first()
        return self.render(
            "console/task.html",
            title=_on(row.label[:1].upper() + row.label[1:], task),
            crumbs=[("Tasks", reverse("admin:tasks"))],
            row=row,
            task=task,
            runs=[(run, _attempts(run), call_run(run)) for run in runs],
            call_facts=_call_facts(task),
            doubt=_doubt(task),
            scope=scope,
            active=task.status in ACTIVE,
            unknown=row.word == "unknown",
            ended=task.status in FINISHED,
            asked=next((run.cancel_requested_at for run in runs if run.cancel_requested_at), None),
        )


class TaskCancelPage(Page):
    """End a task, after saying what that means for the rack."""

    verbs: ClassVar = {"GET": "task.cancel", "POST": "task.cancel"}

    def get(self, request: HttpRequest, id: str) -> HttpResponse:
        """Show what would happen."""
        return self._show(_task(id))

    def post(self, request: HttpRequest, id: str) -> HttpResponse:
        """Do it."""
        task = _task(id)
        try:
            confirmed(request, _cancel_confirmation(task, self.viewer))
        except Moved:
            return self._show(task, moved=f"The task is {task.status} now.", status=409)
        ended = task_cancel(task_id=task.pk, by=self.viewer.by, now=self.viewer.now)
        stopped = ended.status not in ACTIVE
        say(request, "The task is cancelled." if stopped else "Stop requested.")
        return redirect("admin:task", task.pk)

    def _show(self, task: Task, *, moved: str = "", status: int = 200) -> HttpResponse:
        confirmation = _cancel_confirmation(task, self.viewer)
        return self.render("console/confirm.html", status=status, **confirmation.context(moved=moved))


class TaskDecidePage(Page):
    """Say how a task ended whose outcome nobody but a person at the rack can know."""

    verbs: ClassVar = {"GET": "task.acknowledge", "POST": "task.acknowledge"}

    def get(self, request: HttpRequest, id: str) -> HttpResponse:
        """Ask."""
        return self._show(_task(id))

    def post(self, request: HttpRequest, id: str) -> HttpResponse:
        """Record the answer."""
        task = _task(id)
        answer, note = request.POST.get("answer", ""), request.POST.get("note", "").strip()
        if answer not in {"completed", "failed"}:
            return self._show(task, error="Say whether it was done.", status=400)
        if not note:
            return self._show(task, error="Say how you know: it is kept with the task.", status=400)
        try:
            task_acknowledge(
                task_id=task.pk,
                as_="completed" if answer == "completed" else "failed",
                note=note,
                by=self.viewer.by,
                now=self.viewer.now,
            )
        except InvalidInput as error:
            return self._show(task, error=error.message, status=400)
        say(request, "Recorded. The rack is free for the next task." if holds_rack(task) else "Recorded.")
        return redirect("admin:task", task.pk)

    def _show(self, task: Task, *, error: str = "", status: int = 200) -> HttpResponse:
        row = task_rows([task])[0]
        return self.render(
            "console/decide.html",
            status=status,
            title=f"What happened to the {_on(row.label, task)}?",
            task=task,
            doubt=_doubt(task),
            error=error,
            answer=self.request.POST.get("answer", ""),
            note=self.request.POST.get("note", ""),
        )


def _cancel_confirmation(task: Task, viewer: Viewer) -> Confirmation:
    row: TaskRow = task_rows([task])[0]
    waiting = task.status == TaskStatus.WAITING
    if is_call(task.type):
        says = [_cancel_call(task)]
    elif waiting:
        says = [f'Remove "{row.label}" from the queue of {task.rack_name}. Nothing has been sent to the rack.']
    else:
        quoted = f'"{row.label}"'
        done = f" Components already done stay so: {task.progress_done} of {task.progress_total}."
        says = [f"Ask the executor to stop {_on(quoted, task)}.{done if task.progress_total else ''}"]
    return Confirmation(
        title="Stop this task?",
        button="Remove from queue" if waiting else "Stop task",
        back=reverse("admin:task", args=[task.pk]),
        back_label="Keep it waiting" if waiting else "Keep it running",
        says=[*says, *afterwards(task, viewer)],
        seen={"status": task.status},
    )


def _cancel_call(task: Task) -> str:
    if task.status == TaskStatus.RUNNING:
        return "Break the call off. If the request has left, it may be carried out all the same: the run says whether."
    return "Take this call back: it has not been sent."


def _on(label: str, task: Task) -> str:
    """What it is, and on which rack if on any."""
    return f"{label} on {task.rack_name}" if task.rack_name else label


def holds_rack(task: Task) -> bool:
    """Whether the rack is not free while the task goes on; a call holds none."""
    return bool(task.rack_name) and not is_call(task.type)


def _doubt(task: Task) -> tuple[str, str]:
    """Where to look to find out how it ended, and what counts until somebody has."""
    if holds_rack(task):
        return f"Look at {task.rack_name}", f"{task.rack_name} counts as busy"
    if is_call(task.type):
        where = endpoint_words(task.information) or "whatever was called"
        return f"Look at {where}", "the call counts as under way"
    return "Look what became of it", "it counts as under way"


def _call_facts(task: Task) -> list[tuple[str, str]]:
    return facts_of(task.code, task.information) if is_call(task.type) else []


def _task(text: str) -> Task:
    try:
        return task_get(parse_uuid(text))
    except (NotFound, InvalidInput):
        raise NotFound("there is no task with this address") from None


def _attempts(run: Run) -> list[Attempt]:
    """The attempts, whatever stands in the column."""
    entries = run.attempts if isinstance(run.attempts, list) else []
    return [_attempt(entry) for entry in entries if isinstance(entry, dict)]


def _attempt(entry: dict[str, Any]) -> Attempt:
    text = {key: str(value)[:MESSAGE_SHOWN] for key, value in entry.items() if value is not None and value != ""}
    text.pop("attempt", None)  # its place says the same
    return Attempt(
        began=moment_of(text.pop("started_at", "")),
        ended=moment_of(text.pop("ended_at", "")),
        state=_words(text.pop("state", "")),
        message=text.pop("message", ""),
        more=", ".join(f"{_words(key)}: {value}" for key, value in text.items()),
    )


def _words(key: str) -> str:
    return key.replace("_", " ")
