"""What a request may aim at, and the rules by which it becomes racks (F-196…F-203, F-206, F-245).

Pure: `inventory.selectors.targets_resolve` looks the things up and feeds them in here. Wrong here means an operation
on a rack nobody named, so whatever is not plain is refused, by the first fault in the order of the request.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple
from uuid import UUID

from flowsched.errors import InvalidInput, PreconditionFailed
from inventory.components import parse_component_type
from inventory.identifiers import check_name, check_uuid

FIELD = "target_spec"
NO_TARGETS = "no targets: name at least one rack, component or NVLink domain"


@dataclass(frozen=True, slots=True)
class RackTarget:
    """One rack by one of its identifiers; `component_types` as typed, empty means the whole rack."""

    id: UUID | None = None
    name: str | None = None
    external_id: str | None = None
    component_types: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ComponentTarget:
    """One component by id or by external id. Without a type the external id must be unique over all types."""

    id: UUID | None = None
    external_type: str | None = None
    external_id: str | None = None


@dataclass(frozen=True, slots=True)
class DomainTarget:
    """All racks that are in an NVLink domain now."""

    id: UUID | None = None
    name: str | None = None
    component_types: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PickedTarget:
    """One rack as picked from a list: all of it, some types, or some of its components, as each rack needs.

    The kind of target that a form makes. Others name one kind of thing a request; what was seen and picked is plain.
    """

    rack_id: UUID
    component_types: tuple[str, ...] = ()
    components: tuple[UUID, ...] = ()


Target = RackTarget | ComponentTarget | DomainTarget | PickedTarget
_KINDS = {
    RackTarget: "racks",
    ComponentTarget: "components",
    DomainTarget: "NVLink domains",
    PickedTarget: "picked racks",
}


@dataclass(frozen=True, slots=True)
class ResolvedTarget:
    """One rack to act on: some of its types, some of its components, or, when both are None, all of it."""

    rack_id: UUID
    rack_name: str
    types: tuple[str, ...] | None
    components: tuple[UUID, ...] | None


class RackRef(NamedTuple):
    """A rack that was looked up."""

    id: UUID
    name: str


class ComponentRef(NamedTuple):
    """A component that was looked up; `rack` None where it is in none."""

    id: UUID
    name: str
    rack: RackRef | None


class Wanted(NamedTuple):
    """A target whose shape is sound: exactly one identifier, types normalised."""

    id: UUID | None
    name: str | None
    external_id: str | None
    types: tuple[str, ...]
    components: tuple[UUID, ...] = ()

    def __str__(self) -> str:
        """How a message names the thing."""
        if self.id is not None:
            return str(self.id)
        return f"'{self.name}'" if self.name is not None else f"with external id '{self.external_id}'"


def check_targets(targets: Sequence[Target], *, limit: int) -> None:
    """Refuse no targets, kinds mixed in one request (F-197) and more of them than `limit`."""
    if not targets:
        raise InvalidInput(NO_TARGETS, field=FIELD)
    kinds = list(dict.fromkeys(_KINDS[type(target)] for target in targets))
    if len(kinds) > 1:
        raise InvalidInput(f"{' and '.join(kinds)} cannot be mixed in one request: give one kind", field=FIELD)
    check_limit(len(targets), what="targets", limit=limit)


def check_limit(count: int, *, what: str, limit: int) -> None:
    """Refuse a `count` above the limit of racks one request may reach."""
    if count > limit:
        raise InvalidInput(
            f"{count} {what} are more than the limit of {limit} (FLOWSCHED_MAX_SCOPES_PER_SCHEDULE): split the request",
            reason="TOO_MANY_TARGETS",
            field=FIELD,
        )


def wanted(target: Target, position: int) -> Wanted:
    """The identifier and types of `target`, the `position`-th of its request; InvalidInput for a bad shape (F-196)."""
    if isinstance(target, PickedTarget):
        return _picked(target)
    what = _KINDS[type(target)][:-1]
    name = None if isinstance(target, ComponentTarget) else target.name
    external_id = None if isinstance(target, DomainTarget) else target.external_id
    given = sum(value is not None for value in (target.id, name, external_id))
    if given != 1:
        choices = {"rack": "its id, name or external id", "component": "its id or external id"}
        problem = "names nothing" if given == 0 else "is named in more than one way"
        choice = choices.get(what, "its id or name")
        raise InvalidInput(f"{what} target {position} {problem}: give {choice}", field=FIELD)
    if target.id is not None:
        check_uuid(target.id, field=FIELD)
    if name is not None:
        check_name(name, what=f"the name of {what} target {position}", field=FIELD)
    if external_id is not None:
        check_name(external_id, what=f"the external id of {what} target {position}", field=FIELD)
    return Wanted(target.id, name, external_id, _types(target))


def _picked(target: PickedTarget) -> Wanted:
    if target.component_types and target.components:
        raise InvalidInput("a rack is picked by component types and by components: give one of them", field=FIELD)
    types = tuple(parse_component_type(name, field=FIELD).value for name in target.component_types)
    components = tuple(dict.fromkeys(target.components))
    return Wanted(check_uuid(target.rack_id, field=FIELD), None, None, tuple(dict.fromkeys(types)), components)


def _types(target: RackTarget | ComponentTarget | DomainTarget) -> tuple[str, ...]:
    """Stored names of the types asked for, each once, in the order given (F-199, F-206)."""
    if isinstance(target, ComponentTarget):
        given = target.external_type
        names: tuple[str, ...] = () if given is None else (given,)
    else:
        names = target.component_types
    return tuple(dict.fromkeys(parse_component_type(name, field=FIELD).value for name in names))


@dataclass(slots=True)
class RackCollector:
    """Racks in the order in which they are named; one named twice is refused (F-200), or merged (F-245)."""

    limit: int
    merge: bool = False
    _racks: dict[RackRef, tuple[str, ...]] = field(default_factory=dict)

    def add(self, rack: RackRef, types: tuple[str, ...]) -> None:
        """Add `rack` with `types` of its components, or all of it. The whole rack swallows types."""
        if rack in self._racks:
            if not self.merge:
                raise InvalidInput(f"rack '{rack.name}' is named twice: name each rack once", field=FIELD)
            before = self._racks[rack]
            types = tuple(dict.fromkeys(before + types)) if before and types else ()
        self._racks[rack] = types
        check_limit(len(self._racks), what="racks", limit=self.limit)

    def result(self) -> list[ResolvedTarget]:
        """One target a rack."""
        return [ResolvedTarget(rack.id, rack.name, types or None, None) for rack, types in self._racks.items()]


@dataclass(slots=True)
class ComponentCollector:
    """Components grouped by the rack they are in now, racks and components in the order first seen (F-201, F-202)."""

    limit: int
    per_rack: int
    merge: bool = False
    _racks: dict[RackRef, list[UUID]] = field(default_factory=dict)
    _seen: set[UUID] = field(default_factory=set)

    def add(self, component: ComponentRef) -> None:
        """Add `component`. One named twice is refused, or counted once where repeats are merged."""
        if component.rack is None:
            raise PreconditionFailed(
                f"component '{component.name}' ({component.id}) is in no rack: put it into one by an import first",
                reason="NO_RACK",
                field=FIELD,
            )
        if component.id in self._seen:
            if not self.merge:
                raise InvalidInput(
                    f"component '{component.name}' ({component.id}) is named twice: name each component once",
                    field=FIELD,
                )
            return
        self._seen.add(component.id)
        named = self._racks.setdefault(component.rack, [])
        named.append(component.id)
        if len(named) > self.per_rack:
            raise InvalidInput(
                f"more than {self.per_rack} components of rack '{component.rack.name}' are named "
                "(FLOWSCHED_MAX_COMPONENTS_PER_RACK): name the rack, or types of its components",
                reason="TOO_MANY_COMPONENTS",
                field=FIELD,
            )
        check_limit(len(self._racks), what="racks", limit=self.limit)

    def result(self) -> list[ResolvedTarget]:
        """One target a rack."""
        return [ResolvedTarget(rack.id, rack.name, None, tuple(ids)) for rack, ids in self._racks.items()]
