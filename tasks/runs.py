"""A run: the execution of a task under a lease. Only whoever holds the lease's token may write it (D-16).

Every write compares the token; no row means the lease is lost, and whoever reads that stops without another effect.
The intent statement is the hinge: it records what the step before did and which step comes next, before that step has
any effect. A process that dies leaves at most one step in doubt, and the row names it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

from django.conf import settings
from django.db import connection, transaction
from django.db.models.functions import Now

from tasks.engine import enqueue_missing
from tasks.hold import hold_gate
from tasks.lanes import lanes_lock, lanes_promote, task_move
from tasks.models import Run, Task
from tasks.outcomes import clip
from tasks.states import TASK_STATUS_OF_RUN, RunState, TaskStatus

_INTENT = """
UPDATE run SET results = results || %(results)s::jsonb, call = call || %(facts)s::jsonb, in_flight = %(next)s,
    progress_done = %(done)s, progress_total = %(total)s,
    attempt = %(attempt)s, attempts = %(attempts)s::jsonb,
    lease_until = clock_timestamp() + make_interval(secs => %(lease)s)
WHERE id = %(run)s AND lease_token = %(token)s AND state = 'running'
RETURNING cancel_requested_at IS NOT NULL
"""
_CLOSE = """
WITH closed AS (
    UPDATE run SET state = %(state)s, message = %(message)s, results = results || %(results)s::jsonb,
        call = call || %(facts)s::jsonb, attempts = %(attempts)s::jsonb,
        in_flight = CASE WHEN %(open)s THEN in_flight ELSE '' END,
        progress_done = coalesce(%(done)s, progress_done), progress_total = coalesce(%(total)s, progress_total),
        finished_at = CASE WHEN %(open)s THEN NULL ELSE %(now)s::timestamptz END, lease_token = NULL, lease_until = NULL
    WHERE id = %(run)s AND state = 'running' AND lease_token IS NOT DISTINCT FROM %(token)s::uuid
        AND (%(until)s::timestamptz IS NULL OR lease_until = %(until)s::timestamptz)
    RETURNING id, task_id, progress_done, progress_total, finished_at),
exported AS (INSERT INTO run_export (run_id, written_at)
    SELECT id, clock_timestamp() FROM closed WHERE %(export)s AND finished_at IS NOT NULL)
UPDATE task SET progress_done = closed.progress_done, progress_total = closed.progress_total
FROM closed WHERE task.id = closed.task_id
"""
_END = """
WITH closed AS (
    UPDATE run SET state = %(state)s, message = %(message)s, finished_at = %(now)s, lease_token = NULL,
        lease_until = NULL
    WHERE id = %(run)s AND state IN ('running', 'unknown') RETURNING id)
INSERT INTO run_export (run_id, written_at) SELECT id, clock_timestamp() FROM closed WHERE %(export)s
"""
_RENEW = """
UPDATE run SET lease_until = clock_timestamp() + make_interval(secs => %s),
    message = coalesce(nullif(mine.note, ''), message)
FROM unnest(%s::uuid[], %s::text[]) AS mine(token, note)
WHERE run.lease_token = mine.token AND run.state = 'running'
RETURNING run.lease_token, run.cancel_requested_at IS NOT NULL
"""
_SHOW_PROGRESS = """
UPDATE task SET progress_done = run.progress_done, progress_total = run.progress_total, updated_at = %s
FROM run
WHERE run.task_id = task.id AND run.lease_token = ANY(%s::uuid[]) AND run.state = 'running' AND task.status = 'running'
    AND (task.progress_done, task.progress_total) IS DISTINCT FROM (run.progress_done, run.progress_total)
"""
_TAKE_OVER = """
UPDATE run SET lease_owner = %s, lease_token = %s, lease_until = clock_timestamp() + make_interval(secs => %s)
WHERE task_id = %s AND state = 'running' AND lease_token IS NULL
"""


class LeaseLost(Exception):
    """Somebody else holds the run now, or it is finished: stop at once, write nothing."""


@dataclass(slots=True)
class RunHandle:
    """A run in hand. `begun_at` is the database's time at `begun` on this process's monotonic clock."""

    run_id: UUID
    task: Task
    token: UUID
    started_at: datetime
    attempt: int
    attempts: list[dict[str, Any]]
    results: dict[str, dict[str, Any]]
    in_flight: str
    cancel_requested: bool
    begun_at: datetime
    begun: float = field(default_factory=time.monotonic)

    def now(self) -> datetime:
        """The database's time, as far as this process can tell without asking."""
        return self.begun_at + timedelta(seconds=time.monotonic() - self.begun)


