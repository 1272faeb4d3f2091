"""Phase 1: lock what is due, decide, write it down and advance, in one transaction.

If the process dies in here nothing is visible: the transaction rolls back and the schedules are still due. Once it
has committed, the firing is owed: whoever finds its lease run out finishes it (recover.py). Seven statements for any
number of schedules, six of them in ledger.py; the first asks whether a hold is on. A row that cannot be decoded is
disabled with the reason and holds up nobody (planning.py).
"""

from __future__ import annotations

import logging
from datetime import datetime, timedelta
from uuid import UUID

from django.db import DatabaseError, connection, transaction

from dispatcher.ledger import advance, busy_scopes, scopes_of, write_firings
from dispatcher.planning import plan_tick
from dispatcher.records import FiringPlan, Holder, tick_key
from flowsched.actor import SYSTEM
from flowsched.db import is_busy
from flowsched.faults import fault
from schedules.models import TaskSchedule
from tasks.hold import hold_gate

logger = logging.getLogger(__name__)


def claim(now: datetime, limit: int, *, holder: Holder) -> tuple[int, list[int]]:
    """Claim up to `limit` schedules due at `now`. Returns how many rows were taken and the open firings' ids.

    Rows that someone else holds are passed over; while a hold is on nothing is claimed. A batch that the database
    refuses is repeated row by row, and the row at fault is disabled. Raises what flowsched.db.translate turns into Busy
    and Unavailable.
    """
    try:
        return _claim_batch(now, limit, holder)
    except DatabaseError as error:
        if is_busy(error) or not connection.is_usable():
            raise
        logger.exception("claim of a batch failed; going row by row")
        return _claim_one_by_one(now, limit, holder)


def _claim_batch(now: datetime, limit: int, holder: Holder, only: UUID | None = None) -> tuple[int, list[int]]:
    with transaction.atomic():
        if hold_gate() is not None:
            return 0, []
        due = TaskSchedule.objects.filter(enabled=True, next_run_at__lte=now)
        if only is not None:
            due = due.filter(id=only)
        rows = list(due.order_by("next_run_at", "id").select_for_update(skip_locked=True, no_key=True)[:limit])
        if not rows:
            return 0, []
        fault("claim.after_lock")
        ids = [row.id for row in rows]
        scopes = scopes_of(ids)
        busy = busy_scopes(ids)
        plans = [plan_tick(row, scopes[row.id], busy, now) for row in rows]
        opened = write_firings(plans, holder)
        advance(plans, now)
        fault("claim.before_commit")
    return len(rows), opened


def _claim_one_by_one(now: datetime, limit: int, holder: Holder) -> tuple[int, list[int]]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT id FROM task_schedule WHERE enabled AND next_run_at <= %s ORDER BY next_run_at, id LIMIT %s",
            [now, limit],
        )
        ids = [row[0] for row in cursor.fetchall()]
    taken, opened = 0, []
    for schedule_id in ids:
        try:
            count, firings = _claim_batch(now, 1, holder, only=schedule_id)
        except DatabaseError as error:
            if is_busy(error) or not connection.is_usable():
                raise
            logger.exception("schedule %s cannot be read by the database's driver; disabled", schedule_id)
            _disable_unreadable(schedule_id, str(error).splitlines()[0], now)
            count, firings = 1, []
        taken += count
        opened += firings
    return taken, opened


def _disable_unreadable(schedule_id: UUID, why: str, now: datetime) -> None:
    """Disable a row that cannot even be fetched, and record a failed firing for it; nothing of it is decoded.

    Its next run goes if it is what the driver cannot read: the list of schedules must be readable to show the reason.
    """
    reason = f"its row cannot be read ({why[:200]}); mend it and resume the schedule"
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(
            """
            UPDATE task_schedule SET enabled = false, disabled_kind = 'system', disabled_reason = %s,
                   disabled_by = %s, disabled_at = %s, updated_at = %s,
                   next_run_at = CASE WHEN next_run_at BETWEEN '0001-01-02' AND '9999-12-30' THEN next_run_at END
             WHERE id = %s AND enabled RETURNING name
            """,
            [reason, SYSTEM.name, now, now, schedule_id],
        )
        row = cursor.fetchone()
        if row:
            plan = FiringPlan(
                schedule_id, row[0], tick_key(schedule_id, now), "automatic", now, now, SYSTEM.name, None,
                queue=False, queue_timeout=None, misfire_grace=None, failed=reason,
            )  # fmt: skip
            write_firings([plan], Holder(SYSTEM.name, schedule_id, timedelta(0)))
