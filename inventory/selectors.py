"""Reading the inventory: racks, components, domains, and what a request's targets come to.

Soft-deleted rows are invisible here unless a function says otherwise. A constant number of queries for any number of
things asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from uuid import UUID

from django.conf import settings
from django.db.models import Count, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from flowsched.errors import InvalidInput, NotFound, PreconditionFailed
from inventory.components import ComponentType
from inventory.identifiers import NO_UUID, check_name, shown, uuid_or_none
from inventory.models import Component, NVLDomain, Rack
from inventory.picking import picks_resolve
from inventory.targets import (
    FIELD,
    ComponentCollector,
    ComponentRef,
    ComponentTarget,
    DomainTarget,
    PickedTarget,
    RackCollector,
    RackRef,
    RackTarget,
    ResolvedTarget,
    Target,
    Wanted,
    check_limit,
    check_targets,
    wanted,
)


def targets_resolve(targets: Sequence[Target], *, merge: bool = False) -> list[ResolvedTarget]:
    """The racks that `targets` come to now, in request order; the first target at fault decides the error.

    `merge` unites a rack or component named repeatedly (direct operations, F-245) instead of refusing it.
    """
    limit = settings.FLOWSCHED_MAX_SCOPES_PER_SCHEDULE
    sound, fault = _sound(targets, limit)
    kinds = {RackTarget: _racks, ComponentTarget: _components, DomainTarget: _domains, PickedTarget: picks_resolve}
    resolve = kinds[type(targets[0])]
    resolved = resolve(sound, merge=merge, limit=limit)
    if fault is not None:
        raise fault
    return resolved


def components_named(targets: Sequence[ComponentTarget]) -> list[UUID]:
    """Ids of the components that `targets` name, in racks or not, in request order: for reading, not for acting."""
    sound, fault = _sound(targets, settings.FLOWSCHED_MAX_SCOPES_PER_SCHEDULE)
    found = [ref.id for ref in _component_refs(sound)]
    if fault is not None:
        raise fault
    return found


def _sound(targets: Sequence[Target], limit: int) -> tuple[list[Wanted], InvalidInput | None]:
    """The targets before the first whose shape is at fault, and its fault: an earlier one may turn out at fault yet."""
    check_targets(targets, limit=limit)
    sound: list[Wanted] = []
    for position, target in enumerate(targets, start=1):
        try:
            sound.append(wanted(target, position))
        except InvalidInput as error:
            return sound, error
    return sound, None


def _racks(asked: Sequence[Wanted], *, merge: bool, limit: int) -> list[ResolvedTarget]:
    rows = _live_racks(asked)
    by_id = {row.id: RackRef(row.id, row.name) for row in rows}
    by_name = {row.name: by_id[row.id] for row in rows}
    by_external = {row.external_id: by_id[row.id] for row in rows if row.external_id is not None}
    collector = RackCollector(limit=limit, merge=merge)
    for want in asked:
        if want.id is not None:
            rack = by_id.get(want.id)
        else:
            rack = by_name.get(want.name) if want.name is not None else by_external.get(want.external_id or "")
        if rack is None:
            raise NotFound(f"there is no rack {want}", field=FIELD)
        collector.add(rack, want.types)
    return collector.result()


def _live_racks(asked: Sequence[Wanted]) -> list[Rack]:
    match = Q()
    for column in ("id", "name", "external_id"):
        values = [getattr(want, column) for want in asked if getattr(want, column) is not None]
        if values:
            match |= Q(**{f"{column}__in": values})
    rows = Rack.objects.filter(match, deleted_at__isnull=True).only("id", "name", "external_id")
    return list(rows) if match else []


def _components(asked: Sequence[Wanted], *, merge: bool, limit: int) -> list[ResolvedTarget]:
    per_rack = settings.FLOWSCHED_MAX_COMPONENTS_PER_RACK
    collector = ComponentCollector(limit=limit, per_rack=per_rack, merge=merge)
    for component in _component_refs(asked):
        collector.add(component)
    return collector.result()


def _component_refs(asked: Sequence[Wanted]) -> Iterator[ComponentRef]:
    """Each component asked for, in one query for all. NotFound for the first that is not there."""
    by_id: dict[UUID, ComponentRef] = {}
    by_external: dict[str, list[tuple[str, ComponentRef]]] = {}
    for row in _live_components(asked):
        rack = RackRef(row.rack.id, row.rack.name) if row.rack is not None and row.rack.deleted_at is None else None
        ref = by_id[row.id] = ComponentRef(row.id, row.name, rack)
        if row.external_id is not None:
            by_external.setdefault(row.external_id, []).append((row.type, ref))
    for want in asked:
        if want.id is None:
            yield _only(want, by_external.get(want.external_id or "", []))
        elif want.id in by_id:
            yield by_id[want.id]
        else:
            raise NotFound(f"there is no component {want}", field=FIELD)


def _only(want: Wanted, found: Sequence[tuple[str, ComponentRef]]) -> ComponentRef:
    """The one component with this external id, of the type given if one is (F-201, F-301)."""
    matches = [(kind, ref) for kind, ref in found if not want.types or kind in want.types]
    if not matches:
        raise NotFound(f"there is no {want.types[0] if want.types else 'component'} {want}", field=FIELD)
    if len(matches) > 1:
        kinds = ", ".join(sorted(kind for kind, _ in matches))
        raise PreconditionFailed(
            f"external id '{want.external_id}' is ambiguous: components of the types {kinds} have it; give the type",
            reason="AMBIGUOUS",
            field=FIELD,
        )
    return matches[0][1]


def _live_components(asked: Sequence[Wanted]) -> list[Component]:
    ids = [want.id for want in asked if want.id is not None]
    external = [want.external_id for want in asked if want.external_id is not None]
    # The types are in the query for the sake of the unique index on (type, external_id).
    match = Q(id__in=ids) | Q(type__in=[kind.value for kind in ComponentType], external_id__in=external)
    rows = Component.objects.filter(match, deleted_at__isnull=True).select_related("rack")
    return list(rows.only("id", "name", "type", "external_id", "rack__id", "rack__name", "rack__deleted_at"))


def _domains(asked: Sequence[Wanted], *, merge: bool, limit: int) -> list[ResolvedTarget]:
    match = Q(id__in=[want.id for want in asked if want.id]) | Q(name__in=[want.name for want in asked if want.name])
    domains = list(NVLDomain.objects.filter(match, deleted_at__isnull=True))
    racks: dict[UUID | None, list[RackRef]] = {}
    for row in racks_of_domains(domain.id for domain in domains)[: limit + 1]:
        racks.setdefault(row.nvl_domain_id, []).append(RackRef(row.id, row.name))
    check_limit(sum(map(len, racks.values())), what="racks", limit=limit)
    by_key = {key: domain for domain in domains for key in (domain.id, domain.name)}
    collector = RackCollector(limit=limit, merge=merge)
    for want in asked:
        domain = by_key.get(want.id or want.name or "")
        if domain is None:
            raise NotFound(f"there is no NVLink domain {want}", field=FIELD)
        if domain.id not in racks:
            raise InvalidInput(f"NVLink domain '{domain.name}' has no racks: attach one first", field=FIELD)
        for rack in racks[domain.id]:
            collector.add(rack, want.types)
    return collector.result()


def racks_of_domains(ids: Iterable[UUID]) -> QuerySet[Rack]:
    """The racks now in these domains, by name, then id (F-182, F-203)."""
    return Rack.objects.filter(nvl_domain_id__in=list(ids), deleted_at__isnull=True).order_by("name", "id")


def rack_get(name_or_id: str) -> Rack:
    """The rack with this id or, failing that, this name. NotFound names it."""
    live = Rack.objects.filter(deleted_at__isnull=True).select_related("nvl_domain")
    return racks_named([name_or_id], live)[0]


def rack_names(ids: Iterable[UUID]) -> dict[UUID, str]:
    """The names of those racks that are there, by id."""
    return dict(Rack.objects.filter(id__in=list(ids), deleted_at__isnull=True).values_list("id", "name"))


def racks_named(names_or_ids: Sequence[str], racks: QuerySet[Rack]) -> list[Rack]:
    """The racks of a query with these ids or names, each once, in the order given. NotFound for the first missing."""
    rows = list(racks.filter(_named(names_or_ids, what="rack")))
    by_id, by_name = {row.id: row for row in rows}, {row.name: row for row in rows}
    found: dict[UUID, Rack] = {}
    for text in names_or_ids:
        rack = by_id.get(uuid_or_none(text) or NO_UUID) or by_name.get(text)
        if rack is None:
            raise NotFound(f"there is no rack '{shown(text)}'")
        found[rack.id] = rack
    return list(found.values())


def domain_get(name_or_id: str) -> NVLDomain:
    """The NVLink domain with this id or, failing that, this name. NotFound names it."""
    rows = NVLDomain.objects.filter(_named([name_or_id], what="NVLink domain"), deleted_at__isnull=True)
    found = {row.id if row.name != name_or_id else name_or_id: row for row in rows}
    domain = found.get(uuid_or_none(name_or_id) or NO_UUID) or found.get(name_or_id)
    if domain is None:
        raise NotFound(
            f"there is no NVLink domain '{shown(name_or_id)}': an import creates the domains that its racks name"
        )
    return domain


def _named(names_or_ids: Sequence[str], *, what: str) -> Q:
    names = [check_name(text, what=f"the {what}'s name") for text in names_or_ids]
    return Q(id__in=[found for text in names if (found := uuid_or_none(text))]) | Q(name__in=names)


def racks_list(*, limit: int, offset: int = 0) -> tuple[list[Rack], int]:
    """A page of racks by name, then id (F-175), each with `component_count`, and how many there are in all."""
    live = Rack.objects.filter(deleted_at__isnull=True)
    counts = (
        Component.objects.filter(rack_id=OuterRef("id"), deleted_at__isnull=True)
        .order_by()
        .values("rack_id")
        .values(count=Count("id"))
    )
    page = live.select_related("nvl_domain").annotate(component_count=Coalesce(Subquery(counts), 0))
    return list(page.order_by("name", "id")[offset : offset + limit]), live.count()


def components_of(rack_id: UUID) -> list[Component]:
    """The components of a rack with their BMCs, by type, place and name."""
    live = Component.objects.filter(rack_id=rack_id, deleted_at__isnull=True).prefetch_related("bmcs")
    return list(live.order_by("type", "slot_id", "tray_index", "name", "id"))
