"""Operations in REST bodies, and what became of each rack that refused one."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from drf_spectacular.utils import extend_schema_serializer
from rest_framework import serializers

from flowsched.rest.fields import Flag, Instant, OneOf, Strict, Text, Whole
from tasks.operations import MAX_SUB_TARGETS, MAX_TEXT, Operation, OperationKind, operation

MAX_QUEUE_SECONDS = 365 * 86400

# Fields as the services name them -> as a body with an `operation` and `queue_options` does; for RestView.field_names.
OPERATION_FIELDS = {
    name: f"operation.{name}"
    for name in (
        *("forced", "target_version", "start_time", "end_time", "sub_targets"),
        *("override_readiness_check", "override_version_check"),
    )
} | {"operation": "operation.type", "queue_timeout": "queue_options.queue_timeout_seconds"}


def _only(*kinds: str, **properties: Mapping[str, Any] | bool) -> dict[str, Any]:
    return {"properties": {"type": {"enum": list(kinds)}, **properties}}


_NOT_SET: Mapping[str, Any] = {"const": False}
_NO_FIRMWARE: Mapping[str, Mapping[str, Any] | bool] = {
    "target_version": {"const": ""},
    "start_time": False,
    "end_time": False,
    "sub_targets": {"maxItems": 0},
    "override_version_check": _NOT_SET,
}


@extend_schema_serializer(component_name="Operation")
class OperationIn(Strict):
    """What to do."""

    described = {
        "oneOf": [
            _only("power_on", "bring_up", "ingest", forced=_NOT_SET, **_NO_FIRMWARE),
            _only("power_off", "power_reset", **_NO_FIRMWARE),
            _only("upgrade_firmware", forced=_NOT_SET),
        ]
    }
    refused = dict.fromkeys(
        ("target", "identity", "policy"),
        "this is an HTTP call's, and those are made by schedules: create one with the type http_call",
    ) | {
        "rule_id": "operation rules are not supported: leave it out",
        "authentication_data": "nothing here stores a secret: configure the credentials at the executor",
    }

    type = OneOf(OperationKind)
    forced = Flag(required=False, help_text="power_off and power_reset: without asking the host.")
    target_version = Text(
        required=False, allow_blank=True, max_length=MAX_TEXT, help_text="upgrade_firmware: the version to bring."
    )
    start_time = Instant(
        required=False, help_text="upgrade_firmware: not before; one-time schedules and direct calls only."
    )
    end_time = Instant(required=False, help_text="upgrade_firmware: not after; see start_time.")
    sub_targets = serializers.ListField(
        child=Text(max_length=MAX_TEXT),
        required=False,
        max_length=MAX_SUB_TARGETS,
        help_text="upgrade_firmware: parts of a component.",
    )
    override_readiness_check = Flag(required=False)
    override_version_check = Flag(required=False, help_text="upgrade_firmware.")

    def validate(self, attrs: Mapping[str, Any]) -> Operation:
        """The operation as tasks store it. Raises InvalidInput for a field that it does not have."""
        given = dict(attrs)
        for name in ("start_time", "end_time"):
            if name in given:
                given[name] = _seconds(given[name])
        return operation(given.pop("type"), **given)


@extend_schema_serializer(component_name="QueueOptions")
class QueueOptionsIn(Strict):
    """Whether and how long to wait for a rack that is busy."""

    conflict_strategy = OneOf(
        ["reject", "queue"], required=False, help_text="Direct operations only; a schedule has its policy."
    )
    queue_timeout_seconds = Whole(
        required=False, min_value=0, max_value=MAX_QUEUE_SECONDS, help_text="0 or left out: the installation's."
    )


def queue_timeout(options: Mapping[str, Any] | None) -> timedelta | None:
    """The timeout in `options`, or None for the installation's."""
    seconds = (options or {}).get("queue_timeout_seconds", 0)
    return timedelta(seconds=seconds) if seconds else None


def _seconds(value: datetime) -> int:
    return int(value.timestamp())
