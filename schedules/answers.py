"""Schedules as REST shows them: the wire's names, times and durations as strings, enums as their lower-case words."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final
from zoneinfo import ZoneInfo

from drf_spectacular.utils import extend_schema_serializer
from rest_framework import serializers

from flowsched.rest.answers import PageOut
from schedules.bodies import POLICIES, SPEC_TYPES
from schedules.durations import format_duration, to_nanoseconds
from schedules.models import TaskSchedule
from schedules.template import summary
from tasks.call_bodies import HttpCallIn, call_out

DISABLED_KINDS: Final = [kind for kind in TaskSchedule.DisabledKind.values if kind]


class SpecOut(serializers.Serializer[Any]):
    """When it runs."""

    type = serializers.ChoiceField(choices=SPEC_TYPES)
    spec = serializers.CharField()
    timezone = serializers.CharField()


@extend_schema_serializer(component_name="TaskSchedule")
class ScheduleOut(serializers.Serializer[Any]):
    """A schedule."""

    id = serializers.UUIDField()
    name = serializers.CharField()
    spec = SpecOut()
    operation_type = serializers.CharField(help_text="power_on, …; empty where the operation cannot be read.")
    description = serializers.CharField(help_text="The operation in words.")
    operation = HttpCallIn(
        allow_null=True, help_text="An HTTP call in full, as it can be sent again; null for an operation on racks."
    )
    overlap_policy = serializers.ChoiceField(choices=POLICIES)
    misfire_grace = serializers.CharField(allow_null=True, help_text="A duration; null: it fires however late.")
    racks = serializers.IntegerField(help_text="How many racks it covers.")
    enabled = serializers.BooleanField()
    disabled_kind = serializers.ChoiceField(
        choices=DISABLED_KINDS, allow_null=True, help_text="Who or what stopped it; null while it is enabled."
    )
    disabled_reason = serializers.CharField(allow_null=True)
    disabled_by = serializers.CharField(allow_null=True)
    disabled_at = serializers.DateTimeField(allow_null=True)
    consecutive_skips = serializers.IntegerField(
        help_text="Calls in a row that were not made for want of an identity; so many, and the schedule is disabled."
    )
    consecutive_no_effect = serializers.IntegerField(help_text="Calls in a row that changed nothing.")
    next_run_at = serializers.DateTimeField(allow_null=True)
    last_run_at = serializers.DateTimeField(allow_null=True)
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()
    version = serializers.IntegerField(help_text="Counts people's changes; the ETag. A firing never raises it.")


class SchedulesOut(PageOut):
    """A page of schedules."""

    task_schedules = ScheduleOut(many=True)


@extend_schema_serializer(component_name="ScheduledRun")
class RunOut(serializers.Serializer[Any]):
    """A time it runs."""

    at = serializers.DateTimeField()
    local = serializers.DateTimeField(help_text="The same instant on the wall clock of the schedule's zone.")


class TimingOut(serializers.Serializer[Any]):
    """When a spec runs."""

    timezone = serializers.CharField()
    runs = RunOut(many=True)


def schedule_out(row: TaskSchedule, racks: int) -> dict[str, Any]:
    """A schedule that covers `racks` racks."""
    operation_type, description = summary(row.operation_template)
    disabled = not row.enabled
    return {
        "id": row.pk,
        "name": row.name,
        "spec": {"type": row.spec_type, "spec": row.spec, "timezone": row.timezone},
        "operation_type": operation_type.lower(),
        "description": description,
        "operation": call_out(row.operation_template),
        "overlap_policy": row.overlap_policy,
        "misfire_grace": duration_out(row.misfire_grace),
        "racks": racks,
        "enabled": row.enabled,
        "disabled_kind": row.disabled_kind if disabled else None,
        "disabled_reason": row.disabled_reason if disabled else None,
        "disabled_by": row.disabled_by if disabled else None,
        "disabled_at": row.disabled_at if disabled else None,
        "consecutive_skips": row.consecutive_skips,
        "consecutive_no_effect": row.consecutive_no_effect,
        "next_run_at": row.next_run_at,
        "last_run_at": row.last_run_at,
        "created_at": row.created_at,
        "updated_at": row.updated_at,
        "version": row.version,
    }


def duration_out(value: timedelta | None) -> str | None:
    """A duration as Go writes it."""
    return None if value is None else format_duration(to_nanoseconds(value))


def runs_out(runs: Sequence[datetime], timezone: str) -> list[dict[str, Any]]:
    """Times to run, in UTC and on the wall clock of `timezone`, which is one where there are any."""
    if not runs:
        return []
    zone = ZoneInfo(timezone or "UTC")
    return [{"at": run, "local": run.astimezone(zone).isoformat()} for run in runs]
