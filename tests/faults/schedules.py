"""Schedules that wait until a test lets them come due."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from flowsched import clock
from schedules.models import TaskSchedule
from tests.dispatcher.helpers import due_schedule, racks
from tests.faults.harness import query


def make_due(count: int, per_schedule: int = 1, *, components: int = 2, **how: Any) -> list[TaskSchedule]:
    """Schedules on racks of their own, an hour apart from firing again, and a day from firing at all."""
    rows = [due_schedule(f"s{n}", racks(per_schedule, components), now=clock.now(), **how) for n in range(count)]
    TaskSchedule.objects.update(next_run_at=clock.now() + timedelta(days=1))
    return rows


def release() -> None:
    """Let every schedule come due in one commit that wakes the dispatchers."""
    query(
        "WITH due AS (UPDATE task_schedule SET next_run_at = clock_timestamp() WHERE enabled RETURNING id)"
        " SELECT pg_notify('flowsched_schedules', ''), (SELECT count(*) FROM due)"
    )