def run_begin(*, task_id: UUID, owner: str, executor: str, now: datetime) -> RunHandle | None:
    """Take a pending task into execution, or take over its run that was released or rescued.

    None when there is nothing to do, so that a duplicate job is harmless: the task is gone, finished, waiting, or in
    somebody's hands. While a hold is on a pending task stays pending and gets another job at the release; a run that
    had begun goes on.
    """
    token = uuid4()
    with transaction.atomic():
        if hold_gate() is None and task_move(
            task_id, TaskStatus.RUNNING, now=now, message="Running", from_=[TaskStatus.PENDING]
        ):
            _run_create(task_id, owner=owner, token=token, executor=executor, now=now)
        elif not _run_take_over(task_id, owner=owner, token=token):
            return None
        run = Run.objects.select_related("task").get(lease_token=token, state=RunState.RUNNING)
    return RunHandle(
        run_id=run.id,
        task=run.task,
        token=token,
        started_at=run.started_at,
        attempt=run.attempt,
        attempts=run.attempts,
        results=run.results,
        in_flight=run.in_flight,
        cancel_requested=run.cancel_requested_at is not None,
        begun_at=now,
    )


def endpoint_name(task_id: UUID) -> str:
    """The endpoint that a call goes to; empty where the task is gone or names none."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT information -> 'target' ->> 'endpoint' FROM task WHERE id = %s", [task_id])
        row = cursor.fetchone()
    return (row[0] or "") if row else ""


def run_intent(
    handle: RunHandle,
    *,
    results: Mapping[str, Mapping[str, Any]],
    next_step: str,
    done: int,
    total: int,
    facts: Mapping[str, Any] | None = None,
) -> bool:
    """Record what was done and announce the next step, in one statement, before its effect.

    `next_step` empty: nothing is under way. Returns whether cancellation was asked for; raises LeaseLost.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            _INTENT,
            {
                "results": json.dumps(dict(results)),
                "facts": json.dumps(dict(facts or {})),
                "next": next_step,
                "done": done,
                "total": total,
                "attempt": handle.attempt,
                "attempts": json.dumps(handle.attempts),
                "lease": lease_seconds(),
                "run": handle.run_id,
                "token": handle.token,
            },
        )
        row = cursor.fetchone()
    if row is None:
        raise LeaseLost
    return bool(row[0])


def run_finish(
    handle: RunHandle,
    *,
    state: RunState,
    message: str,
    now: datetime,
    results: Mapping[str, Mapping[str, Any]] | None = None,
    done: int | None = None,
    total: int | None = None,
    facts: Mapping[str, Any] | None = None,
) -> None:
    """End the run, move its task with it and promote who waits on the rack: one transaction, the rack locked first.

    Raises LeaseLost, with nothing written, when the run is no longer ours: completed stays completed.
    """
    with transaction.atomic():
        lanes_lock([handle.task.lane])
        run_close(
            run_id=handle.run_id,
            task_id=handle.task.id,
            token=handle.token,
            state=state,
            message=message,
            now=now,
            results=results,
            attempts=handle.attempts,
            done=done,
            total=total,
            facts=facts,
        )
        if state is not RunState.UNKNOWN:
            lanes_promote([handle.task.lane], now=now)


