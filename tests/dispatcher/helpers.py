"""Rows for the dispatcher's tests: racks, due schedules, and a holder to fire them with."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import psycopg
from django.conf import settings
from django.db import connection
from django.test.utils import CaptureQueriesContext

from dispatcher import firing
from dispatcher.models import Firing, FiringScope
from dispatcher.records import Holder, new_holder
from flowsched import db
from flowsched.actor import Actor, Door
from inventory.models import Rack
from inventory.targets import RackTarget
from schedules.models import TaskSchedule
from schedules.services import schedule_create
from tasks.models import Task
from tasks.operations import operation
from tests.factories import RackFactory

NOW = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)
BY = Actor("tester", Door.CLI)


def holder() -> Holder:
    return new_holder(settings.FLOWSCHED_FIRING_LEASE)


def racks(count: int, components: int = 2) -> list[Rack]:
    return [RackFactory(components=components) for _ in range(count)]


def due_schedule(
    name: str,
    on: Sequence[Rack],
    *,
    kind: str = "power_on",
    every: str = "1h",
    cron: str | None = None,
    at: str | None = None,
    timezone: str = "",
    overlap: str = "skip",
    grace: timedelta | None = None,
    late: timedelta = timedelta(seconds=1),
    now: datetime = NOW,
    types: tuple[str, ...] = (),
) -> TaskSchedule:
    """A schedule that came due `late` before `now`."""
    timing = ("cron", cron) if cron else ("one-time", at) if at else ("interval", every)
    row = schedule_create(
        name=name,
        spec_type=timing[0],
        spec=timing[1],
        timezone=timezone,
        operation=operation(kind),
        overlap_policy=overlap,
        targets=[RackTarget(id=rack.id, component_types=types) for rack in on],
        misfire_grace=grace,
        by=BY,
        now=now,
    )
    TaskSchedule.objects.filter(id=row.id).update(next_run_at=now - late)
    row.refresh_from_db()
    return row


def outcomes(row: TaskSchedule) -> list[tuple[str, str]]:
    """(state, reason code) of every FiringScope of a schedule, oldest firing first, in scope order."""
    scopes = FiringScope.objects.filter(firing__schedule_id=row.id).order_by("firing_id", "position", "scope_id")
    return [(scope.state, scope.reason_code) for scope in scopes]


def firing_of(row: TaskSchedule) -> Firing:
    return Firing.objects.get(schedule_id=row.id)


def finish_tasks(**filters: object) -> int:
    """End active tasks as a worker would leave them."""
    return Task.objects.filter(status__in=["waiting", "pending", "running"], **filters).update(
        status="completed", finished_at=NOW, queue_expires_at=None
    )


def session() -> psycopg.Connection:
    """A second session on the test's database, as psql would open it."""
    own = db.separate_session()
    own.autocommit = False
    return own


@contextmanager
def row_held(sql: str, *values: object) -> Iterator[psycopg.Connection]:
    """Another session that holds the rows `sql` selects for update."""
    with session() as other:
        assert other.execute(sql + " FOR UPDATE", values).fetchall(), "nothing is held: the test would prove nothing"
        yield other
        other.rollback()


def in_thread(function) -> threading.Thread:
    """Run with a connection of its own that is closed at the end."""

    def run() -> None:
        try:
            function()
        finally:
            connection.close()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread


def queries(captured: CaptureQueriesContext) -> int:
    """How many statements, transaction control left out."""
    words = ("BEGIN", "COMMIT", "SAVEPOINT", "RELEASE", "ROLLBACK")
    return len([q for q in captured.captured_queries if not q["sql"].startswith(words)])


def raw(sql: str, *values: object) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql, values)


def fire(now: datetime = NOW, limit: int = 100) -> int:
    return firing.fire_due(now, limit, holder=holder()).claimed


def reread(row: TaskSchedule) -> TaskSchedule:
    row.refresh_from_db()
    return row
