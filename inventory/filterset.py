"""What lists of racks, components and NVLink domains can be narrowed to and ordered by: these and no others (TH-18)."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django_filters import FilterSet

from flowsched.errors import InvalidInput
from flowsched.rest.filtering import FLAG, Ordering, Read, flag
from inventory.components import parse_component_type
from inventory.identifiers import MAX_NAME, check_text, parse_uuid
from inventory.models import Rack
from inventory.rest import ID_SCHEMA, TYPE_WORDS
from inventory.searching import and_components

_TEXT = {"type": "string", "minLength": 1, "maxLength": MAX_NAME}
_TYPE = {"type": "string", "enum": TYPE_WORDS}


def _text(text: str) -> str:
    if not text:  # django-filter passes over it: everything would be listed
        raise InvalidInput("this is empty: give a value or leave it out")
    return check_text(text)


def _type(text: str) -> str:
    return parse_component_type(text).value


class _DeviceFilters(FilterSet):  # type: ignore[misc]  # django-filter has no types
    name = Read(_text, schema=_TEXT, help_text="Exactly this name.")
    q = Read(_text, schema=_TEXT, field_name="name", lookup_expr="icontains", help_text="In the name, any case.")
    manufacturer = Read(_text, schema=_TEXT)
    model = Read(_text, schema=_TEXT)
    serial_number = Read(_text, schema=_TEXT)


class RackFilters(_DeviceFilters):
    """What a list of racks can be narrowed to; all given must hold."""

    external_id = Read(_text, schema=_TEXT)
    nvl_domain_id = Read(parse_uuid, schema=ID_SCHEMA, help_text="Those in this NVLink domain.")
    with_components = Read(flag, schema=FLAG, method="of_components", help_text="true: with components and BMCs.")
    ordering = Ordering(
        {"name": "name", "manufacturer": "manufacturer", "model": "model"}, help_text="By name unless said; ties by id."
    )

    def of_components(self, rows: QuerySet[Rack], _name: str, value: bool) -> QuerySet[Rack]:
        """The same racks, with what is in them if that is asked for."""
        return and_components(rows) if value else rows


class ComponentFilters(_DeviceFilters):
    """What a list of components can be narrowed to; all given must hold."""

    type = Read(_type, schema=_TYPE)
    component_id = Read(_text, schema=_TEXT, field_name="external_id", help_text="The id of another system.")
    rack_id = Read(parse_uuid, schema=ID_SCHEMA, help_text="Those in this rack.")
    ordering = Ordering(
        {"name": "name", "manufacturer": "manufacturer", "model": "model", "type": "type"},
        help_text="By name unless said; ties by id.",
    )


class DomainFilters(FilterSet):  # type: ignore[misc]  # django-filter has no types
    """What a list of NVLink domains can be narrowed to."""

    name = Read(_text, schema=_TEXT, help_text="Exactly this name.")
    q = Read(_text, schema=_TEXT, field_name="name", lookup_expr="icontains", help_text="In the name, any case.")
    ordering = Ordering({"name": "name"}, help_text="By name unless said.")


def shows_components(parameters: Any) -> bool:
    """Whether a list of racks, whose parameters were read, was asked for with components."""
    return bool(parameters.get("with_components") == "true")
