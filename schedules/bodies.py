"""Schedules in REST bodies: what is taken, and in whose words the rest is refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from drf_spectacular.utils import extend_schema_field, extend_schema_serializer
from rest_framework import serializers

from flowsched.errors import InvalidInput
from flowsched.rest.fields import OneOf, Strict, Text, Whole
from inventory.identifiers import MAX_NAME
from inventory.rest import TargetSpecIn
from schedules.changes import ScheduleChanges
from schedules.durations import MAX_CHARACTERS, parse_duration, to_timedelta
from schedules.models import TaskSchedule
from schedules.services import MAX_REASON
from tasks.call_bodies import CALL_FIELDS, ScheduledOperation, is_call
from tasks.rest import MAX_QUEUE_SECONDS, OPERATION_FIELDS, queue_timeout

SPEC_TYPES: Final = TaskSchedule.SpecType.values
POLICIES: Final = TaskSchedule.OverlapPolicy.values

# A field as services name it -> as the body does.
FIELD_NAMES: Final[Mapping[str, str]] = {
    **OPERATION_FIELDS,
    **CALL_FIELDS,
    "operation": "operation",  # which of its fields is at fault depends on the spec
    "spec_type": "spec.type",
    "spec": "spec.spec",
    "timezone": "spec.timezone",
    "update_mask": "body",
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


def _grace(left_out: str = "") -> Duration:
    return Duration(
        required=False,
        allow_null=True,
        help_text=f"How late a run may begin, such as 5m; at least two poll intervals. null: however late.{left_out}",
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
    """A schedule to create. It needs something to act on, unless its operation is an HTTP call."""

    described = {
        "anyOf": [
            {"required": ["target_spec"]},
            {"properties": {"operation": {"properties": {"type": {"const": "http_call"}}}}},
        ]
    }
    refused = _NOT_CREATED

    name = Text(max_length=MAX_NAME, help_text="Unique; no blanks around it.")
    spec = SpecIn()
    operation = ScheduledOperation()
    target_spec = TargetSpecIn(
        required=False, help_text="What to act on. An HTTP call is made once for each rack, or once if it has none."
    )
    overlap_policy = OneOf(POLICIES, required=False, help_text="What a rack does whose last task is active; skip.")
    misfire_grace = _grace(" Left out: 5m for an HTTP call, null for the others.")
    queue_options = ScheduleQueueOptionsIn(required=False)

    def to_internal_value(self, data: Any) -> Any:
        """The values; without a target only of a call."""
        self.fields["target_spec"].required = not (isinstance(data, dict) and is_call(data.get("operation")))
        return super().to_internal_value(data)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """What `schedule_create` takes."""
        spec, options = attrs.pop("spec"), attrs.pop("queue_options", None)
        return {
            "spec_type": spec["type"],
            "spec": spec["spec"],
            "timezone": spec.get("timezone", ""),
            "targets": attrs.pop("target_spec", []),
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


class TimingIn(Strict):
    """A spec to try."""

    spec = SpecIn()
