"""The verbs of a schedule: create, pause, resume, delete, disable; changing one is schedules/changes.

Each is one transaction that locks the row first and leaves one audit row; what it refuses leaves the schedule
untouched. After a pause or a delete has returned, no task appears for a tick that was due before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID, uuid4

from django.conf import settings
from django.db import connection

from audit.services import verb
from flowsched import db
from flowsched.actor import SYSTEM, Actor
from flowsched.errors import InvalidInput, PreconditionFailed
from inventory.identifiers import check_name, check_text, shown
from inventory.selectors import targets_resolve
from inventory.targets import ResolvedTarget, Target
from schedules import checks
from schedules.changes import UNSET, ScheduleChanges, Unset, schedule_update
from schedules.models import TaskSchedule
from schedules.ports import ports
from schedules.quoting import quote
from schedules.rows import (
    AUDIT_KIND,
    CHANNEL,
    plain,
    refuse_consumed,
    refuse_taken_name,
    schedule_lock,
    schedule_write,
    snapshot,
)
from schedules.specs import spec_of, spec_parse
from schedules.template import rackless, template_dump, template_load
from tasks.http.call import call_parse
from tasks.http.endpoints import call_check, endpoint_of
from tasks.operations import Operation, OperationType

__all__ = [
    "UNSET",
    "ScheduleChanges",
    "Unset",
    "schedule_create",
    "schedule_delete",
    "schedule_disable",
    "schedule_pause",
    "schedule_resume",
    "schedule_update",
]

MAX_REASON: Final = 1000
CALL_GRACE: Final = timedelta(seconds=300)
_STATE: Final = ("enabled", "disabled_kind", "disabled_reason", "next_run_at", "version")
_ENABLED: Final[dict[str, Any]] = {
    "enabled": True,
    "disabled_kind": TaskSchedule.DisabledKind.NO.value,
    "disabled_reason": "",
    "disabled_by": "",
    "disabled_at": None,
    "consecutive_skips": 0,
    "consecutive_no_effect": 0,
}


def schedule_create(
    *,
    name: str,
    spec_type: str,
    spec: str,
    timezone: str = "",
    operation: Operation | None,
    overlap_policy: str = TaskSchedule.OverlapPolicy.SKIP.value,
    targets: Sequence[Target],
    queue_timeout: timedelta | None = None,
    misfire_grace: timedelta | Unset | None = UNSET,
    rule_id: object = None,
    by: Actor,
    now: datetime,
    request_id: UUID | None = None,
) -> TaskSchedule:
    """Create an enabled schedule and its scopes; return it.

    `targets` may be empty for an HTTP call, which then is made once a firing. `misfire_grace` None: it fires however
    late; not given: the operation's default (D-9).

    The same `request_id`, which becomes the schedule's id, again returns the schedule as it is. What is wrong is
    reported in this order: name, spec and operation given, limits, targets, and only then whether the spec can be read.
    A one-time instant in the past is due at once. Raises InvalidInput, NotFound (a target), PreconditionFailed (an
    ambiguous one), AlreadyExists (the name).
    """
    with verb("schedule.create", by=by, kind=AUDIT_KIND, now=now, object_name=shown(name, most=255)) as done:
        made = _made_before(request_id)
        if made is not None:
            done.changed = False
            return made
        check_name(name, what="the schedule's name")
        if misfire_grace is UNSET:
            misfire_grace = default_grace(operation)
        template = _check_request(
            spec_type, spec, operation, overlap_policy=overlap_policy, misfire_grace=misfire_grace,
            queue_timeout=queue_timeout, rule_id=rule_id,
        )  # fmt: skip
        resolved = targets_resolve(targets) if targets or not rackless(template) else []
        parsed = spec_parse(spec_type, spec, timezone)
        checks.check_window(template["information"], spec_type=parsed.spec_type)
        schedule = TaskSchedule(
            id=request_id or uuid4(),
            name=name,
            spec_type=parsed.spec_type,
            spec=spec,
            timezone=parsed.timezone,
            operation_template=template,
            overlap_policy=overlap_policy,
            misfire_grace=misfire_grace,
            next_run_at=parsed.first_run(now),
            created_at=now,
            updated_at=now,
        )
        with refuse_taken_name(name):
            schedule.save(force_insert=True)
        ports.create_scopes(schedule, resolved, now)
        db.notify(CHANNEL)
        done.object_id, done.object_name = str(schedule.pk), name
        done.after = snapshot(schedule) | {"racks": racks_said(resolved)}
        return schedule


def schedule_pause(
    *, schedule_id: UUID, reason: str = "", by: Actor, now: datetime, expected_version: int | None = None
) -> TaskSchedule:
    """Stop a schedule from firing until it is resumed, and withdraw what an earlier tick has not submitted yet.

    next_run_at stays as it is. Paused already: returned as it is. Disabled by the system: that stays its reason, but
    pending work is withdrawn. Raises PreconditionFailed for a one-time schedule that has run.
    """
    with verb("schedule.pause", by=by, kind=AUDIT_KIND, now=now, object_id=schedule_id) as done:
        check_text(reason, what="the reason", field="reason", most=MAX_REASON, lines=True)
        schedule = schedule_lock(schedule_id, done=done, expected_version=expected_version)
        refuse_consumed(schedule, "paused")
        if schedule.disabled_kind == TaskSchedule.DisabledKind.PERSON:
            done.changed = False
            return schedule
        because = reason.strip() or f"paused by {by.name}"
        withdrawn = ports.withdraw(schedule.pk, None, "paused", f"the schedule was paused: {because}", now)
        if not schedule.enabled:
            done.changed = withdrawn > 0
            done.after = {"withdrawn": withdrawn}
            return schedule
        done.before = _state(schedule)
        schedule_write(schedule, now=now, **_disabled(TaskSchedule.DisabledKind.PERSON, because, by, now))
        done.after = _state(schedule) | {"withdrawn": withdrawn}
        db.notify(CHANNEL)
        return schedule


def schedule_resume(
    *, schedule_id: UUID, by: Actor, now: datetime, expected_version: int | None = None
) -> TaskSchedule:
    """Let a disabled schedule fire again, counting from `now`; its skip streaks start anew.

    A one-time schedule keeps its instant, even one that has passed: it is due at once. Enabled already: returned as
    it is. Raises PreconditionFailed for a one-time schedule that has run, and for one that cannot be read.
    """
    with verb("schedule.resume", by=by, kind=AUDIT_KIND, now=now, object_id=schedule_id) as done:
        schedule = schedule_lock(schedule_id, done=done, expected_version=expected_version)
        if schedule.enabled:
            done.changed = False
            return schedule
        refuse_consumed(schedule, "resumed")
        first_run = _first_run_if_readable(schedule, now)
        done.before = _state(schedule)
        schedule_write(schedule, now=now, next_run_at=first_run, **_ENABLED)
        ports.reset_streaks(schedule.pk)
        done.after = _state(schedule)
        db.notify(CHANNEL)
        return schedule


def schedule_delete(*, schedule_id: UUID, by: Actor, now: datetime, expected_version: int | None = None) -> None:
    """Delete a schedule and its scopes. Its firings and tasks stay, and tasks already submitted go on."""
    with verb("schedule.delete", by=by, kind=AUDIT_KIND, now=now, object_id=schedule_id) as done:
        schedule = schedule_lock(schedule_id, done=done, expected_version=expected_version, for_delete=True)
        withdrawn = ports.withdraw(schedule.pk, None, "deleted", "the schedule was deleted", now)
        done.before = snapshot(schedule)
        done.after = {"withdrawn": withdrawn}
        ports.delete_scopes(schedule.pk)
        TaskSchedule.objects.filter(pk=schedule.pk).delete()
        db.notify(CHANNEL)


def schedule_disable(*, schedule_id: UUID, reason: str, now: datetime) -> TaskSchedule:
    """Disable a schedule in the system's name, because it cannot be read or advanced; return it.

    For the dispatcher, inside its transaction or in one of its own. It is no person's change: the version stays.
    Disabled already: returned as it is.
    """
    with verb("schedule.disable", by=SYSTEM, kind=AUDIT_KIND, now=now, object_id=schedule_id) as done:
        schedule = schedule_lock(schedule_id, done=done)
        if not schedule.enabled:
            done.changed = False
            return schedule
        done.before = _state(schedule)
        because = shown(reason, most=MAX_REASON)
        columns = _disabled(TaskSchedule.DisabledKind.SYSTEM, because, SYSTEM, now)
        schedule_write(schedule, now=now, by_person=False, **columns)
        done.after = _state(schedule)
        db.notify(CHANNEL)
        return schedule


def racks_said(resolved: Sequence[ResolvedTarget]) -> dict[str, Any]:
    """What the audit trail keeps of scopes: rack name -> types, component ids, or None for the whole rack."""
    return {
        target.rack_name: list(target.types) if target.types else [str(c) for c in target.components or ()] or None
        for target in resolved
    }


def _made_before(request_id: UUID | None) -> TaskSchedule | None:
    """What this request made before. A repeat that comes at the same moment waits for the first one's transaction."""
    if request_id is None:
        return None
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [str(request_id)])
    return TaskSchedule.objects.filter(pk=request_id).first()


