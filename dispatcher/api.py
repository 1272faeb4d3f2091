"""REST: what schedules do and did: trigger, preview, the history of firings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Final
from uuid import UUID

from django.urls import path
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from access.views import RestView
from dispatcher.answers import FiringOut, FiringsOut, PreviewOut, TriggeredOut, firing_out, reach_out, triggered_out
from dispatcher.filterset import FiringFilter, HistoryFilter
from dispatcher.firing import trigger
from dispatcher.models import Firing
from dispatcher.selectors import firing_get, firings_all, of_schedule, outcomes_of, reach, schedule_known
from flowsched.rest.answers import Link
from flowsched.rest.bodies import nothing
from flowsched.rest.filtering import listed, parameters
from flowsched.rest.paging import only, whole
from inventory.identifiers import parse_uuid
from schedules.answers import runs_out
from schedules.api import ID, MOST_RUNS, RUNS
from schedules.selectors import schedule_get
from schedules.specs import runs_of

MOST_EMBEDDED: Final = 200  # racks shown of each firing of a list,
MOST_SHOWN: Final = 10_000  # and of all of them together
MOST_COUNTED: Final = 100_000  # firings that a list counts
_FIRING: Final = OpenApiParameter("id", OpenApiTypes.INT64, OpenApiParameter.PATH, description="The firing's id.")


class TriggerView(RestView):
    """Firing a schedule by hand."""

    verbs: ClassVar = {"POST": "schedule.trigger"}
    links: ClassVar = {
        "POST": {
            "firing": Link("firings_retrieve", {"id": "$response.body#/firing_id"}),
            "task": Link("tasks_retrieve", {"id": "$response.body#/task_ids/0"}),
        }
    }

    @extend_schema(
        operation_id="schedules_trigger",
        summary="Fire a schedule now",
        tags=["schedules"],
        parameters=[ID],
        request=None,
        responses=TriggeredOut,
    )
    def post(self, request: Request, id: str) -> Response:
        """Submit its operation to every rack, whatever its time, pause and overlap policy.

        Racks that refuse are named with their reasons; if all refuse, the call fails and names them too.
        """
        only(request, ())
        nothing(request)
        schedule_id = parse_uuid(id)

        def fire(request_id: UUID | None) -> Response:
            result = trigger(schedule_id=schedule_id, by=self.by, now=self.caller.now, request_id=request_id)
            return Response(triggered_out(result))

        return self.repeatable(request, fire)


class PreviewView(RestView):
    """What a schedule is going to do."""

    verbs: ClassVar = {"GET": "schedule.read"}

    @extend_schema(
        operation_id="schedules_preview",
        summary="Show a schedule's next runs and the racks they reach",
        tags=["schedules"],
        parameters=[ID, RUNS],
        responses=PreviewOut,
    )
    def get(self, request: Request, id: str) -> Response:
        """The next runs, or those it would have if it were resumed now, and what each reaches in today's inventory."""
        count = whole(only(request, {"runs"}), "runs", default=10, least=1, most=MOST_RUNS)
        row = schedule_get(parse_uuid(id))
        runs, problem = runs_of(row, count, self.caller.now)
        return Response(
            {
                "enabled": row.enabled,
                "disabled_kind": row.disabled_kind or None,
                "disabled_reason": row.disabled_reason if not row.enabled else None,
                "timezone": row.timezone,
                "runs": runs_out(runs, row.timezone),
                "problem": problem or None,
                "scopes": [reach_out(scope) for scope in reach(row.pk)],
            }
        )


class FiringsView(RestView):
    """All firings."""

    verbs: ClassVar = {"GET": "firing.read"}

    @extend_schema(
        operation_id="firings_list",
        summary="List firings",
        tags=["firings"],
        parameters=parameters(FiringFilter),
        responses=FiringsOut,
    )
    def get(self, request: Request) -> Response:
        """A page of them, newest first, each with its first racks: 200, or 50 with a limit of 200.

        They are counted up to 100,000: a total of that means at least so many.
        """
        return _answer(*listed(request, FiringFilter, firings_all(), most=MOST_COUNTED))


class HistoryView(RestView):
    """The firings of one schedule."""

    verbs: ClassVar = {"GET": "firing.read"}

    @extend_schema(
        operation_id="schedules_firings",
        summary="List a schedule's firings",
        tags=["firings"],
        parameters=[ID, *parameters(HistoryFilter)],
        responses=FiringsOut,
    )
    def get(self, request: Request, id: str) -> Response:
        """A page of them, newest first, of a schedule that exists or did."""
        schedule_id = parse_uuid(id)
        rows = of_schedule(firings_all(), schedule_id)
        found, about = listed(request, HistoryFilter, rows, most=MOST_COUNTED)
        if not about["total"]:
            schedule_known(schedule_id)
        return _answer(found, about)


class FiringView(RestView):
    """One firing."""

    verbs: ClassVar = {"GET": "firing.read"}

    @extend_schema(
        operation_id="firings_retrieve", summary="Show a firing", tags=["firings"], parameters=[_FIRING],
        responses=FiringOut,
    )  # fmt: skip
    def get(self, request: Request, id: int) -> Response:
        """What became of each of its racks."""
        only(request, ())
        row = firing_get(id)
        return Response(firing_out(row, outcomes_of([row.pk])[row.pk]))


def _answer(found: Sequence[Firing], about: Mapping[str, int]) -> Response:
    most = min(MOST_EMBEDDED, MOST_SHOWN // about["limit"])
    outcomes = outcomes_of([row.pk for row in found], most=most)
    return Response({"firings": [firing_out(row, outcomes[row.pk]) for row in found], **about})


urlpatterns = [
    path("schedules/<str:id>/trigger/", TriggerView.as_view(), name="schedule-trigger"),
    path("schedules/<str:id>/preview/", PreviewView.as_view(), name="schedule-preview"),
    path("schedules/<str:id>/firings/", HistoryView.as_view(), name="schedule-firings"),
    path("firings/", FiringsView.as_view(), name="firings"),
    path("firings/<int:id>/", FiringView.as_view(), name="firing"),
]
