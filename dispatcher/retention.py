"""Forgetting old firings, a few at a time. What is open is never forgotten, however old."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.conf import settings
from django.db import connection

AT_LEAST = timedelta(days=7)
BATCH = 1000


def firings_forget(*, now: datetime, limit: int = BATCH) -> int:
    """Delete up to `limit` firings closed longer ago than FLOWSCHED_HISTORY_DAYS, their scopes with them.

    Returns how many were deleted.
    """
    before = now - max(timedelta(days=settings.FLOWSCHED_HISTORY_DAYS), AT_LEAST)
    with connection.cursor() as cursor:
        cursor.execute(
            """
            DELETE FROM firing WHERE id IN (
                SELECT id FROM firing WHERE closed_at IS NOT NULL AND fired_at < %s
                 ORDER BY fired_at LIMIT %s FOR UPDATE SKIP LOCKED)
            """,
            [before, limit],
        )
        return int(cursor.rowcount)
