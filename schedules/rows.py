"""The schedule's row under its lock: take it, write it, say what it holds. Shared by all verbs of schedules and scopes.

Every verb locks the row first, so a verb and a firing never cross; and writes only the columns it changes, so that a
verb never puts back what a firing has moved on.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django.db import IntegrityError

from audit.selectors import entries_of
from audit.services import Verb
from flowsched import db
from flowsched.errors import AlreadyExists, NotFound, PreconditionFailed, VersionMismatch
from schedules.durations import format_duration, to_nanoseconds
from schedules.models import TaskSchedule
from schedules.quoting import quote
from schedules.template import summary

AUDIT_KIND: Final = "schedule"
CHANNEL: Final = db.DISPATCHER_CHANNEL
_NAME_TAKEN: Final = "task_schedule_name_key"
_CHANGES_NAMED: Final = 5


def schedule_lock(
    schedule_id: UUID, *, done: Verb, expected_version: int | None = None, for_delete: bool = False
) -> TaskSchedule:
    """Lock the schedule until the transaction ends, and name it in the audit row.

    Raises NotFound, and VersionMismatch naming what changed if `expected_version` is not the row's. FOR UPDATE only
    when the row is to be deleted: it would deadlock with the foreign key checks of scope inserts.
    """
    schedule = TaskSchedule.objects.select_for_update(no_key=not for_delete).filter(pk=schedule_id).first()
    if schedule is None:
        raise not_found(schedule_id)
    done.object_id, done.object_name = str(schedule.pk), schedule.name
    if expected_version is not None and schedule.version != expected_version:
        raise VersionMismatch(
            f"schedule {quote(schedule.name)} is at version {schedule.version}, not {expected_version}"
            f"{_changes_since(schedule, expected_version)}: read it again and repeat the change",
            reason="VERSION",
        )
    return schedule


def schedule_write(schedule: TaskSchedule, *, now: datetime, by_person: bool = True, **columns: Any) -> None:
    """Write `columns` to the locked row and to `schedule`; a person's change counts up its version.

    Raises AlreadyExists if a new name is taken.
    """
    columns["updated_at"] = now
    if by_person:
        columns["version"] = schedule.version + 1
    guarded = TaskSchedule.objects.filter(pk=schedule.pk, version=schedule.version)
    with refuse_taken_name(columns.get("name", schedule.name)):
        written = guarded.update(**columns)
    if written != 1:  # only a writer without the lock can cause this
        raise VersionMismatch(f"schedule {quote(schedule.name)} changed meanwhile: read it again", reason="VERSION")
    for column, value in columns.items():
        setattr(schedule, column, value)


@contextmanager
def refuse_taken_name(name: str) -> Iterator[None]:
    """Turn the broken unique constraint on the name into AlreadyExists: only the database sees the race."""
    try:
        yield
    except IntegrityError as error:
        if db.constraint_of(error) != _NAME_TAKEN:
            raise
        raise AlreadyExists(
            f"another schedule has the name {quote(name)}: choose another one", reason="NAME_TAKEN", field="name"
        ) from error


def refuse_consumed(schedule: TaskSchedule, what: str) -> None:
    """Raise PreconditionFailed if this one-time schedule has run: there is nothing left to `what`."""
    if schedule.spec_type == TaskSchedule.SpecType.ONE_TIME and schedule.next_run_at is None:
        raise PreconditionFailed(
            f"one-time schedule {quote(schedule.name)} has run and cannot be {what}: create a new one",
            reason="CONSUMED",
        )


def not_found(schedule: UUID | str) -> NotFound:
    """The error for a schedule, named by id or name, that is not there."""
    return NotFound(f"there is no schedule {quote(str(schedule))}", reason="SCHEDULE")


def snapshot(schedule: TaskSchedule) -> dict[str, Any]:
    """What the audit trail keeps of a schedule."""
    columns = (
        "name spec_type spec timezone overlap_policy misfire_grace enabled disabled_kind disabled_reason "
        "next_run_at version"
    )
    said = {column: plain(getattr(schedule, column)) for column in columns.split()}
    return {**said, "operation": summary(schedule.operation_template)[1], "template": schedule.operation_template}


def plain(value: Any) -> Any:
    """A column's value as JSON: instants as RFC 3339 in UTC, durations as Go writes them."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    if isinstance(value, timedelta):
        return format_duration(to_nanoseconds(value))
    return value


def _changes_since(schedule: TaskSchedule, version: int) -> str:
    """Who changed what since `version`, from the audit trail; empty if it does not say."""
    changes = [
        f"{entry.actor}: {entry.verb} ({', '.join(sorted(set(entry.after or {}) - {'version'}))})"
        for entry in entries_of(AUDIT_KIND, schedule.pk, limit=2 * _CHANGES_NAMED)
        if not entry.refused and (entry.after or {}).get("version", 0) > version
    ]
    if not changes:
        return ""
    more = ", and more" if len(changes) > _CHANGES_NAMED else ""
    return f"; meanwhile {'; '.join(changes[:_CHANGES_NAMED])}{more}"
