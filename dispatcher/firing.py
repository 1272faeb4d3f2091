"""The verbs of time passing: fire what is due, trigger by hand, and withdraw what a pause or deletion takes back.

A firing goes through three phases: claim (claim.py, one transaction, durable), submit (submit.py, a transaction per
chunk of racks), write back (writeback.py). Each phase's module says what is lost if the process dies in it.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.conf import settings
from django.db import connection

from audit.services import verb
from dispatcher.claim import claim
from dispatcher.ledger import advance, scopes_of, write_firings
from dispatcher.models import Firing, FiringScope
from dispatcher.planning import new_plan, plan_scope, set_advance
from dispatcher.records import FiringPlan, Holder, Reason, new_holder
from dispatcher.submit import fail_scopes, submit
from dispatcher.writeback import write_back
from flowsched.actor import Actor
from flowsched.db import notify
from flowsched.errors import FlowschedError, InvalidInput, NotFound, PreconditionFailed, QueueFull, Refusal
from flowsched.faults import fault
from schedules.models import TaskSchedule
from schedules.rows import CHANNEL
from schedules.template import template_load
from tasks.hold import Held, hold_refuse, last_release

logger = logging.getLogger(__name__)

_WITHDRAW = """
UPDATE firing_scope SET state = 'skipped', reason_code = %(code)s, reason = %(reason)s
 WHERE id IN (
    SELECT fs.id FROM firing f JOIN firing_scope fs ON fs.firing_id = f.id
     WHERE f.schedule_id = %(schedule_id)s AND f.closed_at IS NULL AND fs.state = 'pending'
       AND (%(scope_ids)s::uuid[] IS NULL OR fs.scope_id = ANY(%(scope_ids)s))
     ORDER BY fs.id FOR NO KEY UPDATE OF fs)
   AND state = 'pending'
