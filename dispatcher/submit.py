"""Phase 2: turn pending FiringScopes into tasks, a transaction per chunk of racks.

If the process dies between chunks, the scopes done have task, job and outcome, the others are still `pending`, and
whoever takes the firing over goes on with those: the outcome and the task are one commit. Chunks follow the racks'
ids over the whole batch, so that two dispatchers take their locks in the same order. A rack that someone else has
locked stays pending and is tried again later; it delays no other.

A hold that begins between two chunks stops the rest: the firings that still owe something are put down, without an
owner, for whoever takes them up at the release. That is no takeover, since nobody died.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import DatabaseError, connection, transaction

from dispatcher.records import Holder, Reason, utc_seconds
from flowsched import db
from flowsched.db import is_busy, retried
from flowsched.errors import Busy, FlowschedError, Unavailable
from flowsched.faults import fault
from schedules.template import Template, template_load
from scopes.filters import filter_parse
from tasks.admission import tasks_admit
from tasks.hold import Held
from tasks.operations import OperationType
from tasks.submissions import Outcome, Submission

logger = logging.getLogger(__name__)

CHUNK = 250  # racks locked by one transaction

_PENDING = """
SELECT fs.id
  FROM firing_scope fs JOIN firing f ON f.id = fs.firing_id
 WHERE fs.firing_id = ANY(%s) AND fs.state = 'pending' AND f.lease_token = %s
 ORDER BY fs.rack_id, f.due_at, fs.id
"""

# FOR SHARE on the firing keeps a takeover out until the chunk has committed; the token is compared under that lock.
_LOCK_CHUNK = """
SELECT fs.id, fs.firing_id, fs.rack_id, fs.rack_name, fs.component_filter, fs.key
  FROM firing_scope fs JOIN firing f ON f.id = fs.firing_id
 WHERE fs.id = ANY(%s) AND fs.state = 'pending' AND f.lease_token = %s
 ORDER BY fs.id
   FOR NO KEY UPDATE OF fs FOR SHARE OF f
"""

# The ids stand there twice for the planner: after an ANALYZE without pending rows it takes `pending` for the rarer
# condition, and joins every pending row of the table with every row of the array.
_OUTCOMES = """
UPDATE firing_scope fs
   SET state = o.state, reason_code = o.code, reason = o.reason, task_id = o.task_id
  FROM unnest(%(id)s::bigint[], %(state)s::text[], %(code)s::text[], %(reason)s::text[], %(task_id)s::uuid[])
       AS o(id, state, code, reason, task_id)
 WHERE fs.id = o.id AND fs.id = ANY(%(id)s::bigint[]) AND fs.state = 'pending'
"""

_PUT_DOWN = """
UPDATE firing f SET lease_owner = '', lease_token = NULL, lease_until = clock_timestamp()
 WHERE f.id = ANY(%s) AND f.lease_token = %s AND f.closed_at IS NULL
   AND EXISTS (SELECT 1 FROM firing_scope fs WHERE fs.firing_id = f.id AND fs.state = 'pending')
"""

_RENEW = """
UPDATE firing SET lease_until = clock_timestamp() + %s::interval
 WHERE id = ANY(%s) AND lease_token = %s AND closed_at IS NULL
