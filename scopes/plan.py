"""What adding racks to a schedule, or replacing its racks, changes: current and incoming in, a plan out.

Adding merges and never narrows; replacing ends at exactly what was asked for, and leaves alone the rows that are
right already, so that they keep what they remember of their last task. A plan that names a row too many withdraws
work of a rack nobody touched.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from flowsched.errors import InvalidInput, PreconditionFailed
from scopes.filters import ComponentFilter, filter_equal, filter_merge, filter_parse


@dataclass(frozen=True, slots=True)
class CurrentScope:
    """A scope row as stored; `component_filter` is the stored JSON, which may be unreadable. No rack: an HTTP call."""

    id: UUID
    rack_id: UUID | None
    rack_name: str
    component_filter: Any


@dataclass(frozen=True, slots=True)
class IncomingScope:
    """A rack that was asked for."""

    rack_id: UUID
    rack_name: str
    component_filter: ComponentFilter | None


@dataclass(frozen=True, slots=True)
class FilterChange:
    """A row that stays and gets another filter."""

    scope: CurrentScope
    component_filter: ComponentFilter | None


@dataclass(frozen=True, slots=True)
class Plan:
    """What to write. Creates and updates are in the order asked for, removes in the order stored."""

    creates: tuple[IncomingScope, ...] = ()
    updates: tuple[FilterChange, ...] = ()
    removes: tuple[CurrentScope, ...] = ()

    @property
    def empty(self) -> bool:
        """Whether there is nothing to write."""
        return not (self.creates or self.updates or self.removes)


def plan_add(current: Sequence[CurrentScope], incoming: Sequence[IncomingScope]) -> Plan:
    """Plan adding `incoming`: new racks are created, racks already there have their filters merged.

    Raises PreconditionFailed for the whole request when one filter cannot be merged, or when the schedule makes one
    call without a rack; InvalidInput when a rack comes twice.
    """
    _refuse_duplicates(incoming)
    rows = {scope.rack_id: scope for scope in current}
    if None in rows:
        raise PreconditionFailed(
            "this schedule makes one call without a rack, and a schedule has racks or that one call, never both: "
            "replace its scopes with the racks instead",
            reason="RACKLESS",
        )
    creates: list[IncomingScope] = []
    updates: list[FilterChange] = []
    for wanted in incoming:
        row = rows.get(wanted.rack_id)
        if row is None:
            creates.append(wanted)
            continue
        existing = _readable(row)
        merged = filter_merge(existing, wanted.component_filter, where=f"rack {row.rack_name}")
        if not filter_equal(existing, merged):
            updates.append(FilterChange(row, merged))
    return Plan(tuple(creates), tuple(updates))


def plan_reconcile(current: Sequence[CurrentScope], desired: Sequence[IncomingScope]) -> Plan:
    """Plan making the scopes exactly `desired`: create what is missing, remove the rest, replace filters that differ.

    An unreadable stored filter counts as different, so replacing mends it; a call without a rack is removed. Raises
    InvalidInput when `desired` is empty or names a rack twice.
    """
    if not desired:
        raise InvalidInput(
            "a schedule needs at least one rack: name the racks it shall have, or delete the schedule",
            reason="NO_SCOPES",
            field="target_spec",
        )
    _refuse_duplicates(desired)
    rows = {scope.rack_id: scope for scope in current}
    wanted_racks = {wanted.rack_id for wanted in desired}
    return Plan(
        creates=tuple(wanted for wanted in desired if wanted.rack_id not in rows),
        updates=tuple(
            FilterChange(rows[wanted.rack_id], wanted.component_filter)
            for wanted in desired
            if wanted.rack_id in rows and _differs(rows[wanted.rack_id], wanted.component_filter)
        ),
        removes=tuple(scope for scope in current if scope.rack_id not in wanted_racks),
    )


def _refuse_duplicates(incoming: Sequence[IncomingScope]) -> None:
    seen: set[UUID] = set()
    for wanted in incoming:
        if wanted.rack_id in seen:
            raise InvalidInput(f"rack {wanted.rack_name} is named twice", reason="DUPLICATE", field="target_spec")
        seen.add(wanted.rack_id)


def _readable(row: CurrentScope) -> ComponentFilter | None:
    try:
        return filter_parse(row.component_filter)
    except InvalidInput as error:
        raise PreconditionFailed(
            f"the stored filter of rack {row.rack_name} cannot be read ({error.message}): "
            "replace the schedule's scopes, or remove this one first",
            reason="FILTER_UNREADABLE",
        ) from None


def _differs(row: CurrentScope, wanted: ComponentFilter | None) -> bool:
    try:
        return not filter_equal(filter_parse(row.component_filter), wanted)
    except InvalidInput:
        return True
