"""REST: tasks. Run an operation now, look at what became of it, cancel it, say how one in doubt ended."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar
from uuid import UUID

from django.db.models import QuerySet
from django.urls import path
from django_filters import FilterSet
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, extend_schema, extend_schema_serializer
from rest_framework.request import Request
from rest_framework.response import Response

from access.views import RestView
from flowsched.errors import InvalidInput
from flowsched.rest.answers import Link, refusals_out
from flowsched.rest.bodies import nothing, read
from flowsched.rest.fields import OneOf, Strict, Text
from flowsched.rest.filtering import (
    FLAG,
    INSTANT,
    Ordering,
    Read,
    flag,
    instant,
    listed,
    one_of,
    parameters,
    some_of,
    words_schema,
)
from flowsched.rest.paging import only
from inventory.identifiers import MAX_NAME, check_name, parse_uuid
from inventory.rest import ID_SCHEMA, TargetSpecIn
from inventory.selectors import targets_resolve
from tasks.answers import SubmittedOut, TaskDetailOut, TaskListOut, TaskOut, task_out
from tasks.models import Task
from tasks.operations import CODES, OperationType
from tasks.rest import OPERATION_FIELDS, OperationIn, QueueOptionsIn, queue_timeout
from tasks.selectors import acts_on, on_rack, runs_of, task_get, with_run
from tasks.services import (
    MAX_NOTE,
    refusals_of,
    submission_refusal,
    task_acknowledge,
    task_cancel,
    task_submit,
)
from tasks.states import ACTIVE, FINISHED, TaskStatus
from tasks.submission import MAX_DESCRIPTION

NAME = {"type": "string", "minLength": 1, "maxLength": MAX_NAME}
TASK_ID = OpenApiParameter("id", ID_SCHEMA, OpenApiParameter.PATH, description="The task's id.")
_CODES = sorted({row.code for row in CODES})


class TaskFilters(FilterSet):  # type: ignore[misc]  # django-filter has no types
    """What a list of tasks can be narrowed to; all given must hold."""

    status = Read(
        some_of(TaskStatus), schema=words_schema(TaskStatus), lookup_expr="in", help_text="Divided by commas."
    )
    active = Read(flag, schema=FLAG, method="of_active", help_text="true: not ended. false: ended.")
    rack_id = Read(parse_uuid, schema=ID_SCHEMA, help_text="Also of a rack that was removed.")
    rack = Read(check_name, schema=NAME, method="of_rack", help_text="The rack's name; 404 if no rack ever had it.")
    schedule_id = Read(parse_uuid, schema=ID_SCHEMA, help_text="Also of a schedule that was deleted.")
    schedule = Read(check_name, schema=NAME, field_name="schedule_name", help_text="The schedule's name at that time.")
    component_id = Read(parse_uuid, schema=ID_SCHEMA, method="of_component")
    type = Read(one_of(list(OperationType)), schema={"type": "string", "enum": list(OperationType)})
    code = Read(one_of(_CODES), schema={"type": "string", "enum": _CODES}, help_text="The operation as stored.")
    created_after = Read(instant, schema=INSTANT, field_name="created_at", lookup_expr="gte", help_text="Inclusive.")
    created_before = Read(instant, schema=INSTANT, field_name="created_at", lookup_expr="lt", help_text="Exclusive.")
    ordering = Ordering({"created_at": "created_at"}, help_text="Newest first unless said; ties by id.")

    def of_active(self, rows: QuerySet[Task], _name: str, value: bool) -> QuerySet[Task]:
        """Those that have not ended, or those that have."""
        return rows.filter(status__in=sorted(ACTIVE if value else FINISHED))

    def of_rack(self, rows: QuerySet[Task], _name: str, value: str) -> QuerySet[Task]:
        """Those on the rack of this name. Raises NotFound."""
        return rows.filter(on_rack(value))

    def of_component(self, rows: QuerySet[Task], _name: str, value: UUID) -> QuerySet[Task]:
        """Those that act on it."""
        return rows.filter(acts_on(value))


@extend_schema_serializer(
    component_name="TaskSubmit",
    examples=[
        OpenApiExample(
            "Power reset of the compute trays of a rack",
            {
                "operation": {"type": "power_reset"},
                "target_spec": {"racks": [{"name": "r01", "component_types": ["compute"]}]},
                "description": "stuck after the update",
                "queue_options": {"conflict_strategy": "queue", "queue_timeout_seconds": 600},
            },
            request_only=True,
        ),
        OpenApiExample(
            "Firmware of two components, by their serial numbers elsewhere",
            {
                "operation": {"type": "upgrade_firmware", "target_version": "1.4.2", "sub_targets": ["bmc"]},
                "target_spec": {
                    "components": [
                        {"external": {"type": "compute", "id": "asset-000017"}},
                        {"external": {"type": "compute", "id": "asset-000018"}},
                    ]
                },
            },
            request_only=True,
        ),
    ],
)
class TaskSubmitIn(Strict):
    """An operation to run now, one task a rack."""

    operation = OperationIn()
    target_spec = TargetSpecIn()
    description = Text(required=False, allow_blank=True, max_length=MAX_DESCRIPTION, help_text="Why; shown with it.")
    queue_options = QueueOptionsIn(required=False)

    def validate(self, attrs: Mapping[str, Any]) -> Mapping[str, Any]:
        """Refuse to queue what cannot wait (F-168): its rack would be ready for it at a time nobody knows."""
        waits = attrs.get("queue_options", {}).get("conflict_strategy") == "queue"
        if waits and attrs["operation"].type == OperationType.BRING_UP:
            raise InvalidInput(
                "bring_up and ingest do not wait for a busy rack: leave conflict_strategy out",
                field="queue_options.conflict_strategy",
            )
        return attrs


@extend_schema_serializer(
    component_name="TaskAcknowledge",
    examples=[OpenApiExample("It is off", {"as": "completed", "note": "seen on site"}, request_only=True)],
)
class AcknowledgeIn(Strict):
    """How a task whose outcome is unknown ended, by somebody who looked."""

    note = Text(required=False, allow_blank=True, max_length=MAX_NOTE, help_text="How you know; one line.")

    def get_fields(self) -> dict[str, Any]:
        """`as` is no name in Python."""
        return {"as": OneOf(["completed", "failed"]), **super().get_fields()}


class TasksView(RestView):
    """All tasks."""

    verbs: ClassVar = {"GET": "task.read", "POST": "task.submit"}
    field_names: ClassVar = OPERATION_FIELDS
    problems: ClassVar = {"GET": {404}}  # a rack nobody ever had
    links: ClassVar = {
        "POST": {
            name: Link(f"tasks_{name}", {"id": "$response.body#/task_ids/0"})
            for name in ("retrieve", "cancel", "acknowledge")
        }
    }

    @extend_schema(summary="List tasks", parameters=parameters(TaskFilters), responses=TaskListOut, tags=["tasks"])
    def get(self, request: Request) -> Response:
        """A page of tasks, newest first."""
        rows, about = listed(request, TaskFilters, with_run(Task.objects.order_by("-created_at", "-id")))
        return Response({"tasks": TaskOut(rows, many=True).data, **about})

    @extend_schema(
        summary="Run an operation now",
        request=TaskSubmitIn,
        responses={201: SubmittedOut},
        tags=["tasks"],
    )
    def post(self, request: Request) -> Response:
        """Submit one task a rack. Racks that refuse are named beside the tasks; 409, 429 or 503 if every rack did."""
        only(request, ())
        asked = read(TaskSubmitIn, request)
        options = asked.get("queue_options")

        def work(request_id: UUID | None) -> Response:
            outcomes = task_submit(
                operation=asked["operation"],
                targets=targets_resolve(asked["target_spec"], merge=True),
                by=self.by,
                now=self.caller.now,
                description=asked.get("description", ""),
                queue=(options or {}).get("conflict_strategy") == "queue",
                queue_timeout=queue_timeout(options),
                idempotency_key=request_id,
            )
            accepted = [str(outcome.task_id) for outcome in outcomes if outcome.task_id is not None]
            if not accepted:
                raise submission_refusal(outcomes)
            return Response({"task_ids": accepted, "refusals": refusals_out(refusals_of(outcomes))}, status=201)

        return self.repeatable(request, work)


class TaskView(RestView):
    """One task."""

    verbs: ClassVar = {"GET": "task.read"}

    @extend_schema(summary="Look at a task and its runs", parameters=[TASK_ID], responses=TaskDetailOut, tags=["tasks"])
    def get(self, request: Request, id: str) -> Response:
        """The task."""
        only(request, ())
        return _shown(task_get(parse_uuid(id)))


class TaskCancelView(RestView):
    """Cancelling a task."""

    verbs: ClassVar = {"POST": "task.cancel"}

    @extend_schema(summary="Cancel a task", parameters=[TASK_ID], request=None, responses=TaskDetailOut, tags=["tasks"])
    def post(self, request: Request, id: str) -> Response:
        """Cancel it. A waiting or pending task has ended with the answer.

        Cancelling a running one is a request: the answer is the task, still `running`, with `cancel_requested_at`; its
        worker stops before the next step and ends the task. A task that was cancelled before is answered as it is; one
        that has completed or failed is 409.
        """
        only(request, ())
        nothing(request)
        return _shown(task_cancel(task_id=parse_uuid(id), by=self.by, now=self.caller.now))


class TaskAcknowledgeView(RestView):
    """A person's word on a task whose outcome is unknown."""

    verbs: ClassVar = {"POST": "task.acknowledge"}

    @extend_schema(
        summary="Say how a task with an unknown outcome ended",
        parameters=[TASK_ID],
        request=AcknowledgeIn,
        responses=TaskDetailOut,
        tags=["tasks"],
    )
    def post(self, request: Request, id: str) -> Response:
        """End it as you say, which frees its rack. 409 for a task whose outcome is not in doubt."""
        only(request, ())
        said = read(AcknowledgeIn, request)
        task = task_acknowledge(
            task_id=parse_uuid(id), as_=said["as"], by=self.by, now=self.caller.now, note=said.get("note", "")
        )
        return _shown(task)


def _shown(task: Task) -> Response:
    return Response(task_out(task, runs_of(task.id)))


urlpatterns = [
    path("tasks/", TasksView.as_view(), name="tasks"),
    path("tasks/<str:id>/", TaskView.as_view(), name="task"),
    path("tasks/<str:id>/cancel/", TaskCancelView.as_view(), name="task-cancel"),
    path("tasks/<str:id>/acknowledge/", TaskAcknowledgeView.as_view(), name="task-acknowledge"),
]
