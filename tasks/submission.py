"""A direct operation: somebody asks, now, for one operation on some racks (F-165, F-166, F-243…F-250).

Promises one outcome per rack in request order, tasks and their audit row in one commit, and that a repeated request
key makes nothing twice. If the process dies between two chunks, the chunks before stand; the same key sent again
completes the rest.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid4, uuid5

from django.conf import settings
from django.db import DatabaseError

from audit.services import verb
from flowsched import db
from flowsched.actor import Actor
from flowsched.errors import Busy, FlowschedError, InvalidInput, KeyReused, PreconditionFailed, QueueFull, Refusal
from inventory.targets import ResolvedTarget
from tasks import reasons
from tasks.admission import MAX_BATCH, tasks_admit
from tasks.hold import Held
from tasks.insertion import keys_known
from tasks.lanes import LOCK_TIMEOUT, lock_timeout
from tasks.models import Task
from tasks.operations import Operation, operation_check, operation_label
from tasks.reasons import ReasonCode
from tasks.submissions import MAX_QUEUE_TIMEOUT, Outcome, Submission

log = logging.getLogger(__name__)

MAX_DESCRIPTION = 1000
NAMED_REFUSALS = 20


@dataclass(frozen=True, slots=True)
class _Request:
    """What was asked, once, for all its chunks."""

    id: UUID
    label: str
    by: Actor
    now: datetime


def task_submit(
    *,
    operation: Operation,
    targets: Sequence[ResolvedTarget],
    by: Actor,
    now: datetime,
    description: str = "",
    queue: bool = False,
    queue_timeout: timedelta | None = None,
    idempotency_key: UUID | None = None,
) -> list[Outcome]:
    """Submit `operation` on resolved targets (one per rack); the outcomes in the order of `targets`.

    Refused racks are outcomes, not errors: a caller that needs an error when no rack was accepted raises
    `submission_refusal(outcomes)`. InvalidInput for a request that no rack could take; KeyReused if the key came with
    another operation before. A queue timeout of zero or less means the default. Held while a hold is on: nothing is
    submitted then, and a hold that begins between two chunks refuses the racks that are left. A request whose key made
    all its tasks already is answered even so.
    """
    _check(operation, targets, description, queue_timeout)
    request = _Request(
        id=idempotency_key or uuid4(),
        label=operation_label(operation.type, operation.code, operation.information),
        by=by,
        now=now,
    )
    submissions = [
        Submission(
            key=uuid5(request.id, str(target.rack_id)),
            rack_id=target.rack_id,
            rack_name=target.rack_name,
            types=target.types,
            components=target.components,
            type=operation.type,
            code=operation.code,
            information=operation.information,
            description=description,
            queue=queue,
            queue_timeout=queue_timeout,
        )
        for target in targets
    ]
    if idempotency_key is not None:
        _check_key(operation, submissions, request)
    outcomes = _submit(submissions, request)
    if not any(outcome.state == "submitted" for outcome in outcomes):
        _audit_refusal(outcomes, request)
    return outcomes


def refusals_of(outcomes: Sequence[Outcome]) -> tuple[Refusal, ...]:
    """The racks of a request that got no task, in its order (D-13)."""
    return tuple(
        Refusal(outcome.rack_id, outcome.rack_name, outcome.state, outcome.reason_code, outcome.reason)
        for outcome in outcomes
        if outcome.state != "submitted"
    )


def submission_refusal(outcomes: Sequence[Outcome]) -> FlowschedError:
    """The error for a request of which no rack was accepted, with each rack's reason (F-166, D-13)."""
    refusals = refusals_of(outcomes)
    codes = {outcome.reason_code for outcome in outcomes}
    named = [outcome.reason for outcome in outcomes[:NAMED_REFUSALS]]
    if len(outcomes) > NAMED_REFUSALS:
        named.append(f"and {len(outcomes) - NAMED_REFUSALS} more racks")
    message = "no rack accepted the operation: " + "; ".join(named)
    if codes == {ReasonCode.QUEUE_FULL.value}:
        return QueueFull(message, reason=ReasonCode.QUEUE_FULL, refusals=refusals)
    if codes == {ReasonCode.RACK_LOCKED.value}:
        return Busy(message, reason=ReasonCode.RACK_LOCKED, refusals=refusals)
    return PreconditionFailed(message, reason=codes.pop() if len(codes) == 1 else "", refusals=refusals)


def _check(
    operation: Operation, targets: Sequence[ResolvedTarget], description: str, queue_timeout: timedelta | None
) -> None:
    operation_check(operation)
    limit: int = settings.FLOWSCHED_MAX_SCOPES_PER_SCHEDULE
    if not targets:
        raise InvalidInput("name at least one rack, component or domain to act on", field="target_spec")
    if len(targets) > limit:
        raise InvalidInput(f"{len(targets)} racks are more than the {limit} of one request", field="target_spec")
    seen: set[UUID] = set()
    for target in targets:
        if target.rack_id in seen:
            raise InvalidInput(f"rack {target.rack_name} is named twice: merge its targets", field="target_spec")
        seen.add(target.rack_id)
    if len(description) > MAX_DESCRIPTION or "\x00" in description:
        raise InvalidInput(f"the description must be at most {MAX_DESCRIPTION} characters", field="description")
    if queue_timeout is not None and queue_timeout > MAX_QUEUE_TIMEOUT:
        raise InvalidInput(f"the queue timeout is at most {MAX_QUEUE_TIMEOUT.days} days", field="queue_timeout")


