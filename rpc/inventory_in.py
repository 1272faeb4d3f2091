"""What requests say of the inventory: new racks and components, names, filters, orders, pages (F-173…F-182).

Pure. A rack is turned into the words of a rack file and read by the file's own reader, so that a file, a REST body and
a message mean the same. What only an answer holds (power state, tasks, leaks) is passed over in a request: a client
may send back what it was given.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from google.protobuf.message import Message

from flowsched.errors import InvalidInput
from inventory.document import ComponentRequest, RackRequest, component_request, rack_request
from inventory.identifiers import check_name
from inventory.patterns import Query
from rpc.convert_in import component_type_in, page_in, read_id, required
from rpc.convert_inventory import BMC_TYPES
from rpc.proto import flow_pb2 as pb

DEFAULT_LIMIT: Final = 100
MAX_LIMIT: Final = 10_000

RACK_FIELDS: Final[Mapping[int, str]] = {
    pb.RACK_FILTER_FIELD_NAME: "name",
    pb.RACK_FILTER_FIELD_MANUFACTURER: "manufacturer",
    pb.RACK_FILTER_FIELD_MODEL: "model",
}
COMPONENT_FIELDS: Final[Mapping[int, str]] = {
    pb.COMPONENT_FILTER_FIELD_NAME: "name",
    pb.COMPONENT_FILTER_FIELD_MANUFACTURER: "manufacturer",
    pb.COMPONENT_FILTER_FIELD_MODEL: "model",
    pb.COMPONENT_FILTER_FIELD_TYPE: "type",
}
# By the member of the oneof in Filter and OrderBy; both enums have the same numbers (F-13…F-16).
_FIELDS: Final = {"rack_field": RACK_FIELDS, "component_field": COMPONENT_FIELDS}
_PLACES: Final = {"tray_index": "tray_idx"}  # what a rack file calls otherwise than the wire


# New things -----------------------------------------------------------------------------------------------------


def rack_in(request: pb.CreateExpectedRackRequest, *, domain: str | None) -> RackRequest:
    """The rack to create, in the NVLink domain of this name. Every thing in it must have an id (F-173)."""
    rack: pb.Rack = required(request, "rack")
    value: dict[str, Any] = _device(rack)
    if rack.HasField("location"):
        place = rack.location
        value["location"] = {"region": place.region, "datacenter": place.datacenter, "room": place.room}
        value["location"]["position"] = place.position
    value["components"] = [_component(one, f"rack.components[{n}]") for n, one in enumerate(rack.components)]
    for place_, component in enumerate(rack.components):
        if component.HasField("rack_id") and component.rack_id.id.lower() != rack.info.id.id.lower():
            path = f"rack.components[{place_}].rack_id"
            raise InvalidInput(f"{path} is another rack than the one to create: leave it out", field=path)
    if rack.external_id:
        value["external_id"] = rack.external_id
    if domain is not None:
        value["nvl_domain"] = domain
    with _wire_names():
        return rack_request(value, max_components=settings.FLOWSCHED_MAX_COMPONENTS_PER_RACK, at="/rack")


def domain_id_in(request: pb.CreateExpectedRackRequest) -> UUID | None:
    """The one NVLink domain that a new rack is to be in, if any."""
    ids = request.rack.nvl_domain_ids
    if len(ids) > 1:
        raise InvalidInput("a rack is in one NVLink domain: give one of them", field="rack.nvl_domain_ids")
    return read_id(ids[0], "rack.nvl_domain_ids[0]") if ids else None


def component_in(request: pb.AddComponentRequest) -> ComponentRequest:
    """The component to create, in a rack or in none; it gets an id if it has none (F-177)."""
    component: pb.Component = required(request, "component")
    value = _component(component, "component")
    if component.HasField("rack_id"):
        value["rack_id"] = str(read_id(component.rack_id, "component.rack_id"))
    with _wire_names():
        return component_request(value, at="/component")


def _component(component: pb.Component, path: str) -> dict[str, Any]:
    value = _device(component) | {"type": component_type_in(component.type, f"{path}.type")}
    value["firmware_version"] = component.firmware_version
    if component.component_id:
        value["component_id"] = component.component_id
    if component.HasField("position"):
        position = component.position
        numbers = {"slot_id": position.slot_id, "tray_index": position.tray_idx, "host_id": position.host_id}
        value["position"] = numbers
    value["bmcs"] = [_bmc(bmc, f"{path}.bmcs[{place}]") for place, bmc in enumerate(component.bmcs)]
    return value


def _bmc(bmc: pb.BMCInfo, path: str) -> dict[str, Any]:
    kind = BMC_TYPES.get(bmc.type)
    if kind is None:
        raise InvalidInput(f"{path}.type: {bmc.type} is no BMC type", field=f"{path}.type")
    return {"type": kind.value, "mac_address": bmc.mac_address, "ip_address": bmc.ip_address}


def _device(thing: pb.Rack | pb.Component) -> dict[str, Any]:
    if not thing.HasField("info"):
        return {}
    info = thing.info
    value = {"name": info.name, "manufacturer": info.manufacturer, "model": info.model}
    value |= {"serial_number": info.serial_number, "description": info.description}
    if info.HasField("id"):
        value["id"] = info.id.id
    return {"info": value}


@contextmanager
def _wire_names() -> Iterator[None]:
    """Let the reader's faults name their places as the wire does."""
    try:
        yield
    except InvalidInput as error:
        for theirs, ours in _PLACES.items():
            error.message = error.message.replace(f".{theirs}", f".{ours}")
            error.fields = {field.replace(f".{theirs}", f".{ours}"): text for field, text in error.fields.items()}
        raise


