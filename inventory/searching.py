"""Finding racks, components and domains: by id, by serial number, by filters, in an order that ends with the id.

Soft-deleted rows are invisible. A constant number of queries for any number of rows, components and BMCs included;
offset and limit are taken as they are, doors check them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar, cast
from uuid import UUID

from django.db.models import F, Model, Prefetch, Q, QuerySet

from flowsched.errors import InvalidInput, NotFound, PreconditionFailed
from inventory.components import parse_component_type
from inventory.identifiers import check_text, shown
from inventory.models import Bmc, Component, NVLDomain, Rack
from inventory.patterns import Query, check_query, condition
from inventory.selectors import components_named, domain_get, targets_resolve
from inventory.targets import ComponentTarget, Target

_M = TypeVar("_M", bound=Model)
Order = tuple[str, str]  # a field, and ASC or DESC
RACK_FIELDS = ("name", "manufacturer", "model")
COMPONENT_FIELDS = ("name", "manufacturer", "model", "type")
ANYTHING = Query()
BY_NAME: Order = ("name", "ASC")
NAMES_SHOWN = 10


# Querysets ------------------------------------------------------------------------------------------------------


def racks_live(*, with_components: bool = False) -> QuerySet[Rack]:
    """All racks with their domains, by name; with their components as `and_components` has them if that is asked."""
    racks = Rack.objects.filter(deleted_at__isnull=True).select_related("nvl_domain").order_by("name", "id")
    return and_components(racks) if with_components else racks


def and_components(racks: QuerySet[Rack]) -> QuerySet[Rack]:
    """The same racks, of which `components.all()` are the live ones with their BMCs, by type, place and name."""
    components = Component.objects.filter(deleted_at__isnull=True).prefetch_related(_bmcs())
    order = ("type", "slot_id", "tray_index", "name", "id")
    return racks.prefetch_related(Prefetch("components", components.order_by(*order)))


def components_live() -> QuerySet[Component]:
    """All components, in racks or not, with their racks, those racks' domains and their BMCs, by name."""
    live = Component.objects.filter(deleted_at__isnull=True).select_related("rack__nvl_domain")
    return live.prefetch_related(_bmcs()).order_by("name", "id")


def domains_live() -> QuerySet[NVLDomain]:
    """All NVLink domains, by name."""
    return NVLDomain.objects.filter(deleted_at__isnull=True).order_by("name", "id")


def _bmcs() -> Prefetch[Any]:
    return Prefetch("bmcs", Bmc.objects.order_by("mac_address"))


# One thing ------------------------------------------------------------------------------------------------------


def rack_by_id(rack_id: UUID, *, with_components: bool = False) -> Rack:
    """The rack of this id (F-174). NotFound names it."""
    rack = racks_live(with_components=with_components).filter(id=rack_id).first()
    if rack is None:
        raise NotFound(f"there is no rack {rack_id}")
    return rack


def rack_by_serial(*, serial_number: str, manufacturer: str = "", with_components: bool = False) -> Rack:
    """The rack with this serial number, of this manufacturer if one is given (F-174)."""
    return _by_serial("rack", racks_live(with_components=with_components), manufacturer, serial_number)


def component_by_id(component_id: UUID) -> Component:
    """The component of this id with its rack and BMCs (F-178). NotFound names it."""
    component = components_live().filter(id=component_id).first()
    if component is None:
        raise NotFound(f"there is no component {component_id}")
    return component


def component_by_serial(*, serial_number: str, manufacturer: str = "") -> Component:
    """The component with this serial number, of this manufacturer if one is given, with its rack and BMCs."""
    return _by_serial("component", components_live(), manufacturer, serial_number)


def domain_by_id(domain_id: UUID) -> NVLDomain:
    """The NVLink domain of this id. NotFound names it."""
    domain = domains_live().filter(id=domain_id).first()
    if domain is None:
        raise NotFound(f"there is no NVLink domain {domain_id}")
    return domain


def _by_serial(noun: str, rows: QuerySet[_M], manufacturer: str, serial_number: str) -> _M:
    if not serial_number:
        raise InvalidInput(f"the {noun}'s serial number is empty", field="serial_number")
    check_text(serial_number, what="the serial number", field="serial_number")
    check_text(manufacturer, what="the manufacturer", field="manufacturer")
    of_maker = {"manufacturer": manufacturer} if manufacturer else {}
    found: list[Any] = list(rows.filter(serial_number=serial_number, **of_maker)[: NAMES_SHOWN + 1])
    if not found:
        of = f" of manufacturer '{shown(manufacturer)}'" if manufacturer else ""
        raise NotFound(f"there is no {noun} with serial number '{shown(serial_number)}'{of}")
    if len(found) > 1:
        makers = ", ".join(sorted(f"'{row.manufacturer}'" for row in found[:NAMES_SHOWN]))
        raise PreconditionFailed(
            f"serial number '{shown(serial_number)}' is ambiguous: {noun}s of the manufacturers {makers} have it; "
            "give the manufacturer",
            reason="AMBIGUOUS",
        )
    return cast(_M, found[0])


