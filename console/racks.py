"""Racks: on or off, busy or not, and what will be done to them. Read-only: the inventory comes by import."""

from __future__ import annotations

from typing import ClassVar, Final

from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from console.listing import chips, rows_of
from console.pages import Page
from console.rack_strip import rack_strip
from console.racks_reads import BUSY, LABELS, POWER, place_of, power_of, rack_rows, racks_found
from console.schedules import state_of
from console.tasks_reads import task_rows
from flowsched.errors import InvalidInput, NotFound
from inventory.identifiers import parse_uuid
from inventory.models import Rack
from inventory.selectors import components_of
from schedules.models import TaskSchedule
from schedules.template import summary
from scopes.models import TaskScheduleScope
from tasks.models import Task
from tasks.states import ACTIVE

RECENT_TASKS: Final = 20
MOST_SCHEDULES: Final = 200


class RacksPage(Page):
    """The list."""

    verbs: ClassVar = {"GET": "rack.read"}
    title = "Racks"

    def get(self, request: HttpRequest) -> HttpResponse:
        """Show the page of the list that the address names."""
        wanted = {name: request.GET.get(name, "") for name in LABELS}
        found = rows_of(request, racks_found(wanted))
        return self.render(
            "console/racks.html",
            rows=rack_rows(found.rows),
            found=found,
            chips=chips(request, LABELS),
            wanted=wanted,
            powers=POWER,
            busies=BUSY,
        )


class RackPage(Page):
    """One rack with its components, its tasks and the schedules that reach it."""

    verbs: ClassVar = {"GET": "rack.read"}

    def get(self, request: HttpRequest, id: str) -> HttpResponse:
        """Show it."""
        rack = rack_of(id)
        scopes = list(
            TaskScheduleScope.objects.filter(rack_id=rack.pk)
            .select_related("schedule")
            .order_by("-schedule__enabled", "schedule__next_run_at", "schedule_id")[:MOST_SCHEDULES]
        )
        tasks = list(Task.objects.filter(rack_id=rack.pk).order_by("-created_at", "-id")[:RECENT_TASKS])
        power = power_of([rack.pk]).get(rack.pk)
        return self.render(
            "console/rack.html",
            title=rack.name,
            crumbs=[("Racks", reverse("admin:racks"))],
            rack=rack,
            place=place_of(rack),
            power=power,
            components=components_of(rack.pk),
            schedules=[self._reaching(scope.schedule) for scope in scopes],
            strip=rack_strip(rack.pk, [scope.schedule for scope in scopes], viewer=self.viewer),
            tasks=task_rows(tasks),
            stoppable=bool(scopes) or any(task.status in ACTIVE for task in tasks),
        )

    def _reaching(self, schedule: TaskSchedule) -> tuple[TaskSchedule, str, str, str]:
        word, why = state_of(schedule, self.viewer.now)
        return schedule, summary(schedule.operation_template)[1], word, why


def rack_of(text: str) -> Rack:
    """The rack of an address. Raises NotFound."""
    try:
        rack = Rack.objects.select_related("nvl_domain").filter(pk=parse_uuid(text)).first()
    except InvalidInput:
        rack = None
    if rack is None:
        raise NotFound("there is no rack with this address")
    return rack
