"""Changing a schedule: which fields a caller may name, and what naming them does.

The operation and the racks are not among them: another operation is another schedule, and racks are the scopes'.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from typing import Any, Final
from uuid import UUID

from django.conf import settings

from audit.services import verb
from flowsched import db
from flowsched.actor import Actor
from flowsched.errors import InvalidInput
from inventory.identifiers import check_name
from schedules import checks
from schedules.models import TaskSchedule
from schedules.rows import AUDIT_KIND, CHANNEL, plain, refuse_consumed, schedule_lock, schedule_write
from schedules.specs import spec_parse
from schedules.timing import Spec


class Unset(Enum):
    """The type of UNSET: a field that the caller did not name, as None may be a value."""

    UNSET = "unset"


UNSET: Final = Unset.UNSET


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleChanges:
    """The fields to change; those left UNSET stay.

    `spec_type` goes with `spec`; `spec` alone keeps the type. A `timezone` beside `spec` counts if it is not empty;
    alone, it is for cron schedules only, and empty means UTC. `misfire_grace` None means: fire however late.
    """

    name: str | Unset = UNSET
    overlap_policy: str | Unset = UNSET
    spec_type: str | Unset = UNSET
    spec: str | Unset = UNSET
    timezone: str | Unset = UNSET
    misfire_grace: timedelta | Unset | None = UNSET

    @property
    def empty(self) -> bool:
        """Whether no field is named."""
        return self == ScheduleChanges()

    @property
    def timing(self) -> bool:
        """Whether a field is named that decides when the schedule runs."""
        return any(field is not UNSET for field in (self.spec_type, self.spec, self.timezone))


def schedule_update(
    *, schedule_id: UUID, changes: ScheduleChanges, by: Actor, now: datetime, expected_version: int | None = None
) -> TaskSchedule:
    """Change a schedule, all fields or none; return it.

    A change of spec or timezone computes next_run_at anew from `now`; whether the schedule is enabled never changes.
    Raises InvalidInput, NotFound, VersionMismatch, AlreadyExists (the name), PreconditionFailed (timing of a one-time
    schedule that has run).
    """
    with verb("schedule.update", by=by, kind=AUDIT_KIND, now=now, object_id=schedule_id) as done:
        if changes.empty:
            raise InvalidInput("name at least one field to change", reason="NO_CHANGES", field="update_mask")
        if not changes.timing:
            _plain_columns(changes)  # what is wrong with the input is said before what is wrong with the id
        schedule = schedule_lock(schedule_id, done=done, expected_version=expected_version)
        done.before, done.after = changes_apply(schedule, changes, now=now)
        done.changed = bool(done.after)
        return schedule


def changes_apply(
    schedule: TaskSchedule, changes: ScheduleChanges, *, now: datetime
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Write the changes to the locked schedule; return what the audit trail keeps, before and after.

    Both are empty if nothing changed. Raises as schedule_update does.
    """
    wanted = _plain_columns(changes)
    if changes.timing:
        wanted |= _timing_columns(schedule, changes, now)
    columns = {column: value for column, value in wanted.items() if getattr(schedule, column) != value}
    if not columns:
        return {}, {}
    before = {column: plain(getattr(schedule, column)) for column in columns} | {"version": schedule.version}
    schedule_write(schedule, now=now, **columns)
    if "next_run_at" in columns:
        db.notify(CHANNEL)
    return before, {column: plain(value) for column, value in columns.items()} | {"version": schedule.version}


def _plain_columns(changes: ScheduleChanges) -> dict[str, Any]:
    """The columns to write that do not touch when the schedule runs. Raises InvalidInput."""
    columns: dict[str, Any] = {}
    if changes.name is not UNSET:
        check_name(changes.name, what="the schedule's name")
        columns["name"] = changes.name
    if changes.overlap_policy is not UNSET:
        checks.check_overlap_policy(changes.overlap_policy)
        columns["overlap_policy"] = changes.overlap_policy
    if changes.misfire_grace is not UNSET:
        checks.check_grace(changes.misfire_grace, poll_interval=settings.FLOWSCHED_POLL_INTERVAL)
        columns["misfire_grace"] = changes.misfire_grace
    return columns


def _timing_columns(schedule: TaskSchedule, changes: ScheduleChanges, now: datetime) -> dict[str, Any]:
    """Spec, timezone and next_run_at to write. Raises InvalidInput, and PreconditionFailed for a consumed schedule."""
    spec = _new_spec(schedule, changes)
    next_run_at = spec.first_run(now)
    template = schedule.operation_template
    information = template.get("information") if isinstance(template, dict) else None
    checks.check_window(information if isinstance(information, dict) else {}, spec_type=spec.spec_type)
    refuse_consumed(schedule, "set to another time")
    return {
        "spec_type": spec.spec_type,
        "spec": spec.spec,
        "timezone": spec.timezone,
        "next_run_at": next_run_at,
    }


def _new_spec(schedule: TaskSchedule, changes: ScheduleChanges) -> Spec:
    """The spec that the changes ask for."""
    timezone = "" if changes.timezone is UNSET else changes.timezone
    if changes.spec is UNSET:
        if changes.spec_type is not UNSET:
            raise InvalidInput("a new spec type needs a new spec", field="spec")
        if schedule.spec_type != TaskSchedule.SpecType.CRON:
            raise InvalidInput(
                f"a timezone means nothing to a schedule of type {schedule.spec_type}: send a cron spec with it",
                reason="TIMEZONE_UNUSED",
                field="timezone",
            )
        return spec_parse(schedule.spec_type, schedule.spec, timezone or "UTC")
    spec_type = schedule.spec_type if changes.spec_type is UNSET else changes.spec_type
    checks.check_spec_given(spec_type, changes.spec)
    return spec_parse(spec_type, changes.spec, timezone or schedule.timezone)
