"""Firings, triggers and previews as REST shows them."""

from __future__ import annotations

from typing import Any, Final

from drf_spectacular.utils import extend_schema_serializer
from rest_framework import serializers

from dispatcher.firing import Triggered
from dispatcher.models import Firing, FiringScope
from dispatcher.selectors import Outcomes, RackOutcome, Reach
from flowsched.rest.answers import PageOut, RefusalOut, refusals_out
from schedules.answers import DISABLED_KINDS, RunOut
from schedules.template import summary
from scopes.answers import FilterOut, filter_out
from tasks.states import TaskStatus

OUTCOMES: Final = FiringScope.State.values
COUNTS: Final = ("submitted", "skipped", "rejected", "missed", "failed")
STATUSES: Final = [status.value for status in TaskStatus]


class TriggeredScopeOut(serializers.Serializer[Any]):
    """What became of one rack."""

    scope_id = serializers.UUIDField()
    rack_id = serializers.UUIDField(allow_null=True)
    rack_name = serializers.CharField()
    outcome = serializers.ChoiceField(choices=OUTCOMES)
    reason_code = serializers.CharField(help_text="A stable word for programs; empty if submitted.")
    reason = serializers.CharField(help_text="The same in a sentence.")
    task_id = serializers.UUIDField(allow_null=True)


class TriggeredOut(serializers.Serializer[Any]):
    """What a trigger did."""

    firing_id = serializers.CharField()
    task_ids = serializers.ListField(child=serializers.UUIDField(), help_text="In the order of the scopes.")
    scopes = TriggeredScopeOut(many=True)
    refusals = RefusalOut(many=True, help_text="The racks that refused; empty if all accepted.")


@extend_schema_serializer(component_name="FiringScope")
class OutcomeOut(TriggeredScopeOut):
    """What a firing did about one rack, and how its task stands."""

    task_status = serializers.ChoiceField(choices=STATUSES, allow_null=True)
    task_message = serializers.CharField(allow_null=True)


class CountsOut(serializers.Serializer[Any]):
    """How many racks had which outcome; all zero until the firing is closed."""

    submitted = serializers.IntegerField()
    skipped = serializers.IntegerField()
    rejected = serializers.IntegerField()
    missed = serializers.IntegerField()
    failed = serializers.IntegerField()


@extend_schema_serializer(component_name="Firing")
class FiringOut(serializers.Serializer[Any]):
    """One time a schedule came due or was triggered."""

    id = serializers.CharField()
    schedule_id = serializers.UUIDField()
    schedule_name = serializers.CharField(help_text="As it was then.")
    operation_type = serializers.CharField()
    description = serializers.CharField(help_text="The operation in words.")
    cause = serializers.ChoiceField(choices=Firing.Cause.values)
    actor = serializers.CharField()
    due_at = serializers.DateTimeField()
    fired_at = serializers.DateTimeField()
    state = serializers.ChoiceField(choices=Firing.State.values)
    reason = serializers.CharField(help_text="Why there is nothing else to say, or why it failed.")
    takeovers = serializers.IntegerField(help_text="How often another dispatcher had to finish it.")
    closed_at = serializers.DateTimeField(allow_null=True)
    counts = CountsOut()
    scopes = OutcomeOut(many=True)
    scopes_total = serializers.IntegerField(help_text="How many racks it has; a list shows the first of them.")


class FiringsOut(PageOut):
    """A page of firings."""

    total = serializers.IntegerField(help_text="How many there are in all, counted up to 100,000.")
    firings = FiringOut(many=True)


class ReachOut(serializers.Serializer[Any]):
    """A rack that each run would reach."""

    scope_id = serializers.UUIDField()
    rack_id = serializers.UUIDField(allow_null=True)
    rack_name = serializers.CharField()
    component_filter = FilterOut(allow_null=True, help_text="null: the whole rack.")
    reaches = serializers.CharField(help_text="The filter in words, or why it reaches nothing.")
    components = serializers.IntegerField(help_text="How many components it reaches in today's inventory.")


class PreviewOut(serializers.Serializer[Any]):
    """What a schedule will do, or would do if it were resumed now."""

    enabled = serializers.BooleanField()
    disabled_kind = serializers.ChoiceField(choices=DISABLED_KINDS, allow_null=True)
    disabled_reason = serializers.CharField(allow_null=True)
    timezone = serializers.CharField()
    runs = RunOut(many=True)
    problem = serializers.CharField(allow_null=True, help_text="Why no (more) runs can be named, if that is a fault.")
    scopes = ReachOut(many=True)


def triggered_out(result: Triggered) -> dict[str, Any]:
    """The answer to a trigger."""
    return {
        "firing_id": str(result.firing.pk),
        "task_ids": result.task_ids,
        "scopes": [
            {
                "scope_id": scope.scope_id,
                "rack_id": scope.rack_id,
                "rack_name": scope.rack_name,
                "outcome": scope.state,
                "reason_code": scope.reason_code,
                "reason": scope.reason,
                "task_id": scope.task_id,
            }
            for scope in result.scopes
        ],
        "refusals": refusals_out(result.refused),
    }


def firing_out(row: Firing, outcomes: Outcomes) -> dict[str, Any]:
    """A firing with its racks."""
    operation_type, description = summary(row.operation_template)
    return {
        "id": str(row.pk),
        "schedule_id": row.schedule_id,
        "schedule_name": row.schedule_name,
        "operation_type": operation_type.lower(),
        "description": description,
        "cause": row.cause,
        "actor": row.actor,
        "due_at": row.due_at,
        "fired_at": row.fired_at,
        "state": row.state,
        "reason": row.reason,
        "takeovers": row.takeovers,
        "closed_at": row.closed_at,
        "counts": {name: getattr(row, f"{name}_count") for name in COUNTS},
        "scopes": [_outcome_out(rack) for rack in outcomes.racks],
        "scopes_total": outcomes.total,
    }


def reach_out(scope: Reach) -> dict[str, Any]:
    """What one scope reaches."""
    return {
        "scope_id": scope.scope_id,
        "rack_id": scope.rack_id,
        "rack_name": scope.rack_name,
        "component_filter": filter_out(scope.component_filter)[0],
        "reaches": scope.words,
        "components": scope.components,
    }


def _outcome_out(rack: RackOutcome) -> dict[str, Any]:
    return {
        "scope_id": rack.scope_id,
        "rack_id": rack.rack_id,
        "rack_name": rack.rack_name,
        "outcome": rack.outcome,
        "reason_code": rack.reason_code,
        "reason": rack.reason,
        "task_id": rack.task_id,
        "task_status": rack.task_status,
        "task_message": rack.task_message,
    }
