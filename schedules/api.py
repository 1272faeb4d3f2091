"""REST: schedules themselves. Their racks are scopes/api.py, what they do when they fire dispatcher/api.py."""

from __future__ import annotations

from typing import Any, ClassVar, Final
from uuid import UUID

from django.urls import path, reverse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from access.views import RestView, etag, expected_version
from flowsched.rest.answers import Link
from flowsched.rest.bodies import nothing, read
from flowsched.rest.filtering import listed, parameters
from flowsched.rest.paging import only, whole
from inventory.identifiers import parse_uuid
from inventory.rest import ID_SCHEMA
from schedules.answers import ScheduleOut, SchedulesOut, TimingOut, runs_out, schedule_out
from schedules.bodies import FIELD_NAMES, PauseIn, ScheduleChangesIn, ScheduleIn, TimingIn
from schedules.filterset import ScheduleFilter
from schedules.models import TaskSchedule
from schedules.rows import not_found
from schedules.selectors import racks_counted, schedules_all
from schedules.services import (
    schedule_create,
    schedule_delete,
    schedule_pause,
    schedule_resume,
    schedule_update,
)
from schedules.specs import runs_of_spec, spec_parse
from tasks.operations import verbs_besides

TAG: Final = ["schedules"]
MOST_RUNS: Final = 100
RUNS: Final = OpenApiParameter(
    "runs", {"type": "integer", "minimum": 1, "maximum": MOST_RUNS, "default": 10}, description="How many runs."
)
ID: Final = OpenApiParameter("id", ID_SCHEMA, OpenApiParameter.PATH, description="The schedule's id.")
ETAG: Final = OpenApiParameter(
    "ETag",
    OpenApiTypes.STR,
    OpenApiParameter.HEADER,
    response=True,
    required=True,
    description="The schedule's version, for If-Match.",
)
_LOCATION: Final = OpenApiParameter(
    "Location",
    OpenApiTypes.STR,
    OpenApiParameter.HEADER,
    response=True,
    required=True,
    description="Where the schedule is.",
)
_EXAMPLE: Final = {
    "name": "nightly-reset",
    "spec": {"type": "cron", "spec": "0 2 * * 1-5", "timezone": "Europe/Berlin"},
    "overlap_policy": "skip",
    "misfire_grace": "10m",
    "operation": {"type": "power_reset", "forced": False},
    "target_spec": {"racks": [{"name": "rack-a01", "component_types": ["compute"]}]},
}
# The operations on one schedule, which who has created one may go on to.
_OF_A_SCHEDULE: Final = (
    *("schedules_retrieve", "schedules_update", "schedules_pause", "schedules_resume", "schedules_trigger"),
    *("schedules_dry_run", "schedules_preview", "schedules_firings", "scopes_list", "scopes_add", "scopes_reconcile"),
    "schedules_delete",
)


class SchedulesView(RestView):
    """All schedules."""

    verbs: ClassVar = {"GET": "schedule.read", "POST": "schedule.create"}
    field_names: ClassVar = FIELD_NAMES
    links: ClassVar = {
        "POST": {name: Link(name, {"id": "$response.body#/id"}) for name in _OF_A_SCHEDULE},
    }

    @extend_schema(
        operation_id="schedules_list",
        summary="List schedules",
        tags=TAG,
        parameters=parameters(ScheduleFilter),
        responses=SchedulesOut,
    )
    def get(self, request: Request) -> Response:
        """A page of them, with their total."""
        rows, about = listed(request, ScheduleFilter, schedules_all())
        return Response({"task_schedules": [schedule_out(row, row.racks) for row in rows], **about})

    @extend_schema(
        operation_id="schedules_create",
        summary="Create a schedule",
        tags=TAG,
        parameters=[ETAG, _LOCATION],
        request=ScheduleIn,
        responses={201: ScheduleOut},
        examples=[OpenApiExample("Reset the compute trays of a rack on working nights", _EXAMPLE, request_only=True)],
    )
    def post(self, request: Request) -> Response:
        """Create one, enabled, with the racks it covers."""
        only(request, ())
        given = read(ScheduleIn, request)
        self.require(verbs_besides(given["operation"]))

        def create(request_id: UUID | None) -> Response:
            row = schedule_create(**given, by=self.by, now=self.caller.now, request_id=request_id)
            place = {"Location": reverse("schedule", args=[str(row.pk)])}
            return Response(_shown(row), status.HTTP_201_CREATED, headers=place | etag(row.version))

        return self.repeatable(request, create)


