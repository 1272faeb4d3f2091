"""What an import has to write: documents against the rows that are there now, batch by batch.

Reads only. An update here is a changed row object that `inventory.imports` writes; a clash is a fault with its place,
so that nothing is left for the database's constraints to find but a race.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Q

from inventory.document import KEEP, ComponentDocument, RackDocument
from inventory.models import Bmc, Component, Rack
from inventory.reading import Report
from inventory.strictjson import join

RACKS_PER_BATCH = 250


@dataclass(frozen=True, slots=True)
class Options:
    """How to import. `keep_firmware` leaves versions of known components alone, whatever the document says."""

    now: datetime
    prune: bool = False
    keep_firmware: bool = False


@dataclass(slots=True)
class Batch:
    """The writes of one batch, and what it leaves as it is."""

    racks_new: list[Rack] = field(default_factory=list)
    racks_changed: list[Rack] = field(default_factory=list)
    racks_same: int = 0
    new: list[Component] = field(default_factory=list)
    changed: list[Component] = field(default_factory=list)
    same: int = 0
    omitted: list[Component] = field(default_factory=list)
    bmcs_gone: list[str] = field(default_factory=list)
    bmcs_set: list[Bmc] = field(default_factory=list)
    revived: int = 0


def plan_batch(racks: Sequence[RackDocument], *, domains: dict[str, UUID], options: Options, report: Report) -> Batch:
    """Lock the known racks of a batch, in the order of ids, and work out its writes. Clashes go to `report`."""
    batch = Batch()
    _plan_racks(racks, batch, domains, options, report)
    _plan_components(racks, batch, options, report)
    return batch


def _plan_racks(
    racks: Sequence[RackDocument], batch: Batch, domains: dict[str, UUID], options: Options, report: Report
) -> None:
    known = Rack.objects.select_for_update(no_key=True).order_by("id").in_bulk([rack.id for rack in racks])
    _rack_clashes(racks, report)
    for rack in racks:
        row = known.get(rack.id)
        values: dict[str, Any] = {
            "name": rack.name,
            "manufacturer": rack.manufacturer,
            "model": rack.model,
            "serial_number": rack.serial_number,
            "description": rack.description,
            "location": dict(rack.location),
            "deleted_at": None,
        }
        if rack.external_id is not KEEP:
            values["external_id"] = rack.external_id
        if rack.nvl_domain is not KEEP:
            values["nvl_domain_id"] = None if rack.nvl_domain is None else domains[rack.nvl_domain]
        if row is None:
            batch.racks_new.append(Rack(id=rack.id, created_at=options.now, updated_at=options.now, **values))
        elif _change(row, values, batch, options.now):
            batch.racks_changed.append(row)
        else:
            batch.racks_same += 1


def _change(row: Rack | Component, values: dict[str, Any], batch: Batch, now: datetime) -> bool:
    """Bring `row` to `values`; whether that changed it."""
    if all(getattr(row, name) == value for name, value in values.items()):
        return False
    batch.revived += row.deleted_at is not None
    for name, value in values.items():
        setattr(row, name, value)
    row.updated_at = now
    return True


def _rack_clashes(racks: Sequence[RackDocument], report: Report) -> None:
    names, serials = {rack.name for rack in racks}, {rack.serial_number for rack in racks}
    makers, external = {rack.manufacturer for rack in racks}, _external_ids(racks)
    match = Q(name__in=names) | Q(manufacturer__in=makers, serial_number__in=serials) | Q(external_id__in=external)
    holders: dict[tuple[str, object], Rack] = {}
    for row in Rack.objects.filter(match).only(
        "id", "name", "manufacturer", "serial_number", "external_id", "deleted_at"
    ):
        holders[("name", row.name)] = row
        holders[("serial number", (row.manufacturer, row.serial_number))] = row
        holders[("external id", row.external_id)] = row
    for rack in racks:
        info = join(rack.pointer, "info")
        claims: list[tuple[str, object, str]] = [
            ("name", rack.name, join(info, "name")),
            ("serial number", (rack.manufacturer, rack.serial_number), join(info, "serial_number")),
        ]
        if isinstance(rack.external_id, str):
            claims.append(("external id", rack.external_id, join(rack.pointer, "external_id")))
        _report_taken("rack", rack.id, claims, holders, report)


def _report_taken(
    noun: str,
    own: UUID,
    claims: Iterable[tuple[str, object, str]],
    holders: dict[tuple[str, object], Any],
    report: Report,
) -> None:
    for what, value, pointer in claims:
        holder = holders.get((what, value))
        if holder is not None and holder.id != own:
            gone = "the removed " if holder.deleted_at is not None else ""
            report.add(pointer, f"this {what} is taken by {gone}{noun} '{holder.name}' ({holder.id})")


def _external_ids(documents: Iterable[RackDocument | ComponentDocument]) -> set[str]:
    return {document.external_id for document in documents if isinstance(document.external_id, str)}


def _plan_components(racks: Sequence[RackDocument], batch: Batch, options: Options, report: Report) -> None:
    documents = [component for rack in racks for component in rack.components]
    ids = {component.id for component in documents}
    of_racks = Q(rack_id__in=[rack.id for rack in racks], deleted_at__isnull=True)
    rows = Component.objects.filter(Q(id__in=ids) | of_racks).select_related("rack")
    known = {row.id: row for row in rows}
    batch.omitted = sorted((row for row in known.values() if row.id not in ids), key=lambda row: (row.name, row.id))
    _component_clashes(documents, report)
    moved = _plan_bmcs(documents, batch, options, report)
    for rack in racks:
        for component in rack.components:
            row = known.get(component.id)
            values = _values(component, rack, row, options)
            if row is None:
                stamps = {"created_at": options.now, "updated_at": options.now}
                batch.new.append(Component(id=component.id, **stamps, **values))
            elif row.deleted_at is None and row.rack is not None and row.rack_id != rack.id:
                report.add(component.pointer, _elsewhere(row, row.rack, rack))
            elif _change(row, values, batch, options.now):
                batch.changed.append(row)
            elif component.id in moved:
                row.updated_at = options.now
                batch.changed.append(row)
            else:
                batch.same += 1


def _elsewhere(row: Component, there: Rack, here: RackDocument) -> str:
    return (
        f"component '{row.name}' ({row.id}) is in rack '{there.name}', not in '{here.name}': import '{there.name}' "
        "without it and with --prune first"
    )


def _values(component: ComponentDocument, rack: RackDocument, row: Component | None, options: Options) -> dict[str, Any]:
    """The columns that a document decides. The power state is never one of them."""
    values: dict[str, Any] = {
        "rack_id": rack.id,
        "type": component.type,
        "name": component.name,
        "manufacturer": component.manufacturer,
        "model": component.model,
        "serial_number": component.serial_number,
        "description": component.description,
        "slot_id": component.slot_id,
        "tray_index": component.tray_index,
        "host_id": component.host_id,
        "deleted_at": None,
    }
    if component.external_id is not KEEP:
        values["external_id"] = component.external_id
    if component.firmware_version and (row is None or not options.keep_firmware):
        values["firmware_version"] = component.firmware_version
    return values


def _component_clashes(components: Sequence[ComponentDocument], report: Report) -> None:
    serials = {component.serial_number for component in components}
    makers = {component.manufacturer for component in components}
    kinds, external = {component.type for component in components}, _external_ids(components)
    match = Q(manufacturer__in=makers, serial_number__in=serials) | Q(type__in=kinds, external_id__in=external)
    holders: dict[tuple[str, object], Component] = {}
    columns = ("id", "name", "type", "manufacturer", "serial_number", "external_id", "deleted_at")
    for row in Component.objects.filter(match).only(*columns):
        holders[("serial number", (row.manufacturer, row.serial_number))] = row
        holders[("external id", (row.type, row.external_id))] = row
    for component in components:
        serial = join(join(component.pointer, "info"), "serial_number")
        claims: list[tuple[str, object, str]] = [
            ("serial number", (component.manufacturer, component.serial_number), serial)
        ]
        if isinstance(component.external_id, str):
            pointer = join(component.pointer, "component_id")
            claims.append(("external id", (component.type, component.external_id), pointer))
        _report_taken("component", component.id, claims, holders, report)


def _plan_bmcs(components: Sequence[ComponentDocument], batch: Batch, options: Options, report: Report) -> set[UUID]:
    """Work out the BMC writes; the components whose BMCs change. A BMC of a component that stays elsewhere is a clash."""
    ids = {component.id for component in components}
    leaving = {row.id for row in batch.omitted} if options.prune else set()
    wanted = {bmc.mac_address: (component, bmc) for component in components for bmc in component.bmcs}
    rows = Bmc.objects.filter(Q(component_id__in=ids) | Q(mac_address__in=list(wanted)))
    known = {row.mac_address: row for row in rows.select_related("component")}
    batch.bmcs_gone = [mac for mac, row in known.items() if mac not in wanted]
    touched = {known[mac].component_id for mac in batch.bmcs_gone}
    for mac, (component, bmc) in wanted.items():
        row = known.get(mac)
        if row is not None:
            holder = row.component
            if (row.component_id, row.type, row.ip_address) == (component.id, bmc.type, bmc.ip_address):
                continue
            if holder.id not in ids | leaving and holder.deleted_at is None:
                report.add(bmc.pointer, f"this MAC address is taken by component '{holder.name}' ({holder.id})")
                continue
            touched.add(holder.id)
        batch.bmcs_set.append(
            Bmc(mac_address=mac, component_id=component.id, type=bmc.type, ip_address=bmc.ip_address)
        )
        touched.add(component.id)
    return touched
