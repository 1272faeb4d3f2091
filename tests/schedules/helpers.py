"""Racks, schedules and counters for the tests of schedules and scopes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

from django.db import connection
from django.test.utils import CaptureQueriesContext

from audit.models import AuditEntry
from flowsched.actor import Actor, Door
from inventory.models import Component, Rack
from inventory.targets import RackTarget
from schedules.models import TaskSchedule
from schedules.services import schedule_create
from tasks.operations import operation

NOW = datetime(2026, 3, 1, 12, 0, 0, 123456, tzinfo=UTC)
ALICE = Actor("alice", Door.REST, "req-1")
BOB = Actor("bob", Door.CLI)
POWER_ON = operation("power_on")
_number = itertools.count(1)


def make_racks(count: int) -> list[Rack]:
    made = []
    for _ in range(count):
        number = next(_number)
        made.append(Rack(name=f"rack-{number:05}", manufacturer="maker", serial_number=f"serial-{number}"))
    return Rack.objects.bulk_create(made)


def make_component(rack: Rack, type: str = "Compute") -> Component:  # noqa: A002
    number = next(_number)
    return Component.objects.create(
        rack=rack, type=type, name=f"part-{number}", manufacturer="maker", serial_number=f"part-{number}"
    )


def whole(*racks: Rack) -> list[RackTarget]:
    return [RackTarget(id=rack.pk) for rack in racks]


def of_types(rack: Rack, *types: str) -> list[RackTarget]:
    return [RackTarget(id=rack.pk, component_types=types)]


def make_schedule(name: str | None = None, *, racks: int = 1, **fields) -> TaskSchedule:
    fields.setdefault("targets", None)
    if fields["targets"] is None:
        fields["targets"] = whole(*make_racks(racks))
    values = {"spec_type": "interval", "spec": "1h", "operation": POWER_ON, "by": ALICE, "now": NOW, **fields}
    return schedule_create(name=name or f"schedule-{next(_number)}", **values)


def consumed(**fields) -> TaskSchedule:
    """A one-time schedule that has run, as a firing leaves it."""
    schedule = make_schedule(spec_type="one-time", spec="2026-04-01T00:00:00Z", **fields)
    TaskSchedule.objects.filter(pk=schedule.pk).update(
        enabled=False, disabled_kind="consumed", disabled_reason="it has run", disabled_at=NOW, next_run_at=None,
        last_run_at=NOW,
    )  # fmt: skip
    schedule.refresh_from_db()
    return schedule


def columns(schedule: TaskSchedule) -> dict:
    """Every stored column of the row."""
    return TaskSchedule.objects.filter(pk=schedule.pk).values().get()


def last_audit() -> AuditEntry:
    return AuditEntry.objects.latest("id")


def scope_lock(found: list[str]) -> int:
    """Which of these statements locks scope rows in the order of their ids; it must come before all that change any."""
    locks = 'SELECT "task_schedule_scope"."id" AS'
    [place] = [i for i, sql in enumerate(found) if sql.startswith(locks) and "ORDER BY 1 ASC FOR" in sql]
    changes = ('UPDATE "task_schedule_scope"', "UPDATE task_schedule_scope", 'DELETE FROM "task_schedule_scope"')
    assert all(place < i for i, sql in enumerate(found) if sql.strip().startswith(changes))
    return place


@contextmanager
def statements() -> Iterator[list[str]]:
    """The statements run inside, without those that only open and close transactions."""
    found: list[str] = []
    with CaptureQueriesContext(connection) as queries:
        yield found
    skipped = ("SAVEPOINT", "RELEASE", "ROLLBACK", "BEGIN", "COMMIT")
    found += [query["sql"] for query in queries if not query["sql"].startswith(skipped)]
