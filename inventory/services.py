"""Changing the inventory: creating what is in it, removing racks, putting them into NVLink domains, importing them.

Each verb is one transaction with its audit row. A rack that leaves is soft-deleted with its components: schedules
keep their scopes on it and say why they fail.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import QuerySet

from audit.services import verb
from flowsched.actor import Actor
from flowsched.errors import AlreadyExists, PreconditionFailed
from inventory.creation import component_create, domain_create, rack_create
from inventory.identifiers import shown
from inventory.imports import Counts, ImportSummary, racks_import
from inventory.models import Component, NVLDomain, Rack
from inventory.selectors import domain_get, racks_named

__all__ = [
    "Counts",
    "ImportSummary",
    "Moved",
    "component_create",
    "domain_create",
    "rack_create",
    "rack_remove",
    "racks_attach",
    "racks_detach",
    "racks_import",
]


@dataclass(frozen=True, slots=True)
class Moved:
    """The names of the racks that a verb moved, and of those that were already where it wanted them."""

    moved: tuple[str, ...]
    skipped: tuple[str, ...]


def rack_remove(*, rack: str, by: Actor, now: datetime) -> Rack:
    """Soft-delete the rack of this name or id, with its components. A removed one is refused."""
    with verb("rack.remove", by=by, kind="rack", now=now, object_name=shown(rack, most=255)) as done:
        row = racks_named([rack], _locked(Rack.objects.all()))[0]
        done.object_id, done.object_name = str(row.id), row.name
        if row.deleted_at is not None:
            at = row.deleted_at.strftime("%Y-%m-%d %H:%M:%SZ")
            raise PreconditionFailed(f"rack '{row.name}' is removed already, since {at}", reason="REMOVED")
        live = Component.objects.filter(rack_id=row.id, deleted_at__isnull=True)
        components = live.update(deleted_at=now, updated_at=now)
        Rack.objects.filter(id=row.id, deleted_at__isnull=True).update(deleted_at=now, updated_at=now)
        done.after = {"deleted_at": now.isoformat(), "components_removed": components}
        row.deleted_at = now
    return row


def racks_attach(*, domain: str, racks: Sequence[str], by: Actor, now: datetime) -> Moved:
    """Put all these racks (names or ids) into the domain (name or id), or none of them.

    Those already in it are skipped; one in another domain is refused (F-181, F-300).
    """
    with verb("nvl_domain.attach", by=by, kind="nvl_domain", now=now, object_name=shown(domain, most=255)) as done:
        target = domain_get(domain)
        done.object_id, done.object_name = str(target.id), target.name
        rows = racks_named(racks, _locked(Rack.objects.filter(deleted_at__isnull=True)))
        moving = [row for row in rows if row.nvl_domain_id != target.id]
        others = NVLDomain.objects.in_bulk([row.nvl_domain_id for row in moving if row.nvl_domain_id])
        for row in moving:
            if row.nvl_domain_id is not None:
                raise AlreadyExists(
                    f"rack '{row.name}' is in NVLink domain '{others[row.nvl_domain_id].name}': detach it first",
                    reason="IN_OTHER_DOMAIN",
                )
        _move(moving, to=target, now=now)
        done.changed = bool(moving)
        done.after = {"racks": [row.name for row in moving]}
    return Moved(tuple(r.name for r in moving), tuple(r.name for r in rows if r not in moving))


def racks_detach(*, racks: Sequence[str], by: Actor, now: datetime, domain: str | None = None) -> Moved:
    """Take all these racks (names or ids) out of their domains, or none. Those in no domain are skipped (F-300).

    With `domain` (name or id) a rack that is in another one is refused.
    """
    name = "" if domain is None else shown(domain, most=255)
    with verb("nvl_domain.detach", by=by, kind="nvl_domain", now=now, object_name=name) as done:
        only = None if domain is None else domain_get(domain)
        if only is not None:
            done.object_id, done.object_name = str(only.id), only.name
        rows = racks_named(racks, _locked(Rack.objects.filter(deleted_at__isnull=True)))
        moving = [row for row in rows if row.nvl_domain_id is not None]
        domains = NVLDomain.objects.in_bulk([row.nvl_domain_id for row in moving if row.nvl_domain_id])
        done.before = {row.name: domains[row.nvl_domain_id].name for row in moving if row.nvl_domain_id}
        for row in moving:
            if only is not None and row.nvl_domain_id != only.id:
                raise PreconditionFailed(
                    f"rack '{row.name}' is in NVLink domain '{done.before[row.name]}', not in '{only.name}'",
                    reason="IN_OTHER_DOMAIN",
                )
        _move(moving, to=None, now=now)
        done.changed = bool(moving)
        done.after = {"racks": [row.name for row in moving]}
    return Moved(tuple(r.name for r in moving), tuple(r.name for r in rows if r not in moving))


def _locked(racks: QuerySet[Rack]) -> QuerySet[Rack]:
    return racks.select_for_update(no_key=True).order_by("id")


def _move(rows: Sequence[Rack], *, to: NVLDomain | None, now: datetime) -> None:
    if rows:
        Rack.objects.filter(id__in=[row.id for row in rows]).update(nvl_domain=to, updated_at=now)
