"""Forgetting old firings, a few at a time. What is open is never forgotten, however old."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from django.db import connection

from tasks.retention import BATCH, history_ends

SCOPES: Final = 20_000  # rows of firing_scope that one statement deletes; one firing may have thousands

_FORGET = """
WITH old AS (
    SELECT id, row_number() OVER oldest AS nth,
           sum(submitted_count + skipped_count + rejected_count + missed_count + failed_count) OVER oldest AS scopes
      FROM (SELECT * FROM firing ORDER BY id LIMIT %s) first
     WHERE closed_at IS NOT NULL AND fired_at < %s
    WINDOW oldest AS (ORDER BY id))
DELETE FROM firing WHERE id = ANY (ARRAY(
    SELECT id FROM firing WHERE id IN (SELECT id FROM old WHERE nth = 1 OR scopes <= %s)
     ORDER BY id FOR UPDATE SKIP LOCKED))
"""


def firings_forget(*, now: datetime, limit: int = BATCH, scopes: int = SCOPES) -> int:
    """Of the `limit` oldest firings delete those closed longer ago than FLOWSCHED_HISTORY_DAYS, with their scopes.

    Returns how many were deleted; while that is not 0 there may be more. The oldest by id, so that a call reads `limit`
    rows and not the table; fewer of them where they have more than `scopes` racks together.
    """
    with connection.cursor() as cursor:
        cursor.execute(_FORGET, [limit, history_ends(now), scopes])
        return int(cursor.rowcount)
