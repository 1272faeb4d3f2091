"""A schedule's HTTP call: what it would send now, rendered and not sent (I-73, I-89)."""

from __future__ import annotations

from typing import ClassVar, Final

from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from access.callers import Caller, require
from access.permissions import ENDPOINT_USE
from console import call_shown
from console.call_shown import sending
from console.pages import Page
from flowsched.actor import Door
from flowsched.errors import InvalidInput, NotFound
from inventory.identifiers import MAX_NAME, parse_uuid
from schedules.models import TaskSchedule
from schedules.selectors import schedule_get
from schedules.template import rackless
from scopes.dry_run import schedule_dry_run
from scopes.models import TaskScheduleScope
from tasks.http.wording import endpoint_words

MOST_RACKS: Final = 5000


def may_dry_run(caller: Caller, schedule: TaskSchedule) -> bool:
    """Whether the schedule makes a call, and the caller may change it and use the call's endpoint (I-88)."""
    template = schedule.operation_template
    if not rackless(template) or not caller.may("schedule.update"):
        return False
    return caller.may(f"{ENDPOINT_USE}{endpoint_words(template.get('information'))}")


def facts_of(schedule: TaskSchedule) -> list[tuple[str, str]]:
    """The call in words, beside what it asks; nothing for hardware."""
    template = schedule.operation_template
    return call_shown.facts_of(template.get("code", ""), template.get("information")) if rackless(template) else []


class DryRunPage(Page):
    """What would be sent, for one of its racks. It is shown and no more: a GET is safe."""

    verbs: ClassVar = {"GET": "schedule.update"}
    http_method_names = ["get", "head"]

    def get(self, request: HttpRequest, id: str) -> HttpResponse:
        """Render it for the rack that the address names, else for the first."""
        schedule = self._schedule(id)
        caller, by = self.viewer.caller, self.viewer.by
        if rackless(schedule.operation_template):
            name = endpoint_words(schedule.operation_template.get("information"))
            require(
                caller, f"{ENDPOINT_USE}{name}", door=Door.ADMIN, request_id=by.request_id, object_id=schedule.pk
            )  # fmt: skip
        racks = _racks(schedule)
        rack = request.GET.get("rack", "").replace("\x00", "").strip()[:MAX_NAME] or next(iter(racks), "")
        return self.render(
            "console/dry_run.html",
            title=f"Dry run of {schedule.name}",
            crumbs=[
                ("Schedules", reverse("admin:schedules")),
                (schedule.name, reverse("admin:schedule", args=[schedule.pk])),
            ],
            schedule=schedule,
            sending=sending(schedule_dry_run(schedule_id=schedule.pk, rack=rack, now=self.viewer.now), rack),
            racks=racks,
            rack=rack,
        )

    def _schedule(self, text: str) -> TaskSchedule:
        try:
            return schedule_get(parse_uuid(text))
        except (NotFound, InvalidInput):
            raise NotFound("there is no schedule with this address") from None


def _racks(schedule: TaskSchedule) -> list[str]:
    """The names to choose from, in the order of the schedule."""
    scopes = TaskScheduleScope.objects.filter(schedule=schedule, rack__isnull=False).order_by("position", "id")
    return list(scopes.values_list("rack__name", flat=True)[:MOST_RACKS])
