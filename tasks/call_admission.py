"""Admission of HTTP calls: which become tasks, which wait, which are refused and why.

A call's lane is its schedule, so that `max_running_instances` holds across all workers; it conflicts with nothing on a
rack and locks none. Promises what admission promises of hardware: a repeated key yields the task it made before,
nobody overtakes a waiting call of the same limit, and every refusal has a code and a sentence.

Statements: lock, active calls, racks, INSERT, enqueue. One more where something is contended or was known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

from django.conf import settings
from django.db import connection

from tasks import reasons
from tasks.engine import CALLS, get_engine
from tasks.http.instances import limit_of
from tasks.insertion import NewTask, calls_insert, keys_known
from tasks.lanes import DEFAULT_MESSAGE, ActiveTask, calls_lock, lanes_active
from tasks.reasons import ReasonCode
from tasks.states import TaskStatus
from tasks.submissions import Outcome, Submission, queue_timeout, stored_types


def calls_admit(submissions: Sequence[Submission], *, now: datetime, wait: bool) -> list[Outcome]:
    """Decide these calls in the order given; the outcomes in the same order. In the caller's transaction.

    A schedule that somebody else decides about comes back as `locked` with nothing written, unless `wait`.
    """
    return _Admission(submissions, now).run(wait=wait)


class _Admission:
    """One call: the submissions, what was read under the locks, and the outcomes by position."""

    def __init__(self, submissions: Sequence[Submission], now: datetime) -> None:
        self.submissions = submissions
        self.now = now
        self.outcomes: dict[int, Outcome] = {}
        self.rows: dict[int, NewTask] = {}

    def run(self, *, wait: bool) -> list[Outcome]:
        wanted = {submission.lane for submission in self.submissions}
        lanes: dict[UUID, list[ActiveTask]] = {lane: [] for lane in calls_lock(wanted, skip_locked=not wait)}
        for task in lanes_active(lanes) if lanes else ():
            if not task.expired(self.now):
                lanes[task.lane].append(task)
        busy = [s.key for s in self.submissions if lanes.get(s.lane)]
        known = keys_known(busy) if busy else {}
        racks = _racks(self.submissions)
        for position, submission in enumerate(self.submissions):
            lane = lanes.get(submission.lane)
            if lane is None:
                self._settle(
                    position, "locked", ReasonCode.CALLS_LOCKED, reasons.calls_locked(submission.schedule_name)
                )
            elif submission.key in known:
                self.outcomes[position] = Outcome(submission.key, "submitted", known[submission.key][0], "", "")
            elif submission.rack_id is not None and racks.get(submission.rack_id) is None:
                self._settle(position, "failed", ReasonCode.RACK_GONE, reasons.rack_gone(submission.rack_name))
            else:
                self._decide(position, submission, lane, racks.get(submission.rack_id, "") or "")
        self._write()
        return [self.outcomes[position] for position in range(len(self.submissions))]

    def _decide(self, position: int, submission: Submission, lane: list[ActiveTask], rack_name: str) -> None:
        limit = limit_of(submission.information)
        others = limit.together(lane, submission.rack_id)
        under_way = [task for task in others if not task.waiting]
        waiting = len(others) - len(under_way)
        where = f" on rack {rack_name}" if limit.per_rack and rack_name else ""
        status = TaskStatus.PENDING
        if len(under_way) >= limit.most or waiting:
            if not submission.queue:
                names = [_said(task) for task in under_way]
                sentence = reasons.instance_limit(where, limit.most, names)
                self._settle(position, "rejected", ReasonCode.INSTANCE_LIMIT, sentence)
                return
            if waiting >= settings.FLOWSCHED_MAX_WAITING_PER_RACK:
                sentence = reasons.calls_full(where, waiting)
                self._settle(position, "rejected", ReasonCode.QUEUE_FULL, sentence)
                return
            status = TaskStatus.WAITING
        self._plan(position, submission, lane, rack_name, status)

    def _plan(
        self, position: int, submission: Submission, lane: list[ActiveTask], rack_name: str, status: TaskStatus
    ) -> None:
        expires = self.now + queue_timeout(submission.queue_timeout) if status is TaskStatus.WAITING else None
        last = max((task.created_at + timedelta(microseconds=1) for task in lane), default=self.now)
        row = NewTask(
            id=uuid4(),
            submission=submission,
            rack_name=rack_name,
            status=status,
            message="Waiting behind the schedule's other calls" if expires else DEFAULT_MESSAGE[status],
            types=None if submission.types is None else stored_types(submission.types),
            components=submission.components,
            required=len(set(submission.components)) if submission.components is not None else 0,
            created_at=max(self.now, last),
            queue_expires_at=expires,
        )
        self.rows[position] = row
        lane.append(row.as_active())

    def _write(self) -> None:
        inserted = calls_insert(list(self.rows.values()), now=self.now) if self.rows else set()
        ready = [r.id for r in self.rows.values() if r.id in inserted and r.status is TaskStatus.PENDING]
        if ready:
            get_engine().enqueue(ready, queue=CALLS)
        left = {position: row for position, row in self.rows.items() if row.id not in inserted}
        known = keys_known([row.submission.key for row in left.values()]) if left else {}
        for position, row in self.rows.items():
            submission = row.submission
            if row.id in inserted:
                self.outcomes[position] = Outcome(submission.key, "submitted", row.id, "", "")
            elif submission.key in known:
                self.outcomes[position] = Outcome(submission.key, "submitted", known[submission.key][0], "", "")
            elif submission.components is not None:
                sentence = reasons.component_moved(row.rack_name, submission.components)
                self._settle(position, "failed", ReasonCode.COMPONENT_MOVED, sentence)
            else:
                sentence = reasons.no_components(row.rack_name, submission.types)
                self._settle(position, "failed", ReasonCode.NO_COMPONENTS, sentence)

    def _settle(self, position: int, state: Any, code: ReasonCode, reason: str) -> None:
        self.outcomes[position] = Outcome(self.submissions[position].key, state, None, code.value, reason)


def _racks(submissions: Sequence[Submission]) -> Mapping[UUID | None, str]:
    """The racks named that are in the inventory, by id."""
    ids = {submission.rack_id for submission in submissions if submission.rack_id is not None}
    if not ids:
        return {}
    with connection.cursor() as cursor:
        cursor.execute("SELECT id, name FROM rack WHERE id = ANY(%s::uuid[]) AND deleted_at IS NULL", [list(ids)])
        return dict(cursor.fetchall())


def _said(task: ActiveTask) -> str:
    unknown = "outcome unknown, acknowledge it" if task.unknown else task.status
    return f"task {task.id} ({unknown})"
