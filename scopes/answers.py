"""Scopes as REST shows them."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_serializer
from rest_framework import serializers

from flowsched.errors import InvalidInput
from flowsched.rest.answers import PageOut
from inventory.rest import TYPE_WORDS
from schedules.answers import ScheduleOut
from scopes.filters import filter_parse
from scopes.models import TaskScheduleScope
from tasks.states import TaskStatus


@extend_schema_serializer(component_name="ComponentFilter")
class FilterOut(serializers.Serializer[Any]):
    """Which components of a rack: those of some types, or some by id. One of the two is there."""

    types = serializers.ListField(child=serializers.ChoiceField(choices=TYPE_WORDS), required=False)
    components = serializers.ListField(child=serializers.UUIDField(), required=False)


@extend_schema_serializer(component_name="TaskScheduleScope")
class ScopeOut(serializers.Serializer[Any]):
    """One rack of a schedule."""

    id = serializers.UUIDField()
    schedule_id = serializers.UUIDField()
    rack_id = serializers.UUIDField(allow_null=True)
    rack_name = serializers.CharField(allow_null=True)
    component_filter = FilterOut(allow_null=True, help_text="null: the whole rack.")
    filter_problem = serializers.CharField(
        allow_null=True, help_text="Why the stored filter cannot be read: then it reaches nothing."
    )
    position = serializers.IntegerField(help_text="Scopes come in this order.")
    last_task_id = serializers.UUIDField(allow_null=True)
    last_task_status = serializers.ChoiceField(choices=[status.value for status in TaskStatus], allow_null=True)
    skip_streak = serializers.IntegerField(help_text="Runs in a row that gave this rack no task.")
    created_at = serializers.DateTimeField()


class ScopesOut(PageOut):
    """A page of scopes."""

    scopes = ScopeOut(many=True)


class ScopesAddedOut(serializers.Serializer[Any]):
    """The scopes that adding made, then those that it widened; the others are not listed."""

    scopes = ScopeOut(many=True)
    created = serializers.IntegerField()
    updated = serializers.IntegerField()


class ScopesReplacedOut(serializers.Serializer[Any]):
    """All scopes as they are now, and how many came, went and changed."""

    scopes = ScopeOut(many=True)
    added = serializers.IntegerField()
    removed = serializers.IntegerField()
    updated = serializers.IntegerField()


class DryRunOut(serializers.Serializer[Any]):
    """What an HTTP call would send. Credentials are left out, and what looks like one."""

    would_run = serializers.BooleanField()
    reason = serializers.CharField(help_text="Why it would not be made; empty where it would.")
    method = serializers.CharField()
    url = serializers.CharField(help_text="Without the query. This and the following are empty where nothing renders.")
    query = serializers.DictField(child=serializers.CharField())
    headers = serializers.DictField(child=serializers.CharField(), help_text="Authorization says (redacted).")
    body = serializers.CharField(allow_null=True, help_text="As text; null: none is sent.")
    identity_kind = serializers.CharField(help_text="none, service_account or delegated_user.")
    principal_name = serializers.CharField(help_text="For whom: the subject, or gateway: and the webhook's id.")
    actor_name = serializers.CharField(help_text="Who acts for them. Empty: only a token says it, and none is fetched.")
    bearer_resolved = serializers.BooleanField(help_text="false: no token is fetched to look at a call.")


class ConflictsOut(PageOut):
    """A page of the schedules that may meet the operation."""

    conflicts = ScheduleOut(many=True)


def filter_out(stored: Any) -> tuple[dict[str, list[str]] | None, str | None]:
    """A stored filter and, where it cannot be read, why. Such a one is shown empty: null would say the whole rack."""
    try:
        found = filter_parse(stored)
    except InvalidInput as error:
        return {"types": []}, error.message
    if found is None:
        return None, None
    if found.kind == "types":
        return {"types": [name.lower() for name in found.types]}, None
    return {"components": [str(component) for component in found.components]}, None


def scope_out(row: TaskScheduleScope) -> dict[str, Any]:
    """A scope that was read with its rack and its last task."""
    component_filter, problem = filter_out(row.component_filter)
    return {
        "id": row.pk,
        "schedule_id": row.schedule_id,
        "rack_id": row.rack_id,
        "rack_name": row.rack.name if row.rack else None,
        "component_filter": component_filter,
        "filter_problem": problem,
        "position": row.position,
        "last_task_id": row.last_task_id,
        "last_task_status": row.last_task.status if row.last_task else None,
        "skip_streak": row.skip_streak,
        "created_at": row.created_at,
    }
