"""The record of a run: the same whether PostgreSQL still holds the run or ClickHouse alone does (I-54, D-27).

The fields are the table's columns, in their order. What a run stored was scrubbed and cut when it was stored; nothing
is added to it here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from tasks.models import Run
from tasks.operations import operation_label
from tasks.states import RunState

NOBODY = UUID(int=0)  # in ClickHouse, where a key's column is never NULL: no schedule
MILLISECOND = timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True)
class RunRecord:
    """One execution of a task. Times are UTC; `fired_at` is when its schedule fired, else when it was asked for.

    `duration_ms` is from `started_at` on, without the time in the queue (I-94); 0 while it runs. `http_status` 0: no
    answer, or no call. What only HTTP calls have is empty for hardware, whose `identity_kind` is none.
    """

    run_id: UUID
    task_id: UUID
    schedule_id: UUID | None
    schedule_name: str
    rack_id: UUID | None
    rack_name: str
    operation: str
    operation_type: str
    operation_code: str
    executor: str
    fired_at: datetime
    queued_at: datetime
    started_at: datetime
    finished_at: datetime | None
    duration_ms: int
    state: str
    attempt: int
    attempts: list[dict[str, Any]]
    results: dict[str, dict[str, Any]]
    progress_done: int
    progress_total: int
    message: str
    identity_kind: str
    principal_name: str
    actor_name: str
    consent_id: str
    endpoint: str
    target_kind: str
    target_summary: str
    http_status: int
    response_excerpt: str
    error_type: str
    trace_id: str

    @property
    def order(self) -> tuple[datetime, int, str]:
        """Newest first is by this, descending (I-58); no two runs have the same."""
        return (self.queued_at, self.attempt, str(self.run_id))

    @property
    def is_open(self) -> bool:
        """Whether it may still change."""
        return self.state in (RunState.RUNNING, RunState.UNKNOWN)


COLUMNS = tuple(field.name for field in fields(RunRecord))
_CALL = ("principal_name", "actor_name", "consent_id", "endpoint", "target_kind", "target_summary", "response_excerpt")
_JSON = frozenset({"attempts", "results"})


def record_of(run: Run) -> RunRecord:
    """The record of a run whose task was read along."""
    task, call = run.task, run.call
    return RunRecord(
        run_id=run.id,
        task_id=task.id,
        schedule_id=task.schedule_id,
        schedule_name=task.schedule_name,
        rack_id=task.rack_id,
        rack_name=task.rack_name,
        operation=operation_label(task.type, task.code, task.information),
        operation_type=task.type,
        operation_code=task.code,
        executor=run.executor,
        fired_at=_time(task.attributes.get("fired_at")) or run.queued_at,
        queued_at=run.queued_at,
        started_at=run.started_at,
        finished_at=run.finished_at,
        duration_ms=max(0, (run.finished_at - run.started_at) // MILLISECOND) if run.finished_at else 0,
        state=run.state,
        attempt=run.attempt,
        attempts=run.attempts,
        results=run.results,
        progress_done=run.progress_done,
        progress_total=run.progress_total,
        message=run.message,
        identity_kind=_text(call, "identity_kind") or "none",
        http_status=int(call.get("http_status") or 0),
        error_type=_text(call, "error_type"),
        trace_id=_text(call, "trace_id"),
        **{name: _text(call, name) for name in _CALL},
    )


def row_of(record: RunRecord) -> list[Any]:
    """The values of a row, in the order of COLUMNS."""
    values: Sequence[Any] = astuple(record)
    row = [_dumps(value) if name in _JSON else value for name, value in zip(COLUMNS, values, strict=True)]
    row[COLUMNS.index("schedule_id")] = record.schedule_id or NOBODY
    return row


def record_from(row: Sequence[Any]) -> RunRecord:
    """The record of a row as ClickHouse answers it, in the order of COLUMNS."""
    values = {name: json.loads(value) if name in _JSON else value for name, value in zip(COLUMNS, row, strict=True)}
    if values["schedule_id"] == NOBODY:
        values["schedule_id"] = None
    return RunRecord(**values)


def _dumps(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _text(call: Mapping[str, Any], name: str) -> str:
    return str(call.get(name) or "")


def _time(value: object) -> datetime | None:
    try:
        found = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None
    return found if found and found.tzinfo else None
