"""Calls of the REST door, and what must be so in every answer."""

from __future__ import annotations

import itertools
from datetime import datetime
from typing import Any
from uuid import UUID

from django.http import HttpResponse
from rest_framework import serializers

from audit.models import AuditEntry
from inventory.models import Rack
from tests.rest.helpers import Rest, problem

NOBODY = "00000000-0000-4000-8000-00000000dead"
_number = itertools.count(1)


def call(client: Rest, method: str, path: str, body: Any = None, **headers: str) -> HttpResponse:
    """One call; header names with underscores: `if_match='"1"'`."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    response = client.call(method, path, body, headers=named)
    if response.status_code >= 400:
        problem(response, response.status_code)
    return response


def ok(client: Rest, method: str, path: str, body: Any = None, **headers: str) -> Any:
    """The body of a call that must succeed."""
    response = call(client, method, path, body, **headers)
    assert response.status_code < 300, (method, path, response.content)
    return response.json() if response.content else None


def refused(response: HttpResponse, status: int, *fields: str) -> dict:
    """The problem, which must have this status and name these fields, no more."""
    body = problem(response, status)
    assert sorted(entry["field"] for entry in body["errors"]) == sorted(fields), body
    return body


def schedule_body(*on: Rack, **fields: Any) -> dict:
    """A body that creates a schedule on these racks."""
    return {
        "name": f"schedule-{next(_number):04}",
        "spec": {"type": "interval", "spec": "1h"},
        "operation": {"type": "power_on"},
        "target_spec": {"racks": [{"id": str(rack.pk)} for rack in on]},
        **fields,
    }


def racks_body(*on: Rack, **fields: Any) -> dict:
    """A body that names these racks."""
    return {"target_spec": {"racks": [{"id": str(rack.pk), **fields} for rack in on]}}


def trail() -> list[tuple[str, str, str]]:
    """(verb, actor, door) of every audit row about schedules, oldest first."""
    rows = AuditEntry.objects.filter(object_kind="schedule").order_by("id")
    return list(rows.values_list("verb", "actor", "door"))


def fits(described: serializers.BaseSerializer | serializers.Field, value: Any, place: str = "body") -> None:
    """`value` is what the description says: every field and no other, its type, its choices, null only where said."""
    if value is None:
        assert described.allow_null, f"{place} is null"
    elif isinstance(described, serializers.ListSerializer | serializers.ListField):
        assert isinstance(value, list), place
        for index, item in enumerate(value):
            fits(described.child, item, f"{place}.{index}")
    elif isinstance(described, serializers.Serializer):
        needed = {name for name, field in described.fields.items() if field.required}
        assert needed <= set(value) <= set(described.fields), f"{place}: {sorted(set(value) ^ set(described.fields))}"
        for name, item in value.items():
            fits(described.fields[name], item, f"{place}.{name}")
    else:
        _fits_leaf(described, value, place)


def _fits_leaf(described: serializers.Field, value: Any, place: str) -> None:
    if isinstance(described, serializers.ChoiceField):
        assert value in described.choices, f"{place}: {value!r}"
    elif isinstance(described, serializers.UUIDField):
        assert str(UUID(value)) == value, place
    elif isinstance(described, serializers.DateTimeField):
        assert datetime.fromisoformat(value).tzinfo, place
        assert place.endswith("local") or value.endswith("Z"), f"{place}: {value}"
    else:
        kinds = {serializers.BooleanField: bool, serializers.IntegerField: int, serializers.CharField: str}
        assert type(value) is kinds[type(described)], f"{place}: {value!r}"
