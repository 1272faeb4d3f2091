"""The INSERT that makes tasks: rows from arrays, components gathered by the database itself.

Promises one statement for any number of tasks, and components as they are in the inventory at that moment. Reading
them in Python first costs half the speed (35 components a rack).
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.conf import settings

from flowsched import db
from tasks.lanes import ActiveTask
from tasks.states import TaskStatus
from tasks.submissions import Submission

# `only` narrows the components to those named or decided on; `required` is how many must be there.
_INSERT = """
    INSERT INTO task (id, type, code, executor_type, information, description, rack_id, rack_name, schedule_id,
        schedule_name, lane, execution_id, status, message, attributes, idempotency_key, progress_done, progress_total,
        created_at, updated_at, queue_expires_at)
    SELECT s.id, s.type, s.code, %s, s.information, s.description, s.rack_id, s.rack_name, s.schedule_id,
        s.schedule_name, s.rack_id, '', s.status, s.message, jsonb_build_object('components_by_type', c.by_type), s.key,
        0, 0, s.created_at, %s, s.queue_expires_at
    FROM unnest(%s::uuid[], %s::text[], %s::text[], %s::jsonb[], %s::text[], %s::uuid[], %s::text[], %s::uuid[],
        %s::text[], %s::text[], %s::text[], %s::uuid[], %s::timestamptz[], %s::timestamptz[], %s::text[], %s::text[],
        %s::int[])
        AS s(id, type, code, information, description, rack_id, rack_name, schedule_id, schedule_name, status, message,
             key, created_at, queue_expires_at, types, only_ids, required),
    LATERAL (
        SELECT jsonb_object_agg(g.type, to_jsonb(g.ids)) AS by_type, sum(cardinality(g.ids)) AS n
        FROM (
            SELECT component.type, array_agg(component.id) AS ids
            FROM component, (SELECT s.types::text[] AS types, s.only_ids::uuid[] AS ids OFFSET 0) wanted
            WHERE component.rack_id = s.rack_id AND component.deleted_at IS NULL
                AND (wanted.types IS NULL OR component.type = ANY(wanted.types))
                AND (wanted.ids IS NULL OR component.id = ANY(wanted.ids))
            GROUP BY component.type
        ) g
    ) c
    WHERE c.by_type IS NOT NULL AND c.n >= s.required
    ON CONFLICT (idempotency_key) WHERE idempotency_key IS NOT NULL DO NOTHING
    RETURNING id
"""

# A call has components to tell its target about, or none; where it named some it must have found them.
_INSERT_CALLS = """
    INSERT INTO task (id, type, code, executor_type, information, description, rack_id, rack_name, schedule_id,
        schedule_name, lane, execution_id, status, message, attributes, idempotency_key, progress_done, progress_total,
        created_at, updated_at, queue_expires_at)
    SELECT s.id, s.type, s.code, 'http', s.information, s.description, s.rack_id, s.rack_name, s.schedule_id,
        s.schedule_name, s.lane, '', s.status, s.message,
        jsonb_build_object('components_by_type', coalesce(c.by_type, '{}'), 'fired_at', s.fired_at), s.key, 0, 1,
        s.created_at, %s, s.queue_expires_at
    FROM unnest(%s::uuid[], %s::text[], %s::text[], %s::jsonb[], %s::text[], %s::uuid[], %s::text[], %s::uuid[],
        %s::text[], %s::uuid[], %s::text[], %s::text[], %s::text[], %s::uuid[], %s::timestamptz[], %s::timestamptz[],
        %s::text[], %s::text[], %s::int[])
        AS s(id, type, code, information, description, rack_id, rack_name, schedule_id, schedule_name, lane, status,
             message, fired_at, key, created_at, queue_expires_at, types, only_ids, required),
    LATERAL (
        SELECT jsonb_object_agg(g.type, to_jsonb(g.ids)) AS by_type, sum(cardinality(g.ids)) AS n
        FROM (
            SELECT component.type, array_agg(component.id) AS ids
            FROM component
            WHERE component.rack_id = s.rack_id AND component.deleted_at IS NULL
                AND (s.types IS NULL OR component.type = ANY(s.types::text[]))
                AND (s.only_ids IS NULL OR component.id = ANY(s.only_ids::uuid[]))
            GROUP BY component.type
        ) g
    ) c
    WHERE (s.types IS NULL AND s.only_ids IS NULL) OR (c.by_type IS NOT NULL AND c.n >= s.required)
    ON CONFLICT (idempotency_key) WHERE idempotency_key IS NOT NULL DO NOTHING
    RETURNING id