"""


@dataclass(frozen=True, slots=True)
class _Header:
    """What every scope of a firing shares."""

    schedule_id: UUID
    schedule_name: str
    fired_at: datetime
    queue: bool
    queue_timeout: timedelta | None
    template: Template | None
    unreadable: str


@dataclass(frozen=True, slots=True)
class _Job:
    """What every chunk of one call shares."""

    headers: dict[int, _Header]
    holder: Holder
    now: datetime
    wait: bool


def submit(firing_ids: Sequence[int], *, holder: Holder, now: datetime, wait: bool = False) -> list[int]:
    """Submit what these firings still owe. Returns the FiringScopes left pending because their rack is locked.

    With `wait` a locked rack is waited for, up to the connection's lock timeout, and then failed; and a hold that began
    meanwhile is raised as Held, where otherwise it puts the firings down.
    """
    if not firing_ids:
        return []
    with db.bound_cursor() as cursor:
        cursor.execute(_PENDING, [list(firing_ids), holder.token])
        pending = [row[0] for row in cursor.fetchall()]
    fault("submit.after_read")
    job = _Job(_headers(firing_ids) if pending else {}, holder, now, wait)
    locked: list[int] = []
    for start in range(0, len(pending), CHUNK):
        chunk = pending[start : start + CHUNK]
        try:
            locked += _submit_or_go_one_by_one(chunk, job, more=start + CHUNK < len(pending))
        except Held as held:
            if wait:
                raise
            put_down(firing_ids, holder)
            logger.info("%d scopes stay pending: %s", len(pending) - start, held)
            return []
        fault("submit.between_chunks")
    return locked


def _submit_or_go_one_by_one(chunk: Sequence[int], job: _Job, *, more: bool) -> list[int]:
    """A chunk, or what is in it, so that one bad row fails alone. Raises Held."""
    try:
        return _submit_chunk(chunk, job, more=more)
    except Held:
        raise
    except (DatabaseError, FlowschedError, ValueError, TypeError, KeyError) as error:
        _reraise_if_lost(error)
        logger.exception("a chunk of %d scopes failed; going one by one", len(chunk))
        return _submit_one_by_one(chunk, job)


def _reraise_if_lost(error: Exception) -> None:
    """A database that is away is nobody's outcome: the firing stays open and is taken over."""
    if isinstance(error, Unavailable) or (isinstance(error, DatabaseError) and not connection.is_usable()):
        raise error


@retried
def _submit_chunk(chunk: Sequence[int], job: _Job, *, more: bool = False) -> list[int]:
    """One transaction. The lease is renewed where more is to come: after the last chunk the firing is closed."""
    with transaction.atomic():
        with db.bound_cursor() as cursor:
            cursor.execute(_LOCK_CHUNK, [list(chunk), job.holder.token])
            rows = {row[0]: row for row in cursor.fetchall()}
        ordered = [rows[scope_id] for scope_id in chunk if scope_id in rows]
        outcomes = _decide(ordered, job)
        settled = [(row[0], outcome) for row, outcome in zip(ordered, outcomes, strict=True)]
        fault("submit.before_outcome")
        _write_outcomes(
            [
                (scope_id, outcome.state, outcome.reason_code, outcome.reason, outcome.task_id)
                for scope_id, outcome in settled
                if outcome.state != "locked"
            ]
        )
        if more or any(outcome.state == "locked" for outcome in outcomes):
            renew(list(job.headers), job.holder)
        fault("submit.before_commit")
    return [scope_id for scope_id, outcome in settled if outcome.state == "locked"]


def _submit_one_by_one(chunk: Sequence[int], job: _Job) -> list[int]:
    locked: list[int] = []
    for scope_id in chunk:
        try:
            locked += _submit_chunk([scope_id], job)
        except Held:
            raise
        except Busy:
            if job.wait:
                fail_scopes([scope_id], Reason.RACK_LOCKED, "another session held this rack too long", job.holder)
            else:
                locked.append(scope_id)
        except (DatabaseError, FlowschedError, ValueError, TypeError, KeyError) as error:
            if is_busy(error):
                locked.append(scope_id)
                continue
            _reraise_if_lost(error)
            logger.exception("firing scope %s cannot be submitted", scope_id)
            reason = error.message if isinstance(error, FlowschedError) else type(error).__name__
            fail_scopes([scope_id], Reason.SUBMISSION_ERROR, f"submission failed: {reason}", job.holder)
    return locked


def _headers(firing_ids: Sequence[int]) -> dict[int, _Header]:
    with db.bound_cursor() as cursor:
        cursor.execute(
            """
            SELECT id, schedule_id, schedule_name, fired_at, conflict_strategy, queue_timeout, operation_template::text
              FROM firing WHERE id = ANY(%s)
            """,
            [list(firing_ids)],
        )
        rows = cursor.fetchall()
    return {row[0]: _header(row) for row in rows}


