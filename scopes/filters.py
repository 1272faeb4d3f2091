"""Which components of a rack a scope means: read, merge and compare component filters.

A filter is either component types, evaluated against the inventory at each firing, or component ids. No filter is
the whole rack. Reading is strict: a filter that lost its content must fail its scope, never widen it to the whole
rack, since the difference is hardware switched off that nobody named.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, Literal
from uuid import UUID

from flowsched.errors import InvalidInput, PreconditionFailed
from inventory.components import parse_component_type

FilterKind = Literal["types", "components"]
_KEYS: Final = frozenset({"kind", "types", "components"})
_FIELD: Final = "component_filter"


@dataclass(frozen=True, slots=True)
class ComponentFilter:
    """A filter, normalised: stored type names, no duplicates, in the order first given.

    Exactly the list that `kind` names is filled. Raises InvalidInput if it is not.
    """

    kind: FilterKind
    types: tuple[str, ...] = ()
    components: tuple[UUID, ...] = ()

    def __post_init__(self) -> None:
        if self.kind not in ("types", "components"):
            raise InvalidInput(
                f"unknown component filter kind '{str(self.kind)[:64]}': use types or components", field=_FIELD
            )
        stored = (parse_component_type(text, field=_FIELD).value for text in self.types)
        object.__setattr__(self, "types", tuple(dict.fromkeys(stored)))
        object.__setattr__(self, "components", tuple(dict.fromkeys(self.components)))
        mine, other = (self.types, self.components) if self.kind == "types" else (self.components, self.types)
        if not mine or other:
            raise InvalidInput(
                f"a component filter of kind '{self.kind}' needs its list '{self.kind}' filled, and no other",
                field=_FIELD,
            )

    def __str__(self) -> str:
        return ", ".join(self.types) if self.kind == "types" else f"{len(self.components)} components"


def filter_of(types: Iterable[str] | None, components: Iterable[UUID] | None) -> ComponentFilter | None:
    """The filter of a resolved target: both None is the whole rack. Raises InvalidInput if both are given."""
    if types is None and components is None:
        return None
    kind: FilterKind = "components" if types is None else "types"
    return ComponentFilter(kind, tuple(types or ()), tuple(components or ()))


def filter_parse(stored: Any) -> ComponentFilter | None:
    """Read a stored filter; None (SQL or JSON) and nothing at all mean the whole rack.

    Raises InvalidInput with what is wrong: not an object, a key unknown, a list missing, empty, or one too many, a
    type or an id that cannot be read.
    """
    if stored is None or stored == "":
        return None
    if not isinstance(stored, dict):
        raise InvalidInput("a component filter must be a JSON object", field=_FIELD)
    unknown = sorted(str(key)[:64] for key in stored.keys() - _KEYS)
    if unknown:
        raise InvalidInput(f"unknown key '{unknown[0]}' in a component filter", field=_FIELD)
    kind = stored.get("kind")
    if not isinstance(kind, str):
        raise InvalidInput("a component filter needs a kind: types or components", field=_FIELD)
    types = _strings(stored, "types")
    components = tuple(_uuid(text) for text in _strings(stored, "components"))
    return ComponentFilter(kind, types, components)  # type: ignore[arg-type]  # __post_init__ checks the kind


def filter_dump(value: ComponentFilter | None) -> dict[str, Any] | None:
    """What is stored for `value`; None, the whole rack, is SQL NULL."""
    if value is None:
        return None
    if value.kind == "types":
        return {"kind": "types", "types": list(value.types)}
    return {"kind": "components", "components": [str(component) for component in value.components]}


def filter_merge(
    existing: ComponentFilter | None, incoming: ComponentFilter | None, *, where: str = "this rack"
) -> ComponentFilter | None:
    """What adding `incoming` to a rack that has `existing` leaves: it only ever grows, in the order existing, new.

    The whole rack swallows either. Raises PreconditionFailed, naming `where`, when one names types and the other ids.
    """
    if existing is None or incoming is None:
        return None
    if existing.kind != incoming.kind:
        raise PreconditionFailed(
            f"the scope of {where} is filtered by {existing.kind} and cannot be merged with a filter by "
            f"{incoming.kind}: replace the schedule's scopes, or remove this one first",
            reason="FILTER_KIND",
            field=_FIELD,
        )
    return ComponentFilter(existing.kind, existing.types + incoming.types, existing.components + incoming.components)


def filter_equal(one: ComponentFilter | None, other: ComponentFilter | None) -> bool:
    """Whether both mean the same components: order and duplicates do not count, the whole rack equals only itself."""
    if one is None or other is None:
        return one is other
    return (
        one.kind == other.kind and set(one.types) == set(other.types) and set(one.components) == set(other.components)
    )


def _strings(stored: dict[str, Any], key: str) -> tuple[str, ...]:
    values = stored.get(key)
    if values is None:
        return ()
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise InvalidInput(f"'{key}' of a component filter must be a list of strings", field=_FIELD)
    return tuple(values)


def _uuid(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise InvalidInput(f"'{text[:64]}' in a component filter is not a UUID", field=_FIELD) from None
