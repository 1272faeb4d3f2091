"""Tasks and runs as REST shows them: the wire's names, ids and times as strings, enums as their lower-case words."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from rest_framework import serializers

from flowsched.rest.answers import PageOut, RefusalOut
from tasks.models import Run, Task
from tasks.operations import operation_name
from tasks.states import RunState, TaskStatus


class ProgressOut(serializers.Serializer[Any]):
    """Components done, of how many; 0 of 0 before a run has counted them."""

    done = serializers.IntegerField(source="progress_done")
    total = serializers.IntegerField(source="progress_total")


class TaskOut(serializers.Serializer[Any]):
    """A task."""

    id = serializers.UUIDField()
    operation = serializers.SerializerMethodField(help_text="What it does, in one line.")
    type = serializers.CharField(help_text="power_control, firmware_control, bring_up, http_call.")
    code = serializers.CharField(help_text="The operation as stored: force_power_off, restart, upgrade, ...")
    rack_id = serializers.UUIDField(allow_null=True)
    rack_name = serializers.CharField()
    schedule_id = serializers.UUIDField(allow_null=True, help_text="Null for a direct operation.")
    schedule_name = serializers.CharField()
    component_ids = serializers.SerializerMethodField(help_text="What it acts on.")
    description = serializers.CharField()
    status = serializers.ChoiceField(choices=list(TaskStatus))
    message = serializers.CharField()
    executor_type = serializers.CharField(help_text="What carries it out; `simulated` touches no hardware.")
    execution_id = serializers.UUIDField(source="run_id", allow_null=True, help_text="Its newest run.")
    progress = ProgressOut(source="*")
    queue_expires_at = serializers.DateTimeField(allow_null=True, help_text="How long it waits for its rack.")
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()
    started_at = serializers.DateTimeField(allow_null=True)
    finished_at = serializers.DateTimeField(allow_null=True)

    def get_operation(self, task: Task) -> str:
        """The operation's name as Flow's clients know it (F-119)."""
        return operation_name(task.type, task.code, task.information)

    def get_component_ids(self, task: Task) -> list[UUID]:
        """The components, by type."""
        by_type: dict[str, list[UUID]] = task.attributes.get("components_by_type", {})
        return [one for _, ids in sorted(by_type.items()) for one in ids]


class AttemptOut(serializers.Serializer[Any]):
    """An attempt that has ended."""

    attempt = serializers.IntegerField()
    started_at = serializers.DateTimeField()
    ended_at = serializers.DateTimeField()
    state = serializers.CharField(help_text="A run's state, or interrupted: its worker was lost.")
    message = serializers.CharField()


class ResultOut(serializers.Serializer[Any]):
    """What became of one component."""

    name = serializers.CharField()
    action = serializers.CharField()
    state = serializers.CharField(help_text="changed, no_effect, failed or unknown.")
    message = serializers.CharField()


class CallOut(serializers.Serializer[Any]):
    """An HTTP call: who called what, and what came back. What is not known, or not yet, is empty."""

    endpoint = serializers.CharField()
    target_kind = serializers.CharField(help_text="api or gateway.")
    target_summary = serializers.CharField(help_text="Method and path as written, not rendered.")
    identity_kind = serializers.CharField(help_text="none, service_account or delegated_user.")
    principal_name = serializers.CharField(help_text="For whom: the subject, or gateway: and the webhook's id.")
    actor_name = serializers.CharField(help_text="Who acted for them.")
    consent_id = serializers.CharField()
    http_status = serializers.IntegerField(help_text="0: no answer.")
    response_excerpt = serializers.CharField(help_text="The beginning of the answer; what looked like a secret is out.")
    error_type = serializers.CharField(help_text="Why it did not succeed, for programs; the run's message says it.")
    trace_id = serializers.CharField(help_text="The same for every attempt.")
    fired_at = serializers.DateTimeField(allow_null=True, help_text="When its schedule fired.")

    def get_attribute(self, instance: Run) -> dict[str, Any] | None:
        """What the run has of a call; None if it is none."""
        stored = instance.call
        if not stored:
            return None
        found: dict[str, Any] = {str(name): stored.get(name) or "" for name in self.fields}
        fired_at = stored.get("fired_at")
        fired = datetime.fromisoformat(fired_at) if isinstance(fired_at, str) else None
        return {**found, "http_status": stored.get("http_status") or 0, "fired_at": fired}


class RunOut(serializers.Serializer[Any]):
    """One execution of a task."""

    id = serializers.UUIDField()
    task_id = serializers.UUIDField()
    schedule_id = serializers.UUIDField(source="task.schedule_id", allow_null=True, help_text="Null: of no schedule.")
    schedule_name = serializers.CharField(source="task.schedule_name")
    rack_id = serializers.UUIDField(source="task.rack_id", allow_null=True, help_text="Null: on no rack.")
    rack_name = serializers.CharField(source="task.rack_name")
    state = serializers.ChoiceField(choices=list(RunState))
    executor = serializers.CharField()
    attempt = serializers.IntegerField(help_text="The one it is at, from 1.")
    attempts = AttemptOut(many=True, help_text="Those that have ended.")
    results = serializers.DictField(child=ResultOut(), help_text="Component id -> what became of it.")
    progress = ProgressOut(source="*")
    message = serializers.CharField()
    cancel_requested_at = serializers.DateTimeField(allow_null=True)
    queued_at = serializers.DateTimeField()
    started_at = serializers.DateTimeField()
    finished_at = serializers.DateTimeField(allow_null=True)
    duration_ms = serializers.SerializerMethodField(help_text="From started_at to finished_at; null until it has.")
    call = CallOut(allow_null=True, help_text="Null for an operation on hardware.")

    def get_duration_ms(self, run: Run) -> int | None:
        """How long it took, waiting for a worker left out (I-94)."""
        if run.finished_at is None:
            return None
        return max(0, (run.finished_at - run.started_at) // timedelta(milliseconds=1))


class RunListOut(PageOut):
    """A page of runs."""

    runs = RunOut(many=True)
    older = serializers.ChoiceField(
        choices=["none", "included", "away"],
        help_text="Runs that only ClickHouse still holds: there is none to ask, they are included, or it is away.",
    )
    note = serializers.CharField(help_text="What is not listed, and why, for people; else empty.")


class TaskDetailOut(TaskOut):
    """A task with its runs."""

    information = serializers.DictField(child=serializers.JSONField(), help_text="The operation's fields, as stored.")
    cancel_requested_at = serializers.DateTimeField(
        allow_null=True, help_text="When its newest run was asked to stop, which it does before its next step."
    )
    runs = RunOut(many=True, help_text="Oldest first.")


class TaskListOut(PageOut):
    """A page of tasks."""

    tasks = TaskOut(many=True)


class SubmittedOut(serializers.Serializer[Any]):
    """What a direct operation came to: at least one task."""

    task_ids = serializers.ListField(child=serializers.UUIDField(), help_text="In the order of the request's racks.")
    refusals = RefusalOut(many=True, help_text="Racks that got no task.")


def task_out(task: Task, runs: Sequence[Run]) -> dict[str, Any]:
    """A task with its runs, oldest first, as TaskDetailOut describes it."""
    task.run_id = runs[-1].id if runs else None  # type: ignore[attr-defined]  # what lists read along
    for run in runs:
        run.task = task  # which saves reading it for each
    shown = RunOut(runs, many=True).data
    return {
        **TaskOut(task).data,
        "information": task.information,
        "cancel_requested_at": shown[-1]["cancel_requested_at"] if shown else None,
        "runs": shown,
    }
