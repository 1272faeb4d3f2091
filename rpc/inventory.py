"""The methods of racks, components and NVLink domains (F-173…F-182)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from google.protobuf.empty_pb2 import Empty

from flowsched.errors import InvalidInput
from inventory.models import Component, Rack
from inventory.searching import (
    component_by_id,
    component_by_serial,
    components_search,
    domain_by_id,
    domain_racks,
    domains_search,
    rack_by_id,
    rack_by_serial,
    racks_search,
)
from inventory.selectors import rack_names
from inventory.services import component_create, domain_create, rack_create, racks_attach, racks_detach
from rpc.call import Call, Method
from rpc.convert_in import fields_named, required, required_id
from rpc.convert_inventory import component_out, domain_out, live_rack, rack_out
from rpc.inventory_in import (
    Named,
    component_in,
    domain_id_in,
    filters_in,
    list_page_in,
    named_in,
    order_in,
    query_in,
    rack_in,
    racks_named_in,
    serial_in,
)
from rpc.proto import flow_pb2 as pb
from rpc.targets_in import targets_in
from tasks.selectors import active_counts

_SERIAL: Final = {name: f"serial_info.{name}" for name in ("serial_number", "manufacturer")}


def create_expected_rack(call: Call, request: pb.CreateExpectedRackRequest) -> pb.CreateExpectedRackResponse:
    """Create a rack with its components, all or nothing (F-173)."""
    domain_id = domain_id_in(request)
    asked = rack_in(request, domain=None if domain_id is None else domain_by_id(domain_id).name)
    rack = rack_create(rack=asked.rack, by=call.by, now=call.now)
    return pb.CreateExpectedRackResponse(id=pb.UUID(id=str(rack.id)))


def get_rack_info_by_id(call: Call, request: pb.GetRackInfoByIDRequest) -> pb.GetRackInfoResponse:
    """One rack (F-174)."""
    rack = rack_by_id(required_id(request, "id"), with_components=request.with_components)
    return pb.GetRackInfoResponse(rack=_racks([rack], with_components=request.with_components)[0])


def get_rack_info_by_serial(call: Call, request: pb.GetRackInfoBySerialRequest) -> pb.GetRackInfoResponse:
    """One rack by its serial number (F-174)."""
    with fields_named(_SERIAL):
        rack = rack_by_serial(**serial_in(request), with_components=request.with_components)
    return pb.GetRackInfoResponse(rack=_racks([rack], with_components=request.with_components)[0])


def get_list_of_racks(call: Call, request: pb.GetListOfRacksRequest) -> pb.GetListOfRacksResponse:
    """A page of racks, by name unless asked otherwise (F-175, F-176)."""
    rows, total = racks_search(
        filters=filters_in(request.filters, "rack_field"),
        order_by=order_in(request, "rack_field"),
        with_components=request.with_components,
        **list_page_in(request),
    )
    return pb.GetListOfRacksResponse(racks=_racks(rows, with_components=request.with_components), total=total)


def add_component(call: Call, request: pb.AddComponentRequest) -> pb.AddComponentResponse:
    """Create a component, in a rack or in none (F-177)."""
    asked = component_in(request)
    row = component_create(component=asked.component, rack_id=asked.rack_id, by=call.by, now=call.now)
    return pb.AddComponentResponse(component=component_out(row, live_rack(row)))


def get_component_info_by_id(call: Call, request: pb.GetComponentInfoByIDRequest) -> pb.GetComponentInfoResponse:
    """One component, with its rack if asked (F-178)."""
    return _component(component_by_id(required_id(request, "id")), with_rack=request.with_rack)


def get_component_info_by_serial(
    call: Call, request: pb.GetComponentInfoBySerialRequest
) -> pb.GetComponentInfoResponse:
    """One component by its serial number, with its rack if asked (F-178)."""
    with fields_named(_SERIAL):
        row = component_by_serial(**serial_in(request))
    return _component(row, with_rack=request.with_rack)


def get_components(call: Call, request: pb.GetComponentsRequest) -> pb.GetComponentsResponse:
    """A page of components: all, or those that targets come to; by name unless asked otherwise (F-179)."""
    rows, total = components_search(
        targets=targets_in(request, "target_spec") if request.HasField("target_spec") else None,
        filters=filters_in(request.filters, "component_field"),
        order_by=order_in(request, "component_field"),
        **list_page_in(request),
    )
    return pb.GetComponentsResponse(components=[component_out(row, live_rack(row)) for row in rows], total=total)


def create_nvl_domain(call: Call, request: pb.CreateNVLDomainRequest) -> pb.CreateNVLDomainResponse:
    """Create an NVLink domain; the request gives its id and its name (F-180)."""
    path = "nvl_domain.identifier"
    domain: pb.NVLDomain = required(request, "nvl_domain")
    identifier: pb.Identifier = required(domain, "identifier", path)
    domain_id = required_id(identifier, "id", f"{path}.id")
    if not identifier.name:
        raise InvalidInput(f"{path}.name is required", field=f"{path}.name")
    with fields_named({"name": f"{path}.name", "id": f"{path}.id"}):
        made = domain_create(name=identifier.name, domain_id=domain_id, by=call.by, now=call.now)
    return pb.CreateNVLDomainResponse(id=pb.UUID(id=str(made.id)))


def attach_racks(call: Call, request: pb.AttachRacksToNVLDomainRequest) -> Empty:
    """Put all these racks into a domain, or none of them (F-181, F-300)."""
    domain = _domain(request)
    racks = _agreed(racks_named_in(request.rack_identifiers))
    racks_attach(domain=str(domain), racks=racks, by=call.by, now=call.now)
    return Empty()


def detach_racks(call: Call, request: pb.DetachRacksFromNVLDomainRequest) -> Empty:
    """Take all these racks out of their domains, or none of them (F-181, F-300)."""
    racks_detach(racks=_agreed(racks_named_in(request.rack_identifiers)), by=call.by, now=call.now)
    return Empty()


def get_list_of_nvl_domains(call: Call, request: pb.GetListOfNVLDomainsRequest) -> pb.GetListOfNVLDomainsResponse:
    """A page of NVLink domains, by name (F-182)."""
    info: pb.StringQueryInfo = required(request, "info")
    with fields_named({"filters": "info.patterns"}):
        rows, total = domains_search(query=query_in(info), **list_page_in(request))
    return pb.GetListOfNVLDomainsResponse(nvl_domains=[domain_out(row) for row in rows], total=total)


def get_racks_for_nvl_domain(call: Call, request: pb.GetRacksForNVLDomainRequest) -> pb.GetRacksForNVLDomainResponse:
    """The racks of a domain with their components, by name: none for an id nobody has (F-182)."""
    domain = _domain(request)
    by_id = {"domain_id": domain.id} if domain.id is not None else {"name": domain.name}
    return pb.GetRacksForNVLDomainResponse(racks=_racks(domain_racks(**by_id), with_components=True))


def _domain(request: pb.AttachRacksToNVLDomainRequest | pb.GetRacksForNVLDomainRequest) -> Named:
    path = "nvl_domain_identifier"
    domain = named_in(required(request, path), path)
    if domain.id is not None and domain.name is not None:
        domain.check(domain_by_id(domain.id).name)
    return domain


def _agreed(racks: list[Named]) -> list[str]:
    """The racks as services take them, after a look whether those with an id and a name are one."""
    both = [rack.id for rack in racks if rack.id is not None and rack.name is not None]
    names = rack_names(both) if both else {}
    for rack in racks:
        if rack.id is not None:
            rack.check(names.get(rack.id))
    return [str(rack) for rack in racks]


def _racks(rows: Iterable[Rack], *, with_components: bool) -> list[pb.Rack]:
    """Racks with the counts of their tasks, one query for all."""
    racks = list(rows)
    counts = active_counts([rack.id for rack in racks])
    return [rack_out(rack, counts=counts[rack.id], with_components=with_components) for rack in racks]


def _component(row: Component, *, with_rack: bool) -> pb.GetComponentInfoResponse:
    rack = live_rack(row)
    shown = _racks([rack], with_components=False)[0] if with_rack and rack is not None else None
    return pb.GetComponentInfoResponse(component=component_out(row, rack), rack=shown)


METHODS: Final[Mapping[str, Method]] = {
    "CreateExpectedRack": Method("rack.create", create_expected_rack),
    "GetRackInfoByID": Method("rack.read", get_rack_info_by_id),
    "GetRackInfoBySerial": Method("rack.read", get_rack_info_by_serial),
    "GetListOfRacks": Method("rack.read", get_list_of_racks),
    "AddComponent": Method("component.create", add_component),
    "GetComponentInfoByID": Method("component.read", get_component_info_by_id),
    "GetComponentInfoBySerial": Method("component.read", get_component_info_by_serial),
    "GetComponents": Method("component.read", get_components),
    "CreateNVLDomain": Method("nvl_domain.create", create_nvl_domain),
    "AttachRacksToNVLDomain": Method("nvl_domain.attach", attach_racks),
    "DetachRacksFromNVLDomain": Method("nvl_domain.detach", detach_racks),
    "GetListOfNVLDomains": Method("nvl_domain.read", get_list_of_nvl_domains),
    "GetRacksForNVLDomain": Method("rack.read", get_racks_for_nvl_domain),
}
