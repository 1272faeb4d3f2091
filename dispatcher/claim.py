"""Phase 1: lock what is due, decide, write it down and advance, in one transaction.

If the process dies in here nothing is visible: the transaction rolls back and the schedules are still due. Once it
has committed, the firing is owed: whoever finds its lease run out finishes it (recover.py). Six statements for any
number of schedules; a row that cannot be decoded is disabled with the reason and holds up nobody.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import DatabaseError, connection, transaction
from psycopg.types.json import Jsonb

from dispatcher.records import FiringPlan, Holder, Reason, ScopePlan, scope_key, tick_key, utc_seconds
from flowsched.actor import SYSTEM
from flowsched.db import is_busy
from flowsched.errors import InvalidInput
from flowsched.faults import fault
from schedules.models import TaskSchedule
from schedules.template import template_load
from schedules.timing import Spec
from scopes.filters import filter_parse
from scopes.models import TaskScheduleScope
from tasks.states import ACTIVE

logger = logging.getLogger(__name__)

_ANY = timedelta(microseconds=1)  # the floor is for people who type an interval: raising it must not stop what runs

_BUSY_THROUGH_OPEN_FIRING = """
SELECT fs.scope_id
  FROM firing f
  JOIN firing_scope fs ON fs.firing_id = f.id
  LEFT JOIN task t ON t.id = fs.task_id
 WHERE f.closed_at IS NULL AND f.schedule_id = ANY(%s)
   AND (fs.state = 'pending' OR (fs.state = 'submitted' AND t.status IN ('waiting', 'pending', 'running')))
"""

_INSERT_FIRINGS = """
INSERT INTO firing (key, schedule_id, schedule_name, cause, due_at, fired_at, actor, operation_template,
                    conflict_strategy, queue_timeout, misfire_grace, state, reason, closed_at,
                    lease_owner, lease_token, lease_until, takeovers,
                    submitted_count, skipped_count, rejected_count, missed_count, failed_count)
SELECT p.key, p.schedule_id, p.schedule_name, p.cause, p.due_at, p.fired_at, p.actor, p.template,
       p.strategy, p.queue_timeout, p.misfire_grace,
       CASE WHEN p.failed THEN 'failed' ELSE 'open' END, p.reason, CASE WHEN p.failed THEN p.fired_at END,
       %(owner)s, CASE WHEN NOT p.failed THEN %(token)s::uuid END,
       CASE WHEN NOT p.failed THEN clock_timestamp() + %(lease)s::interval END, 0,
       0, 0, 0, 0, p.failed_count
  FROM unnest(%(key)s::uuid[], %(schedule_id)s::uuid[], %(schedule_name)s::text[], %(cause)s::text[],
              %(due_at)s::timestamptz[], %(fired_at)s::timestamptz[], %(actor)s::text[], %(template)s::jsonb[],
              %(strategy)s::text[], %(queue_timeout)s::interval[], %(misfire_grace)s::interval[],
              %(failed)s::bool[], %(reason)s::text[], %(failed_count)s::int[])
       AS p(key, schedule_id, schedule_name, cause, due_at, fired_at, actor, template, strategy, queue_timeout,
            misfire_grace, failed, reason, failed_count)
ON CONFLICT DO NOTHING
RETURNING id, key
"""

_INSERT_SCOPES = """
INSERT INTO firing_scope (firing_id, scope_id, rack_id, rack_name, position, component_filter, key, state,
                          reason_code, reason)
SELECT * FROM unnest(%(firing_id)s::bigint[], %(scope_id)s::uuid[], %(rack_id)s::uuid[], %(rack_name)s::text[],
                     %(position)s::int[], %(component_filter)s::jsonb[], %(key)s::uuid[], %(state)s::text[],
                     %(reason_code)s::text[], %(reason)s::text[])
"""

_ADVANCE = """
UPDATE task_schedule s
   SET next_run_at = p.next_run_at,
       last_run_at = COALESCE(p.last_run_at, s.last_run_at),
       enabled = p.enabled,
       disabled_kind = CASE WHEN p.enabled OR p.kind = '' THEN s.disabled_kind ELSE p.kind END,
       disabled_reason = CASE WHEN p.enabled OR p.kind = '' THEN s.disabled_reason ELSE p.reason END,
       disabled_by = CASE WHEN p.enabled OR p.kind = '' THEN s.disabled_by ELSE %(actor)s END,
       disabled_at = CASE WHEN p.enabled OR p.kind = '' THEN s.disabled_at ELSE %(now)s END,
       updated_at = %(now)s
  FROM unnest(%(id)s::uuid[], %(next_run_at)s::timestamptz[], %(last_run_at)s::timestamptz[], %(enabled)s::bool[],
              %(kind)s::text[], %(reason)s::text[]) AS p(id, next_run_at, last_run_at, enabled, kind, reason)
 WHERE s.id = p.id
