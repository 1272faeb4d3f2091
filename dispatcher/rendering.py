"""Rows and JSON of the `schedule` command: words for people, stable names for scripts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import fields
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from audit.models import AuditEntry
from dispatcher.models import Firing, FiringScope
from dispatcher.selectors import Reach
from flowsched.cli import show
from schedules.durations import format_duration, to_nanoseconds
from schedules.models import TaskSchedule
from schedules.template import rackless, summary
from tasks.call_bodies import call_out
from tasks.http.dry_run import DryRun
from tasks.http.wording import call_facts
from tasks.models import Task

SCHEDULE_COLUMNS = ["name", "timing", "operation", "overlap", "state", "next run", "last run"]
HISTORY_COLUMNS = ["fired", "schedule", "cause", "rack", "outcome", "task", "reason"]


def timing_words(row: TaskSchedule) -> str:
    """The timing in a few words."""
    if row.spec_type == TaskSchedule.SpecType.INTERVAL:
        return f"every {row.spec}"
    if row.spec_type == TaskSchedule.SpecType.CRON:
        return f"{row.spec} {row.timezone}"
    return f"once {row.spec}"


def state_words(row: TaskSchedule) -> str:
    """Enabled, or why not."""
    if row.enabled:
        return "enabled"
    words = {"person": "paused", "consumed": "consumed", "system": "disabled by the system"}
    kind = words.get(row.disabled_kind, "disabled")
    return f"{kind}: {row.disabled_reason}" if row.disabled_reason else kind


def schedule_row(row: TaskSchedule) -> list[Any]:
    """One line of the list."""
    operation = summary(row.operation_template)[1]
    return [
        row.name, timing_words(row), operation, row.overlap_policy, state_words(row), row.next_run_at, row.last_run_at,
    ]  # fmt: skip


def schedule_facts(row: TaskSchedule) -> list[tuple[str, str]]:
    """What `show` says before the scopes."""
    grace = "however late" if row.misfire_grace is None else format_duration(to_nanoseconds(row.misfire_grace))
    facts = [
        ("name", row.name),
        ("id", str(row.id)),
        ("timing", timing_words(row)),
        ("operation", summary(row.operation_template)[1]),
        *_call_facts(row),
        ("overlap", row.overlap_policy),
        ("grace", grace),
        ("state", state_words(row)),
        ("next run", show(row.next_run_at)),
        ("last run", show(row.last_run_at)),
        ("version", str(row.version)),
    ]
    return [(label, show(value)) for label, value in facts]


def _call_facts(row: TaskSchedule) -> list[tuple[str, str]]:
    """What `show` says of an HTTP call besides."""
    if not rackless(row.operation_template):
        return []
    streaks = [
        (row.consecutive_skips, "not made"),
        (row.consecutive_no_effect, "without effect"),
    ]
    said = [f"{count} {what}" for count, what in streaks if count]
    return [
        *call_facts(row.operation_template.get("information")),
        *([("calls in a row", ", ".join(said))] if said else []),
    ]


def dry_run_json(found: DryRun) -> dict[str, Any]:
    """A call that was rendered, for scripts."""
    told = {one.name: getattr(found, one.name) for one in fields(found) if one.name != "fields"}
    return told | {"bearer_resolved": found.bearer_resolved}


def dry_run_lines(found: DryRun) -> list[str]:
    """A call that was rendered, much as it would go over the wire."""
    lines = [] if found.would_run else [f"It would not be made: {found.reason}"]
    if not found.method:
        return lines
    query = "".join(f"\n  {name} = {value}" for name, value in found.query.items())
    lines += [f"{found.method} {found.url}", *([f"query:{query}"] if query else [])]
    lines += [f"{name}: {value}" for name, value in found.headers.items()]
    lines += [] if found.body is None else ["", found.body]
    return [*lines, "", f"Nothing was sent, and no token fetched. {_as_whom(found)}"]


def _as_whom(found: DryRun) -> str:
    whom = {"service_account": "the endpoint's service account", "delegated_user": f"user {found.principal_name}"}
    return f"It would be called as {whom.get(found.identity_kind, 'nobody')}."


def schedule_json(row: TaskSchedule) -> dict[str, Any]:
    """One schedule for scripts."""
    operation_type, description = summary(row.operation_template)
    return {
        "id": row.id,
        "name": row.name,
        "spec_type": row.spec_type,
        "spec": row.spec,
        "timezone": row.timezone,
        "operation_type": operation_type,
        "description": description,
        "operation": call_out(row.operation_template),
        "overlap_policy": row.overlap_policy,
        "misfire_grace": row.misfire_grace,
        "enabled": row.enabled,
        "disabled_kind": row.disabled_kind,
        "disabled_reason": row.disabled_reason,
        "disabled_by": row.disabled_by,
        "disabled_at": row.disabled_at,
        "consecutive_skips": row.consecutive_skips,
        "consecutive_no_effect": row.consecutive_no_effect,
        "next_run_at": row.next_run_at,
        "last_run_at": row.last_run_at,
        "version": row.version,
        "created_at": row.created_at,
        "updated_at": row.updated_at,
    }


def reach_row(scope: Reach) -> list[Any]:
    """One scope of `show`, `scope list` and `preview`."""
    return [scope.rack_name, scope.words, scope.components, scope.last_task_status, scope.skip_streak]


def reach_json(scope: Reach) -> dict[str, Any]:
    """One scope for scripts."""
    return {
        "scope_id": scope.scope_id,
        "rack_id": scope.rack_id,
        "rack": scope.rack_name,
        "component_filter": scope.component_filter,
        "components": scope.components,
        "last_task_id": scope.last_task_id,
        "last_task_status": scope.last_task_status,
        "skip_streak": scope.skip_streak,
    }


def firing_rows(firing: Firing, scopes: Sequence[tuple[FiringScope, Task | None]], most: int) -> list[list[Any]]:
    """The lines of one firing: a rack a line, the rest counted; a firing without scopes says why."""
    head = [firing.fired_at, firing.schedule_name, firing.cause]
    if not scopes:
        return [[*head, None, firing.state, None, firing.reason]]
    rows = [
        [*head, scope.rack_name, scope.state, task.status if task else None, scope.reason or (task and task.message)]
        for scope, task in scopes[:most]
    ]
    if len(scopes) > most:
        rows.append([*head, f"… {len(scopes) - most} more", None, None, "--racks N shows more, --json all"])
    return rows


def firing_json(firing: Firing, scopes: Sequence[tuple[FiringScope, Task | None]]) -> dict[str, Any]:
    """One firing for scripts."""
    return {
        "id": firing.id,
        "schedule_id": firing.schedule_id,
        "schedule": firing.schedule_name,
        "cause": firing.cause,
        "actor": firing.actor,
        "due_at": firing.due_at,
        "fired_at": firing.fired_at,
        "state": firing.state,
        "reason": firing.reason,
        "takeovers": firing.takeovers,
        "closed_at": firing.closed_at,
        "scopes": [
            {
                "scope_id": scope.scope_id,
                "rack_id": scope.rack_id,
                "rack": scope.rack_name,
                "outcome": scope.state,
                "reason_code": scope.reason_code,
                "reason": scope.reason,
                "task_id": scope.task_id,
                "task_status": task.status if task else None,
                "task_message": task.message if task else None,
            }
            for scope, task in scopes
        ],
    }


def audit_json(entry: AuditEntry) -> dict[str, Any]:
    """One audit entry for scripts."""
    return {
        "at": entry.at, "actor": entry.actor, "door": entry.door, "verb": entry.verb, "before": entry.before,
        "after": entry.after, "refused": entry.refused, "request_id": entry.request_id,
    }  # fmt: skip


def audit_words(entry: AuditEntry) -> str:
    """What an entry says in a table."""
    if entry.refused:
        return f"refused: {entry.refused}"
    before, after = entry.before or {}, entry.after or {}
    words = [
        f"{key.replace('_', ' ')}: " + (f"{_short(before[key])} → " if key in before else "") + _short(value)
        for key, value in after.items()
        if before.get(key) != value
    ]
    return ", ".join(words)


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else text[:59] + "…"  # noqa: PLR2004  a table's cell


def local(moment: datetime, timezone: str) -> str:
    """The wall clock of the schedule's zone, with the zone's abbreviation."""
    return moment.astimezone(ZoneInfo(timezone or "UTC")).strftime("%a %Y-%m-%d %H:%M:%S %Z")
