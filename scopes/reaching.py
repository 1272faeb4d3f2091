"""What racks and filters reach in today's inventory, before anything is saved: for previews."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from inventory.picking import component_counts, component_places
from scopes.filters import ComponentFilter


@dataclass(frozen=True, slots=True)
class RackReach:
    """One rack: its components by type, how many of them the filter reaches, and named components it does not hold."""

    present: Mapping[str, int] = field(default_factory=dict)
    reached: int = 0
    missing: int = 0

    @property
    def all(self) -> int:
        """All components of the rack."""
        return sum(self.present.values())


def racks_reach(wanted: Sequence[tuple[UUID, ComponentFilter | None]]) -> dict[UUID, RackReach]:
    """What each rack and filter reaches now: at most two queries for any number."""
    counts = component_counts([rack_id for rack_id, _ in wanted]) if wanted else {}
    places = component_places([part for _, filter_ in wanted if filter_ for part in filter_.components])
    return {rack_id: _reach(rack_id, filter_, counts.get(rack_id, {}), places) for rack_id, filter_ in wanted}


def _reach(
    rack_id: UUID, filter_: ComponentFilter | None, present: Mapping[str, int], places: Mapping[UUID, UUID]
) -> RackReach:
    if filter_ is None:
        return RackReach(present, sum(present.values()))
    if filter_.kind == "types":
        return RackReach(present, sum(present.get(name, 0) for name in filter_.types))
    here = sum(places.get(part) == rack_id for part in filter_.components)
    return RackReach(present, here, len(filter_.components) - here)
