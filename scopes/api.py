"""REST: the racks of a schedule, and which schedules share racks."""

from __future__ import annotations

from typing import ClassVar, Final

from django.urls import path
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from access.views import RestView, etag, expected_version
from flowsched.errors import InvalidInput
from flowsched.rest.answers import Link
from flowsched.rest.bodies import read
from flowsched.rest.filtering import parameters as described
from flowsched.rest.paging import bounds, only, page
from inventory.identifiers import parse_uuid
from inventory.rest import ID_SCHEMA
from schedules.answers import schedule_out
from schedules.api import ETAG, ID
from schedules.bodies import FIELD_NAMES
from schedules.selectors import racks_counted, schedule_get
from scopes.answers import (
    ConflictsOut,
    ScopeOut,
    ScopesAddedOut,
    ScopesOut,
    ScopesReplacedOut,
    scope_out,
)
from scopes.bodies import ConflictsIn, TargetsIn
from scopes.selectors import schedule_conflicts, scope_get, scopes_all
from scopes.services import scope_remove, scopes_add, scopes_reconcile

TAG: Final = ["scopes"]
_SCOPE: Final = OpenApiParameter("id", ID_SCHEMA, OpenApiParameter.PATH, description="The scope's id.")
_MODE: Final = OpenApiParameter(
    "mode", OpenApiTypes.STR, enum=["coarse"], default="coarse", description="coarse compares racks and operations."
)


class ScopesView(RestView):
    """The racks of a schedule."""

    verbs: ClassVar = {"GET": "scope.read", "POST": "scope.add", "PUT": "scope.reconcile"}
    links: ClassVar = {
        method: {
            name: Link(name, {"id": "$response.body#/scopes/0/id"}) for name in ("scopes_retrieve", "scopes_remove")
        }
        for method in ("GET", "POST", "PUT")
    }

    @extend_schema(
        operation_id="scopes_list",
        summary="List a schedule's racks",
        tags=TAG,
        parameters=[ID, ETAG, *described()],
        responses=ScopesOut,
    )
    def get(self, request: Request, id: str) -> Response:
        """A page of them in their order. The ETag is the schedule's."""
        parameters = only(request, {"offset", "limit"})
        schedule = schedule_get(parse_uuid(id))
        found, about = page(scopes_all(schedule.pk), parameters)
        return Response({"scopes": [scope_out(row) for row in found], **about}, headers=etag(schedule.version))

    @extend_schema(
        operation_id="scopes_add",
        summary="Add racks to a schedule",
        tags=TAG,
        parameters=[ID, ETAG],
        request=TargetsIn,
        responses=ScopesAddedOut,
    )
    def post(self, request: Request, id: str) -> Response:
        """Add racks; a rack it has already gets what both filters reach. Nothing is narrowed."""
        only(request, ())
        result = scopes_add(
            schedule_id=parse_uuid(id),
            targets=read(TargetsIn, request)["target_spec"],
            by=self.by,
            now=self.caller.now,
            expected_version=expected_version(request),
        )
        counts = {"created": len(result.created), "updated": len(result.updated)}
        return Response({"scopes": [scope_out(row) for row in result.scopes], **counts}, headers=etag(result.version))

    @extend_schema(
        operation_id="scopes_reconcile",
        summary="Replace a schedule's racks",
        tags=TAG,
        parameters=[ID, ETAG],
        request=TargetsIn,
        responses=ScopesReplacedOut,
    )
    def put(self, request: Request, id: str) -> Response:
        """Make its racks exactly these; those that stay keep their last task."""
        only(request, ())
        result = scopes_reconcile(
            schedule_id=parse_uuid(id),
            targets=read(TargetsIn, request)["target_spec"],
            by=self.by,
            now=self.caller.now,
            expected_version=expected_version(request),
        )
        counts = {"added": result.added, "removed": result.removed, "updated": result.updated}
        return Response({"scopes": [scope_out(row) for row in result.scopes], **counts}, headers=etag(result.version))


class ScopeView(RestView):
    """One rack of a schedule."""

    verbs: ClassVar = {"GET": "scope.read", "DELETE": "scope.remove"}

    @extend_schema(
        operation_id="scopes_retrieve", summary="Show a scope", tags=TAG, parameters=[_SCOPE, ETAG], responses=ScopeOut
    )
    def get(self, request: Request, id: str) -> Response:
        """What it is now. The ETag is the schedule's."""
        only(request, ())
        row = scope_get(parse_uuid(id))
        return Response(scope_out(row), headers=etag(row.schedule.version))

    @extend_schema(
        operation_id="scopes_remove",
        summary="Take a rack out of its schedule",
        tags=TAG,
        parameters=[_SCOPE],
        responses={204: None},
    )
    def delete(self, request: Request, id: str) -> Response:
        """Take it out; the last one cannot be. Tasks already submitted go on."""
        only(request, ())
        version = expected_version(request)
        scope_remove(scope_id=parse_uuid(id), by=self.by, now=self.caller.now, expected_version=version)
        return Response(status=status.HTTP_204_NO_CONTENT)


class ConflictsView(RestView):
    """Which schedules an operation may meet."""

    verbs: ClassVar = {"POST": "schedule.check_conflicts"}
    field_names: ClassVar = FIELD_NAMES

    @extend_schema(
        operation_id="schedules_check_conflicts",
        summary="Check which schedules share racks with an operation",
        tags=["schedules"],
        parameters=[_MODE, *described()],
        request=ConflictsIn,
        responses=ConflictsOut,
    )
    def post(self, request: Request) -> Response:
        """The enabled schedules on these racks whose operation may not meet this one there. It blocks nothing."""
        parameters = only(request, {"mode", "offset", "limit"})
        if parameters.get("mode", "coarse") != "coarse":
            raise InvalidInput("this must be coarse: no other mode is there yet", field="mode")
        offset, limit = bounds(parameters)
        given = read(ConflictsIn, request)
        excluded = given.get("exclude_schedule_id")
        found = schedule_conflicts(
            operation=given["operation"],
            targets=given["target_spec"],
            exclude_schedule_id=None if excluded is None else parse_uuid(excluded, field="exclude_schedule_id"),
        )
        shown = found[offset : offset + limit]
        racks = racks_counted(row.pk for row in shown)
        conflicts = [schedule_out(row, racks.get(row.pk, 0)) for row in shown]
        return Response({"conflicts": conflicts, "total": len(found), "offset": offset, "limit": limit})


urlpatterns = [
    path("schedules/check-conflicts/", ConflictsView.as_view(), name="schedules-check-conflicts"),
    path("schedules/<str:id>/scopes/", ScopesView.as_view(), name="schedule-scopes"),
    path("scopes/<str:id>/", ScopeView.as_view(), name="scope"),
]
