"""Schedules with a past, in any number, by a few statements: for measurements and pages with much to show.

Shaped like a real site: most of what was submitted was completed, some failed, was skipped, rejected or missed. The
rows are those that the services would leave, without the events on the way; nothing is put in the queue.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from django.conf import settings
from django.db import connection

from audit.services import verb
from dispatcher.models import Firing, FiringScope
from flowsched.actor import Actor
from flowsched.errors import InvalidInput, PreconditionFailed
from inventory.models import Rack
from schedules.models import TaskSchedule
from scopes.models import TaskScheduleScope
from tasks.lanes import EXPIRED_MESSAGE
from tasks.models import Task

MOST: Final = 1_000_000  # firings, and schedules

# Daily, most by cron in four zones, the rest by interval. One in 20 is paused, one in 97 disabled by the system.
_SCHEDULES = """
INSERT INTO task_schedule (id, name, spec_type, spec, timezone, operation_template, overlap_policy, enabled,
                           disabled_kind, disabled_reason, disabled_by, disabled_at, next_run_at, version, created_at)
SELECT gen_random_uuid(), 'Demo ' || o.word || ' ' || to_char(n, 'FM000000'), CASE WHEN o.cron THEN 'cron' ELSE
       'interval' END, CASE WHEN o.cron THEN o.minute || ' ' || o.hour || ' * * *' ELSE '24h' END, o.zone, o.template,
       'skip', k.kind = '', k.kind,
       CASE k.kind WHEN 'person' THEN 'maintenance' WHEN 'system' THEN 'its spec cannot be read' ELSE '' END,
       CASE k.kind WHEN 'person' THEN %(actor)s WHEN 'system' THEN 'system' ELSE '' END,
       CASE WHEN k.kind <> '' THEN %(now)s::timestamptz - interval '1 hour' END,
       CASE WHEN k.kind = 'system' THEN NULL
            WHEN NOT o.cron THEN %(now)s::timestamptz + n * interval '1 day' / %(schedules)s
            ELSE (o.wall + CASE WHEN o.wall <= %(now)s::timestamptz AT TIME ZONE o.zone THEN interval '1 day'
                                ELSE interval '0' END) AT TIME ZONE o.zone END,
       1, %(now)s::timestamptz - %(span)s::interval
  FROM generate_series(1, %(schedules)s) AS n,
       LATERAL (SELECT n * 7 %% 60 AS minute, n * 11 %% 24 AS hour, n %% 5 > 0 AS cron,
                       CASE WHEN n %% 5 = 0 THEN 'UTC' ELSE
                            (ARRAY['UTC', 'America/New_York', 'Europe/Berlin', 'Asia/Tokyo'])[1 + n %% 4] END AS zone,
                       (ARRAY['power on', 'reset', 'power off'])[1 + n %% 3] AS word,
                       jsonb_build_object('type', 'power_control', 'code', (ARRAY['power_on', 'restart', 'power_off'])[
                           1 + n %% 3], 'information', jsonb_build_object('operation', (ARRAY[1, 5, 3])[1 + n %% 3],
                           'forced', false)) AS template) p,
       LATERAL (SELECT p.*, date_trunc('day', %(now)s::timestamptz AT TIME ZONE p.zone)
                       + p.hour * interval '1 hour' + p.minute * interval '1 minute' AS wall) o,
       LATERAL (SELECT CASE WHEN n %% 97 = 0 THEN 'system' WHEN n %% 20 = 0 THEN 'person' ELSE '' END AS kind) k
"""
# One to three racks each, dealt out in turn.
_SCOPES = """
INSERT INTO task_schedule_scope (id, schedule_id, rack_id, position, skip_streak)
SELECT gen_random_uuid(), s.id, r.id, k, CASE WHEN s.n %% 500 = 0 THEN 4 ELSE 0 END
  FROM (SELECT id, row_number() OVER (ORDER BY name) AS n FROM task_schedule) s
 CROSS JOIN LATERAL generate_series(0, LEAST(s.n %% 3, %(racks)s - 1)) AS k
  JOIN (SELECT id, row_number() OVER (ORDER BY name) AS n FROM rack WHERE deleted_at IS NULL) r
    ON r.n = 1 + (s.n * 7 + k) %% %(racks)s
