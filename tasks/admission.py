"""Admission: which submissions become tasks, which wait, which are refused and why.

Promises, under the racks' locks and in the caller's transaction: no two conflicting tasks hold a rack, nobody
overtakes a waiting task they conflict with, a repeated key yields the task it made before, and every refusal has a
code and a sentence. What is lost if the process dies here: nothing, the whole call is undone.

Statements: hold, lock, active tasks, INSERT, enqueue. Three more where something is contended or refused: known keys,
components, which racks exist.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal
from uuid import UUID, uuid4

from django.conf import settings
from django.db import connection

from flowsched.errors import InvalidInput
from tasks import reasons
from tasks.call_admission import calls_admit
from tasks.conflicts import Footprint, conflict
from tasks.engine import get_engine
from tasks.hold import hold_refuse
from tasks.insertion import NewTask, keys_known, tasks_insert
from tasks.lanes import DEFAULT_MESSAGE, ActiveTask, lanes_active, racks_lock
from tasks.operations import OperationType
from tasks.reasons import ReasonCode
from tasks.states import TaskStatus
from tasks.submissions import Outcome, Submission, queue_timeout, stored_types

MAX_BATCH = 250


@dataclass(slots=True)
class _Lane:
    """One locked rack while its submissions are decided."""

    name: str
    tasks: list[ActiveTask] = field(default_factory=list)
    admitted: list[tuple[ActiveTask, Footprint]] = field(default_factory=list)
    components: dict[UUID, str] = field(default_factory=dict)


def tasks_admit(submissions: Sequence[Submission], *, now: datetime, wait: bool = False) -> list[Outcome]:
    """Decide up to 250 submissions in the order given; the outcomes in the same order.

    Runs in the caller's transaction. Racks held by someone else come back as `locked` with nothing written, unless
    `wait`: then the call waits under the transaction's lock_timeout. One rack may occur several times. Raises Held,
    with nothing written, while a hold is on; a hold that begins meanwhile waits for the caller's transaction.
    """
    if len(submissions) > MAX_BATCH:
        raise ValueError(f"at most {MAX_BATCH} submissions a call, got {len(submissions)}")
    if not submissions:
        return []
    hold_refuse()
    calls = [submission.type == OperationType.HTTP for submission in submissions]
    if not any(calls):
        return _Admission(submissions, now).run(wait=wait)
    # Racks before lanes that are none, as everywhere.
    hardware = iter(_Admission([s for s, call in zip(submissions, calls, strict=True) if not call], now).run(wait=wait))
    called = iter(calls_admit([s for s, call in zip(submissions, calls, strict=True) if call], now=now, wait=wait))
    return [next(called) if call else next(hardware) for call in calls]


class _Admission:
    """One call: the submissions, what was read under the locks, and the outcomes by position."""

    def __init__(self, submissions: Sequence[Submission], now: datetime) -> None:
        self.submissions = submissions
        self.now = now
        self.limit: int = settings.FLOWSCHED_MAX_WAITING_PER_RACK
        self.outcomes: dict[int, Outcome] = {}
        self.rows: dict[int, NewTask] = {}
        self.known: dict[UUID, tuple[UUID, UUID]] = {}
        self.planned: dict[UUID, int] = {}  # key -> position, on contended racks
        self.repeats: dict[int, int] = {}  # position -> the earlier one with the same key

    def run(self, *, wait: bool) -> list[Outcome]:
        lanes = self._lock(wait=wait)
        for task in lanes_active(lanes) if lanes else ():
            if not task.expired(self.now):  # its time is over: it neither blocks nor fills the queue (F-307)
                lanes[task.lane].tasks.append(task)
        contended = self._contended(lanes)
        if contended:
            self._load(contended, lanes)
        for position, submission in enumerate(self.submissions):
            if position in self.outcomes:
                continue
            lane = lanes[submission.lane]
            if submission.lane in contended:
                self._decide(position, submission, lane)
            else:
                self._plan(position, submission, lane, TaskStatus.PENDING, submission.components)
        self._write(lanes)
        for position, first in self.repeats.items():
            self.outcomes[position] = self.outcomes[first]
        return [self.outcomes[position] for position in range(len(self.submissions))]

    # Reading ----------------------------------------------------------------------------------------------------

    def _lock(self, *, wait: bool) -> dict[UUID, _Lane]:
        """Lock the racks; settle what needs no lane: held racks, racks that are gone."""
        wanted = {submission.lane for submission in self.submissions}
        got = racks_lock(wanted, skip_locked=not wait)
        held = set() if wait or len(got) == len(wanted) else _racks_existing(wanted - got.keys())
        lanes = {rack: _Lane(name) for rack, (name, removed) in got.items() if removed is None}
        for position, submission in enumerate(self.submissions):
            if submission.lane in held:
                self._settle(position, "locked", ReasonCode.RACK_LOCKED, reasons.rack_locked(submission.rack_name))
            elif submission.lane not in lanes:
                self._settle(position, "failed", ReasonCode.RACK_GONE, reasons.rack_gone(submission.rack_name))
        return lanes

    def _contended(self, lanes: Mapping[UUID, _Lane]) -> set[UUID]:
        """Racks where something must be decided: tasks are active there, or the call names the rack twice."""
        once: set[UUID] = set()
        contended = {rack for rack, lane in lanes.items() if lane.tasks}
        for submission in self.submissions:
            if submission.lane in lanes:
                (contended if submission.lane in once else once).add(submission.lane)
        return contended

    def _load(self, contended: set[UUID], lanes: Mapping[UUID, _Lane]) -> None:
        """Keys that made a task before, and the components of the contended racks."""
        self.known = keys_known([s.key for s in self.submissions if s.lane in contended])
        for component, rack, type_ in _components(contended):
            lanes[rack].components[component] = type_

    # Deciding ---------------------------------------------------------------------------------------------------

    def _decide(self, position: int, submission: Submission, lane: _Lane) -> None:
        """One submission on a rack where others are active."""
        if self._known(position, submission):
            return
        first = self.planned.get(submission.key)
        if first is not None and self.submissions[first].lane == submission.lane:
            self.repeats[position] = first
            return
        chosen = self._resolve(position, submission, lane)
        if chosen is None:
            return
        footprint = _footprint(submission.type, chosen, lane)
        others = [(task, task.footprint) for task in lane.tasks] + lane.admitted
        blocker = next(((task, why) for task, other in others if (why := conflict(footprint, other))), None)
        if blocker is None:
            row = self._plan(position, submission, lane, TaskStatus.PENDING, chosen)
        elif not submission.queue:
            self._settle(position, "rejected", ReasonCode.RACK_BUSY, _busy(lane, *blocker))
            return
        elif sum(task.waiting for task, _ in others) >= self.limit:
            sentence = reasons.queue_full(lane.name, self.limit) + _unknown_note(lane, None)
            self._settle(position, "rejected", ReasonCode.QUEUE_FULL, sentence)
            return
        else:
            row = self._plan(position, submission, lane, TaskStatus.WAITING, chosen, behind=blocker[0])
        if row is not None:
            lane.admitted.append((row.as_active(), footprint))
            self.planned[submission.key] = position

    def _known(self, position: int, submission: Submission) -> bool:
        """Settle a submission whose key made a task before; False if it is new."""
        found = self.known.get(submission.key)
        if found is None:
            return False
        task_id, lane = found
        if lane == submission.lane:
            self.outcomes[position] = Outcome(submission.key, "submitted", task_id, "", "")
        else:
            self._settle(position, "failed", ReasonCode.KEY_TAKEN, reasons.key_taken(submission.rack_name, task_id))
        return True

    def _resolve(self, position: int, submission: Submission, lane: _Lane) -> list[UUID] | None:
        """The components the submission means, from the rack as it is now (F-207, F-244); None if it is settled."""
        if submission.components is not None:
            missing = [i for i in dict.fromkeys(submission.components) if i not in lane.components]
            if missing:
                sentence = reasons.component_moved(lane.name, missing)
                self._settle(position, "failed", ReasonCode.COMPONENT_MOVED, sentence)
                return None
        types = self._types(position, submission, lane)
        if position in self.outcomes:
            return None
        chosen = [
            component
            for component, type_ in lane.components.items()
            if (types is None or type_ in types)
            and (submission.components is None or component in submission.components)
        ]
        if not chosen:
            sentence = reasons.no_components(lane.name, submission.types)
            self._settle(position, "failed", ReasonCode.NO_COMPONENTS, sentence)
            return None
        return chosen

    def _types(self, position: int, submission: Submission, lane: _Lane) -> tuple[str, ...] | None:
        """The stored names of the types; a type nobody knows fails this submission only."""
        try:
            return None if submission.types is None else stored_types(submission.types)
        except InvalidInput as error:
            self._settle(position, "failed", ReasonCode.UNKNOWN_TYPE, f"rack {lane.name}: {error.message}")
            return ()

    # Writing ----------------------------------------------------------------------------------------------------

    def _plan(
        self,
        position: int,
        submission: Submission,
        lane: _Lane,
        status: TaskStatus,
        chosen: Collection[UUID] | None,
        *,
        behind: ActiveTask | None = None,
    ) -> NewTask | None:
        """Note the row to insert. On a contended rack `chosen` is what was decided on: the INSERT takes no more."""
        types = self._types(position, submission, lane)
        if position in self.outcomes:
            return None
        expires = None
        if status is TaskStatus.WAITING:
            expires = self.now + queue_timeout(submission.queue_timeout)
        row = NewTask(
            id=uuid4(),
            submission=submission,
            rack_name=lane.name,
            status=status,
            message=f"Waiting behind {behind}" if behind else DEFAULT_MESSAGE[status],
            types=types,
            components=chosen,
            required=len(set(submission.components)) if submission.components is not None else 0,
            created_at=self._created_at(position, lane),
            queue_expires_at=expires,
        )
        self.rows[position] = row
        return row

    def _created_at(self, position: int, lane: _Lane) -> datetime:
        """After everything in the lane: a caller whose `now` is old must not slip in front of those who wait."""
        first = self.now
        for task in lane.tasks:
            first = max(first, task.created_at + timedelta(microseconds=1))
        return first + timedelta(microseconds=position)

    def _write(self, lanes: Mapping[UUID, _Lane]) -> None:
        inserted = tasks_insert(list(self.rows.values()), now=self.now) if self.rows else set()
        left = {position: row for position, row in self.rows.items() if row.id not in inserted}
        for position, row in self.rows.items():
            if row.id in inserted:
                self.outcomes[position] = Outcome(row.submission.key, "submitted", row.id, "", "")
        ready = [r.id for r in self.rows.values() if r.id in inserted and r.status is TaskStatus.PENDING]
        if ready:
            get_engine().enqueue(ready)
        unsettled = left.keys() | {p for p, outcome in self.outcomes.items() if outcome.reason_code == "rack_gone"}
        if unsettled:
            self._explain(left, sorted(unsettled), lanes)

    def _explain(self, left: Mapping[int, NewTask], positions: Sequence[int], lanes: Mapping[UUID, _Lane]) -> None:
        """Why the INSERT took no row: its key made a task before, or its components are not what it named.

        A rack that is gone is looked at too: a key that made a task while the rack was there still names that task.
        """
        self.known = keys_known([self.submissions[p].key for p in positions])
        open_ = [p for p in positions if not self._known(p, self.submissions[p]) and p in left]
        if not open_:
            return
        racks = {self.submissions[p].lane for p in open_}
        for rack in racks:
            lanes[rack].components.clear()
        for component, rack, type_ in _components(racks):
            lanes[rack].components[component] = type_
        for position in open_:
            submission = self.submissions[position]
            lane = lanes[submission.lane]
            if self._resolve(position, submission, lane) is not None:
                sentence = reasons.inventory_changed(lane.name)
                self._settle(position, "failed", ReasonCode.INVENTORY_CHANGED, sentence)

    def _settle(
        self, position: int, state: Literal["rejected", "failed", "locked"], code: ReasonCode, reason: str
    ) -> None:
        self.outcomes[position] = Outcome(self.submissions[position].key, state, None, code.value, reason)


def _footprint(type_: str, chosen: Sequence[UUID], lane: _Lane) -> Footprint:
    by_type: dict[str, set[UUID]] = {}
    for component in chosen:
        by_type.setdefault(lane.components[component], set()).add(component)
    return Footprint(type_, {name: frozenset(ids) for name, ids in by_type.items()})


def _busy(lane: _Lane, task: ActiveTask, why: str) -> str:
    """Which task is in the way, in what state, and why the two may not meet."""
    if task.unknown:
        state = "has an unknown outcome: acknowledge it as completed or failed"
    elif task.waiting:
        state = f"is waiting there already, and {why}"
    else:
        state = f"is {task.status}, and {why}"
    return f"rack {lane.name} is busy: {task} {state}{_unknown_note(lane, task)}"


def _unknown_note(lane: _Lane, named: ActiveTask | None) -> str:
    """Names the tasks on this rack that wait for a person's decision, unless the sentence did (D-16)."""
    return reasons.unknown_note([task.id for task in lane.tasks if task.unknown and task is not named])


def _racks_existing(rack_ids: Collection[UUID]) -> set[UUID]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT id FROM rack WHERE id = ANY(%s::uuid[])", [list(rack_ids)])
        return {row[0] for row in cursor.fetchall()}


def _components(rack_ids: Collection[UUID]) -> list[tuple[UUID, UUID, str]]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT id, rack_id, type FROM component WHERE rack_id = ANY(%s::uuid[]) AND deleted_at IS NULL",
            [list(rack_ids)],
        )
        return [(row[0], row[1], row[2]) for row in cursor.fetchall()]
