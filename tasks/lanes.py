"""A lane is the order of one rack's tasks. Whoever admits, promotes, finishes, cancels or expires holds its lock first.

Promises that two decisions about one rack never cross (F-303): each sees what the other did. Without the lock a
promotion and a submission can both pass, and two operations meet on one component. The primitives run inside the
caller's transaction; the lock ends with it.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any
from uuid import UUID

from django.db import connection, transaction

from tasks.conflicts import Footprint, conflict
from tasks.engine import CALLS, TASKS, get_engine
from tasks.hold import hold_gate
from tasks.http.instances import calls_ready
from tasks.operations import OperationType, operation_label
from tasks.reasons import cut
from tasks.states import FINISHED, TaskStatus, sources

LOCK_TIMEOUT = timedelta(seconds=2)

DEFAULT_MESSAGE: dict[TaskStatus, str] = {
    TaskStatus.WAITING: "Waiting in the rack's queue",
    TaskStatus.PENDING: "Pending",
    TaskStatus.RUNNING: "Running",
    TaskStatus.COMPLETED: "Succeeded",
    TaskStatus.FAILED: "Failed",
    TaskStatus.TERMINATED: "Terminated",
}
EXPIRED_MESSAGE = "Terminated: its time in the rack's queue ran out"
PROMOTED_MESSAGE = "Pending: left the rack's queue"

_LOCK = "SELECT id, name, deleted_at FROM rack WHERE id = ANY(%s::uuid[]) ORDER BY id FOR NO KEY UPDATE"
_OTHER_LANES = """
    SELECT s.lane FROM (
        SELECT lane, {function}(hashtextextended(lane::text, 0)) AS got
        FROM (SELECT lane FROM unnest(%s::uuid[]) lane WHERE NOT EXISTS (SELECT 1 FROM rack WHERE id = lane)
              ORDER BY lane OFFSET 0) l
    ) s WHERE s.got::text <> 'false'
"""
_ACTIVE = """
    SELECT t.id, t.lane, t.rack_id, t.idempotency_key, t.type, t.code, t.information::text, t.status, t.schedule_name,
           t.queue_expires_at, t.created_at,
           EXISTS (SELECT 1 FROM run r WHERE r.task_id = t.id AND r.state = 'unknown'),
           (t.attributes -> 'components_by_type')::text
    FROM task t
    WHERE t.lane = ANY(%s::uuid[]) AND t.status IN ('pending', 'running', 'waiting') {only}
    ORDER BY t.lane, t.created_at, t.id
"""
_WITH_WAITING = "AND t.lane IN (SELECT w.lane FROM task w WHERE w.lane = ANY(%s::uuid[]) AND w.status = 'waiting')"


@dataclass(frozen=True)
class ActiveTask:
    """A waiting, pending or running task as decisions see it."""

    id: UUID
    lane: UUID
    rack_id: UUID | None
    key: UUID | None
    type: str
    code: str
    information_json: str
    status: str
    schedule_name: str
    queue_expires_at: datetime | None
    created_at: datetime
    unknown: bool
    components_json: str | None

    @cached_property
    def footprint(self) -> Footprint:
        """Parsed only where a conflict must be decided."""
        return Footprint.of(self.type, json.loads(self.components_json or "{}"))

    @property
    def waiting(self) -> bool:
        """Whether it stands in the queue."""
        return self.status == TaskStatus.WAITING

    def expired(self, now: datetime) -> bool:
        """Whether its time in the queue is over, strictly (F-262): at the deadline itself it still waits."""
        return self.waiting and self.queue_expires_at is not None and self.queue_expires_at < now

    def __str__(self) -> str:
        """Its name in a sentence."""
        label = operation_label(self.type, self.code, json.loads(self.information_json))
        owner = f" of schedule '{self.schedule_name}'" if self.schedule_name else ""
        return f"{label}{owner} (task {self.id})"


@dataclass(frozen=True, slots=True)
class Settled:
    """What settling lanes did."""

    promoted: list[UUID]
    expired: list[UUID]


def lock_timeout(limit: timedelta = LOCK_TIMEOUT) -> None:
    """Let this transaction wait no longer than `limit` for a lock; then it fails as Busy."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT set_config('lock_timeout', %s, true)", [f"{max(1, int(limit.total_seconds() * 1000))}ms"]
        )


def racks_lock(rack_ids: Iterable[UUID], *, skip_locked: bool) -> dict[UUID, tuple[str, datetime | None]]:
    """Lock racks in id order; those got, each with its name and when it was removed. One statement."""
    _assert_atomic()
    with connection.cursor() as cursor:
        cursor.execute(_LOCK + (" SKIP LOCKED" if skip_locked else ""), [list(rack_ids)])
        return {row[0]: (row[1], row[2]) for row in cursor.fetchall()}


def lanes_lock(rack_ids: Iterable[UUID], *, skip_locked: bool = False) -> set[UUID]:
    """Lock lanes until the transaction ends; the ones got. Waits for the held ones unless `skip_locked`.

    A lane that is no rack (a schedule's, or of a rack whose row is gone) is an advisory lock. Racks first, each kind
    in id order, so that two callers never wait for each other.
    """
    wanted = set(rack_ids)
    got = set(racks_lock(wanted, skip_locked=skip_locked))
    rest = sorted(wanted - got)
    return got | _others_lock(rest, skip_locked=skip_locked) if rest else got


def calls_lock(lanes: Iterable[UUID], *, skip_locked: bool) -> set[UUID]:
    """Lock lanes that are schedules', in id order, until the transaction ends; the ones got. One statement."""
    _assert_atomic()
    return _others_lock(sorted(lanes), skip_locked=skip_locked)


