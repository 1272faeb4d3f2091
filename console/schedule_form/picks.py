"""Which racks were picked, and what of each: kept by the form itself, a line a rack, so that nothing is stored.

One rack at a time has its choices open; what is chosen there counts as soon as the form is sent, for whatever reason.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from django.http import QueryDict

from flowsched.errors import InvalidInput
from inventory.identifiers import uuid_or_none
from inventory.targets import PickedTarget, ResolvedTarget
from scopes.filters import ComponentFilter, filter_equal, filter_of, filter_parse

WHOLE: Final = "whole"
TYPES: Final = "types"
COMPONENTS: Final = "components"
_UNREADABLE: Final = "unreadable"
FIELD: Final = "racks"


@dataclass(frozen=True, slots=True)
class Pick:
    """A rack and its filter; no filter is the whole rack. `unreadable` says why a stored one cannot be read."""

    rack_id: UUID
    filter: ComponentFilter | None = None
    unreadable: str = ""

    @property
    def line(self) -> str:
        """How the form keeps it."""
        if self.unreadable:
            return f"{self.rack_id} {_UNREADABLE} {self.unreadable}"
        if self.filter is None:
            return str(self.rack_id)
        values: Iterable[object] = self.filter.types if self.filter.kind == TYPES else self.filter.components
        return f"{self.rack_id} {self.filter.kind} {','.join(map(str, values))}"

    @property
    def target(self) -> PickedTarget:
        """What the services are told. Raises InvalidInput for a filter that cannot be read."""
        if self.unreadable:
            raise InvalidInput("a rack's choice of components cannot be read: change it, or take it out", field=FIELD)
        chosen = self.filter
        return PickedTarget(self.rack_id, chosen.types if chosen else (), chosen.components if chosen else ())

    def resolved(self, name: str) -> ResolvedTarget:
        """What it comes to, the rack's name being known."""
        types, components = (self.filter.types, self.filter.components) if self.filter else ((), ())
        return ResolvedTarget(self.rack_id, name, types or None, components or None)

    def same(self, other: Pick | None) -> bool:
        """Whether both mean the same components of the same rack."""
        if other is None or self.rack_id != other.rack_id:
            return False
        return self.unreadable == other.unreadable and filter_equal(self.filter, other.filter)


Picks = dict[UUID, Pick]


def picks_read(text: str) -> Picks:
    """The picks that the form kept. Raises InvalidInput if somebody else wrote them."""
    picks: Picks = {}
    for line in text.splitlines():
        if line.strip():
            pick = _read(line)
            picks[pick.rack_id] = pick
    return picks


def picks_dump(picks: Picks) -> str:
    """What the form keeps."""
    return "\n".join(pick.line for pick in picks.values())


def picks_same(one: Picks, other: Picks) -> bool:
    """Whether both mean the same; the order does not count."""
    return one.keys() == other.keys() and all(pick.same(other[rack_id]) for rack_id, pick in one.items())


def pick_stored(rack_id: UUID, stored: Any) -> Pick:
    """The pick of a stored scope."""
    try:
        return Pick(rack_id, filter_parse(stored))
    except InvalidInput as error:
        return Pick(rack_id, unreadable=" ".join(error.message.split()) or _UNREADABLE)


@dataclass(frozen=True, slots=True)
class Choices:
    """What stands in the open choices of one rack, which may not add up to a filter yet."""

    rack_id: UUID
    reach: str
    types: tuple[str, ...] = ()
    components: tuple[str, ...] = ()

    @classmethod
    def posted(cls, data: QueryDict) -> Choices | None:
        """Those that a request carries."""
        rack_id = uuid_or_none(data.get("open", ""))
        if rack_id is None:
            return None
        return cls(
            rack_id, data.get("reach", ""), tuple(data.getlist("type")), tuple(data.getlist("component"))
        )  # fmt: skip

    @classmethod
    def of(cls, pick: Pick) -> Choices:
        """Those of a rack that is opened. A filter that cannot be read chooses nothing: it must not widen."""
        if pick.unreadable:
            return cls(pick.rack_id, "")
        if pick.filter is None:
            return cls(pick.rack_id, WHOLE)
        return cls(pick.rack_id, pick.filter.kind, pick.filter.types, tuple(map(str, pick.filter.components)))

    @property
    def pick(self) -> Pick:
        """What was chosen. Raises InvalidInput while nothing is."""
        if self.reach == WHOLE:
            return Pick(self.rack_id)
        if self.reach == TYPES and self.types:
            return Pick(self.rack_id, filter_of(self.types, None))
        if self.reach == COMPONENTS and self.components:
            ids = [_component(text) for text in self.components]
            return Pick(self.rack_id, filter_of(None, ids))
        what = {TYPES: "type of component", COMPONENTS: "component"}.get(self.reach)
        if what is None:
            raise InvalidInput("choose what of the rack it reaches", field=FIELD)
        raise InvalidInput(f"choose at least one {what}, or the whole rack", field=FIELD)


def types_of_all(picks: Picks) -> tuple[str, ...]:
    """The component types that every rack is narrowed to; empty where they differ or a rack is taken otherwise."""
    filters = [pick.filter for pick in picks.values() if not pick.unreadable]
    first = filters[0] if len(filters) == len(picks) and filters else None
    if first is None or first.kind != TYPES or not all(filter_equal(first, other) for other in filters):
        return ()
    return first.types


def pick_of_types(rack_id: UUID, types: Iterable[str]) -> Pick:
    """A rack with components of these types, or all of it. Raises InvalidInput for a type that is none."""
    chosen = tuple(types)
    return Pick(rack_id, filter_of(chosen, None) if chosen else None)


def _read(line: str) -> Pick:
    name, _, rest = line.strip().partition(" ")
    kind, _, values = rest.partition(" ")
    rack_id = uuid_or_none(name)
    if rack_id is None or (rest and kind not in {TYPES, COMPONENTS, _UNREADABLE}):
        raise InvalidInput("the list of racks came damaged: load the page again", field=FIELD)
    if kind == _UNREADABLE:
        return Pick(rack_id, unreadable=values or _UNREADABLE)
    if kind == TYPES:
        return Pick(rack_id, filter_of(values.split(","), None))
    if kind == COMPONENTS:
        return Pick(rack_id, filter_of(None, [_component(text) for text in values.split(",")]))
    return Pick(rack_id)


def _component(text: str) -> UUID:
    found = uuid_or_none(text)
    if found is None:
        raise InvalidInput("the list of components came damaged: load the page again", field=FIELD)
    return found
