"""What REST bodies say of the inventory: racks and components in the words of a rack file, domains, names of racks.

A rack file of one rack can be sent as it is. The serializers of racks and components describe what `document` reads;
that reads and refuses, so that a file and a request mean the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.conf import settings
from drf_spectacular.utils import extend_schema_field, extend_schema_serializer
from rest_framework import serializers

from flowsched.rest.fields import Strict, Text
from inventory.document import (
    MAX_BMCS,
    MAX_DESCRIPTION,
    ComponentRequest,
    RackRequest,
    component_request,
    rack_request,
)
from inventory.identifiers import MAX_NAME, parse_uuid
from inventory.reading import MAX_INTEGER
from inventory.rest import ID_SCHEMA, TYPE_WORDS, Id

MAX_RACKS = 5_000
_NO_ID = {**ID_SCHEMA, "type": ["string", "null"], "pattern": f"^$|{ID_SCHEMA['pattern']}"}


def _name(**options: Any) -> Text:
    return Text(max_length=MAX_NAME, **options)


def _text(most: int = MAX_NAME, **options: Any) -> Text:
    return Text(required=False, allow_blank=True, allow_null=True, max_length=most, **options)


def _whole() -> serializers.IntegerField:
    return serializers.IntegerField(required=False, min_value=-1, max_value=MAX_INTEGER, help_text="-1: unknown.")


@extend_schema_field(_NO_ID)
class _OptionalId(Id):
    """An id that may be left out, empty or null."""


class DeviceIn(Strict):
    """What a rack or component is. Manufacturer and serial number together occur once."""

    id = Id()
    name = _name()
    serial_number = _name()
    manufacturer = _text()
    model = _text()
    description = _text(MAX_DESCRIPTION)


class NewDeviceIn(DeviceIn):
    """What a component is; it gets an id if none is given."""

    id = _OptionalId(required=False)


class LocationIn(Strict):
    """Where a rack stands; `datacenter` may be written `data_center`."""

    region = _text()
    datacenter = _text()
    data_center = _text()
    room = _text()
    position = _text()


class PositionIn(Strict):
    """Where in its rack a component sits."""

    slot_id = _whole()
    tray_index = _whole()
    host_id = _whole()


class BmcIn(Strict):
    """A management controller. Its MAC address is a must: `mac` or `mac_address`; `ip` may be written `ip_address`."""

    type = _text(help_text="host or dpu.")
    mac = _text()
    mac_address = _text()
    ip = _text()
    ip_address = _text()
    user = serializers.JSONField(required=False, help_text="Dropped: logins are never stored.")
    password = serializers.JSONField(required=False, help_text="Dropped as well.")


class RackComponentIn(Strict):
    """A component of a new rack."""

    type = _name(help_text=f"One of {', '.join(TYPE_WORDS)}, in any letter case.")
    info = DeviceIn()
    firmware_version = _text()
    component_id = _text(help_text="The id that another system gave it; with the type it occurs once.")
    position = PositionIn(required=False, allow_null=True)
    bmcs = BmcIn(many=True, required=False, allow_null=True, help_text=f"At most {MAX_BMCS}.")


@extend_schema_serializer(component_name="RackCreate")
class RackIn(Strict):
    """A rack with its components, as in a rack file."""

    info = DeviceIn()
    location = LocationIn(required=False, allow_null=True)
    external_id = _text(help_text="The id that another system gave it; it occurs once.")
    nvl_domain = _text(help_text="The name of an NVLink domain that exists.")
    components = RackComponentIn(many=True, required=False, allow_null=True)

    def to_internal_value(self, data: Any) -> RackRequest:
        """What the rack file's reader makes of it."""
        return rack_request(data, max_components=settings.FLOWSCHED_MAX_COMPONENTS_PER_RACK)


@extend_schema_serializer(component_name="ComponentCreate")
class ComponentIn(RackComponentIn):
    """A component, in a rack or in none."""

    info = NewDeviceIn()
    rack_id = _OptionalId(required=False, help_text="The rack to put it into; left out: none.")

    def to_internal_value(self, data: Any) -> ComponentRequest:
        """What the rack file's reader makes of it."""
        return component_request(data)


@extend_schema_serializer(component_name="NVLDomainCreate")
class DomainIn(Strict):
    """An NVLink domain; it gets an id if none is given."""

    id = Id(required=False)
    name = _name()

    def validate(self, attrs: Mapping[str, Any]) -> dict[str, Any]:
        """The values as `domain_create` takes them."""
        return {"name": attrs["name"], "domain_id": parse_uuid(attrs["id"]) if "id" in attrs else None}


@extend_schema_serializer(component_name="RackNames")
class RacksIn(Strict):
    """Racks, by their names or ids."""

    racks = serializers.ListField(child=_name(), max_length=MAX_RACKS, help_text="Names or ids, also mixed.")
