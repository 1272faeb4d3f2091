"""Creating racks, components and NVLink domains one at a time: what is there is refused, never changed.

Each verb is one transaction with its audit row. A removed thing still holds its id, name, serial number and external
id: an import of it brings it back, creating it anew would not be the same thing.
"""

from __future__ import annotations

import dataclasses
import uuid
from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from django.conf import settings
from django.db import IntegrityError
from django.db.models import Q

from audit.services import verb
from flowsched.actor import Actor
from flowsched.errors import AlreadyExists, NotFound, PreconditionFailed
from flowsched.strictjson import path_of
from inventory import rows
from inventory.document import ComponentDocument, RackDocument
from inventory.identifiers import NO_UUID, check_name, check_uuid, shown
from inventory.import_plan import PLACES, TAKEN, Batch, Options, component_row, rack_values
from inventory.models import Component, NVLDomain, Rack
from inventory.reading import Report
from inventory.searching import component_by_id, rack_by_id
from inventory.writing import taken_meanwhile, write

ADVICE = "look at what is there, then try again"


def rack_create(*, rack: RackDocument, by: Actor, now: datetime) -> Rack:
    """Insert one rack with its components and their BMCs, and give it as `rack_by_id` does (F-173).

    AlreadyExists where an id, name, serial number, external id or MAC address is taken. Its NVLink domain must exist.
    """
    with verb("rack.create", by=by, kind="rack", now=now, object_id=rack.id, object_name=rack.name) as done:
        report = Report("rack")
        _report_rack(rack, report)
        _report_components(rack.components, report)
        _refuse(report)
        domains = _domain(rack)
        batch = Batch(
            racks_new=[Rack(id=rack.id, created_at=now, updated_at=now, **rack_values(rack, domains))],
            new=[component_row(component, rack.id) for component in rack.components],
            bmcs_new=[(component, bmc) for component in rack.components for bmc in component.bmcs],
        )
        write(batch, Options(now=now), advice=ADVICE)
        done.after = {
            "manufacturer": rack.manufacturer,
            "serial_number": rack.serial_number,
            "nvl_domain": next(iter(domains), None),
            "components": len(rack.components),
        }
        return rack_by_id(rack.id, with_components=True)


def component_create(*, component: ComponentDocument, rack_id: UUID | None, by: Actor, now: datetime) -> Component:
    """Insert one component, into a rack or into none, and give it as `component_by_id` does (F-177).

    It gets an id if it has none. NotFound for the rack, PreconditionFailed where that is full, AlreadyExists where an
    id, serial number, external id or MAC address is taken.
    """
    if component.id == NO_UUID:
        component = dataclasses.replace(component, id=uuid.uuid4())
    name = component.name
    with verb("component.create", by=by, kind="component", now=now, object_id=component.id, object_name=name) as done:
        report = Report("component")
        _report_components([component], report)
        _refuse(report)
        rack = None if rack_id is None else _rack_with_room(rack_id, component)
        batch = Batch(new=[component_row(component, rack_id)], bmcs_new=[(component, bmc) for bmc in component.bmcs])
        write(batch, Options(now=now), advice=ADVICE)
        done.after = {
            "type": component.type,
            "manufacturer": component.manufacturer,
            "serial_number": component.serial_number,
            "rack": rack.name if rack is not None else None,
        }
        return component_by_id(component.id)


def domain_create(*, name: str, domain_id: UUID | None = None, by: Actor, now: datetime) -> NVLDomain:
    """Make an NVLink domain without racks; it gets an id if none is given (F-180). AlreadyExists for a taken one."""
    with verb("nvl_domain.create", by=by, kind="nvl_domain", now=now, object_name=shown(name, most=255)) as done:
        check_name(name, what="the NVLink domain's name")
        domain = NVLDomain(name=name, id=check_uuid(domain_id) if domain_id else uuid.uuid4(), created_at=now)
        done.object_id = str(domain.id)
        held = NVLDomain.objects.filter(Q(id=domain.id) | Q(name=name)).first()
        if held is not None:
            what = f"id '{domain.id}'" if held.id == domain.id else f"name '{name}'"
            holder = f"NVLink domain '{held.name}' ({held.id})"
            raise AlreadyExists(_taken(what, holder, removed=held.deleted_at is not None), reason=TAKEN)
        try:
            domain.save(force_insert=True)
        except IntegrityError as error:
            raise taken_meanwhile(error, advice=ADVICE) from error
        done.after = {"name": name}
    return domain


