"""What a REST body may aim at: `target_spec`, in the wire's words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from drf_spectacular.utils import extend_schema_field, extend_schema_serializer
from rest_framework import serializers

from flowsched.errors import InvalidInput
from flowsched.rest.fields import Strict, Text
from inventory.components import ComponentType
from inventory.identifiers import MAX_NAME, parse_uuid
from inventory.targets import FIELD, NO_TARGETS, ComponentTarget, DomainTarget, RackTarget, Target

TYPE_WORDS = [kind.value.lower() for kind in ComponentType]

_HEX = "[0-9a-fA-F]"
_HYPHENATED = f"{_HEX}{{8}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{12}}"
# The JSON schema of an id in a request: the forms that parse_uuid reads (F-113). Answers have the first of them.
ID_SCHEMA = {
    "type": "string",
    "pattern": rf"^({_HYPHENATED}|{_HEX}{{32}}|\{{{_HYPHENATED}\}}|urn:uuid:{_HYPHENATED})$",
    "examples": ["6f1d8f0e-53f5-4a8f-9a63-0c2f6b9f6b58"],
}


_ONE_NAME = {"minProperties": 1, "maxProperties": 1}


@extend_schema_field({"type": "string", "enum": TYPE_WORDS})
class _Type(Text):
    """A component type, in any spelling that is read elsewhere."""


def _types() -> serializers.ListField:
    return serializers.ListField(
        child=_Type(max_length=16),
        required=False,
        max_length=32,
        help_text=f"Only components of these types: {', '.join(TYPE_WORDS)}. Left out or empty: the whole rack.",
    )


@extend_schema_field(ID_SCHEMA)
class Id(Text):
    """An id, in any form of F-113; whoever reads it parses it, and names its place if it is none."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(max_length=64, **kwargs)


class RackTargetIn(Strict):
    """One rack, by exactly one of its names."""

    described = {"oneOf": [{"required": [name]} for name in ("id", "name", "external_id")]}

    id = Id(required=False)
    name = Text(required=False, max_length=MAX_NAME)
    external_id = Text(required=False, max_length=MAX_NAME)
    component_types = _types()


class DomainTargetIn(Strict):
    """All racks that are in an NVLink domain now."""

    described = {"oneOf": [{"required": [name]} for name in ("id", "name")]}

    id = Id(required=False)
    name = Text(required=False, max_length=MAX_NAME)
    component_types = _types()


class ExternalRefIn(Strict):
    """A component by the id that another system gave it; the type decides where two have the same."""

    type = _Type(required=False, allow_blank=True, max_length=16, help_text="Left out: whichever has it.")
    id = Text(max_length=MAX_NAME)


class ComponentTargetIn(Strict):
    """One component, by its id or its external id."""

    described = _ONE_NAME

    id = Id(required=False)
    external = ExternalRefIn(required=False)


@extend_schema_serializer(component_name="TargetSpec")
class TargetSpecIn(Strict):
    """What to act on: racks, components or NVLink domains, one kind a request."""

    described = _ONE_NAME | {"properties": {kind: {"minItems": 1} for kind in ("racks", "components", "nvl_domains")}}

    racks = RackTargetIn(many=True, required=False)
    components = ComponentTargetIn(many=True, required=False)
    nvl_domains = DomainTargetIn(many=True, required=False)

    def validate(self, attrs: Mapping[str, Any]) -> list[Target]:
        """The targets, in request order."""
        kinds = [name for name in ("racks", "components", "nvl_domains") if name in attrs]
        if len(kinds) != 1:
            raise serializers.ValidationError(
                "give exactly one of racks, components and nvl_domains", code="one_kind_of_target"
            )
        if not attrs[kinds[0]]:  # an HTTP call can do without any, but not by somebody's empty list
            raise InvalidInput(NO_TARGETS, field=FIELD)
        read = {"racks": _rack, "components": _component, "nvl_domains": _domain}[kinds[0]]
        return [read(value, f"target_spec.{kinds[0]}.{index}") for index, value in enumerate(attrs[kinds[0]])]


def _rack(value: Mapping[str, Any], place: str) -> Target:
    return RackTarget(
        id=parse_uuid(value["id"], field=f"{place}.id") if "id" in value else None,
        name=value.get("name"),
        external_id=value.get("external_id"),
        component_types=tuple(value.get("component_types", ())),
    )


def _domain(value: Mapping[str, Any], place: str) -> Target:
    return DomainTarget(
        id=parse_uuid(value["id"], field=f"{place}.id") if "id" in value else None,
        name=value.get("name"),
        component_types=tuple(value.get("component_types", ())),
    )


def _component(value: Mapping[str, Any], place: str) -> Target:
    external = value.get("external")
    return ComponentTarget(
        id=parse_uuid(value["id"], field=f"{place}.id") if "id" in value else None,
        external_type=(external.get("type") or None) if external else None,
        external_id=external["id"] if external else None,
    )
