"""Whether a hold is on, asked so that the answer stays true: the gate that whatever begins something passes.

Promises that once `hold_set` has returned nothing new is claimed, submitted, promoted or begun. Whoever passes the gate
keeps a shared advisory lock until its transaction ends; `hold_set` commits its row and then waits for all who have one.
Whoever comes later sees the row. Get this wrong and a power-off starts after somebody was told that none would.

Advisory, because a row lock would have each claim write to the one row they all share. Asked for without waiting,
because the gate is passed with racks locked too: one that waits could deadlock with who waits for such a rack. Both
statements travel together, the second with a snapshot of its own: it sees all that was committed before the lock.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final

from django.db import connection, transaction

from flowsched.errors import Busy, PreconditionFailed
from tasks.models import Hold

# Two locks in the number space of pairs, which nothing else here uses.
LOCKS: Final = 1_212_107_844
GATE: Final = 1  # shared: whoever begins something; exclusive: hold_set, until all who passed have ended
SWITCH: Final = 2  # whoever turns the hold on or off

_PASS = f"""
SELECT pg_try_advisory_xact_lock_shared({LOCKS}, {GATE});
SELECT id, reason, held_by, held_at FROM hold WHERE released_at IS NULL
"""  # noqa: S608  our own numbers


class Held(PreconditionFailed):
    """Refused because a hold is on. Says why, by whom, since when, and what ends it."""

    def __init__(self, hold: Hold) -> None:
        super().__init__(
            f"flowsched is {hold_words(hold)}. Nothing is submitted until manage.py dispatch release", reason="HELD"
        )


def hold_gate() -> Hold | None:
    """The hold that is on, or None: then none takes effect before the caller's transaction has ended. One query.

    Never waits. Raises Busy in the moment in which one hold is still being put on and another person releases it.
    """
    if transaction.get_connection().in_atomic_block is not True:
        raise transaction.TransactionManagementError("the gate of a hold is passed inside a transaction")
    with connection.cursor() as cursor:
        cursor.execute(_PASS)
        passed: bool = cursor.fetchone()[0]
        cursor.nextset()
        row = cursor.fetchone()
    if row is not None:
        return Hold(id=row[0], reason=row[1], held_by=row[2], held_at=row[3])
    if not passed:
        raise Busy("a hold is being put on and released at this moment; try again")
    return None


def hold_refuse() -> None:
    """Raise Held if a hold is on; see `hold_gate`."""
    hold = hold_gate()
    if hold is not None:
        raise Held(hold)


def hold_current() -> Hold | None:
    """The hold that is on, to be shown: it may end, or one may begin, the moment after."""
    return Hold.objects.filter(released_at=None).first()


def holds_list(*, limit: int) -> list[Hold]:
    """The newest holds first, the one that is on included."""
    return list(Hold.objects.order_by("-id")[:limit])


def last_release() -> datetime | None:
    """When the last hold ended."""
    return Hold.objects.order_by("-id").values_list("released_at", flat=True).first()


def hold_words(hold: Hold) -> str:
    """Since when, by whom and why, for a sentence."""
    since = hold.held_at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%SZ")
    return f"held since {since} by {hold.held_by}: {hold.reason}"


def hold_line(hold: Hold) -> str:
    """What stands above a list while a hold is on."""
    words = hold_words(hold)
    return f"{words[0].upper()}{words[1:]}. Nothing new begins until manage.py dispatch release."


def hold_json(hold: Hold | None) -> dict[str, Any] | None:
    """One hold for scripts; null where none is on."""
    if hold is None:
        return None
    return {
        "reason": hold.reason,
        "held_by": hold.held_by,
        "held_at": hold.held_at,
        "released_by": hold.released_by,
        "released_at": hold.released_at,
    }
