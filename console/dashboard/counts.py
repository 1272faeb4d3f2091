"""What became of the racks that came due, and how tasks ended, counted per stretch of time: two queries.

The two are kept apart, as everywhere (D-5): a scope's outcome says whether a task came to be, a task's end what came
of it. The first is read from the counts on the firings' rows, so that a night of many racks costs no more than one of
few; only a firing that is still open is counted rack by rack.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import pairwise
from typing import Any, Final

from django.db import connection

from console.charts.outcomes import Bucket
from tasks.lanes import EXPIRED_MESSAGE

# The worst first; words of the vocabulary.
SCOPE_OUTCOMES: Final = ("unresolved", "missed", "rejected", "skipped", "submitted")
TASK_ENDS: Final = ("failed", "unknown", "expired", "cancelled", "completed")

# Firings by when they were due: the block index firing_due finds the recent part of the table.
_SCOPES = """
SELECT width_bucket(due_at, %(edges)s::timestamptz[]),
       sum(submitted_count), sum(skipped_count), sum(rejected_count), sum(missed_count), sum(failed_count)
  FROM firing WHERE due_at >= %(since)s AND due_at < %(until)s AND closed_at IS NOT NULL GROUP BY 1
 UNION ALL
SELECT width_bucket(due_at, %(edges)s::timestamptz[]),
       count(*) FILTER (WHERE s.state = 'submitted'), count(*) FILTER (WHERE s.state = 'skipped'),
       count(*) FILTER (WHERE s.state = 'rejected'), count(*) FILTER (WHERE s.state = 'missed'),
       count(*) FILTER (WHERE s.state = 'failed')
  FROM firing JOIN firing_scope s ON s.firing_id = firing.id
 WHERE due_at >= %(since)s AND due_at < %(until)s AND closed_at IS NULL GROUP BY 1
"""
_SCOPE_COLUMNS: Final = ("submitted", "skipped", "rejected", "missed", "unresolved")

# Tasks by when they ended, from the index task_ended alone; of those that were stopped the message says by what. One
# whose outcome is unknown has no end: it stands where it began.
_ENDS = """
SELECT status, width_bucket(finished_at, %(edges)s::timestamptz[]), count(*)
  FROM task WHERE status IN ('completed', 'failed') AND finished_at >= %(since)s AND finished_at < %(until)s
 GROUP BY 1, 2
 UNION ALL
SELECT CASE WHEN message = %(expired)s THEN 'expired' ELSE 'cancelled' END,
       width_bucket(finished_at, %(edges)s::timestamptz[]), count(*)
  FROM task WHERE status = 'terminated' AND finished_at >= %(since)s AND finished_at < %(until)s
 GROUP BY 1, 2
 UNION ALL
SELECT 'unknown', width_bucket(started_at, %(edges)s::timestamptz[]), count(*)
  FROM run WHERE state = 'unknown' AND started_at >= %(since)s AND started_at < %(until)s
 GROUP BY 2
"""


def scope_outcomes(edges: Sequence[datetime]) -> list[Bucket]:
    """How many racks were submitted, skipped, rejected, missed, unresolved, by when their firing was due."""
    rows = _read(_SCOPES, edges)
    return _buckets(edges, ((key, row[0], n) for row in rows for key, n in zip(_SCOPE_COLUMNS, row[1:], strict=True)))


def task_ends(edges: Sequence[datetime]) -> list[Bucket]:
    """How many tasks were completed, failed, cancelled, expired, by when; and how many are unknown."""
    return _buckets(edges, _read(_ENDS, edges))


def _read(sql: str, edges: Sequence[datetime]) -> list[tuple[Any, ...]]:
    values: dict[str, Any] = {"edges": list(edges), "since": edges[0], "until": edges[-1], "expired": EXPIRED_MESSAGE}
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
    return rows


def _buckets(edges: Sequence[datetime], counted: Iterable[tuple[Any, ...]]) -> list[Bucket]:
    """`counted` has (outcome, number of the bucket from 1, how many)."""
    found: dict[int, dict[str, int]] = defaultdict(dict)
    for key, place, count in counted:
        if count:
            found[place][key] = found[place].get(key, 0) + int(count)
    return [Bucket(since, until, found[place]) for place, (since, until) in enumerate(pairwise(edges), start=1)]
