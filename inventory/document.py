"""A rack file: what is in it, as frozen values, or every fault with its place (F-269…F-271, D-30).

Pure. Nothing passes here that the database would refuse half way through an import. BMC logins are counted and
dropped: no value below has a field for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any
from uuid import UUID

from flowsched import strictjson
from flowsched.errors import InvalidInput
from inventory.components import parse_bmc_type, parse_component_type
from inventory.identifiers import NO_UUID, parse_ip, parse_mac, parse_uuid
from inventory.reading import Node, Report, Uniques

MAX_FILE_BYTES = 64 * 1024 * 1024
MAX_BMCS = 32
MAX_DESCRIPTION = 10_000


class Keep(Enum):
    """The file says nothing about it: what is stored stays."""

    KEEP = "keep"


KEEP = Keep.KEEP


@dataclass(frozen=True, slots=True)
class BmcDocument:
    """A management controller: where it is."""

    mac_address: str
    type: str
    ip_address: str | None
    pointer: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class ComponentDocument:
    """One component of a rack; `pointer` is its place in the file."""

    id: UUID
    type: str
    name: str
    serial_number: str
    manufacturer: str = ""
    model: str = ""
    description: str = ""
    firmware_version: str = ""
    external_id: str | Keep | None = KEEP
    slot_id: int = -1
    tray_index: int = -1
    host_id: int = -1
    bmcs: tuple[BmcDocument, ...] = ()
    pointer: str = ""


@dataclass(frozen=True, slots=True)
class RackDocument:
    """One rack with its components; `nvl_domain` is the name of one."""

    id: UUID
    name: str
    serial_number: str
    manufacturer: str = ""
    model: str = ""
    description: str = ""
    external_id: str | Keep | None = KEEP
    location: tuple[tuple[str, str], ...] = ()
    nvl_domain: str | Keep | None = KEEP
    components: tuple[ComponentDocument, ...] = ()
    pointer: str = ""


@dataclass(frozen=True, slots=True)
class Document:
    """The racks of a file and what was left out of it; `source` is how messages call the file."""

    racks: tuple[RackDocument, ...]
    source: str
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RackRequest:
    """One rack to be created, and what was left out of the request."""

    rack: RackDocument
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ComponentRequest:
    """One component to be created, the rack to put it into, if any, and what was left out of the request.

    Its id is NO_UUID where the request gives none.
    """

    component: ComponentDocument
    rack_id: UUID | None
    warnings: tuple[str, ...] = ()


def parse(data: bytes, *, source: str, max_components: int) -> Document:
    """The document in `data`: one rack or a list of racks. InvalidInput names up to 20 faults with their pointers."""
    if len(data) > MAX_FILE_BYTES:
        raise InvalidInput(f"{source}: larger than the limit of {MAX_FILE_BYTES // 2**20} MiB: split it", field="file")
    report = Report(source)
    value = strictjson.read(data, source=source, complain=report.add)
    if not isinstance(value, dict | list):
        raise InvalidInput(f"{source}: holds {strictjson.kind_of(value)}: give a rack or a list of racks", field="file")
    entries = list(enumerate(value)) if isinstance(value, list) else [("", value)]
    uniques = Uniques(report)
    racks = []
    for index, entry in entries:
        pointer = strictjson.join("", index) if isinstance(value, list) else ""
        if (node := Node.of(entry, pointer, report)) is not None:
            racks.append(_rack(node, uniques, max_components))
    report.raise_any()
    return Document(tuple(racks), source, tuple(report.warnings()))


def rack_request(value: Any, *, max_components: int, at: str = "") -> RackRequest:
    """The rack that a request describes in the words of a rack file (F-173). `at` is its JSON pointer in the request.

    Stricter than a file: a key that nothing reads is a fault. InvalidInput names up to 20 of them by their paths
    (`components[3].info.id`).
    """
    report = Report("rack", strict=True)
    node = Node.of(value, at, report)
    rack = _rack(node, Uniques(report), max_components) if node is not None else None
    report.raise_request()
    assert rack is not None
    return RackRequest(rack, tuple(report.warnings()))


def component_request(value: Any, *, at: str = "") -> ComponentRequest:
    """The component that a request describes as a rack file does, beside it `rack_id` (F-177); see `rack_request`."""
    report = Report("component", strict=True)
    node = Node.of(value, at, report)
    if node is not None:
        rack_id = node.parsed("rack_id", parse_uuid)
        inner = Node({key: part for key, part in node.value.items() if key != "rack_id"}, at, report)
        component = _component(inner, at, Uniques(report), id_required=False)
    report.raise_request()
    return ComponentRequest(component, rack_id, tuple(report.warnings()))


def _rack(node: Node, uniques: Uniques, max_components: int) -> RackDocument:
    node.only({"info", "location", "components", "external_id", "nvl_domain"})
    info = node.child("info", required=True)
    facts = _info(info)
    uniques.once("rack id", facts["id"], info.at("id"))
    uniques.once("rack name", facts["name"], info.at("name"))
    uniques.once("rack serial number", (facts["manufacturer"], facts["serial_number"]), info.at("serial_number"))
    external_id = _optional(node, "external_id")
    uniques.once("rack external id", external_id, node.at("external_id"))
    return RackDocument(
        **facts,
        external_id=external_id,
        location=_location(node.child("location")),
        nvl_domain=_optional(node, "nvl_domain"),
        components=_components(node, uniques, max_components),
        pointer=node.pointer,
    )


def _info(info: Node, *, id_required: bool = True) -> dict[str, Any]:
    info.only({"id", "name", "manufacturer", "model", "serial_number", "description"})
    return {
        "id": info.parsed("id", parse_uuid, required=id_required) or NO_UUID,
        "name": info.name("name"),
        "serial_number": info.name("serial_number"),
        "manufacturer": info.text("manufacturer"),
        "model": info.text("model"),
        "description": info.text("description", most=MAX_DESCRIPTION, lines=True),
    }


def _optional(node: Node, key: str) -> str | Keep | None:
    """A name that may be absent (what is stored stays), or empty or null (there is none)."""
    if not node.has(key):
        return KEEP
    return None if node.value[key] in ("", None) else node.name(key)


def _location(node: Node) -> tuple[tuple[str, str], ...]:
    node.only({"region", "datacenter", "data_center", "room", "position"})
    key = node.either("data_center", "datacenter")
    found = {"region": node.text("region"), "data_center": node.text(key)}
    found |= {"room": node.text("room"), "position": node.text("position")}
    return tuple((name, text) for name, text in found.items() if text)


def _components(rack: Node, uniques: Uniques, most: int) -> tuple[ComponentDocument, ...]:
    entries = rack.items("components")
    if len(entries) > most:
        rack.complain(
            "components",
            f"{len(entries)} components are more than the limit of {most} a rack (FLOWSCHED_MAX_COMPONENTS_PER_RACK)",
        )
        return ()
    nodes = [node for pointer, entry in entries if (node := Node.of(entry, pointer, rack.report)) is not None]
    return tuple(_component(node, rack.pointer, uniques) for node in nodes)


def _component(node: Node, rack: str, uniques: Uniques, *, id_required: bool = True) -> ComponentDocument:
    node.only({"type", "info", "firmware_version", "component_id", "position", "bmcs"})
    info = node.child("info", required=True)
    facts = _info(info, id_required=id_required)
    kind = node.parsed("type", lambda text: parse_component_type(text).value, required=True) or ""
    external_id = _optional(node, "component_id")
    uniques.once("component id", facts["id"], info.at("id"))
    uniques.once("component name", (rack, facts["name"]), info.at("name"))
    uniques.once("component serial number", (facts["manufacturer"], facts["serial_number"]), info.at("serial_number"))
    if isinstance(external_id, str):
        uniques.once("component external id", (kind, external_id), node.at("component_id"))
    position = node.child("position")
    position.only({"slot_id", "tray_index", "host_id"})
    return ComponentDocument(
        **facts,
        type=kind,
        firmware_version=node.text("firmware_version"),
        external_id=external_id,
        slot_id=position.integer("slot_id"),
        tray_index=position.integer("tray_index"),
        host_id=position.integer("host_id"),
        bmcs=_bmcs(node, uniques),
        pointer=node.pointer,
    )


def _bmcs(component: Node, uniques: Uniques) -> tuple[BmcDocument, ...]:
    entries: Sequence[tuple[str, Any]] = component.items("bmcs")
    if len(entries) > MAX_BMCS:
        component.complain("bmcs", f"{len(entries)} BMCs are more than the limit of {MAX_BMCS} a component")
        return ()
    nodes = [node for pointer, entry in entries if (node := Node.of(entry, pointer, component.report)) is not None]
    return tuple(_bmc(node, uniques) for node in nodes)


def _bmc(node: Node, uniques: Uniques) -> BmcDocument:
    node.only({"type", "mac", "mac_address", "ip", "ip_address", "user", "password"})
    if node.value.get("user") or node.value.get("password"):
        node.report.logins += 1
    mac_key = node.either("mac", "mac_address")
    mac = node.parsed(mac_key, parse_mac, required=True) or ""
    uniques.once("MAC address", mac, node.at(mac_key))
    kind = node.parsed("type", lambda text: parse_bmc_type(text).value) or "Unknown"
    return BmcDocument(mac, kind, node.parsed(node.either("ip", "ip_address"), parse_ip), node.pointer)