def run_close(
    *,
    run_id: UUID,
    task_id: UUID,
    token: UUID | None,
    state: RunState,
    message: str,
    now: datetime,
    attempts: list[dict[str, Any]],
    results: Mapping[str, Mapping[str, Any]] | None = None,
    done: int | None = None,
    total: int | None = None,
    facts: Mapping[str, Any] | None = None,
    lease_until: datetime | None = None,
) -> None:
    """Close the run and move its task, inside the caller's transaction that holds the rack's lock.

    `unknown` leaves the task running and its rack taken until a person decides. With `lease_until` the lease itself is
    compared too: a rescue must not close a run whose owner renewed it meanwhile.
    """
    said = clip(f"outcome unknown: {message}" if state is RunState.UNKNOWN else message)
    to = TASK_STATUS_OF_RUN[state]
    if to is TaskStatus.RUNNING:
        moved = Task.objects.filter(id=task_id, status=to).update(message=said, updated_at=now) == 1
    else:
        moved = task_move(task_id, to, now=now, message=said, from_=[TaskStatus.RUNNING])
    with connection.cursor() as cursor:
        cursor.execute(
            _CLOSE,
            {
                "state": state.value,
                "open": state is RunState.UNKNOWN,
                "message": clip(message),
                "results": json.dumps(dict(results or {})),
                "facts": json.dumps(dict(facts or {})),
                "attempts": json.dumps(attempts),
                "done": done,
                "total": total,
                "now": now,
                "run": run_id,
                "token": token,
                "until": lease_until,
                "export": exporting(),
            },
        )
        closed = cursor.rowcount == 1
    if not (moved and closed):
        raise LeaseLost


def run_end(*, run_id: UUID, state: RunState, message: str, now: datetime) -> None:
    """End a run that nobody carries out, in the transaction of whoever holds its row's lock; its lease is void."""
    with connection.cursor() as cursor:
        values = {"run": run_id, "state": state.value, "message": message, "now": now, "export": exporting()}
        cursor.execute(_END, values)


def exporting() -> bool:
    """Whether finished runs are put into the outbox (D-27): in the statement that ends them, or not at all."""
    return settings.FLOWSCHED_CLICKHOUSE_URL is not None


def run_release(
    handle: RunHandle,
    *,
    results: Mapping[str, Mapping[str, Any]],
    in_doubt: str,
    done: int,
    total: int,
    facts: Mapping[str, Any] | None = None,
) -> None:
    """Let go of the run so that another worker goes on at once: lease ended and a new job, in one transaction.

    Nothing may be under way; `in_doubt` is a step an earlier process left in doubt and nobody has repeated yet. Raises
    LeaseLost when the run is not ours any more.
    """
    with transaction.atomic():
        run_intent(handle, results=results, next_step=in_doubt, done=done, total=total, facts=facts)
        released = Run.objects.filter(id=handle.run_id, lease_token=handle.token).update(
            lease_token=None, lease_owner=""
        )
        if not released:
            raise LeaseLost
        enqueue_missing([(handle.task.id, handle.task.type)])


def runs_renew(tokens: Iterable[UUID], notes: Mapping[UUID, str]) -> dict[UUID, bool]:
    """Renew all leases in one statement. Tokens that are missing in the answer are lost; the value is `cancel asked`.

    `notes` go with them as the runs' messages: how far a long step is.
    """
    ours = list(tokens)
    if not ours:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(_RENEW, [lease_seconds(), ours, [clip(notes.get(token, "")) for token in ours]])
        return {row[0]: row[1] for row in cursor.fetchall()}


def runs_show_progress(tokens: Iterable[UUID], *, now: datetime) -> int:
    """Copy the progress of the runs under these leases to their tasks, where it has moved; one statement."""
    with connection.cursor() as cursor:
        cursor.execute(_SHOW_PROGRESS, [now, list(tokens)])
        return int(cursor.rowcount)


def _run_create(task_id: UUID, *, owner: str, token: UUID, executor: str, now: datetime) -> None:
    run_id = uuid4()
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE task SET executor_type = %s, execution_id = %s WHERE id = %s RETURNING created_at",
            [executor, str(run_id), task_id],
        )
        queued_at = cursor.fetchone()[0]
    Run.objects.create(
        id=run_id,
        task_id=task_id,
        state=RunState.RUNNING,
        executor=executor,
        lease_owner=owner,
        lease_token=token,
        lease_until=Now() + settings.FLOWSCHED_RUN_LEASE,
        queued_at=queued_at,
        started_at=now,
    )


def _run_take_over(task_id: UUID, *, owner: str, token: UUID) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(_TAKE_OVER, [owner, token, lease_seconds(), task_id])
        return bool(cursor.rowcount == 1)


def lease_seconds() -> float:
    """How long a lease lasts after it was last renewed."""
    return float(settings.FLOWSCHED_RUN_LEASE.total_seconds())
