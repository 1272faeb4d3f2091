"""REST: runs, what became of each execution of a task; of an HTTP call, who called what and what came back."""

from __future__ import annotations

from typing import Any, ClassVar, Final

from django.urls import path
from django_filters import FilterSet
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from access.views import RestView
from flowsched.rest.answers import Link
from flowsched.rest.bodies import nothing
from flowsched.rest.filtering import Read, asked, parameters, some_of, words_schema
from flowsched.rest.paging import only
from inventory.identifiers import parse_uuid
from inventory.rest import ID_SCHEMA
from tasks.answers import RunListOut, RunOut
from tasks.history.reading import run_read, runs_read
from tasks.models import Run
from tasks.selectors import run_get
from tasks.services import task_cancel
from tasks.states import RunState

RUN_ID: Final = OpenApiParameter("id", ID_SCHEMA, OpenApiParameter.PATH, description="The run's id.")
TAG: Final = ["runs"]


class RunFilters(FilterSet):  # type: ignore[misc]  # django-filter has no types
    """What a list of runs can be narrowed to; all given must hold."""

    state = Read(some_of(RunState), schema=words_schema(RunState), help_text="Divided by commas.")
    schedule_id = Read(parse_uuid, schema=ID_SCHEMA, help_text="Also of a schedule that was deleted.")
    task_id = Read(parse_uuid, schema=ID_SCHEMA, help_text="Those of one task.")

    class Meta:
        model = Run
        fields: ClassVar[list[str]] = []  # none but those above


class RunsView(RestView):
    """All runs."""

    verbs: ClassVar = {"GET": "task.read"}
    links: ClassVar = {
        "GET": {
            "run": Link("runs_retrieve", {"id": "$response.body#/runs/0/id"}),
            "cancel": Link("runs_cancel", {"id": "$response.body#/runs/0/id"}),
            "task": Link("tasks_retrieve", {"id": "$response.body#/runs/0/task_id"}),
        }
    }

    @extend_schema(summary="List runs", parameters=parameters(RunFilters), responses=RunListOut, tags=TAG)
    def get(self, request: Request) -> Response:
        """A page of runs, newest first; those under way are among them. They are counted up to 100,000."""
        given = asked(request, RunFilters)
        about = {name: given[name] for name in ("offset", "limit")}
        page = runs_read(states=given["state"] or (), schedule=given["schedule_id"], task_id=given["task_id"], **about)
        shown = [_shown(row) for row in page.runs]
        return Response({"runs": shown, "total": page.total, "older": page.older, "note": page.note, **about})


class RunView(RestView):
    """One run."""

    verbs: ClassVar = {"GET": "task.read"}

    @extend_schema(summary="Look at a run", parameters=[RUN_ID], responses=RunOut, tags=TAG)
    def get(self, request: Request, id: str) -> Response:
        """The run."""
        only(request, ())
        return Response(_shown(run_read(parse_uuid(id))))


class RunCancelView(RestView):
    """Cancelling a run."""

    verbs: ClassVar = {"POST": "task.cancel"}

    @extend_schema(summary="Cancel a run", parameters=[RUN_ID], request=None, responses=RunOut, tags=TAG)
    def post(self, request: Request, id: str) -> Response:
        """Cancel its task, while the run has not ended; 409 for one that has.

        It is a request to the worker that has the run: the answer is the run, with `cancel_requested_at`. A call under
        way is broken off; whether it may have reached its target is what the run then says.
        """
        only(request, ())
        nothing(request)
        run = run_get(parse_uuid(id))
        task_cancel(task_id=run.task_id, run_id=run.id, by=self.by, now=self.caller.now)
        return Response(_shown(run_get(run.id)))


def _shown(run: Run) -> dict[str, Any]:
    shown: dict[str, Any] = RunOut(run).data
    return shown


urlpatterns = [
    path("runs/", RunsView.as_view(), name="runs"),
    path("runs/<str:id>/", RunView.as_view(), name="run"),
    path("runs/<str:id>/cancel/", RunCancelView.as_view(), name="run-cancel"),
]