def _check_key(operation: Operation, submissions: Sequence[Submission], request: _Request) -> None:
    """Refuse a key that made tasks of another operation."""
    with db.translate():
        rows = Task.objects.filter(idempotency_key__in=[s.key for s in submissions]).values_list(
            "type", "code", "information"
        )
        other = next(
            (row for row in rows if row != (operation.type, operation.code, dict(operation.information))), None
        )
    if other is not None:
        raise KeyReused(
            f"the key {request.id} was used before for {operation_label(*other)}: use a new key for {request.label}",
            field="idempotency_key",
        )


def _submit(submissions: Sequence[Submission], request: _Request) -> list[Outcome]:
    """All chunks, sorted by rack over the whole request; then the racks that were held, one by one."""
    ordered = sorted(submissions, key=lambda submission: submission.lane)
    settled: dict[UUID, Outcome] = {}
    for start in range(0, len(ordered), MAX_BATCH):
        chunk = ordered[start : start + MAX_BATCH]
        try:
            outcomes = _chunk(chunk, request)
        except Held as held:
            outcomes = _repeated(chunk) or _held(chunk, held)
            if not settled and not any(outcome.state == "submitted" for outcome in outcomes):
                raise
        settled |= {outcome.key: outcome for outcome in outcomes}
    deadline = time.monotonic() + settings.FLOWSCHED_RACK_LOCK_PATIENCE.total_seconds()
    for submission in ordered:
        left = timedelta(seconds=deadline - time.monotonic())
        if settled[submission.key].state == "locked" and left > timedelta(0):
            settled[submission.key] = _single(submission, request, patience=min(left, LOCK_TIMEOUT))
    return [replace(settled[s.key], rack_id=s.rack_id, rack_name=s.rack_name) for s in submissions]


def _chunk(chunk: Sequence[Submission], request: _Request) -> list[Outcome]:
    """One transaction; if the database refuses it, each rack by itself, so that one bad row fails alone."""
    try:
        return _admit(chunk, request, wait=False, patience=LOCK_TIMEOUT)
    except Busy:
        return [_locked(submission) for submission in chunk]
    except DatabaseError:
        log.warning("submission %s: a chunk of %d racks is repeated rack by rack", request.id, len(chunk))
        return [_single(submission, request, patience=LOCK_TIMEOUT) for submission in chunk]


def _single(submission: Submission, request: _Request, *, patience: timedelta) -> Outcome:
    """One rack in a transaction of its own, waiting for its lock."""
    try:
        return _admit([submission], request, wait=True, patience=patience)[0]
    except Busy:
        return _locked(submission)
    except Held as held:
        return _held([submission], held)[0]
    except DatabaseError:
        log.exception("submission %s: rack %s failed", request.id, submission.rack_id)
        sentence = reasons.submission_error(submission.rack_name)
        return Outcome(submission.key, "failed", None, ReasonCode.SUBMISSION_ERROR.value, sentence)


def _held(chunk: Sequence[Submission], held: Held) -> list[Outcome]:
    """What a hold that began meanwhile leaves undone."""
    return [Outcome(s.key, "rejected", None, ReasonCode.HELD.value, f"rack {s.rack_name}: {held}") for s in chunk]


def _repeated(chunk: Sequence[Submission]) -> list[Outcome]:
    """The tasks that the same request made before, if it made all of them; else nothing."""
    with db.translate():
        known = keys_known([s.key for s in chunk])
    if not all(s.key in known and known[s.key][1] == s.rack_id for s in chunk):
        return []
    return [Outcome(s.key, "submitted", known[s.key][0], "", "") for s in chunk]


def _locked(submission: Submission) -> Outcome:
    sentence = reasons.rack_locked(submission.rack_name)
    return Outcome(submission.key, "locked", None, ReasonCode.RACK_LOCKED.value, sentence)


def _admit(chunk: Sequence[Submission], request: _Request, *, wait: bool, patience: timedelta) -> list[Outcome]:
    """Tasks and the audit row that names them, in one commit; a chunk that made no task leaves no row."""
    with verb(
        "task.submit", by=request.by, kind="task", now=request.now, object_id=request.id, object_name=request.label
    ) as done:
        lock_timeout(patience)
        outcomes = tasks_admit(chunk, now=request.now, wait=wait)
        done.changed = any(outcome.state == "submitted" for outcome in outcomes)
        done.after = _summary(chunk, outcomes)
    return outcomes


def _summary(chunk: Sequence[Submission], outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """What the audit trail keeps of a submission: the operation, each rack's task or refusal."""
    return {
        "type": chunk[0].type,
        "code": chunk[0].code,
        "information": dict(chunk[0].information),
        "tasks": {s.rack_name: str(o.task_id) for s, o in zip(chunk, outcomes, strict=True) if o.task_id},
        "refused": {s.rack_name: o.reason_code for s, o in zip(chunk, outcomes, strict=True) if not o.task_id},
    }


def _audit_refusal(outcomes: Sequence[Outcome], request: _Request) -> None:
    """One refused row for a request that no rack accepted; the caller gets the outcomes, not an error."""
    error = submission_refusal(outcomes)
    refused = PreconditionFailed(error.message, reason=error.reason)  # Busy would not be recorded
    try:
        with verb(
            "task.submit", by=request.by, kind="task", now=request.now, object_id=request.id, object_name=request.label
        ):
            raise refused
    except PreconditionFailed as raised:
        if raised is not refused:
            raise
