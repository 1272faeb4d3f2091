"""Verbs on tasks that already exist: cancel, acknowledge; and the chores that empty queues.

Promises that a task ends once: every change is a guarded update under the rack's lock, so a cancel, a finish and a
promotion of one task cannot each win. A rack is not given away while an effect may be in flight. Submitting is in
submission.py and offered here too; the hold is in holding.py.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from django.db import connection, transaction

from audit.services import verb
from flowsched import db
from flowsched.actor import Actor
from flowsched.errors import InvalidInput, NotFound, PreconditionFailed
from tasks.hold import hold_current
from tasks.lanes import Settled, lanes_lock, lanes_promote, lanes_settle, lock_timeout, task_move
from tasks.models import Run, Task
from tasks.runs import run_end
from tasks.states import FINISHED, OPEN_RUN, RunState, TaskStatus
from tasks.submission import refusals_of, submission_refusal, task_submit

__all__ = [
    "lanes_sweep",
    "refusals_of",
    "submission_refusal",
    "task_acknowledge",
    "task_cancel",
    "task_submit",
    "tasks_expire",
]

CANCEL_CHANNEL = "flowsched_cancel"
CHORE_BATCH = 100
MAX_NOTE = 500

_ACKNOWLEDGED = {
    "completed": (TaskStatus.COMPLETED, RunState.SUCCEEDED),
    "failed": (TaskStatus.FAILED, RunState.FAILED),
}


def task_cancel(*, task_id: UUID, by: Actor, now: datetime, run_id: UUID | None = None) -> Task:
    """Cancel a task (F-172), or the task of this run while the run has not ended; the task as it is afterwards.

    Waiting, pending, and running without a live run (its outcome unknown, or its lease over) end at once and the next
    in the queue is promoted. With a live run the request is noted and the worker told: it stops before its next side
    effect and ends the task itself. Terminated already: returned as it is. Completed or failed: PreconditionFailed.
    """
    lane = _lane(task_id)
    with verb("task.cancel", by=by, kind="task", now=now, object_id=task_id) as done:
        task, run = _lock(task_id, lane)
        done.object_name, done.before = str(task), _state(task, run)
        if task.status == TaskStatus.TERMINATED:
            done.changed = False
            return task
        if task.status in FINISHED:
            raise PreconditionFailed(
                f"task {task_id} is {task.status} already; only a task that has not ended can be cancelled",
                reason="TASK_FINISHED",
            )
        if run_id is not None and (run is None or run.id != run_id):
            raise PreconditionFailed(
                f"run {run_id} has ended and its task {task_id} goes on: cancel the task", reason="RUN_FINISHED"
            )
        if run is not None and _alive(run, now):
            done.changed = _request_cancel(task, run, by, now)
        else:
            _close(task, run, TaskStatus.TERMINATED, RunState.CANCELLED, f"Cancelled by {by.name}", now=now)
        task.refresh_from_db()
        done.after = _state(task, run)
    return task


def task_acknowledge(
    *, task_id: UUID, as_: Literal["completed", "failed"], by: Actor, now: datetime, note: str = ""
) -> Task:
    """A person's word on a run whose outcome is unknown (D-16): the task ends and the rack is free again.

    Only such a task can be acknowledged: PreconditionFailed for any other, InvalidInput for another word or a note
    that is too long.
    """
    if as_ not in _ACKNOWLEDGED:
        raise InvalidInput("a task is acknowledged as completed or failed", field="as")
    if len(note) > MAX_NOTE or not note.isprintable():
        raise InvalidInput(f"the note must be one line of at most {MAX_NOTE} characters", field="note")
    lane = _lane(task_id)
    status, state = _ACKNOWLEDGED[as_]
    with verb("task.acknowledge", by=by, kind="task", now=now, object_id=task_id) as done:
        task, run = _lock(task_id, lane)
        done.object_name, done.before = str(task), _state(task, run)
        if task.status != TaskStatus.RUNNING or run is None or run.state != RunState.UNKNOWN:
            raise PreconditionFailed(
                f"task {task_id} is {task.status} and its outcome is not unknown: there is nothing to acknowledge",
                reason="NOT_UNKNOWN",
            )
        message = f"Acknowledged as {as_} by {by.name}" + (f": {note}" if note else "")
        _close(task, run, status, state, message, now=now)
        task.refresh_from_db()
        done.after = _state(task, run) | {"note": note}
    return task


def tasks_expire(*, now: datetime) -> int:
    """Chore: end waiting tasks whose time is over, and promote who stood behind them; how many ended.

    A rack held by someone else is passed over: whoever holds it promotes, and the next call looks again.
    """
    return _chore(now, "AND queue_expires_at < %(now)s", lambda settled: len(settled.expired))


def lanes_sweep(*, now: datetime) -> int:
    """Chore: settle every lane in which a task waits (F-261), whatever was lost before; how many were promoted."""
    return _chore(now, "", lambda settled: len(settled.promoted))


def _chore(now: datetime, only: str, count: Callable[[Settled], int]) -> int:
    """Walk the lanes with waiting tasks in id order, a batch a transaction, so that a held lane is met once.

    While a hold is on those who wait go on waiting: nothing to do.
    """
    if hold_current() is not None:
        return 0
    total, after = 0, UUID(int=0)
    while lanes := _lanes_after(after, only, now):
        after = lanes[-1]
        with db.translate(), transaction.atomic():
            total += count(lanes_settle(lanes_lock(lanes, skip_locked=True), now=now))
    return total


def _lanes_after(after: UUID, only: str, now: datetime) -> list[UUID]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT DISTINCT lane FROM task WHERE status = 'waiting' AND lane > %(after)s "  # noqa: S608  our own text
            f"{only} ORDER BY lane LIMIT %(limit)s",
            {"after": after, "now": now, "limit": CHORE_BATCH},
        )
        return [row[0] for row in cursor.fetchall()]


def _lane(task_id: UUID) -> UUID:
    """The lane to lock, read before any lock: it never changes."""
    with db.translate():
        lane = Task.objects.filter(id=task_id).values_list("lane", flat=True).first()
    if lane is None:
        raise NotFound(f"no task has the id {task_id}")
    return lane


def _lock(task_id: UUID, lane: UUID) -> tuple[Task, Run | None]:
    """Rack, task, run, in that order; the run is read after the task's lock, so that a run just begun is seen."""
    lock_timeout()
    lanes_lock([lane])
    task = Task.objects.select_for_update(no_key=True).filter(id=task_id).first()
    if task is None:
        raise NotFound(f"no task has the id {task_id}")
    run = Run.objects.select_for_update(no_key=True).filter(task_id=task_id, state__in=sorted(OPEN_RUN)).first()
    return task, run


