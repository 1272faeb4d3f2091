"""The peer of `bench.drain`: a bare psycopg loop that leaves the same rows, with nothing decided on the way.

No overlap check, no admission, no conflict, no recovery, no leases, times from a constant: what is left is what
PostgreSQL and the driver take for these inserts and updates in batches of the same size.
"""

from __future__ import annotations

import json
import uuid
from typing import Any

import psycopg
from psycopg.types.json import Jsonb

CLAIM = """
SELECT s.id, s.name, s.next_run_at, s.operation_template FROM task_schedule s
 WHERE s.enabled AND s.next_run_at <= statement_timestamp()
 ORDER BY s.next_run_at, s.id LIMIT %s FOR NO KEY UPDATE SKIP LOCKED
"""
SCOPES = """
SELECT c.id, c.schedule_id, c.rack_id, r.name FROM task_schedule_scope c JOIN rack r ON r.id = c.rack_id
 WHERE c.schedule_id = ANY(%s)
"""
FIRINGS = """
INSERT INTO firing (key, schedule_id, schedule_name, cause, due_at, fired_at, actor, operation_template,
                    conflict_strategy, state, reason, takeovers, lease_owner, closed_at, submitted_count, skipped_count,
                    rejected_count, missed_count, failed_count)
SELECT k, s, n, 'automatic', d, statement_timestamp(), 'bare', t, 'reject', 'done', '', 0, '', statement_timestamp(),
       1, 0, 0, 0, 0
  FROM unnest(%s::uuid[], %s::uuid[], %s::text[], %s::timestamptz[], %s::jsonb[]) AS x(k, s, n, d, t)
ON CONFLICT DO NOTHING RETURNING id, schedule_id
"""
TASKS = """
INSERT INTO task (id, type, code, executor_type, information, description, rack_id, rack_name, schedule_id,
                  schedule_name, lane, execution_id, status, message, attributes, idempotency_key, progress_done,
                  progress_total, created_at, updated_at)
SELECT x.id, 'power_control', 'power_on', 'simulated', '{"operation": 1, "forced": false}', 'bare', x.r, x.n, x.s, '',
       x.r, '', 'pending', 'Pending', jsonb_build_object('components_by_type', c.parts), x.k, 0, 0,
       statement_timestamp(), statement_timestamp()
  FROM unnest(%s::uuid[], %s::uuid[], %s::text[], %s::uuid[], %s::uuid[]) AS x(id, r, n, s, k),
       LATERAL (SELECT jsonb_object_agg(t.type, t.ids) AS parts
                  FROM (SELECT type, jsonb_agg(id) AS ids FROM component
                         WHERE rack_id = x.r AND deleted_at IS NULL GROUP BY type) t) c
"""
FIRING_SCOPES = """
INSERT INTO firing_scope (firing_id, scope_id, rack_id, rack_name, position, key, state, reason_code, reason, task_id)
SELECT f, s, r, n, 0, k, 'submitted', '', '', t
  FROM unnest(%s::bigint[], %s::uuid[], %s::uuid[], %s::text[], %s::uuid[], %s::uuid[]) AS x(f, s, r, n, k, t)
"""
JOBS = """
INSERT INTO procrastinate_jobs (queue_name, task_name, priority, queueing_lock, args, status)
SELECT 'tasks', 'tasks.run', 0, t::text, jsonb_build_object('task_id', t), 'todo' FROM unnest(%s::uuid[]) AS x(t)
"""
LAST_TASKS = """
UPDATE task_schedule_scope c SET last_task_id = x.t FROM unnest(%s::uuid[], %s::uuid[]) AS x(c, t) WHERE c.id = x.c
"""
ADVANCE = """
UPDATE task_schedule SET next_run_at = statement_timestamp() + interval '1 day', last_run_at = statement_timestamp(),
                         updated_at = statement_timestamp() WHERE id = ANY(%s)
"""


def drain(connection: psycopg.Connection[Any], batch: int) -> int:
    """Fire everything that is due; returns how many schedules."""
    total = 0
    while True:
        with connection.transaction():
            rows = connection.execute(CLAIM, [batch]).fetchall()
            if rows:
                _write(connection, rows)
        total += len(rows)
        if len(rows) < batch:
            return total


def _write(connection: psycopg.Connection[Any], rows: list[tuple[Any, ...]]) -> None:
    ids = [row[0] for row in rows]
    scopes = connection.execute(SCOPES, [ids]).fetchall()
    templates = [Jsonb(row[3] if isinstance(row[3], dict) else json.loads(row[3])) for row in rows]
    opened = connection.execute(
        FIRINGS, [[uuid.uuid4() for _ in rows], ids, [r[1] for r in rows], [r[2] for r in rows], templates]
    ).fetchall()
    firings = {schedule: firing for firing, schedule in opened}
    keys, tasks = [uuid.uuid4() for _ in scopes], [uuid.uuid4() for _ in scopes]
    racks, names = [s[2] for s in scopes], [s[3] for s in scopes]
    connection.execute(TASKS, [tasks, racks, names, [s[1] for s in scopes], keys])
    connection.execute(
        FIRING_SCOPES, [[firings[s[1]] for s in scopes], [s[0] for s in scopes], racks, names, keys, tasks]
    )
    connection.execute(JOBS, [tasks])
    connection.execute(LAST_TASKS, [[s[0] for s in scopes], tasks])
    connection.execute(ADVANCE, [ids])
