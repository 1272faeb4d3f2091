"""Forgetting finished tasks and their runs once nobody has to see them any more; active ones never.

Nor a run that ClickHouse has not acknowledged: its row in the outbox keeps it, for however long that takes (D-27).
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from django.conf import settings
from django.db import connection

AT_LEAST = timedelta(days=7)
BATCH = 1000
ROUNDS: Final = 100  # batches a sweep

# Whether a finished task stays, however old. That its run is open cannot be, but would keep it.
KEPT: Final = (
    "EXISTS (SELECT 1 FROM run WHERE run.task_id = task.id AND (run.state IN ('running', 'unknown')"
    " OR EXISTS (SELECT 1 FROM run_export WHERE run_export.run_id = run.id)))"
)


def history_ends(now: datetime) -> datetime:
    """The moment before which history may be forgotten: FLOWSCHED_HISTORY_DAYS ago, and never less than seven days."""
    return now - max(timedelta(days=settings.FLOWSCHED_HISTORY_DAYS), AT_LEAST)


def history_prune(*, now: datetime, limit: int = BATCH) -> int:
    """Delete up to `limit` tasks that finished longer ago than FLOWSCHED_HISTORY_DAYS; their runs go with them.

    The database cascades. The oldest first: what readers of history take for how far it came. Tasks whose row is
    locked are left for the next time.
    """
    with connection.cursor() as cursor:
        # An array, for it is made once: of `IN (… LIMIT … SKIP LOCKED)` the database may ask for more, row by row.
        cursor.execute(
            "DELETE FROM task WHERE id = ANY (ARRAY(SELECT id FROM task WHERE finished_at < %s"  # noqa: S608  our own
            f" AND status IN ('completed', 'failed', 'terminated') AND NOT {KEPT}"
            " ORDER BY finished_at LIMIT %s FOR UPDATE SKIP LOCKED))",
            [history_ends(now), limit],
        )
        return int(cursor.rowcount)


def history_sweep(*, now: datetime, limit: int = BATCH) -> int:
    """Forget all that is due, batch after batch, at most ROUNDS of them; each is a transaction. How many were."""
    total = 0
    for _round in range(ROUNDS):
        forgotten = history_prune(now=now, limit=limit)
        total += forgotten
        if forgotten < limit:
            break
    return total
