"""Parts of answers that several doors give alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from drf_spectacular.utils import extend_schema_serializer
from rest_framework import serializers

from flowsched.errors import Refusal


@dataclass(frozen=True, slots=True)
class Link:
    """From an answer to an operation, by its id: parameters, or parts of a body, from `$response.body#/…`."""

    operation: str
    parameters: Mapping[str, str] = field(default_factory=dict)
    body: Any = None

    def described(self) -> dict[str, Any]:
        """As OpenAPI writes it."""
        body = {} if self.body is None else {"requestBody": self.body}
        return {"operationId": self.operation, "parameters": dict(self.parameters), **body}


class PageOut(serializers.Serializer[Any]):
    """What a list says beside its rows."""

    total = serializers.IntegerField(help_text="How many there are in all.")
    offset = serializers.IntegerField()
    limit = serializers.IntegerField()


class RefusalOut(serializers.Serializer[Any]):
    """A rack that got no task, and why."""

    rack_id = serializers.UUIDField(allow_null=True, help_text="Null where the operation is on no rack.")
    rack_name = serializers.CharField()
    outcome = serializers.CharField(help_text="rejected, failed, skipped, missed, or locked: try that one again.")
    reason_code = serializers.CharField(help_text="For programs.")
    reason = serializers.CharField(help_text="For people.")


class FieldErrorOut(serializers.Serializer[Any]):
    """A field at fault."""

    field = serializers.CharField(help_text="Its place: `target_spec.racks.0.name`.")
    code = serializers.CharField()
    message = serializers.CharField()


@extend_schema_serializer(component_name="Problem")
class ProblemOut(serializers.Serializer[Any]):
    """What went wrong (RFC 9457)."""

    type = serializers.CharField(help_text="urn:flowsched:problem: and the kind of error.")
    title = serializers.CharField()
    status = serializers.IntegerField()
    detail = serializers.CharField(help_text="What, which, and what to do instead; for people.")
    reason = serializers.CharField(help_text="For programs; may be empty.")
    errors = FieldErrorOut(many=True)  # type: ignore[assignment]  # hides what only serializers of input use
    request_id = serializers.CharField()
    refusals = RefusalOut(many=True, required=False, help_text="When racks refused: each of them.")


def refusals_out(refusals: Sequence[Refusal]) -> list[dict[str, Any]]:
    """The refusals as RefusalOut describes them."""
    return [
        {
            "rack_id": None if one.rack_id is None else str(one.rack_id),
            "rack_name": one.rack_name,
            "outcome": one.outcome,
            "reason_code": one.code,
            "reason": one.reason,
        }
        for one in refusals
    ]