def _others_lock(lanes: Sequence[UUID], *, skip_locked: bool) -> set[UUID]:
    function = "pg_try_advisory_xact_lock" if skip_locked else "pg_advisory_xact_lock"
    with connection.cursor() as cursor:
        cursor.execute(_OTHER_LANES.format(function=function), [list(lanes)])
        return {row[0] for row in cursor.fetchall()}


def lanes_active(lanes: Collection[UUID], *, only_with_waiting: bool = False) -> list[ActiveTask]:
    """The active tasks of the lanes in their order; at choice only of lanes in which one waits. One statement."""
    params: list[Any] = [list(lanes)] * (2 if only_with_waiting else 1)
    with connection.cursor() as cursor:
        cursor.execute(_ACTIVE.format(only=_WITH_WAITING if only_with_waiting else ""), params)
        return [ActiveTask(*row) for row in cursor.fetchall()]


def task_move(
    task_id: UUID, to: TaskStatus, *, now: datetime, message: str, from_: Collection[TaskStatus] | None = None
) -> bool:
    """Move a task to `to` if it is in a state that allows it (F-240, F-305); False if it was not: nothing changed.

    `from_` narrows the allowed states, never widens them. Sets the timestamps that belong to `to` (F-241) and keeps a
    `started_at` once set (F-307). An empty message becomes the state's own.
    """
    _assert_atomic()
    allowed = [state for state in sources(to) if from_ is None or state in from_]
    with connection.cursor() as cursor:
        cursor.execute(
            """
            UPDATE task SET status = %(to)s, message = %(message)s, updated_at = %(now)s, queue_expires_at = NULL,
                started_at = CASE WHEN %(running)s THEN COALESCE(started_at, %(now)s) ELSE started_at END,
                finished_at = CASE WHEN %(finished)s THEN %(now)s::timestamptz END
            WHERE id = %(id)s AND status = ANY(%(allowed)s)
            """,
            {
                "to": to.value,
                "message": cut(message) or DEFAULT_MESSAGE[to],
                "now": now,
                "running": to is TaskStatus.RUNNING,
                "finished": to in FINISHED,
                "id": task_id,
                "allowed": [state.value for state in allowed],
            },
        )
        return bool(cursor.rowcount == 1)


def lanes_promote(rack_ids: Iterable[UUID], *, now: datetime) -> list[UUID]:
    """Expire and promote in lanes whose lock the caller holds; the promoted tasks, enqueued. At most 5 statements."""
    return lanes_settle(rack_ids, now=now).promoted


def lanes_settle(rack_ids: Iterable[UUID], *, now: datetime) -> Settled:
    """End the waiting tasks whose time is over, then promote from each lane's head (F-262, F-263).

    Promotion stops at the first task that conflicts with the holders or with one promoted before it.
    A promoted task keeps the components it was admitted with: they are its footprint for later decisions. The
    executor acts on those of them that are still in the rack when it runs, since they can move until then.
    While a hold is on nobody leaves the queue, neither way: those who wait go on waiting.
    """
    _assert_atomic()
    by_lane: dict[UUID, list[ActiveTask]] = {}
    for task in lanes_active(set(rack_ids), only_with_waiting=True):
        by_lane.setdefault(task.lane, []).append(task)
    expired = [task.id for tasks in by_lane.values() for task in tasks if task.expired(now)]
    ready = [task.id for tasks in by_lane.values() for task in _ready(tasks, now)]
    if (expired or ready) and hold_gate() is not None:
        return Settled(promoted=[], expired=[])
    if expired:
        expired = _leave_queue(expired, TaskStatus.TERMINATED, EXPIRED_MESSAGE, now=now)
    if ready:
        ready = _leave_queue(ready, TaskStatus.PENDING, PROMOTED_MESSAGE, now=now)
    if ready:
        calls = {task.id for tasks in by_lane.values() for task in tasks if task.type == OperationType.HTTP}
        for queue, ids in ((TASKS, [i for i in ready if i not in calls]), (CALLS, [i for i in ready if i in calls])):
            get_engine().enqueue(ids, queue=queue)
    return Settled(promoted=ready, expired=expired)


def _ready(tasks: Sequence[ActiveTask], now: datetime) -> list[ActiveTask]:
    """The head of the queue as far as it conflicts neither with the holders nor with itself; stops at the first."""
    if tasks and tasks[0].type == OperationType.HTTP:
        return calls_ready([task for task in tasks if not task.expired(now)])
    holders = [task.footprint for task in tasks if not task.waiting]
    ready: list[ActiveTask] = []
    for task in tasks:
        if not task.waiting or task.expired(now):
            continue
        if any(conflict(task.footprint, holder) for holder in holders):
            break
        holders.append(task.footprint)
        ready.append(task)
    return ready


def _leave_queue(task_ids: Sequence[UUID], to: TaskStatus, message: str, *, now: datetime) -> list[UUID]:
    """Move waiting tasks on in one guarded UPDATE; those that moved, in the order given."""
    finished = now if to in FINISHED else None
    with connection.cursor() as cursor:
        cursor.execute(
            """
            UPDATE task SET status = %s, message = %s, updated_at = %s, finished_at = %s, queue_expires_at = NULL
            WHERE id = ANY(%s::uuid[]) AND status = 'waiting' RETURNING id
            """,
            [to.value, message, now, finished, list(task_ids)],
        )
        moved = {row[0] for row in cursor.fetchall()}
    return [task_id for task_id in task_ids if task_id in moved]


def _assert_atomic() -> None:
    """A lane's lock lives as long as the transaction: outside of one it would protect nothing."""
    if transaction.get_connection().in_atomic_block is not True:
        raise transaction.TransactionManagementError("lane primitives run inside the caller's transaction")
