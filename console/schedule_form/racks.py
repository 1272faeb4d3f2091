"""The rack list of the form: rows in words, and the choices of the rack that is open."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from django.conf import settings

from console.schedule_form.actions import ROWS
from console.schedule_form.form import Form
from console.schedule_form.picks import COMPONENTS, TYPES, Choices, Pick, picks_dump, types_of_all
from console.words import parts
from inventory.components import ComponentType, PowerState
from inventory.models import Component
from inventory.picking import RackName, components_to_pick, rack_names
from scopes.reaching import RackReach, racks_reach

_ORDER: Final = [kind.value for kind in ComponentType]


@dataclass(frozen=True, slots=True)
class Seen:
    """What the inventory says of racks now: three queries at most for any number."""

    names: Mapping[UUID, RackName]
    reach: Mapping[UUID, RackReach]

    @classmethod
    def of(cls, picks: Collection[Pick]) -> Seen:
        """Look these racks up."""
        if not picks:
            return cls({}, {})
        names = rack_names([pick.rack_id for pick in picks])
        live = [pick for pick in picks if pick.rack_id in names and not names[pick.rack_id].gone]
        return cls(names, racks_reach([(pick.rack_id, pick.filter) for pick in live]))

    def live(self, pick: Pick) -> bool:
        """Whether the rack is in the inventory and its filter can be read."""
        return pick.rack_id in self.reach and not pick.unreadable


@dataclass(frozen=True, slots=True)
class RackRow:
    """One rack of the list. `trouble` says what is wrong with it."""

    id: UUID
    name: str
    reaches: str
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class TypeChoice:
    """A component type to choose, and how many the rack holds."""

    type: str
    words: str
    count: int
    chosen: bool


@dataclass(frozen=True, slots=True)
class PartChoice:
    """A component to choose."""

    id: str
    name: str
    slot: int
    power: str
    chosen: bool


def racks_context(form: Form, seen: Seen | None = None) -> dict[str, Any]:
    """What the rack list shows: one page of rows. `seen` spares the questions where they were asked."""
    pages = max(1, -(-len(form.picks) // ROWS))
    page = min(form.page, pages)
    shown = list(form.picks.values())[(page - 1) * ROWS : page * ROWS]
    seen = seen or Seen.of(shown)
    rows = [rack_row(pick, seen) for pick in shown]
    present = {name for pick in shown for name in seen.reach.get(pick.rack_id, RackReach()).present}
    return {
        "form": form,
        "racks_text": picks_dump(form.picks),
        "rack_rows": rows,
        "rack_count": len(form.picks),
        "page": page,
        "pages": pages,
        **_ticks_context(form, present),
        "most_racks": settings.FLOWSCHED_MAX_SCOPES_PER_SCHEDULE,
        **_open_context(form, seen),
    }


def _ticks_context(form: Form, present: Collection[str]) -> dict[str, Any]:
    """The types to tick for all racks: what all have already, or what was ticked and not applied."""
    applied = types_of_all(form.picks)
    pending = bool(form.ticks_pending)
    ticked = form.ticks if pending else applied
    return {
        "all_types": [(name, parts(name), name in ticked) for name in _ORDER if name in {*present, *applied}],
        "types_applied": applied,
        "ticks_pending": pending,
    }


def rack_row(pick: Pick, seen: Seen) -> RackRow:
    """A rack in words."""
    known = seen.names.get(pick.rack_id)
    if known is None or known.gone:
        name = known.name if known else str(pick.rack_id)
        return RackRow(pick.rack_id, name, "nothing", "it is no longer in the inventory: take it out")
    if pick.unreadable:
        return RackRow(pick.rack_id, known.name, "nothing", f"{pick.unreadable}: change it")
    reach = seen.reach.get(pick.rack_id, RackReach())
    trouble = ""
    if reach.missing:
        trouble = f"{reach.missing} of its chosen components left the rack: change it"
    elif not reach.reached:
        trouble = "nothing to act on: its task would be refused"
    return RackRow(pick.rack_id, known.name, reach_words(pick, reach), trouble)


def reach_words(pick: Pick, reach: RackReach) -> str:
    """What of a rack is reached: `whole rack (30)`, `compute trays (18 of 30)`."""
    if pick.filter is None:
        return f"whole rack ({reach.all})"
    if pick.filter.kind == TYPES:
        return f"{', '.join(parts(name) for name in pick.filter.types)} ({reach.reached} of {reach.all})"
    return f"{reach.reached} chosen {'component' if reach.reached == 1 else 'components'} (of {reach.all})"


def part_groups(rack_id: UUID, chosen: Collection[str] = ()) -> list[tuple[str, list[PartChoice]]]:
    """The components of a rack by type, to choose from: one query. Chosen ones that left it are not among them."""
    groups: dict[str, list[PartChoice]] = {}
    for component in components_to_pick(rack_id):
        groups.setdefault(component.type, []).append(_part(component, chosen))
    return [(parts(type_, len(found)), found) for type_, found in groups.items()]


def _part(component: Component, chosen: Collection[str]) -> PartChoice:
    return PartChoice(
        str(component.pk),
        component.name,
        component.slot_id,
        component.power_state or PowerState.UNKNOWN.value,
        str(component.pk) in chosen,
    )


def _open_context(form: Form, seen: Seen) -> dict[str, Any]:
    """The choices of the open rack."""
    choices = form.choices
    if choices is None or choices.rack_id not in form.picks or choices.rack_id not in seen.names:
        return {"choices": None}
    present = seen.reach[choices.rack_id].present if choices.rack_id in seen.reach else {}
    names = [name for name in _ORDER if name in present or name in choices.types]
    return {
        "choices": choices,
        "choices_whole": sum(present.values()),
        "choices_types": [TypeChoice(name, parts(name), present.get(name, 0), name in choices.types) for name in names],
        "choices_parts": _listed(choices),
    }


def _listed(choices: Choices) -> list[tuple[str, list[PartChoice]]] | None:
    """The components, once they are asked for."""
    if choices.reach != COMPONENTS:
        return None
    return part_groups(choices.rack_id, frozenset(choices.components))
