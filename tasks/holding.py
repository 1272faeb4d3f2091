"""Putting the hold on and releasing it. What a hold stops, and how that is certain, is in hold.py.

Both verbs take turns under a lock of their own. A process that dies between a hold's two steps leaves the hold on, and
nobody was told yet that what was under way has ended. One that dies after a release leaves to the chores what it would
have done at once: jobs for the pending tasks within a lease, promotions within a minute.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Literal

from django.db import connection, transaction

from audit.services import verb
from flowsched import db
from flowsched.actor import Actor
from flowsched.errors import Busy, InvalidInput, PreconditionFailed, Unavailable
from inventory.identifiers import check_text
from tasks.hold import GATE, LOCKS, SWITCH, hold_current
from tasks.lanes import lock_timeout
from tasks.models import Hold
from tasks.rescue import tasks_requeue
from tasks.services import lanes_sweep

logger = logging.getLogger(__name__)

AUDIT_KIND: Final = "hold"
MAX_REASON: Final = 1000
UNDER_WAY: Final = timedelta(seconds=10)  # longest wait for what began before the hold: a chunk of racks, at most

# Those whose time was over before the hold are left to the next expiry. By id, as everybody locks tasks.
_WAIT_LONGER = """
WITH waiting AS (
    SELECT id FROM task WHERE status = 'waiting' AND queue_expires_at >= %(held_at)s ORDER BY id FOR NO KEY UPDATE)
UPDATE task SET queue_expires_at = queue_expires_at + (%(now)s::timestamptz - GREATEST(%(held_at)s, created_at))
  FROM waiting WHERE task.id = waiting.id AND task.status = 'waiting'
"""


@dataclass(frozen=True, slots=True)
class HoldSet:
    """The hold that is on, and whether this call began it, gave it another reason, or found it so."""

    hold: Hold
    news: Literal["begun", "reason", "unchanged"]


@dataclass(frozen=True, slots=True)
class Released:
    """The hold that ended, how many waiting tasks got its time on top of theirs, and what went on at once."""

    hold: Hold
    waiting: int
    started: int
    promoted: int


def hold_set(*, reason: str, by: Actor, now: datetime) -> HoldSet:
    """Hold everything, for a reason of one line. When this returns, nothing new is claimed, submitted or begun.

    Held already: another reason replaces the old one, who held and since when stay. Raises Busy when a transaction that
    began before is still under way after ten seconds: the hold is on then, and calling again waits on.
    """
    because = _reason(reason)
    with verb("dispatch.hold", by=by, kind=AUDIT_KIND, now=now) as done:
        _take_turn()
        hold = hold_current()
        if hold is None:
            hold = Hold.objects.create(reason=because, held_by=by.name[:255], held_at=now)
            result = HoldSet(hold, "begun")
        elif hold.reason != because:
            done.before = {"reason": hold.reason}
            hold.reason = because
            hold.save(update_fields=["reason"])
            result = HoldSet(hold, "reason")
        else:
            done.changed = False
            result = HoldSet(hold, "unchanged")
        done.object_id, done.object_name = str(hold.pk), "dispatch"
        done.after = {"reason": because}
        db.notify(db.DISPATCHER_CHANNEL)
    _wait_for_those_under_way()
    return result


def hold_release(*, by: Actor, now: datetime) -> Released:
    """End the hold and let everything go on at once; PreconditionFailed if none is on.

    Who waits for a rack gets the time of the hold on top. Dispatchers are woken: ticks that came due fire once or are
    missed, as their schedules' grace says. Pending tasks get jobs, and who can be promoted is.
    """
    with verb("dispatch.release", by=by, kind=AUDIT_KIND, now=now, object_name="dispatch") as done:
        _take_turn()
        hold = hold_current()
        if hold is None:
            raise PreconditionFailed("flowsched is not held: there is nothing to release", reason="NOT_HELD")
        with connection.cursor() as cursor:
            cursor.execute(_WAIT_LONGER, {"held_at": hold.held_at, "now": now})
            waiting = cursor.rowcount
        hold.released_by, hold.released_at = by.name[:255], now
        hold.save(update_fields=["released_by", "released_at"])
        done.object_id = str(hold.pk)
        done.after = {"reason": hold.reason, "held_by": hold.held_by, "held_at": hold.held_at.isoformat()}
        db.notify(db.DISPATCHER_CHANNEL)
    started, promoted = _go_on(now)
    return Released(hold, waiting, started, promoted)


def _reason(text: str) -> str:
    because = check_text(text, what="the reason", field="reason", most=MAX_REASON).strip()
    if not because:
        raise InvalidInput("a hold needs a reason: say why, others will read it", field="reason")
    return because


def _take_turn() -> None:
    """One switch at a time: who holds while another releases sees what the other did."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s, %s)", [LOCKS, SWITCH])


def _wait_for_those_under_way() -> None:
    """Return once every transaction that passed the gate before the hold was visible has ended."""
    try:
        with db.translate(), transaction.atomic():
            lock_timeout(UNDER_WAY)
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_xact_lock(%s, %s)", [LOCKS, GATE])
    except Busy as error:
        raise Busy(
            f"the hold is on, but something that began before it is still under way after "
            f"{UNDER_WAY.total_seconds():.0f} s: hold again to wait for its end, or look for the stuck session",
            reason="UNDER_WAY",
        ) from error


def _go_on(now: datetime) -> tuple[int, int]:
    """After the release has committed: a job dropped because of the hold was dropped before, so it is missing now."""
    try:
        with db.translate():
            return tasks_requeue(now=now, at_once=True), lanes_sweep(now=now)
    except (Busy, Unavailable) as error:
        logger.warning("released; pending and waiting tasks go on within a minute: %s", error)
        return 0, 0
