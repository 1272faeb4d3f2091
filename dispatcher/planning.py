"""What one schedule that comes due does now: the decisions of phase 1, from rows already read.

Nothing here touches the database. Whatever a row holds, planning it never raises: a row that cannot be read is
disabled by its own plan, so that it holds up nobody.
"""

from __future__ import annotations

import logging
from datetime import datetime
from typing import Any
from uuid import UUID

from dispatcher.records import FiringPlan, Reason, ScopePlan, tick_key, utc_seconds
from flowsched.actor import SYSTEM
from flowsched.errors import InvalidInput
from schedules.models import TaskSchedule
from schedules.specs import spec_of
from schedules.template import template_load
from scopes.filters import filter_parse
from tasks.operations import OperationType
from tasks.states import ACTIVE

logger = logging.getLogger(__name__)


def plan_tick(row: TaskSchedule, scopes: list[dict[str, Any]], busy: set[UUID], now: datetime) -> FiringPlan:
    """Decide what one due schedule does now. Never raises for what the row holds: such a row is disabled (D-8)."""
    plan = new_plan(row, now=now, cause="automatic", due_at=row.next_run_at or now, actor=SYSTEM.name)
    plan.scopes = [plan_scope(scope) for scope in scopes]
    try:
        template = template_load(row.operation_template)
        plan.queue_timeout = template.queue_timeout
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
    elif row.overlap_policy != TaskSchedule.OverlapPolicy.QUEUE and template.type != OperationType.HTTP:
        # How many calls may be under way is their own limit, which admission knows.
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
    ahead = spec_of(row).after_fire(now)
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
            why = _still_active(scope.rack_name, row)
        elif scope.scope_id in busy:
            why = f"the previous firing of this schedule on {scope.rack_name or 'it'} is still under way"
        else:
            continue
        scope.state, scope.reason_code, scope.reason = "skipped", Reason.OVERLAP, why


def _still_active(rack_name: str, row: dict[str, Any]) -> str:
    """Which task, in what state, and since when: its start, or its making where it has not begun."""
    since = row["last_task__started_at"] or row["last_task__created_at"]
    return (
        f"the previous task of this schedule on {rack_name or 'it'} is still {row['last_task__status']}, "
        f"since {utc_seconds(since)} (task {row['last_task_id']})"
    )


def _refuse(plan: FiringPlan, why: str) -> None:
    plan.failed = f"the schedule cannot be read: {why}"
    plan.enabled, plan.disabled_kind = False, "system"
    plan.disabled_reason = f"{plan.failed}. Mend it and resume it."
    mark_pending(plan.scopes, "failed", Reason.SCHEDULE_UNREADABLE, plan.failed)