def _taken(what: str, holder: str, *, removed: bool) -> str:
    if removed:
        return f"the {what} is taken by the removed {holder}: an import that names it brings it back"
    return f"the {what} is taken by {holder}"


def _refuse(report: Report) -> None:
    if report.faults:
        raise AlreadyExists(report.sentences(), reason=TAKEN, field=path_of(next(iter(report.faults))))


def _report_rack(rack: RackDocument, report: Report) -> None:
    held = Rack.objects.filter(id=rack.id).first()
    clashes = rows.rack_clashes([rack])
    if held is not None:
        clashes.insert(0, rows.Clash(rack.id, "id", held.id, held.name, held.deleted_at is not None))
    _report("rack", [rack], clashes, report)


def _report_components(components: Sequence[ComponentDocument], report: Report) -> None:
    held = rows.components_now([component.id for component in components], [])
    clashes = [
        rows.Clash(own, "id", own, row["name"], row["deleted_at"] is not None) for own, row in held.items()
    ] + rows.component_clashes(components)
    _report("component", components, clashes, report)
    wanted = {bmc.mac_address: bmc for component in components for bmc in component.bmcs}
    for mac, row in rows.bmcs_now([], list(wanted)).items():
        holder = f"component '{row.component_name}' ({row.component_id})"
        report.add(wanted[mac].pointer, _taken(f"MAC address {mac}", holder, removed=row.component_removed))


def _report(
    noun: str,
    documents: Sequence[RackDocument] | Sequence[ComponentDocument],
    clashes: Sequence[rows.Clash],
    report: Report,
) -> None:
    by_id = {document.id: document for document in documents}
    external = "external_id" if noun == "rack" else "component_id"
    for clash in clashes:
        own = by_id[clash.own]
        value = {"id": str(own.id), "name": own.name, "serial number": own.serial_number}.get(clash.what)
        what = f"{clash.what} '{own.external_id if value is None else value}'"
        holder = f"{noun} '{clash.holder_name}' ({clash.holder_id})"
        report.add(f"{own.pointer}/{PLACES.get(clash.what, external)}", _taken(what, holder, removed=clash.removed))


def _domain(rack: RackDocument) -> dict[str, UUID]:
    """The id of the domain that `rack` names, by its name. A request makes no domain by the way, as an import does."""
    if not isinstance(rack.nvl_domain, str):
        return {}
    found = NVLDomain.objects.filter(name=rack.nvl_domain, deleted_at__isnull=True).first()
    if found is None:
        raise NotFound(
            f"there is no NVLink domain '{rack.nvl_domain}': create it first",
            field=path_of(f"{rack.pointer}/nvl_domain"),
        )
    return {found.name: found.id}


def _rack_with_room(rack_id: UUID, component: ComponentDocument) -> Rack:
    """The rack, locked, so that two components do not take its last place."""
    live = Rack.objects.select_for_update(no_key=True).filter(id=rack_id, deleted_at__isnull=True)
    rack = live.first()
    if rack is None:
        raise NotFound(f"there is no rack {rack_id}", field=path_of(f"{component.pointer}/rack_id"))
    limit = settings.FLOWSCHED_MAX_COMPONENTS_PER_RACK
    count = Component.objects.filter(rack_id=rack_id, deleted_at__isnull=True).count()
    if count >= limit:
        raise PreconditionFailed(
            f"rack '{rack.name}' has {count} components already, and the limit of a rack is {limit} "
            "(FLOWSCHED_MAX_COMPONENTS_PER_RACK): remove some by an import with --prune first",
            reason="TOO_MANY_COMPONENTS",
        )
    return rack