def _header(row: tuple[Any, ...]) -> _Header:
    template, unreadable = None, ""
    try:
        template = template_load(_decoded(row[6]))
    except FlowschedError as error:
        unreadable = f"the operation cannot be read: {error}"
    return _Header(row[1], row[2], row[3], row[4] == "queue", row[5], template, unreadable)


def _decide(rows: Sequence[tuple[Any, ...]], job: _Job) -> list[Outcome]:
    """One outcome per row, in order: those that cannot be submitted at all, and what admission says of the others."""
    outcomes: dict[UUID, Outcome] = {}
    submissions: list[Submission] = []
    for row in rows:
        _, firing_id, rack_id, _, _, key = row
        header = job.headers[firing_id]
        if header.template is None:
            outcomes[key] = Outcome(key, "failed", None, Reason.SCHEDULE_UNREADABLE, header.unreadable)
        elif rack_id is None and header.template.type != OperationType.HTTP:
            why = "this operation acts on racks and the scope names none"
            outcomes[key] = Outcome(key, "failed", None, Reason.NO_RACK, why)
        else:
            submissions.append(_submission(header, header.template, row))
    if submissions:
        outcomes |= {outcome.key: outcome for outcome in tasks_admit(submissions, now=job.now, wait=job.wait)}
    return [outcomes[row[5]] for row in rows]


def _submission(header: _Header, template: Template, row: tuple[Any, ...]) -> Submission:
    _, _, rack_id, rack_name, component_filter, key = row
    fault(f"submit.rack.{rack_name}")
    parsed = filter_parse(_decoded(component_filter))
    return Submission(
        key=key,
        rack_id=rack_id,
        rack_name=rack_name,
        types=parsed.types if parsed and parsed.kind == "types" else None,
        components=parsed.components if parsed and parsed.kind == "components" else None,
        type=template.type,
        code=template.code,
        information=template.information,
        description=f"{header.schedule_name} — {utc_seconds(header.fired_at)}",
        queue=header.queue,
        queue_timeout=header.queue_timeout,
        schedule_id=header.schedule_id,
        schedule_name=header.schedule_name,
        fired_at=header.fired_at,
    )


def _decoded(stored: str | None) -> Any:
    """A jsonb column of a bare cursor: text."""
    return None if stored is None else json.loads(stored)


def _write_outcomes(settled: Sequence[tuple[int, str, str, str, UUID | None]]) -> None:
    """(FiringScope, state, reason code, reason, task) each; only rows that are still pending change."""
    if not settled:
        return
    with db.bound_cursor() as cursor:
        columns = [list(column) for column in zip(*settled, strict=True)]
        cursor.execute(_OUTCOMES, dict(zip(("id", "state", "code", "reason", "task_id"), columns, strict=True)))


@retried
def fail_scopes(scope_ids: Sequence[int], code: str, reason: str, holder: Holder, *, state: str = "failed") -> int:
    """Give these pending FiringScopes an outcome without a task, if their firing is still ours. Returns how many."""
    with transaction.atomic(), db.bound_cursor() as cursor:
        cursor.execute(_LOCK_CHUNK, [list(scope_ids), holder.token])
        rows = cursor.fetchall()
        _write_outcomes([(row[0], state, code, reason, None) for row in rows])
    return len(rows)


def put_down(firing_ids: Sequence[int], holder: Holder) -> None:
    """Give up those of our firings that still owe something, because of a hold: whoever takes one up counts nothing."""
    with connection.cursor() as cursor:
        cursor.execute(_PUT_DOWN, [list(firing_ids), holder.token])


def renew(firing_ids: Sequence[int], holder: Holder) -> None:
    """Keep the lease: called after each chunk, so that only a dead or stuck process loses it."""
    values: list[Any] = [holder.lease, list(firing_ids), holder.token]
    with db.bound_cursor() as cursor:
        cursor.execute(_RENEW, values)