# Lists ----------------------------------------------------------------------------------------------------------


def racks_search(
    *,
    filters: Mapping[str, Query],
    order_by: Order | None = None,
    limit: int | None,
    offset: int = 0,
    with_components: bool = False,
) -> tuple[list[Rack], int]:
    """A page of the racks that pass all `filters`, by RACK_FIELDS, and how many there are in all (F-175, F-176)."""
    racks = racks_live(with_components=with_components)
    return _page(_filtered(racks, filters, RACK_FIELDS), order_by, RACK_FIELDS, limit, offset)


def components_search(
    *,
    targets: Sequence[Target] | None = None,
    filters: Mapping[str, Query],
    order_by: Order | None = None,
    limit: int | None,
    offset: int = 0,
) -> tuple[list[Component], int]:
    """A page of the components that pass all `filters`, by COMPONENT_FIELDS, and how many there are in all (F-179).

    `targets` leaves those that they come to now. A filter on `type` takes type names in any letter case.
    """
    components = components_live()
    if targets is not None:
        components = components.filter(_in_targets(targets))
    rest = dict(filters)
    types = rest.pop("type", None)
    if types is not None and types.patterns:
        check_query(types)
        names = {parse_component_type(text, field="filters").value for text in types.patterns}
        components = components.filter(type__in=names)
    return _page(_filtered(components, rest, COMPONENT_FIELDS), order_by, COMPONENT_FIELDS, limit, offset)


def domains_search(*, query: Query = ANYTHING, limit: int | None, offset: int = 0) -> tuple[list[NVLDomain], int]:
    """A page of the NVLink domains whose names are so, by name, and how many there are in all (F-182)."""
    return _page(domains_live().filter(condition("name", query)), None, RACK_FIELDS, limit, offset)


def domain_racks(*, domain_id: UUID | None = None, name: str | None = None) -> list[Rack]:
    """The racks in a domain with their components, by name (F-182): none for an unknown id, NotFound for a name."""
    if (domain_id is None) == (name is None):
        raise InvalidInput("give the NVLink domain's id or its name, one of the two", field="nvl_domain_identifier")
    racks = racks_live(with_components=True)
    if domain_id is not None:
        return list(racks.filter(nvl_domain_id=domain_id, nvl_domain__deleted_at__isnull=True))
    return list(racks.filter(nvl_domain_id=domain_get(name or "").id))


def _in_targets(targets: Sequence[Target]) -> Q:
    """What a component is that `targets` reach. Components are listed also when they are in no rack."""
    named = [target for target in targets if isinstance(target, ComponentTarget)]
    if named and len(named) == len(targets):
        return Q(id__in=components_named(named))
    racks: dict[frozenset[str], list[UUID]] = {}
    for resolved in targets_resolve(targets, merge=True):
        racks.setdefault(frozenset(resolved.types or ()), []).append(resolved.rack_id)
    found = Q(pk__in=[])
    for types, ids in racks.items():
        found |= Q(rack_id__in=ids, type__in=types) if types else Q(rack_id__in=ids)
    return found


def _filtered(rows: QuerySet[_M], filters: Mapping[str, Query], known: Sequence[str]) -> QuerySet[_M]:
    for column, query in filters.items():
        _check_field(column, known, what="filter by")
        rows = rows.filter(condition(column, query))
    return rows


def _page(
    rows: QuerySet[_M], order_by: Order | None, known: Sequence[str], limit: int | None, offset: int
) -> tuple[list[_M], int]:
    column, direction = order_by or BY_NAME
    _check_field(column, known, what="order by")
    if direction not in {"ASC", "DESC"}:
        raise InvalidInput(f"'{shown(direction)}' is no direction: use ASC or DESC", field="order_by")
    first = F(column).desc() if direction == "DESC" else F(column).asc()
    page = rows.order_by(first, "id")[offset : None if limit is None else offset + limit]
    return list(page), rows.count()


def _check_field(column: str, known: Sequence[str], *, what: str) -> None:
    if column not in known:
        raise InvalidInput(
            f"'{shown(column)}' is nothing to {what}: use {', '.join(known)}",
            field="order_by" if what == "order by" else "filters",
        )
