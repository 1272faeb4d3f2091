"""What an import has to write: documents against the rows that are there now, batch by batch.

Reads only; `inventory.imports` writes. A clash is a fault with its place, so that nothing is left for the database's
constraints to find but a race.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from inventory import rows
from inventory.document import KEEP, BmcDocument, ComponentDocument, RackDocument
from inventory.identifiers import parse_ip
from inventory.models import Bmc, Rack
from inventory.reading import Report

RACKS_PER_BATCH = 250
TAKEN = "TAKEN"
IN_OTHER_RACK = "IN_OTHER_RACK"
PLACES = {"id": "info/id", "name": "info/name", "serial number": "info/serial_number"}


@dataclass(frozen=True, slots=True)
class Options:
    """How to import. `keep_firmware` leaves versions of known components alone, whatever the document says.

    `components` and `macs` are those of the whole document: what one batch gives up, another may take.
    """

    now: datetime
    prune: bool = False
    keep_firmware: bool = False
    components: frozenset[UUID] = frozenset()
    macs: frozenset[str] = frozenset()


@dataclass(slots=True)
class Batch:
    """The writes of one batch, and what it leaves as it is."""

    racks_new: list[Rack] = field(default_factory=list)
    racks_changed: list[Rack] = field(default_factory=list)
    racks_same: int = 0
    new: list[dict[str, Any]] = field(default_factory=list)
    changed: list[dict[str, Any]] = field(default_factory=list)
    changed_firmware: list[dict[str, Any]] = field(default_factory=list)
    same: int = 0
    omitted: list[dict[str, Any]] = field(default_factory=list)
    bmcs_gone: list[str] = field(default_factory=list)
    bmcs_new: list[tuple[ComponentDocument, BmcDocument]] = field(default_factory=list)
    bmcs_changed: list[Bmc] = field(default_factory=list)
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
    _report_clashes("rack", racks, rows.rack_clashes(racks), report)
    for rack in racks:
        row = known.get(rack.id)
        values = rack_values(rack, domains)
        if row is None:
            batch.racks_new.append(Rack(id=rack.id, created_at=options.now, updated_at=options.now, **values))
        elif all(getattr(row, name) == value for name, value in values.items()):
            batch.racks_same += 1
        else:
            batch.revived += row.deleted_at is not None
            for name, value in (values | {"updated_at": options.now}).items():
                setattr(row, name, value)
            batch.racks_changed.append(row)


def rack_values(rack: RackDocument, domains: dict[str, UUID]) -> dict[str, Any]:
    """The columns that a document decides."""
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
    return values


def _report_clashes(
    noun: str,
    documents: Sequence[RackDocument] | Sequence[ComponentDocument],
    clashes: Sequence[rows.Clash],
    report: Report,
) -> None:
    pointers = {document.id: document.pointer for document in documents} if clashes else {}
    external = "external_id" if noun == "rack" else "component_id"
    for clash in clashes:
        pointer = f"{pointers[clash.own]}/{PLACES.get(clash.what, external)}"
        holder = f"{'the removed ' if clash.removed else ''}{noun} '{clash.holder_name}' ({clash.holder_id})"
        report.add(pointer, f"this {clash.what} is taken by {holder}", code=TAKEN)


def _plan_components(racks: Sequence[RackDocument], batch: Batch, options: Options, report: Report) -> None:
    documents = [component for rack in racks for component in rack.components]
    ids = [component.id for component in documents]
    known = rows.components_now(ids, [rack.id for rack in racks])
    omitted = (row for row in known.values() if row["id"] not in options.components)
    batch.omitted = sorted(omitted, key=lambda row: (row["name"], row["id"]))
    _report_clashes("component", documents, rows.component_clashes(documents), report)
    touched = _plan_bmcs(documents, batch, options, report)
    for rack in racks:
        for component in rack.components:
            row = known.get(component.id)
            if row is not None and row["rack_id"] not in (rack.id, None) and row["deleted_at"] is None:
                report.add(component.pointer, _elsewhere(row, rack), code=IN_OTHER_RACK)
                continue
            if row is None:
                batch.new.append(component_row(component, rack.id))
                continue
            values = _component_values(component, rack.id)
            if options.keep_firmware:
                values.pop("firmware_version", None)
            if component.id not in touched and all(row[name] == value for name, value in values.items()):
                batch.same += 1
            else:
                _change(row, values, batch, options.now)


def _change(row: dict[str, Any], values: dict[str, Any], batch: Batch, now: datetime) -> None:
    batch.revived += row["deleted_at"] is not None
    # Apart, so that a version that a running task writes meanwhile is not put back.
    batch_part = batch.changed_firmware if "firmware_version" in values else batch.changed
    batch_part.append(row | values | {"updated_at": now})


def _elsewhere(row: dict[str, Any], here: RackDocument) -> str:
    there = row["rack_name"]
    return (
        f"component '{row['name']}' ({row['id']}) is in rack '{there}', not in '{here.name}': import '{there}' "
        "without it and with --prune first"
    )


def component_row(component: ComponentDocument, rack_id: UUID | None) -> dict[str, Any]:
    """The columns of a component that is not there yet."""
    return {"id": component.id, "external_id": None, "firmware_version": ""} | _component_values(component, rack_id)


def _component_values(component: ComponentDocument, rack_id: UUID | None) -> dict[str, Any]:
    """The columns that a document decides. The power state is never one of them."""
    values: dict[str, Any] = {
        "rack_id": rack_id,
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
    if component.firmware_version:
        values["firmware_version"] = component.firmware_version
    return values


def _plan_bmcs(components: Sequence[ComponentDocument], batch: Batch, options: Options, report: Report) -> set[UUID]:
    """Work out the BMC writes; the components whose BMCs change. One that a component elsewhere keeps is a clash."""
    staying = options.components | (set() if not options.prune else {row["id"] for row in batch.omitted})
    wanted = {bmc.mac_address: (component, bmc) for component in components for bmc in component.bmcs}
    known = rows.bmcs_now([component.id for component in components], list(wanted))
    touched = {row.component_id for mac, row in known.items() if mac not in wanted}
    batch.bmcs_gone = [mac for mac in known if mac not in options.macs]
    for mac, (component, bmc) in wanted.items():
        row = known.get(mac)
        if row is None:
            batch.bmcs_new.append((component, bmc))
            touched.add(component.id)
        elif row.component_id not in staying and not row.component_removed:
            holder = f"component '{row.component_name}' ({row.component_id})"
            report.add(bmc.pointer, f"this MAC address is taken by {holder}", code=TAKEN)
        elif (row.component_id, row.type, _ip(row)) != (component.id, bmc.type, bmc.ip_address):
            batch.bmcs_changed.append(
                Bmc(mac_address=mac, component_id=component.id, type=bmc.type, ip_address=bmc.ip_address)
            )
            touched |= {component.id, row.component_id}
    return touched


def _ip(row: rows.BmcRow) -> str | None:
    return None if row.ip_address is None else parse_ip(row.ip_address)