def _check_request(
    spec_type: str,
    spec: str,
    operation: Operation | None,
    *,
    overlap_policy: str,
    misfire_grace: timedelta | None,
    queue_timeout: timedelta | None,
    rule_id: object,
) -> dict[str, Any]:
    """Check what needs no database; return the operation as it is stored. Raises InvalidInput."""
    checks.check_spec_given(spec_type, spec)
    if operation is None:
        raise InvalidInput("a schedule needs an operation: what shall it do?", field="operation")
    checks.check_overlap_policy(overlap_policy)
    checks.check_grace(misfire_grace, poll_interval=settings.FLOWSCHED_POLL_INTERVAL)
    template = template_dump(operation, queue_timeout, rule_id)
    if rackless(template):
        call = call_parse(operation.code, operation.information)
        call_check(call, endpoint_of(call.target.endpoint))
        template["information"] = call.information()  # with every default, so that a new one changes no old schedule
    return template


def default_grace(operation: Operation | None) -> timedelta | None:
    """How late an operation may begin if nobody says: hardware however late, a call 5 minutes (D-9)."""
    if operation is None or operation.type != OperationType.HTTP:
        return None
    return max(CALL_GRACE, 2 * settings.FLOWSCHED_POLL_INTERVAL)


def _first_run_if_readable(schedule: TaskSchedule, now: datetime) -> datetime:
    """When the schedule runs first if resumed: a one-time schedule at its instant, passed or not.

    Raises PreconditionFailed if its spec or operation cannot be read.
    """
    try:
        first_run = spec_of(schedule).first_run(now)
    except InvalidInput as error:
        raise PreconditionFailed(
            f"schedule {quote(schedule.name)} cannot be resumed before its spec is mended: {error.message}",
            reason="SPEC_UNREADABLE",
        ) from None
    try:
        template_load(schedule.operation_template)
    except InvalidInput as error:
        raise PreconditionFailed(
            f"schedule {quote(schedule.name)} cannot be resumed, create it anew: {error.message}",
            reason="TEMPLATE_UNREADABLE",
        ) from None
    return first_run


def _disabled(kind: TaskSchedule.DisabledKind, reason: str, by: Actor, now: datetime) -> dict[str, Any]:
    return {
        "enabled": False,
        "disabled_kind": kind.value,
        "disabled_reason": reason,
        "disabled_by": by.name[:255],
        "disabled_at": now,
    }


def _state(schedule: TaskSchedule) -> dict[str, Any]:
    return {column: plain(getattr(schedule, column)) for column in _STATE}
