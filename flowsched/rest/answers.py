"""Parts of answers that several doors give alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rest_framework import serializers

from flowsched.errors import Refusal


class RefusalOut(serializers.Serializer[Any]):
    """A rack that got no task, and why."""

    rack_id = serializers.UUIDField(allow_null=True, help_text="Null where the operation is on no rack.")
    rack_name = serializers.CharField()
    outcome = serializers.CharField(help_text="rejected, failed, skipped, missed, or locked: try that one again.")
    reason_code = serializers.CharField(help_text="For programs.")
    reason = serializers.CharField(help_text="For people.")


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