"""


@dataclass(frozen=True, slots=True)
class NewTask:
    """A task to insert: the submission and what admission decided about it."""

    id: UUID
    submission: Submission
    rack_name: str
    status: TaskStatus
    message: str
    types: tuple[str, ...] | None
    components: Collection[UUID] | None
    required: int
    created_at: datetime
    queue_expires_at: datetime | None

    @property
    def information_json(self) -> str:
        """The operation's fields as stored."""
        return json.dumps(dict(self.submission.information))

    def as_active(self) -> ActiveTask:
        """The row as later submissions of the same call see it."""
        submission = self.submission
        return ActiveTask(
            id=self.id,
            lane=submission.lane,
            rack_id=submission.rack_id,
            key=submission.key,
            type=submission.type,
            code=submission.code,
            information_json=self.information_json,
            status=self.status.value,
            schedule_name=submission.schedule_name,
            queue_expires_at=self.queue_expires_at,
            created_at=self.created_at,
            unknown=False,
            components_json=None,
        )


def tasks_insert(rows: Sequence[NewTask], *, now: datetime) -> set[UUID]:
    """Insert the rows; the ids that were. A row is left out if its key exists or its components do not."""
    subs = [row.submission for row in rows]
    params: list[Any] = [
        settings.FLOWSCHED_EXECUTOR,
        now,
        _array([row.id for row in rows]),
        [s.type for s in subs],
        [s.code for s in subs],
        _information(rows),
        [s.description for s in subs],
        _array([s.rack_id for s in subs]),
        [row.rack_name for row in rows],
        _array([s.schedule_id or "NULL" for s in subs]),
        [s.schedule_name for s in subs],
        _array([row.status.value for row in rows]),
        [row.message for row in rows],
        _array([s.key for s in subs]),
        *_times_and_parts(rows),
    ]
    with db.bound_cursor() as cursor:
        cursor.execute(_INSERT, params)
        return {row[0] for row in cursor.fetchall()}


def calls_insert(rows: Sequence[NewTask], *, now: datetime) -> set[UUID]:
    """Insert the rows of HTTP calls; the ids that were. A row is left out as in `tasks_insert`."""
    subs = [row.submission for row in rows]
    params: list[Any] = [
        now,
        _array([row.id for row in rows]),
        [s.type for s in subs],
        [s.code for s in subs],
        _information(rows),
        [s.description for s in subs],
        _array([s.rack_id or "NULL" for s in subs]),
        [row.rack_name for row in rows],
        _array([s.schedule_id or "NULL" for s in subs]),
        [s.schedule_name for s in subs],
        _array([s.lane for s in subs]),
        _array([row.status.value for row in rows]),
        [row.message for row in rows],
        [(s.fired_at or now).isoformat() for s in subs],
        _array([s.key for s in subs]),
        *_times_and_parts(rows),
    ]
    with db.bound_cursor() as cursor:
        cursor.execute(_INSERT_CALLS, params)
        return {row[0] for row in cursor.fetchall()}


def _information(rows: Sequence[NewTask]) -> list[str]:
    """The operations' fields. Submissions of one firing share the object: it is encoded once."""
    encoded: dict[int, str] = {}
    for row in rows:
        if id(row.submission.information) not in encoded:
            encoded[id(row.submission.information)] = row.information_json
    return [encoded[id(row.submission.information)] for row in rows]


def _times_and_parts(rows: Sequence[NewTask]) -> list[Any]:
    """The last five columns of either INSERT: created_at, queue_expires_at, types, only_ids, required."""
    return [
        _array([row.created_at.isoformat() for row in rows]),
        _array([row.queue_expires_at.isoformat() if row.queue_expires_at else "NULL" for row in rows]),
        [None if row.types is None else _array(row.types) for row in rows],
        [None if row.components is None else _array(row.components) for row in rows],
        _array([row.required for row in rows]),
    ]


def keys_known(keys: Sequence[UUID]) -> dict[UUID, tuple[UUID, UUID]]:
    """Of these idempotency keys those that made a task, each with the task's id and lane."""
    with db.bound_cursor() as cursor:
        cursor.execute(
            "SELECT idempotency_key, id, lane FROM task WHERE idempotency_key = ANY(%s::uuid[])", [list(keys)]
        )
        return {row[0]: (row[1], row[2]) for row in cursor.fetchall()}


def _array(values: Collection[object]) -> str:
    """An array literal of ids, times, numbers or our own words: nothing that would need quoting may come here.

    The driver's own conversion of five such columns costs more than the statement's parsing; and a column of arrays
    of unlike lengths (types, only_ids) cannot be an array itself.
    """
    return "{" + ",".join(map(str, values)) + "}"
