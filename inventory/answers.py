"""Racks, components and domains as REST shows them: the words of the wire and of a rack file, ids and times as text.

The serializers describe; what renders are plain functions, because a page may hold thousands of components.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from rest_framework import serializers

from flowsched.rest.answers import PageOut
from inventory.components import BmcType, PowerState
from inventory.models import Component, NVLDomain, Rack
from inventory.rest import TYPE_WORDS

_instant = serializers.DateTimeField()


class DeviceOut(serializers.Serializer[Any]):
    """What a rack or component is."""

    id = serializers.UUIDField()
    name = serializers.CharField()
    manufacturer = serializers.CharField()
    model = serializers.CharField()
    serial_number = serializers.CharField()
    description = serializers.CharField()


class LocationOut(serializers.Serializer[Any]):
    """Where a rack stands; empty where nobody said."""

    region = serializers.CharField()
    datacenter = serializers.CharField()
    room = serializers.CharField()
    position = serializers.CharField()


class PositionOut(serializers.Serializer[Any]):
    """Where in its rack a component sits; -1 is unknown."""

    slot_id = serializers.IntegerField()
    tray_index = serializers.IntegerField()
    host_id = serializers.IntegerField()


class BmcOut(serializers.Serializer[Any]):
    """A management controller."""

    type = serializers.ChoiceField(choices=[kind.value.lower() for kind in BmcType])
    mac_address = serializers.CharField()
    ip_address = serializers.CharField(allow_null=True)


class ComponentOut(serializers.Serializer[Any]):
    """A component."""

    type = serializers.ChoiceField(choices=TYPE_WORDS)
    info = DeviceOut()
    firmware_version = serializers.CharField()
    component_id = serializers.CharField(allow_null=True, help_text="The id that another system gave it.")
    position = PositionOut()
    bmcs = BmcOut(many=True)
    rack_id = serializers.UUIDField(allow_null=True)
    rack_name = serializers.CharField(allow_null=True)
    rack_external_id = serializers.CharField(allow_null=True)
    nvl_domain_id = serializers.UUIDField(allow_null=True)
    power_state = serializers.ChoiceField(choices=list(PowerState), help_text="Empty while nobody has looked.")
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()


class RackOut(serializers.Serializer[Any]):
    """A rack."""

    info = DeviceOut()
    location = LocationOut()
    external_id = serializers.CharField(allow_null=True)
    nvl_domain = serializers.CharField(allow_null=True, help_text="The name of the NVLink domain it is in.")
    nvl_domain_id = serializers.UUIDField(allow_null=True)
    status = serializers.ChoiceField(choices=Rack.Status.values)
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()
    components = ComponentOut(many=True, required=False, help_text="In lists only with with_components=true.")


class _WarningsOut(serializers.Serializer[Any]):
    warnings = serializers.ListField(child=serializers.CharField(), help_text="What of the request was not stored.")


class RackCreatedOut(RackOut, _WarningsOut):
    """A rack that was created."""


class ComponentCreatedOut(ComponentOut, _WarningsOut):
    """A component that was created."""


class DomainOut(serializers.Serializer[Any]):
    """An NVLink domain."""

    id = serializers.UUIDField()
    name = serializers.CharField()
    created_at = serializers.DateTimeField()


class RackNameOut(serializers.Serializer[Any]):
    """A rack by its id and name."""

    id = serializers.UUIDField()
    name = serializers.CharField()


class DomainDetailOut(DomainOut):
    """An NVLink domain with its racks."""

    racks = RackNameOut(many=True, help_text="By name.")


class RacksOut(PageOut):
    """A page of racks."""

    racks = RackOut(many=True)


class ComponentsOut(PageOut):
    """A page of components."""

    components = ComponentOut(many=True)


class DomainsOut(PageOut):
    """A page of NVLink domains."""

    nvl_domains = DomainOut(many=True)


class AttachedOut(serializers.Serializer[Any]):
    """What attaching did."""

    attached = serializers.ListField(child=serializers.CharField(), help_text="Names of the racks that were moved.")
    skipped = serializers.ListField(child=serializers.CharField(), help_text="Those that were in the domain already.")


class DetachedOut(serializers.Serializer[Any]):
    """What detaching did."""

    detached = serializers.ListField(child=serializers.CharField(), help_text="Names of the racks that were moved.")
    skipped = serializers.ListField(child=serializers.CharField(), help_text="Those that were in no domain.")


def rack_out(rack: Rack, *, with_components: bool) -> dict[str, Any]:
    """A rack with its domain loaded, and its components if they are shown, as RackOut describes it."""
    shown: dict[str, Any] = {
        "info": _info(rack),
        "location": {key: rack.location.get(key.replace("datacenter", "data_center"), "") for key in _PLACES},
        "external_id": rack.external_id,
        "nvl_domain": rack.nvl_domain.name if rack.nvl_domain is not None else None,
        "nvl_domain_id": rack.nvl_domain_id,
        "status": rack.status,
        "created_at": _text(rack.created_at),
        "updated_at": _text(rack.updated_at),
    }
    if with_components:
        shown["components"] = [component_out(component) for component in rack.components.all()]
    return shown


_PLACES = ("region", "datacenter", "room", "position")


def component_out(component: Component) -> dict[str, Any]:
    """A component with its rack and BMCs loaded, as ComponentOut describes it."""
    rack = component.rack
    return {
        "type": component.type.lower(),
        "info": _info(component),
        "firmware_version": component.firmware_version,
        "component_id": component.external_id,
        "position": {
            "slot_id": component.slot_id,
            "tray_index": component.tray_index,
            "host_id": component.host_id,
        },
        "bmcs": [
            {"type": bmc.type.lower(), "mac_address": bmc.mac_address, "ip_address": bmc.ip_address}
            for bmc in component.bmcs.all()
        ],
        "rack_id": component.rack_id,
        "rack_name": rack.name if rack is not None else None,
        "rack_external_id": rack.external_id if rack is not None else None,
        "nvl_domain_id": rack.nvl_domain_id if rack is not None else None,
        "power_state": component.power_state,
        "created_at": _text(component.created_at),
        "updated_at": _text(component.updated_at),
    }


def domain_out(domain: NVLDomain) -> dict[str, Any]:
    """A domain, as DomainOut describes it."""
    return {"id": domain.id, "name": domain.name, "created_at": _text(domain.created_at)}


def domain_detail_out(domain: NVLDomain, racks: Iterable[Rack]) -> dict[str, Any]:
    """A domain with its racks, as DomainDetailOut describes it."""
    return {**domain_out(domain), "racks": [{"id": rack.id, "name": rack.name} for rack in racks]}


def _info(row: Rack | Component) -> dict[str, Any]:
    names = ("id", "name", "manufacturer", "model", "serial_number", "description")
    return {name: getattr(row, name) for name in names}


def _text(instant: datetime) -> str | None:
    return _instant.to_representation(instant)
