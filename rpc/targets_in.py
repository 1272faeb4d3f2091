"""OperationTargetSpec as the inventory's targets (F-33…F-41, F-196…F-203).

Looks nothing up: the shape of every target is checked before any is. One of sound shape that does not exist is for
`inventory.selectors.targets_resolve`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from django.conf import settings
from google.protobuf.message import Message

from flowsched.errors import InvalidInput
from inventory.identifiers import check_name
from inventory.targets import ComponentTarget, DomainTarget, RackTarget, Target, check_limit
from rpc.convert_in import component_type_in, component_types_in, fields_named, read_id, required
from rpc.proto import flow_pb2 as pb


def targets_in(request: Message, field: str, path: str = "") -> list[Target]:
    """The targets of the OperationTargetSpec in `field`, in its order. Raises InvalidInput that names the one at fault.

    More than a request may have are refused before any is read.
    """
    path = path or field
    spec: pb.OperationTargetSpec = required(request, field, path)
    kind = spec.WhichOneof("targets")
    if kind is None:
        raise InvalidInput(f"{path} is empty: give racks, components or nvl_domains", field=path)
    listed = getattr(spec, kind).targets
    place = f"{path}.{kind}.targets"
    if not listed:
        raise InvalidInput(f"{place} is empty: name at least one", field=place)
    with fields_named({"target_spec": path}):
        check_limit(len(listed), what="targets", limit=settings.FLOWSCHED_MAX_SCOPES_PER_SCHEDULE)
    read = _READERS[kind]
    return [read(target, f"{place}[{index}]") for index, target in enumerate(listed)]


def _rack(target: pb.RackTarget, path: str) -> Target:
    which = _identifier(target, path, "id, name or external_id")
    types = component_types_in(target.component_types, f"{path}.component_types")
    if which == "id":
        return RackTarget(id=read_id(target.id, f"{path}.id"), component_types=types)
    if which == "name":
        return RackTarget(name=_name(target.name, f"{path}.name"), component_types=types)
    return RackTarget(external_id=_name(target.external_id, f"{path}.external_id"), component_types=types)


def _component(target: pb.ComponentTarget, path: str) -> Target:
    if _identifier(target, path, "id or external") == "id":
        return ComponentTarget(id=read_id(target.id, f"{path}.id"))
    external = target.external
    kind = component_type_in(external.type, f"{path}.external.type") if external.type else None
    return ComponentTarget(external_type=kind, external_id=_name(external.id, f"{path}.external.id"))


def _domain(target: pb.NVLDomainTarget, path: str) -> Target:
    which = _identifier(target, path, "id or name")
    types = component_types_in(target.component_types, f"{path}.component_types")
    if which == "id":
        return DomainTarget(id=read_id(target.id, f"{path}.id"), component_types=types)
    return DomainTarget(name=_name(target.name, f"{path}.name"), component_types=types)


_READERS: Final[Mapping[str, Callable[[Any, str], Target]]] = {
    "racks": _rack,
    "components": _component,
    "nvl_domains": _domain,
}


def _identifier(target: Message, path: str, choices: str) -> str:
    """Which identifier is set. An empty name is set, and refused as such."""
    which = target.WhichOneof("identifier")
    if which is None:
        raise InvalidInput(f"{path} names nothing: give its {choices}", field=path)
    return str(which)


def _name(text: str, path: str) -> str:
    return check_name(text, what=path, field=path)
