"""Finishing the firings of processes that died: nothing lost, nothing twice.

A takeover is a compare-and-set of the lease. What the dead process submitted has its outcome already (task and
outcome are one commit); what is still `pending` is submitted now if it is not too late, else recorded as missed. A
firing that was taken over three times and is still open is closed as failed and its schedule disabled: whatever
kills its dispatchers shall not kill a fourth. One that was taken over before is taken over alone, so that those that
were in hand together with a killer do not share its end.

While a hold is on nothing is taken over. What a hold made a living dispatcher put down is taken up after the release by
the same rules, but counts for nothing: a hold may come and go any number of times.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import connection, transaction

from dispatcher.records import Holder, Reason, utc_seconds
from dispatcher.submit import fail_scopes, submit
from dispatcher.writeback import close, write_back
from flowsched import db
from flowsched.db import retried
from flowsched.errors import Busy, NotFound
from schedules.models import TaskSchedule
from schedules.services import schedule_disable
from tasks.hold import hold_gate

logger = logging.getLogger(__name__)

MAX_TAKEOVERS = 3

_ORPHANED = """
SELECT id, takeovers > 0 FROM firing WHERE closed_at IS NULL AND lease_until < %s ORDER BY lease_until LIMIT %s
"""

_TAKE_OVER = """
WITH lost AS (
    SELECT id, lease_token IS NULL AS put_down FROM firing
     WHERE id = ANY(%s) AND closed_at IS NULL AND lease_until < %s
     ORDER BY id FOR NO KEY UPDATE SKIP LOCKED)
UPDATE firing f
   SET lease_owner = %s, lease_token = %s, lease_until = clock_timestamp() + %s::interval,
       takeovers = takeovers + CASE WHEN lost.put_down THEN 0 ELSE 1 END
  FROM lost WHERE f.id = lost.id
RETURNING f.id, f.schedule_id, f.schedule_name, f.due_at, f.misfire_grace, f.takeovers, lost.put_down
"""


@dataclass(frozen=True, slots=True)
class _Orphan:
    """A firing just taken over; `put_down`: from nobody, after a hold."""

    id: int
    schedule_id: UUID
    schedule_name: str
    due_at: datetime
    misfire_grace: timedelta | None
    takeovers: int
    put_down: bool


def recover(now: datetime, limit: int, *, holder: Holder) -> tuple[int, list[int]]:
    """Take over up to `limit` firings whose lease has run out and finish them.

    Returns how many were taken over, and the ids of those still open because a rack of theirs is locked.
    """
    with connection.cursor() as cursor:
        cursor.execute(_ORPHANED, [now, limit])
        found = cursor.fetchall()
    first_time = [firing_id for firing_id, before in found if not before]
    count, held = 0, []
    for ids in ([first_time] if first_time else []) + [[firing_id] for firing_id, before in found if before]:
        orphans = _take_over(ids, now, holder)
        count += len(orphans)
        held += _finish(orphans, holder, now)
    return count, held


def _finish(orphans: Sequence[_Orphan], holder: Holder, now: datetime) -> list[int]:
    """Finish or give up what was just taken over. Returns the firings still open because a rack is locked."""
    for orphan in orphans:
        _log(orphan)
        if orphan.takeovers > MAX_TAKEOVERS:
            _give_up_patiently(orphan, holder, now)
    alive = [orphan for orphan in orphans if orphan.takeovers <= MAX_TAKEOVERS]
    _miss_the_late(alive, holder, now)
    ids = [orphan.id for orphan in alive]
    locked = submit(ids, holder=holder, now=now)
    write_back(ids, holder=holder, now=now)
    return ids if locked else []


def _log(orphan: _Orphan) -> None:
    if orphan.put_down:
        logger.info("firing %s of %s due %s goes on after a hold", orphan.id, orphan.schedule_name, orphan.due_at)
        return
    logger.warning(
        "taking over firing %s of %s due %s (takeover %d)",
        orphan.id, orphan.schedule_name, orphan.due_at, orphan.takeovers,
    )  # fmt: skip


@retried
def _take_over(firing_ids: Sequence[int], now: datetime, holder: Holder) -> list[_Orphan]:
    values: list[Any] = [list(firing_ids), now, holder.owner, holder.token, holder.lease]
    with transaction.atomic(), connection.cursor() as cursor:
        if hold_gate() is not None:
            return []
        cursor.execute(_TAKE_OVER, values)
        return [_Orphan(*row) for row in cursor.fetchall()]


def _miss_the_late(orphans: Sequence[_Orphan], holder: Holder, now: datetime) -> None:
    """Record as missed what is too late, and what its schedule's next tick is about to do anyway (D-6)."""
    schedules = {
        row.id: row
        for row in TaskSchedule.objects.filter(id__in=[o.schedule_id for o in orphans]).only("next_run_at", "enabled")
    }
    for orphan in orphans:
        row = schedules.get(orphan.schedule_id)
        if row is None:
            _settle(orphan, "skipped", Reason.DELETED, "the schedule was deleted before this was submitted", holder)
        elif row.enabled and row.next_run_at is not None and row.next_run_at <= now:
            _settle(
                orphan, "missed", Reason.SUPERSEDED, f"superseded by the tick due at {utc_seconds(row.next_run_at)}",
                holder,
            )  # fmt: skip
        elif orphan.misfire_grace is not None and now - orphan.due_at > orphan.misfire_grace:
            late = (now - orphan.due_at).total_seconds()
            why = "held" if orphan.put_down else "its dispatcher died"
            _settle(
                orphan, "missed", Reason.TOO_LATE,
                f"{why}; found {late:.0f} s late, this schedule's grace is "
                f"{orphan.misfire_grace.total_seconds():.0f} s",
                holder,
            )  # fmt: skip


def _settle(orphan: _Orphan, state: str, code: str, reason: str, holder: Holder) -> None:
    fail_scopes(_pending_of(orphan.id), code, reason, holder, state=state)


def _pending_of(firing_id: int) -> list[int]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT id FROM firing_scope WHERE firing_id = %s AND state = 'pending'", [firing_id])
        return [row[0] for row in cursor.fetchall()]


def _give_up_patiently(orphan: _Orphan, holder: Holder, now: datetime) -> None:
    """A schedule that somebody holds is given up when the lease has run out again; the others do not wait for it."""
    try:
        _give_up(orphan, holder, now)
    except Busy as error:
        logger.warning("firing %s of %s cannot be given up yet: %s", orphan.id, orphan.schedule_name, error)


@retried
def _give_up(orphan: _Orphan, holder: Holder, now: datetime) -> None:
    """Close the firing as failed and disable its schedule; what was submitted stays submitted."""
    reason = (
        f"the firing due {utc_seconds(orphan.due_at)} was taken over {MAX_TAKEOVERS} times and still not finished: "
        "see the dispatchers' logs, then resume the schedule"
    )
    with transaction.atomic():
        if TaskSchedule.objects.filter(id=orphan.schedule_id).exists():
            with suppress(NotFound):  # deleted between the two statements
                schedule_disable(schedule_id=orphan.schedule_id, reason=reason, now=now)
        fail_scopes(_pending_of(orphan.id), Reason.GIVEN_UP, reason, holder)
        with db.bound_cursor() as cursor:
            cursor.execute(
                "SELECT id FROM firing WHERE id = %s AND lease_token = %s FOR NO KEY UPDATE", [orphan.id, holder.token]
            )
            ours = [row[0] for row in cursor.fetchall()]
            close(cursor, ours, state="failed", reason=reason, now=now)
    logger.error("firing %s of %s given up: %s", orphan.id, orphan.schedule_name, reason)