"""


def claim(now: datetime, limit: int, *, holder: Holder) -> tuple[int, list[int]]:
    """Claim up to `limit` schedules due at `now`. Returns how many rows were taken and the open firings' ids.

    Rows that someone else holds are passed over. A batch that the database refuses is repeated row by row, and the
    row at fault is disabled. Raises what flowsched.db.translate turns into Busy and Unavailable.
    """
    try:
        return _claim_batch(now, limit, holder)
    except DatabaseError as error:
        if is_busy(error) or not connection.is_usable():
            raise
        logger.exception("claim of a batch failed; going row by row")
        return _claim_one_by_one(now, limit, holder)


def _claim_batch(now: datetime, limit: int, holder: Holder, only: UUID | None = None) -> tuple[int, list[int]]:
    with transaction.atomic():
        due = TaskSchedule.objects.filter(enabled=True, next_run_at__lte=now)
        if only is not None:
            due = due.filter(id=only)
        rows = list(due.order_by("next_run_at", "id").select_for_update(skip_locked=True, no_key=True)[:limit])
        if not rows:
            return 0, []
        fault("claim.after_lock")
        ids = [row.id for row in rows]
        scopes = scopes_of(ids)
        busy = busy_scopes(ids)
        plans = [plan_tick(row, scopes[row.id], busy, now) for row in rows]
        opened = write_firings(plans, holder)
        advance(plans, now)
        fault("claim.before_commit")
    return len(rows), opened


def _claim_one_by_one(now: datetime, limit: int, holder: Holder) -> tuple[int, list[int]]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT id FROM task_schedule WHERE enabled AND next_run_at <= %s ORDER BY next_run_at, id LIMIT %s",
            [now, limit],
        )
        ids = [row[0] for row in cursor.fetchall()]
    taken, opened = 0, []
    for schedule_id in ids:
        try:
            count, firings = _claim_batch(now, 1, holder, only=schedule_id)
        except DatabaseError as error:
            if is_busy(error) or not connection.is_usable():
                raise
            logger.exception("schedule %s cannot be read by the database's driver; disabled", schedule_id)
            _disable_unreadable(schedule_id, str(error).splitlines()[0], now)
            count, firings = 1, []
        taken += count
        opened += firings
    return taken, opened


def _disable_unreadable(schedule_id: UUID, why: str, now: datetime) -> None:
    """Disable a row that cannot even be fetched, and record a failed firing for it; nothing of it is decoded."""
    reason = f"its row cannot be read ({why[:200]}); mend it and resume the schedule"
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(
            """
            UPDATE task_schedule SET enabled = false, disabled_kind = 'system', disabled_reason = %s,
                   disabled_by = %s, disabled_at = %s, updated_at = %s
             WHERE id = %s AND enabled RETURNING name
            """,
            [reason, SYSTEM.name, now, now, schedule_id],
        )
        row = cursor.fetchone()
        if row:
            plan = FiringPlan(
                schedule_id, row[0], tick_key(schedule_id, now), "automatic", now, now, SYSTEM.name, None,
                queue=False, queue_timeout=None, misfire_grace=None, failed=reason,
            )  # fmt: skip
            write_firings([plan], Holder(SYSTEM.name, schedule_id, timedelta(0)))


def scopes_of(schedule_ids: Sequence[UUID]) -> dict[UUID, list[dict[str, Any]]]:
    """The scopes of these schedules with their racks' names and last tasks' statuses, one query, in scope order."""
    found: dict[UUID, list[dict[str, Any]]] = defaultdict(list)
    rows = (
        TaskScheduleScope.objects.filter(schedule_id__in=schedule_ids)
        .order_by("schedule_id", "position", "id")
        .values("id", "schedule_id", "rack_id", "rack__name", "position", "component_filter", "last_task__status")
    )
    for row in rows:
        found[row["schedule_id"]].append(dict(row))
    return found


def busy_scopes(schedule_ids: Sequence[UUID]) -> set[UUID]:
    """Scopes that an open firing still owes a task, or gave one that is active: last_task_id lags behind them."""
    with connection.cursor() as cursor:
        cursor.execute(_BUSY_THROUGH_OPEN_FIRING, [list(schedule_ids)])
        return {row[0] for row in cursor.fetchall()}


def plan_tick(row: TaskSchedule, scopes: list[dict[str, Any]], busy: set[UUID], now: datetime) -> FiringPlan:
    """Decide what one due schedule does now. Never raises for what the row holds: such a row is disabled (D-8)."""
    plan = new_plan(row, now=now, cause="automatic", due_at=row.next_run_at or now, actor=SYSTEM.name)
    plan.scopes = [plan_scope(scope) for scope in scopes]
    try:
        plan.queue_timeout = template_load(row.operation_template).queue_timeout
        set_advance(plan, row, now)
    except Exception as error:  # whatever a row holds, it must not hold up the others
        if not isinstance(error, InvalidInput):
            logger.exception("schedule %s (%s) cannot be decoded", row.id, row.name)
        _refuse(plan, str(error) or type(error).__name__)
        return plan
    late = now - plan.due_at
    if row.misfire_grace is not None and late > row.misfire_grace:
        mark_pending(
            plan.scopes, "missed", Reason.TOO_LATE,
            f"{late.total_seconds():.0f} s late; this schedule's grace is {row.misfire_grace.total_seconds():.0f} s",
        )  # fmt: skip
    elif row.overlap_policy != TaskSchedule.OverlapPolicy.QUEUE:
        _skip_overlapping(plan, scopes, busy)
    if any(scope.state == "pending" for scope in plan.scopes):
        plan.last_run_at = now
    elif not plan.scopes:
        plan.reason = "the schedule has no scopes: nothing was submitted; add racks or delete it"
    else:
        plan.reason = "no scope was eligible: nothing was submitted"
    return plan


def new_plan(row: TaskSchedule, *, now: datetime, cause: str, due_at: datetime, actor: str) -> FiringPlan:
    """The plan of a firing of `row` with nothing decided yet."""
    return FiringPlan(
        schedule_id=row.id,
        schedule_name=row.name,
        key=tick_key(row.id, due_at),
        cause=cause,
        due_at=due_at,
        fired_at=now,
        actor=actor,
        template=row.operation_template,
        queue=row.overlap_policy == TaskSchedule.OverlapPolicy.QUEUE,
        queue_timeout=None,
        misfire_grace=row.misfire_grace,
        enabled=row.enabled,
        next_run_at=row.next_run_at,
    )


def set_advance(plan: FiringPlan, row: TaskSchedule, now: datetime) -> None:
    """Where the schedule goes from here. Raises InvalidInput when its timing cannot be read."""
    spec = Spec.parse(row.spec_type, row.spec, row.timezone, dst=settings.FLOWSCHED_CRON_DST, min_interval=_ANY)
    ahead = spec.after_fire(now)
    plan.next_run_at = ahead.next_run_at
    if not ahead.enabled_after:
        plan.enabled, plan.disabled_kind = False, "consumed"
        plan.disabled_reason = f"one-time schedule: it fired at {utc_seconds(now)}"
    elif ahead.next_run_at is None:
        plan.enabled, plan.disabled_kind = False, "system"
        plan.disabled_reason = f"'{row.spec}' has no time after {utc_seconds(now)}; change its timing and resume it"


def plan_scope(scope: dict[str, Any]) -> ScopePlan:
    """One scope, pending, or failed at once when its filter cannot be read."""
    plan = ScopePlan(
        scope["id"], scope["rack_id"], scope["rack__name"] or "", scope["position"], scope["component_filter"]
    )
    try:
        filter_parse(scope["component_filter"])
    except InvalidInput as error:
        plan.state, plan.reason_code = "failed", Reason.FILTER_UNREADABLE
        plan.reason = f"its component filter cannot be read: {error}; set this scope's filter anew"
    return plan


def mark_pending(scopes: list[ScopePlan], state: str, code: str, reason: str) -> None:
    """Give every scope that is still pending this outcome."""
    for scope in scopes:
        if scope.state == "pending":
            scope.state, scope.reason_code, scope.reason = state, code, reason


def _skip_overlapping(plan: FiringPlan, rows: list[dict[str, Any]], busy: set[UUID]) -> None:
    for scope, row in zip(plan.scopes, rows, strict=True):
        if scope.state != "pending":
            continue
        if row["last_task__status"] in ACTIVE:
            why = f"the previous task of this schedule on {scope.rack_name or 'it'} is still {row['last_task__status']}"
        elif scope.scope_id in busy:
            why = f"the previous firing of this schedule on {scope.rack_name or 'it'} is still under way"
        else:
            continue
        scope.state, scope.reason_code, scope.reason = "skipped", Reason.OVERLAP, why


def _refuse(plan: FiringPlan, why: str) -> None:
    plan.failed = f"the schedule cannot be read: {why}"
    plan.enabled, plan.disabled_kind = False, "system"
    plan.disabled_reason = f"{plan.failed}. Mend it and resume it."
    mark_pending(plan.scopes, "failed", Reason.SCHEDULE_UNREADABLE, plan.failed)


def write_firings(plans: Sequence[FiringPlan], holder: Holder) -> list[int]:
    """Insert the firings and their scopes. A tick that is recorded already is left as it is, and only advances.

    Returns the ids of those that are open.
    """
    columns: dict[str, Any] = {
        "key": [p.key for p in plans],
        "schedule_id": [p.schedule_id for p in plans],
        "schedule_name": [p.schedule_name for p in plans],
        "cause": [p.cause for p in plans],
        "due_at": [p.due_at for p in plans],
        "fired_at": [p.fired_at for p in plans],
        "actor": [p.actor for p in plans],
        "template": [None if p.template is None else Jsonb(p.template) for p in plans],
        "strategy": ["queue" if p.queue else "reject" for p in plans],
        "queue_timeout": [p.queue_timeout for p in plans],
        "misfire_grace": [p.misfire_grace for p in plans],
        "failed": [bool(p.failed) for p in plans],
        "reason": [p.failed or p.reason for p in plans],
        "failed_count": [len(p.scopes) if p.failed else 0 for p in plans],
    }
    with connection.cursor() as cursor:
        cursor.execute(_INSERT_FIRINGS, columns | {"owner": holder.owner, "token": holder.token, "lease": holder.lease})
        ids = {row[1]: row[0] for row in cursor.fetchall()}
    written = [plan for plan in plans if plan.key in ids]
    for plan in plans:
        if plan.key not in ids:
            logger.warning("tick of %s due %s is recorded already; advancing only", plan.schedule_name, plan.due_at)
    _write_scopes(written, ids)
    return [ids[plan.key] for plan in written if not plan.failed]


def _write_scopes(plans: Sequence[FiringPlan], ids: dict[UUID, int]) -> None:
    pairs = [(ids[plan.key], plan.key, scope) for plan in plans for scope in plan.scopes]
    if not pairs:
        return
    with connection.cursor() as cursor:
        cursor.execute(
            _INSERT_SCOPES,
            {
                "firing_id": [firing_id for firing_id, _, _ in pairs],
                "scope_id": [s.scope_id for _, _, s in pairs],
                "rack_id": [s.rack_id for _, _, s in pairs],
                "rack_name": [s.rack_name for _, _, s in pairs],
                "position": [s.position for _, _, s in pairs],
                "component_filter": [
                    None if s.component_filter is None else Jsonb(s.component_filter) for _, _, s in pairs
                ],
                "key": [scope_key(key, s.scope_id) for _, key, s in pairs],
                "state": [s.state for _, _, s in pairs],
                "reason_code": [s.reason_code for _, _, s in pairs],
                "reason": [s.reason for _, _, s in pairs],
            },
        )


def advance(plans: Sequence[FiringPlan], now: datetime, *, actor: str = SYSTEM.name) -> None:
    """Move the schedules on in one statement. The caller holds their rows."""
    with connection.cursor() as cursor:
        cursor.execute(
            _ADVANCE,
            {
                "now": now,
                "actor": actor,
                "id": [p.schedule_id for p in plans],
                "next_run_at": [p.next_run_at for p in plans],
                "last_run_at": [p.last_run_at for p in plans],
                "enabled": [p.enabled for p in plans],
                "kind": [p.disabled_kind for p in plans],
                "reason": [p.disabled_reason for p in plans],
            },
        )
