"""Stop a whole rack: its tasks are cancelled, and it is taken out of the schedules that would start new ones.

One confirmation lists both. Each task and each schedule is asked of its own service, and the answer says of each
what became of it: one that is refused takes nothing from the others. The rack leaves its schedules first, so that
none of them starts a task after the last one was cancelled.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from access.callers import require
from console import links
from console.confirm import Confirmation, Moved, confirmed
from console.pages import Page
from console.racks import rack_of
from console.schedule_verbs import Done
from console.stopping import next_run_said, pause_link
from console.tasks_reads import TaskRow, task_rows
from flowsched.actor import Door
from flowsched.errors import FlowschedError, InvalidInput
from inventory.models import Rack
from schedules.template import summary
from scopes.models import TaskScheduleScope
from scopes.services import scope_remove
from tasks.models import Task
from tasks.services import task_cancel
from tasks.states import ACTIVE

MOST: Final = 200  # schedules and tasks of one go
TAKE_OUT: Final = "take_out"


@dataclass(frozen=True, slots=True)
class Reaching:
    """A schedule that reaches the rack. `alone`: no other rack is left to it, so this one cannot leave."""

    scope: TaskScheduleScope
    alone: bool


@dataclass(frozen=True, slots=True)
class Standing:
    """What is there to stop."""

    rack: Rack
    tasks: list[TaskRow]
    schedules: list[Reaching]


class RackStopPage(Page):
    """Show what would be stopped; stop it."""

    verbs: ClassVar = {"GET": "task.cancel", "POST": "task.cancel"}

    def get(self, request: HttpRequest, id: str) -> HttpResponse:
        """Show what would happen."""
        return self._show(standing(rack_of(id)))

    def post(self, request: HttpRequest, id: str) -> HttpResponse:
        """Do it."""
        found = standing(rack_of(id))
        take_out = TAKE_OUT in request.POST
        if take_out:
            by = self.viewer.by
            require(self.viewer.caller, "scope.remove", door=Door.ADMIN, request_id=by.request_id, object_id=id)
        try:
            confirmed(request, confirmation(found))
        except Moved:
            return self._show(found, moved="This is how it is now.", status=409)
        except InvalidInput as error:
            return self._show(found, error=error.message, status=400)
        rows = [self._leave(each) for each in found.schedules] if take_out else []
        rows += [self._cancel(row) for row in found.tasks]
        return self._answer(found.rack, rows)

    def _show(self, found: Standing, *, status: int = 200, **said: str) -> HttpResponse:
        may_leave = self.viewer.caller.may("scope.remove") and any(not each.alone for each in found.schedules)
        return self.render(
            "console/rack_stop.html",
            status=status,
            **confirmation(found).context(**said),
            crumbs=[("Racks", reverse("admin:racks")), (found.rack.name, reverse("admin:rack", args=[found.rack.pk]))],
            tasks=found.tasks,
            schedules=[self._reaching(each) for each in found.schedules],
            may_leave=may_leave,
            take_out=TAKE_OUT if "nonce" not in self.request.POST or TAKE_OUT in self.request.POST else "",
        )

    def _reaching(self, each: Reaching) -> tuple[str, str, SafeString, SafeString]:
        """A schedule's line: its page, its name, its next run, and why the rack cannot leave it."""
        row = each.scope.schedule
        operation = summary(row.operation_template)[1] or "unreadable operation"
        said = format_html("{}, {}", operation, next_run_said(row, self.viewer))
        why = format_html("Its only rack: it stays in.{}", pause_link(row, self.viewer)) if each.alone else SafeString()
        return links.schedule(row.pk), row.name, said, why

    def _leave(self, each: Reaching) -> Done:
        row = each.scope.schedule
        url = links.schedule(row.pk)
        if each.alone:
            why = format_html("It is its only rack: pause the schedule instead.{}", pause_link(row, self.viewer))
            return Done(row.name, url, "still in it", why, refused=True)
        return _tried(
            row.name,
            url,
            lambda: scope_remove(scope_id=each.scope.pk, by=self.viewer.by, now=self.viewer.now),
            lambda _: ("taken out", ""),
        )

    def _cancel(self, row: TaskRow) -> Done:
        name, url = row.label.capitalize(), links.task(row.task.pk)
        if row.word == "unknown":
            return Done(name, url, "not stopped", "Its outcome is unknown: say how it ended.", refused=True)

        def said(task: Task) -> tuple[str, str]:
            asked = task.status in ACTIVE
            return ("stop requested", "Waiting for the executor.") if asked else ("cancelled", "")

        return _tried(name, url, lambda: task_cancel(task_id=row.task.pk, by=self.viewer.by, now=self.viewer.now), said)

    def _answer(self, rack: Rack, rows: list[Done]) -> HttpResponse:
        done = sum(not row.refused for row in rows)
        return self.render(
            "console/answer.html",
            title=f"{rack.name}: {done} done, {len(rows) - done} not",
            noun="Schedule or task",
            sentence=f"{done} of {len(rows)} done." if rows else f"{rack.name} had nothing to stop.",
            rows=rows,
            back=reverse("admin:rack", args=[rack.pk]),
            back_label=rack.name,
            all_refused=bool(rows) and not done,
        )


def standing(rack: Rack) -> Standing:
    """The rack's active and waiting tasks and the schedules that reach it: five queries."""
    tasks = list(Task.objects.filter(lane=rack.pk, status__in=sorted(ACTIVE)).order_by("-created_at", "-id")[:MOST])
    scopes = list(
        TaskScheduleScope.objects.filter(rack_id=rack.pk)
        .select_related("schedule")
        .order_by("-schedule__enabled", "schedule__next_run_at", "schedule_id")[:MOST]
    )
    counted = TaskScheduleScope.objects.filter(schedule_id__in=[scope.schedule_id for scope in scopes])
    racks = dict(counted.order_by().values_list("schedule_id").annotate(Count("pk")))
    return Standing(rack, task_rows(tasks), [Reaching(scope, racks[scope.schedule_id] == 1) for scope in scopes])


def confirmation(found: Standing) -> Confirmation:
    """What the page says; that a task began to run, or another schedule reaches the rack, shows it again."""
    seen: dict[str, str] = {}
    for row in found.tasks:
        seen[str(row.task.pk)] = _reached(row)
    for each in found.schedules:
        seen[str(each.scope.pk)] = "alone" if each.alone else ""
    many, beyond = len(found.tasks), len(found.schedules) == MOST
    tasks = "Its task is cancelled." if many == 1 else f"Its {many} tasks are cancelled."
    return Confirmation(
        title=f"Stop {found.rack.name}?",
        button=f"Stop {found.rack.name}",
        back=reverse("admin:rack", args=[found.rack.pk]),
        back_label="Go back",
        says=[tasks if many else "No task is active or waits here."],
        notes=[f"Only the first {MOST} schedules are listed and left: do it again for the rest."] * beyond,
        seen=seen,
        disruptive=bool(many),
    )


def _reached(row: TaskRow) -> str:
    """How far it came, as far as stopping it is another thing then."""
    return row.word if row.word in {"waiting", "unknown"} else "sent"


def _tried(name: str, url: str, do: Callable[[], Any], said: Callable[[Any], tuple[str, str]]) -> Done:
    """Ask one service; what it refuses is the row's to say."""
    try:
        result, reason = said(do())
    except FlowschedError as error:
        return Done(name, url, "refused", error.message, refused=True)
    return Done(name, url, result, reason)
