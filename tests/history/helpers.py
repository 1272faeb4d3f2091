"""Finished runs with a past, as the services would have left them."""

from __future__ import annotations

import uuid
from datetime import datetime, timedelta

from tasks.models import Run, Task

STATUS = {"failed": "failed", "timed_out": "failed", "cancelled": "terminated", "skipped": "terminated"}


def stored(
    queued: datetime,
    *,
    lasted: timedelta = timedelta(minutes=1),
    state: str = "succeeded",
    schedule: uuid.UUID | None = None,
    **columns: object,
) -> Run:
    """A run that was asked for at `queued`, began a second later and ended after `lasted`."""
    is_open = state in ("running", "unknown")
    finished = None if is_open else queued + lasted
    task = Task.objects.create(
        type="http_call",
        code="api",
        executor_type="http",
        schedule_id=schedule,
        schedule_name="nightly" if schedule else "",
        lane=schedule or uuid.uuid4(),
        status="running" if is_open else STATUS.get(state, "completed"),
        information={"target": {"endpoint": "inventory", "method": "GET", "path": "/v1/racks/"}},
        attributes={"fired_at": queued.isoformat()},
        created_at=queued,
        updated_at=queued,
        started_at=queued,
        finished_at=finished,
    )
    return Run.objects.create(
        **{
            "task": task,
            "state": state,
            "executor": "http",
            "queued_at": queued,
            "started_at": queued + timedelta(seconds=1),
            "finished_at": finished,
            "message": "200 OK",
            "attempts": [{"attempt": 1, "state": state, "message": "200 — ö 日本 \"quoted\" \\ 'single'\n"}],
            "call": {"endpoint": "inventory", "identity_kind": "service_account", "http_status": 200},
        }
        | columns
    )


def final(client, columns: str = "run_id, state") -> list[tuple[object, ...]]:
    """What the final view says, by run."""
    return [tuple(row) for row in client.query(f"SELECT {columns} FROM scheduler_runs FINAL ORDER BY 1").result_rows]


def written(client) -> int:
    """Rows as they were written, doubles counted: what a merge has not touched yet."""
    return client.query("SELECT count() FROM scheduler_runs").result_rows[0][0]
