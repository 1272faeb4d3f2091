"""Runs whose worker is gone, and tasks whose job is: each is handed on once, or ended, or left for a person to judge.

A rescue is a compare-and-set of the lease as it was read plus, in the same transaction, a new job: a run that was
renewed, finished or rescued by another meanwhile is left alone. Completed stays completed. Nothing is repeated that
could do harm twice: a step in doubt is sent again only if the operation or the target makes that harmless (D-16).
"""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction

from flowsched.errors import PreconditionFailed
from flowsched.faults import fault
from inventory.models import Component
from tasks.engine import enqueue_missing
from tasks.executors.base import MAX_ATTEMPTS, get_executor
from tasks.hold import hold_current
from tasks.lanes import lanes_lock, lanes_promote
from tasks.models import Run, Task
from tasks.runs import LeaseLost, lease_seconds, run_close
from tasks.states import RunState, TaskStatus

logger = logging.getLogger(__name__)

LIMIT = 200
PAGES = 50

_HAND_ON = """
WITH lost AS (
    SELECT run.id, mine.attempt, mine.attempts FROM run
    JOIN unnest(%s::uuid[], %s::uuid[], %s::timestamptz[], %s::int[], %s::text[])
        AS mine(id, token, until, attempt, attempts) ON mine.id = run.id
    WHERE run.state = 'running' AND run.lease_until = mine.until AND run.lease_token IS NOT DISTINCT FROM mine.token
    ORDER BY run.id FOR NO KEY UPDATE OF run SKIP LOCKED)
UPDATE run SET lease_token = NULL, lease_owner = '', lease_until = clock_timestamp() + make_interval(secs => %s),
    attempt = lost.attempt, attempts = lost.attempts::jsonb
FROM lost WHERE run.id = lost.id RETURNING run.id, run.task_id
"""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What becomes of a run: `state` None hands it on, anything else ends it so."""

    run: Run
    state: RunState | None
    message: str


def runs_rescue(*, now: datetime, limit: int = LIMIT) -> int:
    """Judge runs whose lease ran out before `now`; returns how many were handed on or ended.

    Those handed on take a few statements for any number. Those that end lock their rack, one transaction each: there
    are few, and one held rack must not keep the others.
    """
    lost = list(
        Run.objects.filter(state=RunState.RUNNING, lease_until__lt=now)
        .select_related("task")
        .order_by("lease_until", "id")[:limit]
    )
    fault("rescue.before_update")
    names = _component_names(lost)
    verdicts = [_judge(run, names.get(run.in_flight, run.in_flight)) for run in lost]
    handed_on = _hand_on([v for v in verdicts if v.state is None])
    return handed_on + sum(_end(v, v.state, now=now) for v in verdicts if v.state is not None)


def tasks_requeue(*, now: datetime, limit: int = 1000, at_once: bool = False) -> int:
    """Give pending tasks a job that lost theirs with a worker killed before it began the run; returns how many.

    Only tasks that have been pending for a lease are asked about, so that a job on its way is not doubled; `at_once`
    asks about all, as after a hold, whose jobs were dropped. While a hold is on no task gets one: it would be dropped.
    """
    if hold_current() is not None:
        return 0
    before = now if at_once else now - settings.FLOWSCHED_RUN_LEASE
    after: tuple[datetime, UUID] | None = None
    requeued = 0
    for _page in range(PAGES):
        with transaction.atomic():
            page = _pending_page(before, after, limit)
            missing = enqueue_missing((task_id, type_) for _at, task_id, type_ in page)
        requeued += missing
        if missing:
            logger.warning("%d pending tasks had no job and got a new one", missing)
        if len(page) < limit:
            break
        after = page[-1][:2]
    return requeued


def _pending_page(
    before: datetime, after: tuple[datetime, UUID] | None, limit: int
) -> list[tuple[datetime, UUID, str]]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT updated_at, id, type FROM task WHERE status = %s AND updated_at < %s"
            " AND (%s::timestamptz IS NULL OR (updated_at, id) > (%s::timestamptz, %s::uuid))"
            " ORDER BY updated_at, id LIMIT %s FOR NO KEY UPDATE SKIP LOCKED",
            [TaskStatus.PENDING.value, before, *((after[0], *after) if after else (None, None, None)), limit],
        )
        return list(cursor.fetchall())


def _component_names(runs: Sequence[Run]) -> dict[str, str]:
    ids = [UUID(run.in_flight) for run in runs if run.in_flight]
    found = Component.objects.filter(id__in=ids).values_list("id", "name") if ids else []
    return {str(component_id): name for component_id, name in found}


def _judge(run: Run, in_flight: str) -> Verdict:
    """See the module; `in_flight` names the component in doubt, empty where none is."""
    doubt = f"; '{run.task.code}' may have happened on {in_flight}" if in_flight else ""
    if run.cancel_requested_at is not None:
        return Verdict(run, RunState.CANCELLED, f"Terminated: cancelled, its worker is gone{doubt}")
    if run.lease_token is None:
        return Verdict(run, None, "")  # handed on already; only its job may have been lost
    if doubt and not _harmless(run):
        return Verdict(run, RunState.UNKNOWN, f"its worker is gone{doubt}")
    most = _attempts(run)
    if run.attempt >= most:
        return Verdict(run, RunState.FAILED, f"its worker was lost in the last of {most} attempts{doubt}")
    return Verdict(run, None, f"its worker is gone{doubt}")


def _attempts(run: Run) -> int:
    """How often a run may be begun: as often as its executor tries, and three times where that is less.

    Losing a worker is nobody's failed attempt, but whatever kills workers must not do so for ever.
    """
    try:
        return max(MAX_ATTEMPTS, get_executor(run.executor).attempts(run.task))
    except PreconditionFailed:
        return MAX_ATTEMPTS


def _harmless(run: Run) -> bool:
    try:
        return get_executor(run.executor).harmless(run.task)
    except PreconditionFailed:
        return False  # an executor this process does not know: nobody here can say


def _hand_on(verdicts: Sequence[Verdict]) -> int:
    """End the leases as they were read and add the jobs, in one transaction."""
    if not verdicts:
        return 0
    rows = [_handed_on_row(v) for v in verdicts]
    columns: list[list[Any]] = [list(column) for column in zip(*rows, strict=True)]
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute(_HAND_ON, [*columns, lease_seconds()])
            taken = cursor.fetchall()
        types = {verdict.run.task_id: verdict.run.task.type for verdict in verdicts}
        enqueue_missing((task_id, types[task_id]) for _run, task_id in taken)
    for run_id, task_id in taken:
        logger.warning("run %s of task %s lost its worker and is handed on", run_id, task_id)
    return len(taken)


def _handed_on_row(verdict: Verdict) -> tuple[UUID, UUID | None, datetime, int, str]:
    run = verdict.run
    assert run.lease_until is not None
    lost_again = run.lease_token is None
    return (
        run.id,
        run.lease_token,
        run.lease_until,
        run.attempt if lost_again else run.attempt + 1,
        json.dumps(run.attempts if lost_again else [*run.attempts, _lost_attempt(verdict)]),
    )


def _lost_attempt(verdict: Verdict) -> dict[str, Any]:
    run = verdict.run
    last = run.attempts[-1]["ended_at"] if run.attempts else run.started_at.isoformat()
    ended = run.lease_until.isoformat() if run.lease_until else last
    return {
        "attempt": run.attempt,
        "started_at": last,
        "ended_at": ended,
        "state": "interrupted",
        "message": verdict.message,
    }


def _end(verdict: Verdict, state: RunState, *, now: datetime) -> bool:
    """Close the run as it was read, and its task; False if somebody was faster."""
    run: Run = verdict.run
    task: Task = run.task
    try:
        with transaction.atomic():
            if not lanes_lock([task.lane], skip_locked=True):
                return False  # held: the next round looks again
            run_close(
                run_id=run.id,
                task_id=task.id,
                token=run.lease_token,
                state=state,
                message=verdict.message,
                now=now,
                attempts=[*run.attempts, _lost_attempt(verdict)] if run.lease_token else run.attempts,
                lease_until=run.lease_until,
            )
            if state is not RunState.UNKNOWN:
                lanes_promote([task.lane], now=now)
    except LeaseLost:
        return False
    logger.warning("run %s of task %s: %s, %s", run.id, task.id, state.value, verdict.message)
    return True