"""
# One firing in 50 is missed, in 20 skipped, in 25 rejected, in 100 failed to resolve; the rest submitted.
FIRINGS: Final = """
INSERT INTO firing (key, schedule_id, schedule_name, cause, due_at, fired_at, actor, operation_template,
                    conflict_strategy, state, reason, takeovers, lease_owner, closed_at, submitted_count, skipped_count,
                    rejected_count, missed_count, failed_count)
SELECT gen_random_uuid(), s.id, s.name, 'automatic', d.at, d.at, 'system', s.operation_template, 'reject', 'done', '',
       0, '', d.at + interval '1 second',
       CASE WHEN w.what = 'submitted' THEN s.racks ELSE 0 END, CASE WHEN w.what = 'skipped' THEN s.racks ELSE 0 END,
       CASE WHEN w.what = 'rejected' THEN s.racks ELSE 0 END, CASE WHEN w.what = 'missed' THEN s.racks ELSE 0 END,
       CASE WHEN w.what = 'failed' THEN s.racks ELSE 0 END
  FROM generate_series(1, %(firings)s) AS g(i)
 CROSS JOIN (SELECT count(*) AS many FROM task_schedule) m
  JOIN (SELECT t.id, t.name, t.operation_template, row_number() OVER (ORDER BY t.name) AS n,
               COALESCE(c.racks, 0) AS racks
          FROM task_schedule t
          LEFT JOIN (SELECT schedule_id, count(*) AS racks FROM task_schedule_scope GROUP BY 1) c
            ON c.schedule_id = t.id) s ON s.n = 1 + (g.i * 13) %% m.many,
       LATERAL (SELECT %(now)s::timestamptz - %(span)s::interval
                       + (g.i + 0.5) * %(span)s::interval / (%(firings)s + 1) AS at) d,
       LATERAL (SELECT CASE WHEN g.i %% 100 = 7 THEN 'failed' WHEN g.i %% 50 = 11 THEN 'missed'
                            WHEN g.i %% 25 = 3 THEN 'rejected' WHEN g.i %% 20 = 1 THEN 'skipped'
                            ELSE 'submitted' END AS what) w
ON CONFLICT DO NOTHING
"""
FIRING_SCOPES: Final = """
INSERT INTO firing_scope (firing_id, scope_id, rack_id, rack_name, position, key, state, reason_code, reason, task_id)
SELECT f.id, c.id, c.rack_id, r.name, c.position, gen_random_uuid(), w.what,
       CASE WHEN w.what = 'submitted' THEN '' ELSE 'overlap' END,
       CASE WHEN w.what = 'submitted' THEN '' ELSE 'filled in as ' || w.what END,
       CASE WHEN w.what = 'submitted' THEN gen_random_uuid() END
  FROM firing f
  JOIN task_schedule_scope c ON c.schedule_id = f.schedule_id
  JOIN rack r ON r.id = c.rack_id,
       LATERAL (SELECT CASE WHEN f.failed_count > 0 THEN 'failed' WHEN f.missed_count > 0 THEN 'missed'
                            WHEN f.rejected_count > 0 THEN 'rejected' WHEN f.skipped_count > 0 THEN 'skipped'
                            ELSE 'submitted' END AS what) w
"""
# One task in 40 failed, one in 90 was cancelled, one in 150 left its queue unsent. Each takes its rack's components.
_TASKS = """
WITH parts AS MATERIALIZED (
    SELECT t.rack_id, jsonb_build_object('components_by_type', jsonb_object_agg(t.type, t.ids)) AS attributes,
           sum(t.many)::int AS many
      FROM (SELECT rack_id, type, jsonb_agg(id) AS ids, count(*) AS many FROM component WHERE deleted_at IS NULL
             GROUP BY 1, 2) t GROUP BY 1)
INSERT INTO task (id, type, code, executor_type, information, description, rack_id, rack_name, schedule_id,
                  schedule_name, lane, execution_id, status, message, attributes, progress_done, progress_total,
                  created_at, updated_at, started_at, finished_at)
