"""The part of the table of calls that is about the inventory: racks, components, domains."""

from __future__ import annotations

import copy
from typing import Any

from tests.doors.calls import NOBODY, TYPES, Call, uid
from tests.doors.world import component_id, rack_document, rack_id

BMCS = {"host": 1, "dpu": 2}
DOMAIN, OTHER = "eeeeeeee-0000-4000-8000-000000000001", "eeeeeeee-0000-4000-8000-000000000002"
PLACE = {"region": "us-west", "datacenter": "SJC01", "room": "EW", "position": "A01"}


def component_on_wire(component: dict[str, Any]) -> dict[str, Any]:
    """A component of REST as the wire has it."""
    found = copy.deepcopy(component)
    found["type"] = TYPES[found["type"]]
    for holder, key in ((found["info"], "id"), (found, "rack_id")):
        if key in holder:
            holder[key] = uid(holder[key])
    if "position" in found:
        found["position"]["tray_idx"] = found["position"].pop("tray_index")
    for bmc in found.get("bmcs", ()):
        bmc["type"] = BMCS[bmc["type"]]
    return found


def rack(document: dict[str, Any], kind: str = "", by: str = "superuser") -> Call:
    message = copy.deepcopy(document)
    message["info"]["id"] = uid(message["info"]["id"])
    message["components"] = [component_on_wire(one) for one in document.get("components", ())]
    name = f"create rack {document['info']['name']}"
    return Call(name, ("POST", "racks/", document), ("CreateExpectedRack", {"rack": message}), kind, by)


def component(body: dict[str, Any], kind: str = "", by: str = "superuser") -> Call:
    request = {"component": component_on_wire(body)}
    return Call(f"create {body['info']}", ("POST", "components/", body), ("AddComponent", request), kind, by)


def domain(identity: str, name: str, kind: str = "", by: str = "superuser") -> Call:
    request = {"nvl_domain": {"identifier": {"id": uid(identity), "name": name}}}
    body = {"id": identity, "name": name}
    return Call(f"create domain {name}", ("POST", "nvl-domains/", body), ("CreateNVLDomain", request), kind, by)


def attach(identity: str, *racks: str, kind: str = "", by: str = "superuser") -> Call:
    request = {"nvl_domain_identifier": {"id": uid(identity)}, "rack_identifiers": _named(racks)}
    path = f"nvl-domains/{identity}/attach/"
    return Call(
        f"attach {racks}", ("POST", path, {"racks": list(racks)}), ("AttachRacksToNVLDomain", request), kind, by
    )


def detach(identity: str, *racks: str, kind: str = "", by: str = "superuser") -> Call:
    """The wire names racks alone, REST the domain too, so that nothing is taken out of one that it was not in."""
    rest = ("POST", f"nvl-domains/{identity}/detach/", {"racks": list(racks)})
    return Call(f"detach {racks}", rest, ("DetachRacksFromNVLDomain", {"rack_identifiers": _named(racks)}), kind, by)


def _named(racks: tuple[str, ...]) -> list[dict[str, Any]]:
    return [{"id": uid(one)} if "-0000-" in one else {"name": one} for one in racks]


def _new(number: int) -> dict[str, Any]:
    """A rack that says all there is to say."""
    document = rack_document(number) | {"location": PLACE, "external_id": f"rack-ext-{number}"}
    document["info"] |= {"model": "GB200", "description": "new"}
    tray = document["components"][0]
    tray |= {
        "firmware_version": "1.2",
        "position": {"slot_id": 4, "tray_index": 5, "host_id": 6},
        "bmcs": [{"type": "dpu", "mac_address": "aa:bb:cc:00:00:01", "ip_address": "192.0.2.7"}],
    }
    return document


def _part(serial: str, **more: Any) -> dict[str, Any]:
    info = {"name": f"part {serial}", "manufacturer": "M", "model": "X", "serial_number": serial}
    return {"type": "cdu", "info": info, "component_id": f"e-{serial}", **more}


INVENTORY = [
    rack(_new(8)),
    rack(_new(8), kind="already_exists"),
    rack(rack_document(9) | {"components": []}, by="inventory"),
    rack(rack_document(10) | {"info": rack_document(9)["info"]}, kind="already_exists"),
    rack(_new(11), kind="permission_denied", by="planner"),
    component(_part("new", rack_id=rack_id(9))),
    component(_part("loose"), by="inventory"),
    component(_part("new", rack_id=rack_id(9)), kind="already_exists"),
    component(_part("nowhere", rack_id=NOBODY), kind="not_found"),
    component(_part("given") | {"info": _part("given")["info"] | {"id": component_id(9, 7)}}),
    component(_part("closed", rack_id=rack_id(9)), kind="permission_denied", by="viewer"),
    domain(DOMAIN, "east", by="inventory"),
    domain(OTHER, "west"),
    domain(rack_id(99), "west", kind="already_exists"),
    attach(DOMAIN, "rack-1", rack_id(2)),
    attach(DOMAIN, "rack-1", "rack-3"),
    attach(OTHER, "rack-2", "rack-9", kind="already_exists"),
    attach(OTHER, "rack-77", kind="not_found"),
    attach(NOBODY, "rack-9", kind="not_found"),
    attach(OTHER, "rack-9", kind="permission_denied", by="planner"),
    detach(DOMAIN, "rack-1", rack_id(3), by="inventory"),
    detach(DOMAIN, "rack-1"),
    detach(DOMAIN, "rack-77", kind="not_found"),
]
