"""What a form asks that lets people pick racks: search, counts to choose from, and the check of what was picked.

A rack that left the inventory is told apart from one that never was: somebody picked it, and must be told which.
Every function takes any number of racks and asks a constant number of questions.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

from django.conf import settings
from django.db.models import Count, Q, Value
from django.db.models.functions import StrIndex, Upper

from flowsched.errors import InvalidInput, NotFound
from inventory.models import Component, NVLDomain, Rack
from inventory.targets import FIELD, ResolvedTarget, Wanted, check_limit

MIN_SEARCH = 2


@dataclass(frozen=True, slots=True)
class RackHit:
    """A rack that a search found."""

    id: UUID
    name: str
    domain: str


@dataclass(frozen=True, slots=True)
class DomainHit:
    """An NVLink domain that a search found, and how many racks are in it now."""

    id: UUID
    name: str
    racks: int


class RackName(NamedTuple):
    """A rack's name, and whether it left the inventory."""

    name: str
    gone: bool


def racks_search(text: str, *, limit: int) -> list[RackHit]:
    """Racks with `text` in their name, in any letter case, those first in which it comes first. From two characters."""
    if len(text) < MIN_SEARCH or "\0" in text:
        return []
    found = Rack.objects.filter(deleted_at__isnull=True, name__icontains=text)
    place = StrIndex(Upper("name"), Upper(Value(text)))
    rows = found.order_by(place, "name", "id").values_list("id", "name", "nvl_domain__name")[:limit]
    return [RackHit(pk, name, domain or "") for pk, name, domain in rows]


def domains_search(text: str, *, limit: int) -> list[DomainHit]:
    """NVLink domains with `text` in their name and racks in them, as racks are found."""
    if len(text) < MIN_SEARCH or "\0" in text:
        return []
    live = Count("racks", filter=Q(racks__deleted_at__isnull=True))
    found = NVLDomain.objects.filter(deleted_at__isnull=True, name__icontains=text).annotate(live=live)
    place = StrIndex(Upper("name"), Upper(Value(text)))
    rows = found.filter(live__gt=0).order_by(place, "name", "id").values_list("id", "name", "live")[:limit]
    return [DomainHit(*row) for row in rows]


def any_rack() -> bool:
    """Whether the inventory holds a rack."""
    return Rack.objects.filter(deleted_at__isnull=True).exists()


def racks_by_name(names: Iterable[str]) -> dict[str, UUID]:
    """The racks of these names that are in the inventory; names that are no rack's are left out."""
    wanted = [name for name in names if "\0" not in name]
    return dict(Rack.objects.filter(name__in=wanted, deleted_at__isnull=True).values_list("name", "id"))


def domains_by_name(names: Iterable[str]) -> dict[str, UUID]:
    """The NVLink domains of these names; names that are no domain's are left out."""
    wanted = [name for name in names if "\0" not in name]
    return dict(NVLDomain.objects.filter(name__in=wanted, deleted_at__isnull=True).values_list("name", "id"))


def rack_names(rack_ids: Collection[UUID]) -> dict[UUID, RackName]:
    """The names of these racks, those that left the inventory included; unknown ids are left out."""
    rows = Rack.objects.filter(id__in=rack_ids).values_list("id", "name", "deleted_at")
    return {pk: RackName(name, gone=deleted_at is not None) for pk, name, deleted_at in rows}


def component_counts(rack_ids: Collection[UUID]) -> dict[UUID, dict[str, int]]:
    """How many components of each type these racks hold now; racks without any are left out."""
    live = Component.objects.filter(rack_id__in=rack_ids, deleted_at__isnull=True)
    counts: dict[UUID, dict[str, int]] = {}
    for rack_id, type_, count in live.order_by().values_list("rack_id", "type").annotate(n=Count("id")):
        counts.setdefault(rack_id, {})[type_] = count
    return counts


def components_to_pick(rack_id: UUID) -> list[Component]:
    """The components of a rack by type, place and name, with what a list to choose from shows."""
    live = Component.objects.filter(rack_id=rack_id, deleted_at__isnull=True)
    shown = live.only("id", "type", "name", "slot_id", "tray_index", "power_state")
    return list(shown.order_by("type", "slot_id", "tray_index", "name", "id"))


def component_places(component_ids: Collection[UUID]) -> dict[UUID, UUID]:
    """The rack in which each of these components is now; those that are in none, or gone, are left out."""
    if not component_ids:
        return {}
    rows = Component.objects.filter(id__in=component_ids, deleted_at__isnull=True, rack__deleted_at__isnull=True)
    return {pk: rack_id for pk, rack_id in rows.values_list("id", "rack_id") if rack_id is not None}


def picks_resolve(asked: Sequence[Wanted], *, merge: bool, limit: int) -> list[ResolvedTarget]:  # noqa: ARG001  as all
    """The picked racks, in order, if each is in the inventory and holds the components that were picked of it.

    Raises NotFound for a rack that is not there, InvalidInput for one picked twice, for components that are not in it
    and for too many of them. `merge` changes nothing: a form picks each rack once.
    """
    names = rack_names([want.id for want in asked if want.id])
    places = component_places([component for want in asked for component in want.components])
    resolved: dict[UUID, ResolvedTarget] = {}
    for want in asked:
        rack_id = want.id
        if rack_id is None or rack_id not in names:
            raise NotFound(f"there is no rack {want}: take it out", field=FIELD)
        name, gone = names[rack_id]
        if gone:
            raise NotFound(f"rack '{name}' is no longer in the inventory: take it out", field=FIELD)
        if rack_id in resolved:
            raise InvalidInput(f"rack '{name}' is named twice: name each rack once", field=FIELD)
        _check_components(want, name, rack_id, places)
        resolved[rack_id] = ResolvedTarget(rack_id, name, want.types or None, want.components or None)
    check_limit(len(resolved), what="racks", limit=limit)
    return list(resolved.values())


def _check_components(want: Wanted, name: str, rack_id: UUID, places: dict[UUID, UUID]) -> None:
    most = settings.FLOWSCHED_MAX_COMPONENTS_PER_RACK
    if len(want.components) > most:
        raise InvalidInput(
            f"more than {most} components of rack '{name}' are named (FLOWSCHED_MAX_COMPONENTS_PER_RACK): "
            "take the rack, or types of its components",
            reason="TOO_MANY_COMPONENTS",
            field=FIELD,
        )
    elsewhere = [component for component in want.components if places.get(component) != rack_id]
    if elsewhere:
        what = f"component {elsewhere[0]} is" if len(elsewhere) == 1 else f"{len(elsewhere)} components are"
        raise InvalidInput(f"{what} no longer in rack '{name}': choose its components anew", field=FIELD)
