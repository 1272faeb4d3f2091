"""What a worker does besides runs, each at its own pace; any number of workers may do the same."""

from __future__ import annotations

import logging
from collections.abc import Callable

from django.conf import settings

from flowsched import clock
from tasks.engine import get_engine
from tasks.heart import renewal_seconds
from tasks.history.outbox import Exporter
from tasks.rescue import LIMIT, runs_rescue, tasks_requeue
from tasks.retention import history_sweep
from tasks.services import lanes_sweep, tasks_expire

logger = logging.getLogger(__name__)

SWEEP_SECONDS = 60.0
TIDY_SECONDS = 60.0
PRUNE_SECONDS = 600.0
EXPORT_SECONDS = 2.0


def schedule() -> list[tuple[str, float, Callable[[], object]]]:
    """Name, seconds between two rounds, and the chore."""
    chores: list[tuple[str, float, Callable[[], object]]] = [
        ("rescue", renewal_seconds(), rescue),
        ("expire", settings.FLOWSCHED_POLL_INTERVAL.total_seconds(), expire),
        ("sweep", SWEEP_SECONDS, sweep),
        ("tidy", TIDY_SECONDS, tidy),
        ("prune", PRUNE_SECONDS, prune),
    ]
    if settings.FLOWSCHED_CLICKHOUSE_URL is not None:
        chores.append(("export", EXPORT_SECONDS, Exporter().run_once))
    return chores


def rescue() -> int:
    """Hand on or end runs whose worker is gone; give tasks without a job another."""
    now = clock.now()
    total = 0
    while rescued := runs_rescue(now=now):
        total += rescued
        if rescued < LIMIT:
            break
    return total + tasks_requeue(now=now)


def expire() -> int:
    """End waiting tasks whose time in the queue is over."""
    return tasks_expire(now=clock.now())


def sweep() -> int:
    """Promote what a lost promotion left waiting."""
    return lanes_sweep(now=clock.now())


def tidy() -> int:
    """Delete what finished jobs left in the engine."""
    return get_engine().tidy(now=clock.now())


def prune() -> int:
    """Delete history older than its retention, in batches."""
    total = history_sweep(now=clock.now())
    if total:
        logger.info("history: %d finished tasks forgotten (older than %d days)", total, settings.FLOWSCHED_HISTORY_DAYS)
    return total