SELECT x.task_id, x.template ->> 'type', x.template ->> 'code', 'simulated', x.template -> 'information', '', x.rack_id,
       x.rack_name, x.schedule_id, x.schedule_name, x.rack_id, '',
       CASE WHEN x.n %% 40 = 5 THEN 'failed' WHEN x.n %% 90 = 1 OR x.n %% 150 = 2 THEN 'terminated'
            ELSE 'completed' END,
       CASE WHEN x.n %% 40 = 5 THEN 'BMC timed out' WHEN x.n %% 90 = 1 THEN 'Cancelled by ' || %(actor)s
            WHEN x.n %% 150 = 2 THEN %(expired)s ELSE 'Succeeded' END,
       COALESCE(p.attributes, '{"components_by_type": {}}'), COALESCE(p.many, 0), COALESCE(p.many, 0), x.due_at,
       x.due_at + interval '2 minutes', x.due_at, x.due_at + interval '2 minutes'
  FROM (SELECT fs.*, f.due_at, f.schedule_id, f.schedule_name, f.operation_template AS template,
               row_number() OVER (ORDER BY fs.id) AS n
          FROM firing_scope fs JOIN firing f ON f.id = fs.firing_id WHERE fs.task_id IS NOT NULL) x
  LEFT JOIN parts p ON p.rack_id = x.rack_id
"""
_LAST = """
UPDATE task_schedule s SET last_run_at = f.at
  FROM (SELECT schedule_id, max(fired_at) AS at FROM firing GROUP BY 1) f WHERE f.schedule_id = s.id
"""
_ANALYSE = "ANALYZE task_schedule, task_schedule_scope, firing, firing_scope, task"


@dataclass(frozen=True, slots=True)
class Filled:
    """How many rows there are now."""

    schedules: int
    scopes: int
    firings: int
    outcomes: int
    tasks: int


def history_fill(*, schedules: int, firings: int, days: int, by: Actor, now: datetime) -> Filled:
    """Give the racks that there are `schedules` schedules and `firings` past firings, evenly over the last `days` days.

    All or nothing. Raises InvalidInput for numbers out of range, PreconditionFailed in production, where there is no
    rack, and where there are schedules or firings already.
    """
    _check(schedules=schedules, firings=firings, days=days)
    with verb("history.demo", by=by, kind="schedule", now=now) as done, connection.cursor() as cursor:
        racks = _ready()
        values: dict[str, Any] = {
            "now": now, "racks": racks, "schedules": schedules, "firings": firings, "span": timedelta(days=days),
            "expired": EXPIRED_MESSAGE, "actor": by.name,
        }  # fmt: skip
        cursor.execute("SET LOCAL statement_timeout = 0")
        for statement in (_SCHEDULES, _SCOPES, FIRINGS, FIRING_SCOPES, _TASKS, _LAST):
            cursor.execute(statement, values)
            cursor.execute(_ANALYSE)  # else the next one is planned for empty tables
        done.after = {"schedules": schedules, "firings": firings, "days": days}
    models = (TaskSchedule, TaskScheduleScope, Firing, FiringScope, Task)
    return Filled(*(model._default_manager.count() for model in models))  # noqa: SLF001  Django's documented name


def _check(**numbers: int) -> None:
    for name, number in numbers.items():
        if not 1 <= number <= MOST:
            raise InvalidInput(f"{name} is {number}: give a number from 1 to {MOST}", field=name)


def _ready() -> int:
    """How many racks there are to schedule. Raises PreconditionFailed."""
    if settings.PRODUCTION:
        raise PreconditionFailed(
            "a made-up history is not for production: set FLOWSCHED_DEBUG=1 to fill a database to try things with",
            reason="PRODUCTION",
        )
    if TaskSchedule.objects.exists() or Firing.objects.exists():
        raise PreconditionFailed(
            "there are schedules or firings already; a made-up history is for a database without. "
            "Give it one of its own: DATABASE_URL=…",
            reason="NOT_EMPTY",
        )
    racks = Rack.objects.filter(deleted_at__isnull=True).count()
    if not racks:
        raise PreconditionFailed(
            "there are no racks: make some with manage.py demo_racks --racks 2000", reason="NO_RACKS"
        )
    return racks
