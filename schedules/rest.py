"""Schedules as REST bodies: what is taken, in whose words it is refused, and what is answered."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, Final
from zoneinfo import ZoneInfo

from drf_spectacular.utils import extend_schema_field, extend_schema_serializer
from rest_framework import serializers

from flowsched.errors import InvalidInput
from flowsched.rest.fields import OneOf, Strict, Text, Whole
from inventory.identifiers import MAX_NAME
from inventory.rest import TargetSpecIn
from schedules.changes import ScheduleChanges
from schedules.durations import MAX_CHARACTERS, format_duration, parse_duration, to_nanoseconds, to_timedelta
from schedules.models import TaskSchedule
from schedules.services import MAX_REASON
from schedules.template import summary
from tasks.rest import MAX_QUEUE_SECONDS, OperationIn, queue_timeout

SPEC_TYPES: Final = TaskSchedule.SpecType.values
POLICIES: Final = TaskSchedule.OverlapPolicy.values
DISABLED_KINDS: Final = [kind for kind in TaskSchedule.DisabledKind.values if kind]

# A field as services name it -> as the body does.
_OPERATION: Final = (
    "forced target_version start_time end_time sub_targets override_readiness_check override_version_check "
    "rule_id authentication_data"
)
FIELD_NAMES: Final[Mapping[str, str]] = {
    "spec_type": "spec.type",
    "spec": "spec.spec",
    "timezone": "spec.timezone",
    "queue_timeout": "queue_options.queue_timeout_seconds",
    "update_mask": "body",
    **{name: f"operation.{name}" for name in _OPERATION.split()},
}

_KEPT: Final = "the system keeps this: leave it out"
_COMPUTED: Final = "this follows from the spec and from what has run: leave it out"
_SWITCHED: Final = "use POST …/pause/ (with a reason) or POST …/resume/ instead"
_ANOTHER: Final = "another operation is another schedule: create that one and delete this"
_RACKS: Final = "racks are changed with POST (add) or PUT (replace) at …/scopes/"
_COMMON: Final = {
    "id": _KEPT,
    "created_at": _KEPT,
    "updated_at": _KEPT,
    "next_run_at": _COMPUTED,
    "last_run_at": _COMPUTED,
    "operation_type": "this follows from the operation: leave it out",
    "description": "this follows from the operation: leave it out",
    "spec_type": "send this as spec.type",
    "timezone": "send this as spec.timezone",
}
_NOT_CREATED: Final[Mapping[str, str]] = _COMMON | {
    "enabled": "a schedule begins enabled: pause it with POST …/pause/ afterwards",
    "racks": "send what to act on as target_spec",
    "scopes": "send what to act on as target_spec",
    "rule_id": "operation rules are not supported: leave it out",
}
_NOT_CHANGED: Final[Mapping[str, str]] = _COMMON | {
    "version": "send this as the header If-Match",
    **dict.fromkeys(("enabled", "disabled_kind", "disabled_reason", "disabled_by", "disabled_at"), _SWITCHED),
    **dict.fromkeys(("operation", "operation_template", "operation_type", "description", "queue_options"), _ANOTHER),
    **dict.fromkeys(("target_spec", "scopes", "racks"), _RACKS),
}


@extend_schema_field({"type": "string", "maxLength": MAX_CHARACTERS, "examples": ["5m", "1h30m"]})
class Duration(Text):
    """A duration as Go writes it."""

    def to_internal_value(self, data: Any) -> Any:
        """The duration."""
        try:
            return to_timedelta(parse_duration(super().to_internal_value(data)))
        except InvalidInput as error:
            raise serializers.ValidationError(error.message, code="bad_duration") from error


def _grace() -> Duration:
    return Duration(
        required=False,
        allow_null=True,
        help_text="How late a run may begin, such as 5m; at least two poll intervals. null: however late.",
    )


class SpecIn(Strict):
    """When it runs."""

    type = OneOf(SPEC_TYPES, help_text="How spec is read.")
    spec = Text(
        allow_blank=True,
        help_text="interval: a duration, 90m. cron: five fields, 0 2 * * 1-5. one-time: RFC 3339, 2026-06-01T04:00:00Z",
    )
    timezone = Text(required=False, allow_blank=True, help_text="IANA name; used by cron. Empty: UTC.")


class SpecChangesIn(Strict):
    """Which parts of the timing to change. A new type needs a new spec; a timezone alone is for cron."""

    type = OneOf(SPEC_TYPES, required=False)
    spec = Text(required=False, allow_blank=True)
    timezone = Text(required=False, allow_blank=True, help_text="Left out: the one it has. Empty: UTC.")


class ScheduleQueueOptionsIn(Strict):
    """How long a task may wait for a busy rack, where the overlap policy is queue."""

    refused = {"conflict_strategy": "a schedule has overlap_policy for this: leave it out"}

    queue_timeout_seconds = Whole(
        required=False, min_value=0, max_value=MAX_QUEUE_SECONDS, help_text="0 or left out: the installation's."
    )


@extend_schema_serializer(component_name="TaskScheduleCreate")
class ScheduleIn(Strict):
    """A schedule to create."""

    refused = _NOT_CREATED

    name = Text(max_length=MAX_NAME, help_text="Unique; no blanks around it.")
    spec = SpecIn()
    operation = OperationIn()
    target_spec = TargetSpecIn()
    overlap_policy = OneOf(POLICIES, required=False, help_text="What a rack does whose last task is active; skip.")
    misfire_grace = _grace()
    queue_options = ScheduleQueueOptionsIn(required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """What `schedule_create` takes."""
        spec, options = attrs.pop("spec"), attrs.pop("queue_options", None)
        return {
            "spec_type": spec["type"],
            "spec": spec["spec"],
            "timezone": spec.get("timezone", ""),
            "targets": attrs.pop("target_spec"),
            "queue_timeout": queue_timeout(options),
            **attrs,
        }


@extend_schema_serializer(component_name="TaskScheduleChanges")
class ScheduleChangesIn(Strict):
    """Exactly the fields to change."""

    refused = _NOT_CHANGED

    name = Text(required=False, max_length=MAX_NAME)
    spec = SpecChangesIn(required=False)
    overlap_policy = OneOf(POLICIES, required=False)
    misfire_grace = _grace()

    def validate(self, attrs: dict[str, Any]) -> ScheduleChanges:
        """What `schedule_update` takes."""
        spec = attrs.pop("spec", {})
        if "type" in spec:
            attrs["spec_type"] = spec["type"]
        if "spec" in spec:
            attrs["spec"] = spec["spec"]
        if "timezone" in spec:
            attrs["timezone"] = spec["timezone"] or "UTC"  # empty was sent on purpose here, other than on the wire
        return ScheduleChanges(**attrs)


class PauseIn(Strict):
    """Why."""

    reason = Text(required=False, allow_blank=True, max_length=MAX_REASON, help_text="Shown wherever the schedule is.")


class NothingIn(Strict):
    """No body, or an empty object."""


class TimingIn(Strict):
    """A spec to try."""

    spec = SpecIn()


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
    next_run_at = serializers.DateTimeField(allow_null=True)
    last_run_at = serializers.DateTimeField(allow_null=True)
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()
    version = serializers.IntegerField(help_text="Counts people's changes; the ETag. A firing never raises it.")


class SchedulesOut(serializers.Serializer[Any]):
    """A page of schedules."""

    task_schedules = ScheduleOut(many=True)
    total = serializers.IntegerField()
    offset = serializers.IntegerField()
    limit = serializers.IntegerField()


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
        "overlap_policy": row.overlap_policy,
        "misfire_grace": duration_out(row.misfire_grace),
        "racks": racks,
        "enabled": row.enabled,
        "disabled_kind": row.disabled_kind if disabled else None,
        "disabled_reason": row.disabled_reason if disabled else None,
        "disabled_by": row.disabled_by if disabled else None,
        "disabled_at": row.disabled_at if disabled else None,
        "next_run_at": row.next_run_at,
        "last_run_at": row.last_run_at,
        "created_at": row.created_at,
        "updated_at": row.updated_at,
        "version": row.version,
    }


def duration_out(value: timedelta | None) -> str | None:
    """A duration as Go writes it."""
    return None if value is None else format_duration(to_nanoseconds(value))


def runs_out(runs: Iterable[datetime], timezone: str) -> list[dict[str, Any]]:
    """Times to run, in UTC and on the wall clock of `timezone`, which is known to be one."""
    zone = ZoneInfo(timezone or "UTC")
    return [{"at": run, "local": run.astimezone(zone).isoformat()} for run in runs]
