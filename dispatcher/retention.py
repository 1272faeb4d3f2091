"""Forgetting old firings, a few at a time. What is open is never forgotten, however old."""

from __future__ import annotations

from datetime import datetime

from django.db import connection

from tasks.retention import BATCH, history_ends


def firings_forget(*, now: datetime, limit: int = BATCH) -> int:
    """Of the `limit` oldest firings delete those closed longer ago than FLOWSCHED_HISTORY_DAYS, with their scopes.

    Returns how many were deleted. The oldest by id, so that a call reads `limit` rows and not the table.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            """
            DELETE FROM firing WHERE id = ANY(ARRAY(
                SELECT id FROM firing
                 WHERE id IN (SELECT id FROM firing ORDER BY id LIMIT %s) AND closed_at IS NOT NULL AND fired_at < %s
                 ORDER BY id FOR UPDATE SKIP LOCKED))
            """,
            [limit, history_ends(now)],
        )
        return int(cursor.rowcount)
