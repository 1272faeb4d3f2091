"""The verbs of a schedule's racks: add (merging), reconcile (replacing), remove; and change, for racks and fields.

Each locks the schedule, so it happens before or after a firing and never in the middle of one; withdraws what an
earlier tick has not submitted yet for the racks it touches; counts up the schedule's version; and leaves an audit row
on the schedule. A rack that cannot be merged undoes the whole request.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.conf import settings

from audit.services import Verb, verb
from flowsched.actor import Actor
from flowsched.errors import InvalidInput, NotFound, PreconditionFailed
from inventory.selectors import targets_resolve
from inventory.targets import Target
from schedules.changes import ScheduleChanges, changes_apply, schedule_update
from schedules.checks import check_scope_count
from schedules.models import TaskSchedule
from schedules.ports import ports
from schedules.quoting import quote
from schedules.rows import AUDIT_KIND, not_found, schedule_lock, schedule_write
from scopes.filters import filter_dump
from scopes.models import TaskScheduleScope
from scopes.plan import IncomingScope, Plan, plan_add, plan_reconcile
from scopes.rows import (
    incoming,
    scopes_delete,
    scopes_insert,
    scopes_lock,
    scopes_read,
    scopes_write_filters,
)
from scopes.selectors import scopes_by_id, scopes_of


@dataclass(frozen=True, slots=True)
class ScopesAdded:
    """What adding did: new rows, and rows whose filter grew, each in the order asked for; unchanged ones are absent."""

    created: list[TaskScheduleScope]
    updated: list[TaskScheduleScope]
    version: int  # of the schedule now

    @property
    def scopes(self) -> list[TaskScheduleScope]:
        """New rows, then grown ones: the answer on the wire."""
        return [*self.created, *self.updated]


@dataclass(frozen=True, slots=True)
class ScopesReconciled:
    """All scopes as they are now, and how many rows came, went and changed."""

    scopes: list[TaskScheduleScope]
    added: int
    removed: int
    updated: int
    version: int  # of the schedule now


def scopes_add(
    *, schedule_id: UUID, targets: Sequence[Target], by: Actor, now: datetime, expected_version: int | None = None
) -> ScopesAdded:
    """Add racks to a schedule; a rack it has already gets the union of both filters.

    Raises NotFound, InvalidInput (targets, limits), PreconditionFailed (filters by types and by ids; a schedule
    without racks), VersionMismatch.
    """
    with verb("scope.add", by=by, kind=AUDIT_KIND, now=now, object_id=schedule_id) as done:
        wanted = _resolve(schedule_id, targets)
        schedule = schedule_lock(schedule_id, done=done, expected_version=expected_version)
        current, position = scopes_read(schedule_id)
        plan = plan_add(current, wanted)
        created = _apply(schedule, plan, size=len(current), position=position, done=done, now=now)
        grown = [change.scope.id for change in plan.updates]
        rows = scopes_by_id([*created, *grown])
        return ScopesAdded([rows[pk] for pk in created], [rows[pk] for pk in grown], schedule.version)


def scopes_reconcile(
    *, schedule_id: UUID, targets: Sequence[Target], by: Actor, now: datetime, expected_version: int | None = None
) -> ScopesReconciled:
    """Make the racks of a schedule exactly `targets`; rows that stay keep their id and their last task.

    Raises NotFound, InvalidInput (targets, limits; none at all), VersionMismatch.
    """
    with verb("scope.reconcile", by=by, kind=AUDIT_KIND, now=now, object_id=schedule_id) as done:
        wanted = _resolve(schedule_id, targets)
        schedule = schedule_lock(schedule_id, done=done, expected_version=expected_version)
        current, position = scopes_read(schedule_id)
        plan = plan_reconcile(current, wanted)
        _apply(schedule, plan, size=len(current), position=position, done=done, now=now)
        return ScopesReconciled(
            scopes_of(schedule_id),
            added=len(plan.creates),
            removed=len(plan.removes),
            updated=len(plan.updates),
            version=schedule.version,
        )


def schedule_change(
    *,
    schedule_id: UUID,
    changes: ScheduleChanges,
    targets: Sequence[Target] | None,
    by: Actor,
    now: datetime,
    expected_version: int | None = None,
) -> TaskSchedule:
    """Change fields of a schedule and make its racks exactly `targets`, both or neither; return it.

    For a form that shows both: two calls would save one half, and the second would meet the version of the first.
    `targets` None leaves the racks alone. Raises as schedule_update and scopes_reconcile do.
    """
    if targets is None:
        return schedule_update(
            schedule_id=schedule_id, changes=changes, by=by, now=now, expected_version=expected_version
        )
    name = "scope.reconcile" if changes.empty else "schedule.update"
    with verb(name, by=by, kind=AUDIT_KIND, now=now, object_id=schedule_id) as done:
        wanted = _resolve(schedule_id, targets)
        schedule = schedule_lock(schedule_id, done=done, expected_version=expected_version)
        before, after = changes_apply(schedule, changes, now=now)
        current, position = scopes_read(schedule_id)
        plan = plan_reconcile(current, wanted)
        _apply(schedule, plan, size=len(current), position=position, done=done, now=now)
        done.changed = bool(after) or not plan.empty
        done.before = {**(done.before or {}), **before}  # the version before both, and after both
        done.after = {**after, **(done.after or {})}
        return schedule


def scope_remove(*, scope_id: UUID, by: Actor, now: datetime, expected_version: int | None = None) -> None:
    """Take one rack out of its schedule. Tasks already submitted go on.

    Raises NotFound, PreconditionFailed (the last one: delete the schedule instead), VersionMismatch.
    """
    schedule_id = TaskScheduleScope.objects.filter(pk=scope_id).values_list("schedule_id", flat=True).first()
    _remove(schedule_id, [scope_id], by=by, now=now, expected_version=expected_version)


def scopes_remove(
    *, schedule_id: UUID, scope_ids: Sequence[UUID], by: Actor, now: datetime, expected_version: int | None = None
) -> None:
    """Take several racks out of a schedule, all or none. Raises as scope_remove does."""
    _remove(schedule_id, scope_ids, by=by, now=now, expected_version=expected_version)


def _remove(
    schedule_id: UUID | None, scope_ids: Sequence[UUID], *, by: Actor, now: datetime, expected_version: int | None
) -> None:
    with verb("scope.remove", by=by, kind=AUDIT_KIND, now=now) as done:
        if schedule_id is None:
            raise _scope_not_found(scope_ids[0])
        done.object_id = str(schedule_id)
        schedule = schedule_lock(schedule_id, done=done, expected_version=expected_version)
        current, position = scopes_read(schedule_id)
        rows = {scope.id: scope for scope in current}
        for scope_id in scope_ids:
            if scope_id not in rows:
                raise _scope_not_found(scope_id)
        if len(set(scope_ids)) == len(current):
            what = "this is the last scope" if len(current) == 1 else "these are all scopes"
            raise PreconditionFailed(
                f"{what} of schedule {quote(schedule.name)}: delete the schedule instead", reason="LAST_SCOPE"
            )
        removes = tuple(rows[scope_id] for scope_id in dict.fromkeys(scope_ids))
        _apply(schedule, Plan(removes=removes), size=len(current), position=position, done=done, now=now)


def _resolve(schedule_id: UUID, targets: Sequence[Target]) -> list[IncomingScope]:
    """The racks asked for. That the schedule exists is checked before the targets are, without a lock."""
    if not TaskSchedule.objects.filter(pk=schedule_id).exists():
        raise not_found(schedule_id)
    return incoming(targets_resolve(targets))


def _apply(schedule: TaskSchedule, plan: Plan, *, size: int, position: int, done: Verb, now: datetime) -> list[UUID]:
    """Write the plan under the schedule's lock; return the new rows' ids. An empty plan writes and counts nothing."""
    if plan.empty:
        done.changed = False
        return []
    check_scope_count(size + len(plan.creates) - len(plan.removes), limit=settings.FLOWSCHED_MAX_SCOPES_PER_SCHEDULE)
    _refuse_wide_filters(plan)
    changed = [change.scope.id for change in plan.updates]
    removed = [scope.id for scope in plan.removes]
    # Firing rows before scope rows: the order in which a firing locks them, too.
    withdrawn = 0
    if changed:
        withdrawn += ports.withdraw(schedule.pk, changed, "scope_changed", "the scope's filter was changed", now)
    if removed:
        withdrawn += ports.withdraw(schedule.pk, removed, "scope_removed", "the rack was taken out", now)
    scopes_lock([*changed, *removed])
    created = scopes_insert(schedule.pk, plan.creates, position=position, now=now)
    if scopes_delete(schedule.pk, removed) != len(removed):
        raise NotFound("a scope vanished meanwhile: read the schedule again", reason="SCOPE")
    scopes_write_filters(schedule.pk, plan.updates)
    done.before = {"version": schedule.version, **_said_before(plan)}
    schedule_write(schedule, now=now)
    done.after = {"version": schedule.version, "withdrawn": withdrawn, **_said_after(plan)}
    return created


def _refuse_wide_filters(plan: Plan) -> None:
    limit = settings.FLOWSCHED_MAX_COMPONENTS_PER_RACK
    for change in plan.updates:
        if change.component_filter is not None and len(change.component_filter.components) > limit:
            raise InvalidInput(
                f"the scope of rack {change.scope.rack_name} would name more than {limit} components: "
                "replace its filter, or take the whole rack",
                reason="TOO_MANY_COMPONENTS",
                field="target_spec",
            )


def _said_before(plan: Plan) -> dict[str, Any]:
    said = {
        "changed": {change.scope.rack_name: change.scope.component_filter for change in plan.updates},
        "removed": {scope.rack_name: scope.component_filter for scope in plan.removes},
    }
    return {key: value for key, value in said.items() if value}


def _said_after(plan: Plan) -> dict[str, Any]:
    said: dict[str, Any] = {
        "added": {scope.rack_name: filter_dump(scope.component_filter) for scope in plan.creates},
        "changed": {change.scope.rack_name: filter_dump(change.component_filter) for change in plan.updates},
        "removed": [scope.rack_name for scope in plan.removes],
    }
    return {key: value for key, value in said.items() if value}


def _scope_not_found(scope_id: UUID) -> NotFound:
    return NotFound(f"there is no scope '{scope_id}'", reason="SCOPE")