class ScheduleView(RestView):
    """One schedule."""

    verbs: ClassVar = {"GET": "schedule.read", "PATCH": "schedule.update", "DELETE": "schedule.delete"}
    field_names: ClassVar = FIELD_NAMES

    @extend_schema(
        operation_id="schedules_retrieve",
        summary="Show a schedule",
        tags=TAG,
        parameters=[ID, ETAG],
        responses=ScheduleOut,
    )
    def get(self, request: Request, id: str) -> Response:
        """What it is now; its ETag goes into If-Match of a change."""
        only(request, ())
        schedule_id = parse_uuid(id)
        row = schedules_all().filter(pk=schedule_id).first()
        if row is None:
            raise not_found(schedule_id)
        return Response(schedule_out(row, row.racks), headers=etag(row.version))

    @extend_schema(
        operation_id="schedules_update",
        summary="Change a schedule",
        tags=TAG,
        parameters=[ID, ETAG],
        request=ScheduleChangesIn,
        responses=ScheduleOut,
        examples=[OpenApiExample("Another zone, nothing else", {"spec": {"timezone": "UTC"}}, request_only=True)],
    )
    def patch(self, request: Request, id: str) -> Response:
        """Change exactly the fields sent. Other timing counts from now; whether it is enabled stays."""
        only(request, ())
        row = schedule_update(
            schedule_id=parse_uuid(id),
            changes=read(ScheduleChangesIn, request),
            by=self.by,
            now=self.caller.now,
            expected_version=expected_version(request),
        )
        return _answer(row)

    @extend_schema(
        operation_id="schedules_delete",
        summary="Delete a schedule",
        tags=TAG,
        parameters=[ID],
        responses={204: None},
    )
    def delete(self, request: Request, id: str) -> Response:
        """Delete it. Its history stays, and tasks already submitted go on."""
        only(request, ())
        version = expected_version(request)
        schedule_delete(schedule_id=parse_uuid(id), by=self.by, now=self.caller.now, expected_version=version)
        return Response(status=status.HTTP_204_NO_CONTENT)


class PauseView(RestView):
    """Stopping a schedule."""

    verbs: ClassVar = {"POST": "schedule.pause"}

    @extend_schema(
        operation_id="schedules_pause",
        summary="Pause a schedule",
        tags=TAG,
        parameters=[ID, ETAG],
        request=PauseIn,
        responses=ScheduleOut,
    )
    def post(self, request: Request, id: str) -> Response:
        """Stop it until it is resumed, and take back what an earlier tick has not submitted yet."""
        only(request, ())
        row = schedule_pause(
            schedule_id=parse_uuid(id),
            reason=read(PauseIn, request).get("reason", ""),
            by=self.by,
            now=self.caller.now,
            expected_version=expected_version(request),
        )
        return _answer(row)


class ResumeView(RestView):
    """Letting a schedule go on."""

    verbs: ClassVar = {"POST": "schedule.resume"}

    @extend_schema(
        operation_id="schedules_resume",
        summary="Resume a schedule",
        tags=TAG,
        parameters=[ID, ETAG],
        request=None,
        responses=ScheduleOut,
    )
    def post(self, request: Request, id: str) -> Response:
        """Let it fire again, counting from now."""
        only(request, ())
        nothing(request)
        version = expected_version(request)
        row = schedule_resume(schedule_id=parse_uuid(id), by=self.by, now=self.caller.now, expected_version=version)
        return _answer(row)


class TimingView(RestView):
    """Trying a spec."""

    verbs: ClassVar = {"POST": "schedule.read"}
    field_names: ClassVar = FIELD_NAMES

    @extend_schema(
        operation_id="schedules_preview_unsaved",
        summary="Show when a spec would run",
        tags=TAG,
        parameters=[RUNS],
        request=TimingIn,
        responses=TimingOut,
    )
    def post(self, request: Request) -> Response:
        """The first runs of a schedule that were created now with this spec. Nothing is stored."""
        count = whole(only(request, {"runs"}), "runs", default=10, least=1, most=MOST_RUNS)
        given = read(TimingIn, request)["spec"]
        spec = spec_parse(given["type"], given["spec"], given.get("timezone", ""))
        runs = runs_of_spec(spec, count, self.caller.now)
        return Response({"timezone": spec.timezone, "runs": runs_out(runs, spec.timezone)})


def _shown(row: TaskSchedule) -> dict[str, Any]:
    return schedule_out(row, racks_counted([row.pk]).get(row.pk, 0))


def _answer(row: TaskSchedule) -> Response:
    return Response(_shown(row), headers=etag(row.version))


urlpatterns = [
    path("schedules/", SchedulesView.as_view(), name="schedules"),
    path("schedules/preview/", TimingView.as_view(), name="schedules-preview"),
    path("schedules/<str:id>/", ScheduleView.as_view(), name="schedule"),
    path("schedules/<str:id>/pause/", PauseView.as_view(), name="schedule-pause"),
    path("schedules/<str:id>/resume/", ResumeView.as_view(), name="schedule-resume"),
]
