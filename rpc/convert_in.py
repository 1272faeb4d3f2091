"""Values of the wire as the services take them: ids, instants, pages, enums.

Pure. Each raises InvalidInput that names the field by its path in the request, as `target_spec.racks.targets[0].id`: a
value that cannot be read must never pass for one that was not sent, since an unset filter means everything.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final
from uuid import UUID

from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp

from flowsched.errors import FlowschedError, InvalidInput
from inventory.components import ComponentType
from inventory.identifiers import parse_uuid
from rpc.proto import flow_pb2 as pb

LAST_SECOND: Final = 253_402_300_799  # 9999-12-31T23:59:59Z, the last the wire knows
_NANOSECONDS: Final = 10**9

# Number on the wire -> stored name (F-11, F-204).
COMPONENT_TYPES: Final[Mapping[pb.ComponentType, ComponentType]] = {
    pb.COMPONENT_TYPE_COMPUTE: ComponentType.COMPUTE,
    pb.COMPONENT_TYPE_NVSWITCH: ComponentType.NVSWITCH,
    pb.COMPONENT_TYPE_POWERSHELF: ComponentType.POWERSHELF,
    pb.COMPONENT_TYPE_TORSWITCH: ComponentType.TORSWITCH,
    pb.COMPONENT_TYPE_UMS: ComponentType.UMS,
    pb.COMPONENT_TYPE_CDU: ComponentType.CDU,
}


def required(message: Message, field: str, path: str = "") -> Any:
    """The message in `field`, which must be set. `path` is how the request calls it, if not by the field's name."""
    if not message.HasField(field):
        raise InvalidInput(f"{path or field} is required", field=path or field)
    return getattr(message, field)


def required_id(message: Message, field: str, path: str = "") -> UUID:
    """The id in `field`, which must be set (F-121)."""
    return read_id(required(message, field, path), path or field)


def optional_id(message: Message, field: str, path: str = "") -> UUID | None:
    """The id in `field`, or None if it is not set; one that is set must be a real one (F-121, F-286)."""
    return read_id(getattr(message, field), path or field) if message.HasField(field) else None


def read_id(value: pb.UUID, path: str) -> UUID:
    """The id itself, in any of the forms of F-113."""
    try:
        return parse_uuid(value.id, field=path)
    except InvalidInput as error:
        raise InvalidInput(f"{path}: {error.message}", field=path) from None


def seconds_in(message: Message, field: str, path: str) -> int | None:
    """The instant in `field` in whole Unix seconds, as operations store it; None if it is not set."""
    if not message.HasField(field):
        return None
    value: Timestamp = getattr(message, field)
    if not 0 <= value.seconds <= LAST_SECOND or not 0 <= value.nanos < _NANOSECONDS:
        raise InvalidInput(f"{path} must be a timestamp of the years 1970 to 9999", field=path)
    return value.seconds


def page_in(request: Message) -> tuple[int, int | None]:
    """(offset, limit) of a list; limit 0 or no pagination at all is no limit, None (F-135)."""
    if not request.HasField("pagination"):
        return 0, None
    pagination: pb.Pagination = getattr(request, "pagination")  # noqa: B009  every list's request has it, Message has not
    for field in ("offset", "limit"):
        if getattr(pagination, field) < 0:
            raise InvalidInput(f"pagination.{field} must not be negative", field=f"pagination.{field}")
    return pagination.offset, pagination.limit or None


def component_type_in(number: pb.ComponentType, path: str) -> str:
    """The stored name of a component type; UNKNOWN and numbers the wire does not have are refused (F-196)."""
    found = COMPONENT_TYPES.get(number)
    if found is None:
        known = ", ".join(pb.ComponentType.Name(known) for known in COMPONENT_TYPES)
        raise InvalidInput(f"{path}: {number} is no component type that can be asked for: use {known}", field=path)
    return found.value


def component_types_in(numbers: Iterable[pb.ComponentType], path: str) -> tuple[str, ...]:
    """The stored names of component types, each once, in the order given (F-199, F-206)."""
    places: dict[pb.ComponentType, int] = {}
    for place, number in enumerate(numbers):
        places.setdefault(number, place)
    return tuple(component_type_in(number, f"{path}[{place}]") for number, place in places.items())


@contextmanager
def fields_named(names: Mapping[str, str]) -> Iterator[None]:
    """Let errors from inside name their field as the wire does; `names` maps a service's name of it to the path."""
    try:
        yield
    except FlowschedError as error:
        error.field = names.get(error.field, error.field)
        if isinstance(error, InvalidInput):
            error.fields = {names.get(field, field): text for field, text in error.fields.items()}
        raise
