"""Forgetting finished tasks and their runs once nobody has to see them any more; active ones never."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.conf import settings
from django.db import connection

AT_LEAST = timedelta(days=7)
BATCH = 1000


def history_ends(now: datetime) -> datetime:
    """The moment before which history may be forgotten: FLOWSCHED_HISTORY_DAYS ago, and never less than seven days."""
    return now - max(timedelta(days=settings.FLOWSCHED_HISTORY_DAYS), AT_LEAST)


def history_prune(*, now: datetime, limit: int = BATCH) -> int:
    """Delete up to `limit` tasks that finished longer ago than FLOWSCHED_HISTORY_DAYS; their runs go with them.

    The database cascades. The ids are gathered once, as an array: IN may ask for them row by row, each time passing
    over what it has locked, and so forget more than `limit`. Tasks whose row is locked are left for the next time. A
    finished task whose run still awaits a decision cannot be, but would be kept.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "DELETE FROM task WHERE id = ANY(ARRAY(SELECT id FROM task WHERE finished_at < %s"
            " AND status IN ('completed', 'failed', 'terminated')"
            " AND NOT EXISTS (SELECT 1 FROM run WHERE run.task_id = task.id AND run.state IN ('running', 'unknown'))"
            " ORDER BY finished_at LIMIT %s FOR UPDATE SKIP LOCKED))",
            [history_ends(now), limit],
        )
        return int(cursor.rowcount)
