"""Phase 3: remember each scope's last task and streak, count the outcomes, close the firing.

Nothing depends on when this happens: the overlap check reads open firings too. If the process dies before, the
firing is taken over and closed by someone else. A scope's last task never moves back to an older firing's.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.db import transaction

from dispatcher.records import Holder
from flowsched import db
from flowsched.db import retried
from flowsched.faults import fault

logger = logging.getLogger(__name__)

_LOCK_FIRINGS = """
SELECT f.id FROM firing f
 WHERE f.id = ANY(%s) AND f.lease_token = %s AND f.closed_at IS NULL
   AND NOT EXISTS (SELECT 1 FROM firing_scope fs WHERE fs.firing_id = f.id AND fs.state = 'pending')
 ORDER BY f.id FOR NO KEY UPDATE
"""

_LOCK_SCOPES = """
SELECT s.id FROM task_schedule_scope s
 WHERE s.id IN (SELECT fs.scope_id FROM firing_scope fs WHERE fs.firing_id = ANY(%s))
 ORDER BY s.id FOR NO KEY UPDATE
"""

_SCOPES = """
WITH newest AS (
    SELECT DISTINCT ON (fs.scope_id) fs.scope_id, fs.state, fs.reason_code, fs.task_id, f.fired_at, f.id AS firing_id
      FROM firing_scope fs JOIN firing f ON f.id = fs.firing_id
     WHERE fs.firing_id = ANY(%s)
     ORDER BY fs.scope_id, f.fired_at DESC, f.id DESC
)
UPDATE task_schedule_scope s
   SET last_task_id = CASE
           WHEN n.task_id IS NULL OR EXISTS (
               SELECT 1 FROM firing_scope o JOIN firing f ON f.id = o.firing_id
                WHERE o.task_id = s.last_task_id AND (f.fired_at, f.id) > (n.fired_at, n.firing_id))
           THEN s.last_task_id ELSE n.task_id END,
       skip_streak = CASE
           WHEN n.state = 'submitted' THEN 0
           WHEN n.state IN ('rejected', 'missed') OR (n.state = 'skipped' AND n.reason_code = 'overlap')
           THEN s.skip_streak + 1 ELSE s.skip_streak END
  FROM newest n
 WHERE s.id = n.scope_id
"""

_CLOSE = """
UPDATE firing f
   SET state = %s, reason = COALESCE(%s, f.reason), closed_at = %s, lease_token = NULL, lease_until = NULL,
       submitted_count = c.submitted, skipped_count = c.skipped, rejected_count = c.rejected,
       missed_count = c.missed, failed_count = c.failed
  FROM (SELECT i.id,
               count(*) FILTER (WHERE fs.state = 'submitted') AS submitted,
               count(*) FILTER (WHERE fs.state = 'skipped') AS skipped,
               count(*) FILTER (WHERE fs.state = 'rejected') AS rejected,
               count(*) FILTER (WHERE fs.state = 'missed') AS missed,
               count(*) FILTER (WHERE fs.state = 'failed') AS failed
          FROM unnest(%s::bigint[]) AS i(id) LEFT JOIN firing_scope fs ON fs.firing_id = i.id
         GROUP BY i.id) c
 WHERE f.id = c.id
RETURNING f.id, f.schedule_id, f.schedule_name, f.submitted_count, f.skipped_count, f.rejected_count, f.missed_count,
          f.failed_count, f.reason
"""


@retried
def write_back(firing_ids: Sequence[int], *, holder: Holder, now: datetime) -> int:
    """Close those of these firings that are ours and owe nothing more. Returns how many."""
    if not firing_ids:
        return 0
    fault("writeback.before")
    with transaction.atomic(), db.bound_cursor() as cursor:
        cursor.execute(_LOCK_FIRINGS, [list(firing_ids), holder.token])
        ours = [row[0] for row in cursor.fetchall()]
        if not ours:
            return 0
        cursor.execute(_LOCK_SCOPES, [ours])
        cursor.execute(_SCOPES, [ours])
        closed = close(cursor, ours, state="done", now=now)
    for row in closed:
        _log(row)
    return len(ours)


def close(
    cursor: Any, firing_ids: Sequence[int], *, state: str, now: datetime, reason: str | None = None
) -> list[tuple[Any, ...]]:
    """Close firings that the caller has locked, outcomes counted; a reason replaces the one that is there."""
    cursor.execute(_CLOSE, [state, reason, now, list(firing_ids)])
    rows: list[tuple[Any, ...]] = cursor.fetchall()
    return rows


def _log(row: tuple[Any, ...]) -> None:
    """One line a firing: at INFO where a scope got no task, else at DEBUG, since a busy night has thousands."""
    firing_id, schedule_id, name, submitted, *others, reason = row
    logger.log(
        logging.INFO if reason or any(others) else logging.DEBUG,
        "firing %s of schedule %s (%s): %d submitted, %d skipped, %d rejected, %d missed, %d failed%s",
        *(firing_id, schedule_id, name, submitted, *others),
        f"; {reason}" if reason else "",
    )
