"""What a caller may point at, and what it resolves to. Pure values."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID


@dataclass(frozen=True, slots=True)
class ResolvedTarget:
    """One rack, whole (`types` and `components` None) or narrowed to component types or to named components."""

    rack_id: UUID
    rack_name: str
    types: tuple[str, ...] | None
    components: tuple[UUID, ...] | None
