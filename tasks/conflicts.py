"""Which two tasks may not be on one rack at the same time: a table of rules, and one function that reads it.

Promises symmetry: the order in which two tasks came never changes the answer. A missing row lets two effects meet in
the hardware; a row too many only makes an operator wait.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from uuid import UUID

from flowsched.errors import InvalidInput
from inventory.components import ComponentType, parse_component_type
from tasks.operations import OperationType

POWER = OperationType.POWER.value
FIRMWARE = OperationType.FIRMWARE.value
HTTP = OperationType.HTTP.value


@dataclass(frozen=True, slots=True)
class Footprint:
    """What a task is, and which components it may touch, by type name in any spelling (NVLSwitch is NVSwitch)."""

    type: str
    components_by_type: Mapping[str, frozenset[UUID]]

    @classmethod
    def of(cls, type_: str, components_by_type: Mapping[str, Any] | None) -> Footprint:
        """The footprint of a stored task: its `components_by_type` attribute has ids as strings."""
        by_type = {name: frozenset(UUID(i) for i in ids) for name, ids in (components_by_type or {}).items()}
        return cls(type_, by_type)

    def touches(self, component_type: ComponentType) -> bool:
        """Whether at least one component is of this type."""
        return any(ids and _canonical(name) == component_type for name, ids in self.components_by_type.items())

    def shares_with(self, other: Footprint) -> bool:
        """Whether the two have a component in common, of whatever type."""
        mine: set[UUID] = set().union(*self.components_by_type.values())
        return any(not mine.isdisjoint(ids) for ids in other.components_by_type.values())


@dataclass(frozen=True, slots=True)
class Side:
    """What one of the two tasks must be: a type (None: any) and a component type it must touch (None: any)."""

    type: str | None = None
    component: ComponentType | None = None

    def matches(self, footprint: Footprint) -> bool:
        """Whether the footprint is this side of the rule."""
        if self.type is not None and footprint.type != self.type:
            return False
        return self.component is None or footprint.touches(self.component)


@dataclass(frozen=True, slots=True)
class Rule:
    """Two sides that may not meet, only where they share a component if `sharing`, and why not."""

    one: Side
    other: Side
    sharing: bool
    reason: str


_SHELF = Side(POWER, ComponentType.POWERSHELF)
_COMPUTE = Side(POWER, ComponentType.COMPUTE)
_SWITCH = Side(POWER, ComponentType.NVSWITCH)

RULES: tuple[Rule, ...] = (
    Rule(_SHELF, Side(POWER), False, "a power shelf feeds the rack, so no other power operation may run beside it"),
    Rule(_SHELF, Side(FIRMWARE), False, "switching a power shelf could cut power in the middle of a firmware write"),
    Rule(_COMPUTE, _COMPUTE, True, "both switch power of the same compute tray"),
    Rule(_SWITCH, _SWITCH, True, "both switch power of the same NVLink switch"),
    Rule(
        _COMPUTE,
        Side(FIRMWARE, ComponentType.COMPUTE),
        True,
        "a compute tray must keep its power while its firmware is written",
    ),
    Rule(
        _SWITCH,
        Side(FIRMWARE, ComponentType.NVSWITCH),
        True,
        "an NVLink switch must keep its power while its firmware is written",
    ),
    Rule(Side(FIRMWARE), Side(FIRMWARE), True, "both write firmware of the same component"),
    Rule(Side(OperationType.BRING_UP.value), Side(), False, "a rack is brought up or ingested alone"),
    Rule(Side(OperationType.DECOMMISSION.value), Side(), False, "a rack is decommissioned alone"),
)


def conflict(a: Footprint, b: Footprint) -> str | None:
    """Why `a` and `b` may not be on the rack together, or None if they may (F-251…F-260). A call is on no rack."""
    if HTTP in (a.type, b.type):
        return None
    for rule in RULES:
        meet = (rule.one.matches(a) and rule.other.matches(b)) or (rule.one.matches(b) and rule.other.matches(a))
        if meet and (not rule.sharing or a.shares_with(b)):
            return rule.reason
    return None


@lru_cache(maxsize=64)
def _canonical(name: str) -> str:
    """The stored name of a component type; a name nobody knows stays itself and so matches no rule."""
    try:
        return parse_component_type(name).value
    except InvalidInput:
        return name