def _alive(run: Run, now: datetime) -> bool:
    """Whether a worker may be acting for this run."""
    return run.state == RunState.RUNNING and run.lease_until is not None and run.lease_until >= now


def _request_cancel(task: Task, run: Run, by: Actor, now: datetime) -> bool:
    """Ask the worker to stop; False if it was asked before."""
    if run.cancel_requested_at is not None:
        return False
    run.cancel_requested_at = now
    run.save(update_fields=["cancel_requested_at"])
    message = f"Running; cancellation requested by {by.name}, stops before its next step"
    Task.objects.filter(id=task.id, status=TaskStatus.RUNNING).update(message=message, updated_at=now)
    db.notify(CANCEL_CHANNEL)
    return True


def _close(task: Task, run: Run | None, status: TaskStatus, state: RunState, message: str, *, now: datetime) -> None:
    """End task and run and let the next one in. The lease token goes: a worker that still holds it writes nothing."""
    if not task_move(task.id, status, now=now, message=message):
        raise PreconditionFailed(f"task {task.id} changed meanwhile; look at it again", reason="TASK_CHANGED")
    if run is not None:
        run.state = state
        run_end(run_id=run.id, state=state, message=message, now=now)
    lanes_promote([task.lane], now=now)


def _state(task: Task, run: Run | None) -> dict[str, Any]:
    """What the audit trail keeps of a task before and after."""
    return {"status": task.status, "message": task.message, "run": run.state if run else None}
