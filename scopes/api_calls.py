"""REST: what a schedule's HTTP call would send. Nothing is sent, no token is fetched and nothing is stored (I-89)."""

from __future__ import annotations

from typing import Any, ClassVar, Final

from django.urls import path
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from access.views import RestView
from flowsched.rest.bodies import read
from flowsched.rest.paging import only
from inventory.identifiers import parse_uuid
from schedules.api import ID
from schedules.bodies import FIELD_NAMES
from schedules.selectors import schedule_get
from scopes.answers import DryRunOut
from scopes.bodies import DryRunIn, RackIn
from scopes.dry_run import operation_dry_run, schedule_dry_run
from tasks.http.dry_run import DryRun
from tasks.operations import Operation, verbs_besides

TAG: Final = ["schedules"]
_EXAMPLE: Final = {
    "operation": {
        "type": "http_call",
        "target": {"kind": "api", "endpoint": "inventory", "method": "GET", "path": "/v1/racks/{{ rack.name }}"},
        "identity": {"kind": "service_account"},
    },
    "target_spec": {"racks": [{"name": "rack-a01"}]},
}


class ScheduleDryRunView(RestView):
    """The call of a schedule that is there."""

    verbs: ClassVar = {"POST": "schedule.update"}

    @extend_schema(
        operation_id="schedules_dry_run",
        summary="Show what a schedule's HTTP call would send",
        tags=TAG,
        parameters=[ID],
        request=RackIn,
        responses=DryRunOut,
    )
    def post(self, request: Request, id: str) -> Response:
        """Render it as a run would, for one of its racks or for none, and say why it would not be made, if so.

        It is for those who may change the schedule and use its endpoint. 409 for one that makes no HTTP call.
        """
        only(request, ())
        schedule = schedule_get(parse_uuid(id))
        self.require(_verbs_of(schedule.operation_template), schedule.pk)
        rack = read(RackIn, request).get("rack", "")
        return Response(_shown(schedule_dry_run(schedule_id=schedule.pk, rack=rack, now=self.caller.now)))


class DryRunView(RestView):
    """The call of a schedule that is not there yet."""

    verbs: ClassVar = {"POST": "schedule.create"}
    field_names: ClassVar = FIELD_NAMES

    @extend_schema(
        operation_id="schedules_dry_run_unsaved",
        summary="Show what an HTTP call would send",
        tags=TAG,
        request=DryRunIn,
        responses=DryRunOut,
        examples=[OpenApiExample("A rack's name in the path", _EXAMPLE, request_only=True)],
    )
    def post(self, request: Request) -> Response:
        """The same for a call as it would be sent to create a schedule; the first rack of target_spec counts."""
        only(request, ())
        given = read(DryRunIn, request)
        self.require(verbs_besides(given["operation"]))
        found = operation_dry_run(
            operation=given["operation"],
            targets=given.get("target_spec", ()),
            name=given.get("name", ""),
            now=self.caller.now,
        )
        return Response(_shown(found))


def _verbs_of(stored: Any) -> list[str]:
    """What it takes besides to look at a stored operation, one that nobody can read any more as well."""
    if not isinstance(stored, dict):
        return []
    information = stored.get("information")
    return verbs_besides(
        Operation(
            str(stored.get("type")), str(stored.get("code")), information if isinstance(information, dict) else {}
        )
    )


def _shown(found: DryRun) -> dict[str, Any]:
    shown: dict[str, Any] = DryRunOut(found).data
    return shown


urlpatterns = [
    path("schedules/dry-run/", DryRunView.as_view(), name="schedules-dry-run"),
    path("schedules/<str:id>/dry-run/", ScheduleDryRunView.as_view(), name="schedule-dry-run"),
]
