"""Racks, schedules and their history in any number, by a few statements: for pages with much to show.

Shaped like a real site: most of what was submitted was completed, some failed, was skipped, rejected or missed.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db import connection

from dispatcher.demo import FIRING_SCOPES, FIRINGS
from tasks.lanes import EXPIRED_MESSAGE

_RACKS = """
INSERT INTO rack (id, name, manufacturer, model, serial_number, description, location, status)
SELECT gen_random_uuid(), 'fill-' || to_char(n, 'FM0000'), 'NVIDIA', 'GB200', 'F' || n, '', '{}', 'ingested'
  FROM generate_series(1, %(racks)s) AS n
"""
_SCHEDULES = """
INSERT INTO task_schedule (id, name, spec_type, spec, timezone, operation_template, overlap_policy, enabled,
                           disabled_kind, disabled_reason, disabled_by, next_run_at, version)
SELECT gen_random_uuid(), 'Fill ' || to_char(n, 'FM00000'), 'cron', (n %% 60) || ' ' || (n %% 24) || ' * * *',
       (ARRAY['UTC', 'America/New_York', 'Europe/Berlin', 'Asia/Tokyo'])[1 + n %% 4],
       '{"type": "power_control", "code": "power_on", "information": {"operation": 1, "forced": false}}', 'skip', true,
       '', '', '', %(now)s::timestamptz + n * interval '1 day' / %(schedules)s, 1
  FROM generate_series(1, %(schedules)s) AS n
"""
_SCOPES = """
INSERT INTO task_schedule_scope (id, schedule_id, rack_id, position, skip_streak)
SELECT gen_random_uuid(), s.id, r.id, k, CASE WHEN s.n %% 500 = 0 THEN 4 ELSE 0 END
  FROM (SELECT id, row_number() OVER (ORDER BY name) AS n FROM task_schedule WHERE name LIKE 'Fill %%') s
 CROSS JOIN generate_series(0, %(each)s - 1) AS k
  JOIN (SELECT id, row_number() OVER (ORDER BY name) AS n FROM rack WHERE name LIKE 'fill-%%') r
    ON r.n = 1 + (s.n * 7 + k) %% %(racks)s
"""
# One task in 40 failed, one in 90 was cancelled, one in 150 left its queue unsent.
_TASKS = """
INSERT INTO task (id, type, code, executor_type, information, description, rack_id, rack_name, schedule_id,
                  schedule_name, lane, execution_id, status, message, attributes, progress_done, progress_total,
                  created_at, updated_at, started_at, finished_at)
SELECT x.task_id, 'power_control', 'power_on', 'simulated', '{"operation": 1, "forced": false}', 'Power On', x.rack_id,
       x.rack_name, x.schedule_id, x.schedule_name, x.rack_id, '',
       CASE WHEN x.n %% 40 = 5 THEN 'failed' WHEN x.n %% 90 = 1 OR x.n %% 150 = 2 THEN 'terminated'
            ELSE 'completed' END,
       CASE WHEN x.n %% 40 = 5 THEN 'BMC timed out' WHEN x.n %% 90 = 1 THEN 'Cancelled by tester'
            WHEN x.n %% 150 = 2 THEN %(expired)s ELSE 'Succeeded' END,
       jsonb_build_object('components_by_type', jsonb_build_object('Compute', (
           SELECT jsonb_agg(gen_random_uuid()) FROM generate_series(1, 18)))),
       18, 18, x.due_at, x.due_at + interval '2 minutes', x.due_at, x.due_at + interval '2 minutes'
  FROM (SELECT fs.*, f.due_at, f.schedule_id, f.schedule_name, row_number() OVER (ORDER BY fs.id) AS n
          FROM firing_scope fs JOIN firing f ON f.id = fs.firing_id WHERE fs.task_id IS NOT NULL) x
"""


def fill(
    now: datetime, *, racks: int, schedules: int, firings: int, each: int = 1, span: timedelta = timedelta(days=7)
) -> None:
    """Racks, daily schedules of `each` racks, and their firings; racks and schedules were none before."""
    values: dict[str, Any] = {"now": now, "racks": racks, "schedules": schedules, "each": each}
    _run((_RACKS, _SCHEDULES, _SCOPES), values)
    relive(now, firings=firings, span=span)


def relive(now: datetime, *, firings: int, span: timedelta = timedelta(days=7)) -> None:
    """`firings` firings of the schedules there are, evenly over the `span` before `now`; there was none before."""
    values = {"now": now, "firings": firings, "span": span, "expired": EXPIRED_MESSAGE}
    _run((FIRINGS, FIRING_SCOPES, _TASKS), values)


def _run(statements: Sequence[str], values: dict[str, Any]) -> None:
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement, values)


def analyse() -> None:
    """Let the planner know how much there is now."""
    _run(("ANALYZE firing, task",), {})