"""


@dataclass(frozen=True, slots=True)
class Fired:
    """What one call of `fire_due` did. `held` are firings left open because a rack of theirs is locked."""

    claimed: int
    held: list[int]


@dataclass(frozen=True, slots=True)
class Triggered:
    """The firing of a trigger with its scopes in scope order."""

    firing: Firing
    scopes: list[FiringScope]

    @property
    def task_ids(self) -> list[UUID]:
        """The tasks that were accepted, in scope order."""
        return [scope.task_id for scope in self.scopes if scope.task_id is not None]

    @property
    def refusals(self) -> list[FiringScope]:
        """The scopes that got no task and will get none."""
        return [scope for scope in self.scopes if scope.task_id is None and scope.state != "pending"]

    @property
    def refused(self) -> tuple[Refusal, ...]:
        """The same as every door shows a refusal."""
        return tuple(
            Refusal(scope.rack_id, scope.rack_name, scope.state, scope.reason_code, scope.reason)
            for scope in self.refusals
        )


def fire_due(now: datetime, limit: int, *, holder: Holder) -> Fired:
    """Fire up to `limit` schedules that are due at `now`, through all three phases."""
    claimed, firings = claim(now, limit, holder=holder)
    fault("fire.after_claim")
    locked = submit(firings, holder=holder, now=now)
    write_back(firings, holder=holder, now=now)
    if claimed:
        logger.info(
            "claimed %d due schedules: %d firings to submit, %d scopes held up by locks",
            claimed,
            len(firings),
            len(locked),
        )
    return Fired(claimed, firings if locked else [])


def resume_held(firing_ids: Sequence[int], *, holder: Holder, now: datetime) -> list[int]:
    """Try again the firings left open because of a locked rack. Returns those still open.

    A rack that stays locked longer than FLOWSCHED_RACK_LOCK_PATIENCE after the firing, or after the last hold ended,
    gets the outcome failed.
    """
    locked = submit(firing_ids, holder=holder, now=now)
    if locked:
        patience = settings.FLOWSCHED_RACK_LOCK_PATIENCE
        late = FiringScope.objects.filter(id__in=locked, firing__fired_at__lt=now - patience)
        ids = list(late.values_list("id", flat=True))
        released = last_release() if ids else None
        if ids and (released is None or released < now - patience):
            reason = f"another session held this rack's row for more than {patience.total_seconds():.0f} s"
            fail_scopes(ids, Reason.RACK_LOCKED, reason, holder)
    write_back(firing_ids, holder=holder, now=now)
    return list(Firing.objects.filter(id__in=firing_ids, closed_at=None).values_list("id", flat=True)) if locked else []


def trigger(*, schedule_id: UUID, by: Actor, now: datetime, request_id: UUID | None = None) -> Triggered:
    """Fire a schedule by hand, whatever its time, enabled state and overlap policy (D-13, F-150…F-156).

    The same `request_id` again answers the first result and fires nothing. A tick that was due and unclaimed is
    taken along: the firing names it and no automatic one follows. Raises NotFound; Held while a hold is on, but answers
    such a repeat; PreconditionFailed for a consumed one-time schedule or an unreadable one; PreconditionFailed or
    QueueFull with each rack's reason if every rack refused (the firing stays recorded).
    """
    holder = new_holder(settings.FLOWSCHED_FIRING_LEASE)
    key = request_id or uuid.uuid4()
    with verb("schedule.trigger", by=by, kind="schedule", object_id=schedule_id, now=now) as done:
        row = TaskSchedule.objects.select_for_update(no_key=True).filter(id=schedule_id).first()
        if row is None:
            raise NotFound(f"schedule {schedule_id} does not exist (any more)")
        done.object_name = row.name
        before = Firing.objects.filter(key=key).first()
        if before is not None:
            done.changed = False
            firing_id = _repeated(before, schedule_id)
        else:
            hold_refuse()
            plan = _plan_trigger(row, key, by, now)
            written = write_firings([plan], holder)
            if not written:  # two requests with one id for two schedules, at the same moment
                _repeated(Firing.objects.get(key=key), schedule_id)
            firing_id = written[0]
            advance([plan], now, actor=by.name)
            notify(CHANNEL)
            done.after = {"firing": firing_id, "due_at": plan.due_at.isoformat(), "scopes": len(plan.scopes)}
    if before is None:
        fault("trigger.after_claim")
        try:
            submit([firing_id], holder=holder, now=now, wait=True)
        except Held as held:
            _leave_undone(firing_id, holder, held)
        _close_quietly(firing_id, holder, now)
    else:
        _wait_for_outcomes(firing_id)
    return _result(firing_id)


def _leave_undone(firing_id: int, holder: Holder, held: Held) -> None:
    """A hold began meanwhile: what is not submitted is skipped for good, since nobody expects it hours later."""
    pending = FiringScope.objects.filter(firing_id=firing_id, state=FiringScope.State.PENDING)
    fail_scopes(list(pending.values_list("id", flat=True)), Reason.HELD, str(held), holder, state="skipped")


def _close_quietly(firing_id: int, holder: Holder, now: datetime) -> None:
    """The tasks exist: a write-back that fails is finished by a dispatcher later and is no error of the trigger."""
    try:
        write_back([firing_id], holder=holder, now=now)
    except FlowschedError:
        logger.exception("firing %s could not be written back; a dispatcher will", firing_id)


def _repeated(before: Firing, schedule_id: UUID) -> int:
    if before.schedule_id != schedule_id:
        raise InvalidInput(
            f"request id {before.key} was used for schedule '{before.schedule_name}'; use a new one", field="request_id"
        )
    return before.id


def _wait_for_outcomes(firing_id: int) -> None:
    """A repeat that comes while the first request is at work waits a moment, so that both answer the same."""
    deadline = time.monotonic() + settings.FLOWSCHED_LOCK_TIMEOUT.total_seconds()
    while FiringScope.objects.filter(firing_id=firing_id, state="pending").exists() and time.monotonic() < deadline:
        time.sleep(0.05)


def _plan_trigger(row: TaskSchedule, key: UUID, by: Actor, now: datetime) -> FiringPlan:
    if row.spec_type == TaskSchedule.SpecType.ONE_TIME and row.next_run_at is None:
        raise PreconditionFailed(
            f"schedule '{row.name}' is a one-time schedule that has fired; create a new one to run it again",
            reason="CONSUMED",
        )
    due = row.next_run_at if row.enabled and row.next_run_at is not None and row.next_run_at <= now else now
    plan = new_plan(row, now=now, cause="manual", due_at=due, actor=by.name)
    plan.key = key
    try:
        plan.queue_timeout = template_load(row.operation_template).queue_timeout
        set_advance(plan, row, now)
    except InvalidInput as error:
        raise PreconditionFailed(
            f"schedule '{row.name}' cannot be read: {error}. Mend it first.", reason="UNREADABLE"
        ) from error
    _keep_disabled(plan, row)
    plan.scopes = [plan_scope(scope) for scope in scopes_of([row.id])[row.id]]
    plan.last_run_at = now
    return plan


def _keep_disabled(plan: FiringPlan, row: TaskSchedule) -> None:
    """A paused schedule stays paused with its own reason, unless the trigger consumed it."""
    if not row.enabled and plan.disabled_kind != "consumed":
        plan.enabled, plan.disabled_kind = False, ""


def _result(firing_id: int) -> Triggered:
    firing = Firing.objects.get(id=firing_id)
    result = Triggered(firing, list(FiringScope.objects.filter(firing_id=firing_id).order_by("position", "scope_id")))
    if result.scopes and len(result.refusals) == len(result.scopes):
        reasons = "; ".join(f"{scope.rack_name or scope.scope_id}: {scope.reason}" for scope in result.scopes[:20])
        codes = {scope.reason_code for scope in result.scopes}
        kind = QueueFull if codes == {"queue_full"} else PreconditionFailed
        more = f"; and {len(result.scopes) - 20} more" if len(result.scopes) > 20 else ""  # noqa: PLR2004
        raise kind(
            f"no rack accepted the task: {reasons}{more}. Firing {firing_id} records each.",
            reason="HELD" if codes == {Reason.HELD} else "ALL_REFUSED",
            refusals=result.refused,
        )
    return result


def withdraw(schedule_id: UUID, scope_ids: Sequence[UUID] | None, code: str, reason: str, now: datetime) -> int:
    """Turn what open firings of this schedule still owe into `skipped`; all scopes, or these. Returns how many.

    The caller holds the schedule's row. This waits for a chunk in flight; once it returns and the caller commits,
    no task of an older tick appears.
    """
    del now
    with connection.cursor() as cursor:
        cursor.execute(
            _WITHDRAW,
            {
                "schedule_id": schedule_id,
                "scope_ids": None if scope_ids is None else list(scope_ids),
                "code": code,
                "reason": reason,
            },
        )
        return int(cursor.rowcount)


def in_hand(*, holder: Holder) -> list[int]:
    """The open firings under this lease, for a process whose connection was lost in the middle of them.

    Those whose lease has run out meanwhile are left to `recover`, which asks whether it is too late for them.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT id FROM firing WHERE closed_at IS NULL AND lease_token = %s AND lease_until > clock_timestamp()",
            [holder.token],
        )
        return [row[0] for row in cursor.fetchall()]


def release(firing_ids: Sequence[int], *, holder: Holder) -> None:
    """End our lease now, so that another dispatcher takes these firings over without waiting for it to run out."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            UPDATE firing SET lease_until = clock_timestamp()
             WHERE id = ANY(%s) AND lease_token = %s AND closed_at IS NULL
            """,
            [list(firing_ids), holder.token],
        )
