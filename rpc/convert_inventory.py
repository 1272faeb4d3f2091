"""Racks, components and NVLink domains as messages of the wire (F-23…F-32, F-42, F-118).

Pure. Nothing here knows of leaks or of phases, so those fields stay unset.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from inventory.components import BmcType
from inventory.models import Bmc, Component, NVLDomain, Rack
from rpc.convert_out import component_type_out, id_out
from rpc.proto import flow_pb2 as pb
from tasks.selectors import ActiveCounts

BMC_TYPES: Final[Mapping[pb.BMCType, BmcType]] = {
    pb.BMC_TYPE_UNKNOWN: BmcType.UNKNOWN,
    pb.BMC_TYPE_HOST: BmcType.HOST,
    pb.BMC_TYPE_DPU: BmcType.DPU,
}
_BMC_TYPES: Final = {name: number for number, name in BMC_TYPES.items()}


def rack_out(rack: Rack, *, counts: ActiveCounts | None = None, with_components: bool = False) -> pb.Rack:
    """A rack; `counts` of its tasks left out stays unset, and so do components unless they are asked for."""
    stats = None
    if counts is not None:
        stats = pb.TaskStats(
            waiting_task_count=counts.waiting, pending_task_count=counts.pending, running_task_count=counts.running
        )
    return pb.Rack(
        info=_info(rack),
        location=_location(rack.location),
        components=[component_out(one, rack) for one in rack.components.all()] if with_components else [],
        nvl_domain_ids=[pb.UUID(id=str(rack.nvl_domain_id))] if rack.nvl_domain_id else [],
        task_stats=stats,
        external_id=rack.external_id or "",
    )


def component_out(component: Component, rack: Rack | None) -> pb.Component:
    """A component of `rack`, or of none; its position is -1 where nobody said (F-270)."""
    return pb.Component(
        type=component_type_out(component.type),
        info=_info(component),
        firmware_version=component.firmware_version,
        position=pb.RackPosition(slot_id=component.slot_id, tray_idx=component.tray_index, host_id=component.host_id),
        bmcs=[_bmc(bmc) for bmc in component.bmcs.all()],
        component_id=component.external_id or "",
        rack_id=id_out(rack.id) if rack is not None else None,
        power_state=component.power_state,
        nvl_domain_id=id_out(rack.nvl_domain_id) if rack is not None else None,
        rack_external_id=(rack.external_id or "") if rack is not None else "",
    )


def live_rack(component: Component) -> Rack | None:
    """The rack a component is in, unless that was removed."""
    rack = component.rack
    return rack if rack is not None and rack.deleted_at is None else None


def domain_out(domain: NVLDomain) -> pb.NVLDomain:
    """An NVLink domain."""
    return pb.NVLDomain(identifier=pb.Identifier(id=id_out(domain.id), name=domain.name))


def _info(thing: Rack | Component) -> pb.DeviceInfo:
    return pb.DeviceInfo(
        id=id_out(thing.id),
        name=thing.name,
        manufacturer=thing.manufacturer,
        model=thing.model or None,
        serial_number=thing.serial_number,
        description=thing.description or None,
    )


def _location(stored: Any) -> pb.Location:
    """What is stored as `data_center` is `datacenter` on the wire (F-269)."""
    found = stored if isinstance(stored, dict) else {}
    places = {"region": "region", "datacenter": "data_center", "room": "room", "position": "position"}
    return pb.Location(**{name: str(found.get(key, "")) for name, key in places.items()})


def _bmc(bmc: Bmc) -> pb.BMCInfo:
    kind = _BMC_TYPES.get(BmcType(bmc.type), pb.BMC_TYPE_UNKNOWN)
    return pb.BMCInfo(type=kind, mac_address=bmc.mac_address, ip_address=bmc.ip_address)
