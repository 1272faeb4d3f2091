"""Tasks and runs as REST shows them: the wire's names, ids and times as strings, enums as their lower-case words."""

from __future__ import annotations

from collections.abc import Sequence
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
    type = serializers.CharField(help_text="power_control, firmware_control, bring_up.")
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


class RunOut(serializers.Serializer[Any]):
    """One execution of a task."""

    id = serializers.UUIDField()
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
    shown = RunOut(runs, many=True).data
    return {
        **TaskOut(task).data,
        "information": task.information,
        "cancel_requested_at": shown[-1]["cancel_requested_at"] if shown else None,
        "runs": shown,
    }