# Names ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Named:
    """A rack or domain by its id, its name, or both, which then must be of the same one."""

    id: UUID | None
    name: str | None
    path: str

    def __str__(self) -> str:
        """As services take it: the id if there is one."""
        return str(self.id or self.name)

    def check(self, name: str | None) -> None:
        """Raise InvalidInput if the thing of this id is called otherwise; None is one that is not there."""
        if self.name is not None and name is not None and self.name != name:
            raise InvalidInput(
                f"{self.path}: the id {self.id} is '{name}', not '{self.name}': give one of the two", field=self.path
            )


def named_in(identifier: pb.Identifier, path: str) -> Named:
    """The thing that `identifier` names. InvalidInput for one that names nothing."""
    found = read_id(identifier.id, f"{path}.id") if identifier.HasField("id") else None
    name = check_name(identifier.name, what=f"{path}.name", field=f"{path}.name") if identifier.name else None
    if found is None and name is None:
        raise InvalidInput(f"{path} names nothing: give its id or name", field=path)
    return Named(found, name, path)


def racks_named_in(identifiers: Iterable[pb.Identifier]) -> list[Named]:
    """The racks of a request, no more than one may name."""
    found = [named_in(one, f"rack_identifiers[{place}]") for place, one in enumerate(identifiers)]
    limit = settings.FLOWSCHED_MAX_SCOPES_PER_SCHEDULE
    if len(found) > limit:
        raise InvalidInput(
            f"{len(found)} racks are more than the limit of {limit} (FLOWSCHED_MAX_SCOPES_PER_SCHEDULE): split them",
            field="rack_identifiers",
        )
    return found


def serial_in(request: Message) -> dict[str, str]:
    """The serial number that a request asks for, and its manufacturer if one is given (F-174)."""
    serial: pb.DeviceSerialInfo = required(request, "serial_info")
    return {"serial_number": serial.serial_number, "manufacturer": serial.manufacturer}


# Lists ----------------------------------------------------------------------------------------------------------


def list_page_in(request: Message) -> dict[str, int]:
    """Offset and limit of a list of the inventory: 100 unless the request says more (F-175)."""
    offset, limit = page_in(request)
    if limit is not None and limit > MAX_LIMIT:
        raise InvalidInput(f"pagination.limit is at most {MAX_LIMIT}: ask page by page", field="pagination.limit")
    return {"offset": offset, "limit": limit or DEFAULT_LIMIT}


def filters_in(filters: Iterable[pb.Filter], member: str) -> dict[str, Query]:
    """Filters by column; of several for one column the last counts (F-175). `member` is the oneof's that fits."""
    found: dict[str, Query] = {}
    for place, one in enumerate(filters):
        found[_column(one, member, f"filters[{place}]")] = query_in(one.query_info)
    return found


def query_in(info: pb.StringQueryInfo) -> Query:
    """A query; one without patterns is for anything (F-176)."""
    return Query(patterns=tuple(info.patterns), is_wildcard=info.is_wildcard, use_or=info.use_or)


def order_in(request: Message, member: str) -> tuple[str, str] | None:
    """Column and direction to order by, if the request says so."""
    if not request.HasField("order_by"):
        return None
    order: pb.OrderBy = getattr(request, "order_by")  # noqa: B009  the request has it, Message has not
    return _column(order, member, "order_by"), order.direction


def _column(given: Any, member: str, path: str) -> str:
    which = given.WhichOneof("field")
    column = _FIELDS[member].get(getattr(given, member)) if which == member else None
    if column is None:
        known = ", ".join(_FIELDS[member].values())
        raise InvalidInput(f"{path} has no {member} that is one of {known}", field=f"{path}.{member}")
    return column
