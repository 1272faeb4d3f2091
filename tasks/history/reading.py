"""What doors read of runs: one list and one look, whichever store has them (D-27).

A run that ClickHouse alone still holds comes as a Run and a Task that are not stored, so that every door shows both
kinds in the same way.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from django.conf import settings

from flowsched.errors import NotFound
from tasks.history.records import RunRecord
from tasks.history.selectors import OlderState, run_by_id, runs_page
from tasks.models import Run, Task
from tasks.selectors import run_get, runs_list

ONE_STATE: Final = "older history is listed by a schedule's id and for one state at a time, not by task"
_CALL: Final = (
    *("endpoint", "identity_kind", "principal_name", "actor_name", "consent_id", "target_kind", "target_summary"),
    *("http_status", "response_excerpt", "error_type", "trace_id"),
)
# Columns of Run that a record has by the same name.
_COMMON: Final = (
    *("executor", "queued_at", "started_at", "finished_at", "state", "attempt", "attempts", "results"),
    *("progress_done", "progress_total", "message"),
)


@dataclass(frozen=True, slots=True)
class RunsRead:
    """A page of runs. `note` says what is not among them, and why."""

    runs: list[Run]
    total: int
    older: OlderState = OlderState.NONE
    note: str = ""


def runs_read(
    *,
    states: Collection[str] = (),
    schedule: UUID | str | None = None,
    task_id: UUID | None = None,
    limit: int = 50,
    offset: int = 0,
) -> RunsRead:
    """A page of runs, newest first, as `runs_list` and `runs_page` have them. Raises InvalidInput."""
    if settings.FLOWSCHED_CLICKHOUSE_URL is None:
        return RunsRead(*runs_list(states=states, schedule=schedule, task_id=task_id, limit=limit, offset=offset))
    schedule = _id(schedule) or schedule
    if task_id is not None or len(states) > 1 or isinstance(schedule, str):
        found, total = runs_list(states=states, schedule=schedule, task_id=task_id, limit=limit, offset=offset)
        return RunsRead(found, total, note=ONE_STATE)
    page = runs_page(schedule_id=schedule, state=next(iter(states), None), offset=offset, limit=limit)
    kept = Run.objects.select_related("task").in_bulk([record.run_id for record in page.runs])
    return RunsRead(
        [kept.get(record.run_id) or _unstored(record) for record in page.runs], page.total, page.older, page.note
    )


def run_read(name: UUID | str) -> Run:
    """The run of this id, or in PostgreSQL the only one whose id begins so. Raises as `run_get`, and ClickHouseAway."""
    try:
        return run_get(name)
    except NotFound:
        whole = _id(name)
        if whole is None or settings.FLOWSCHED_CLICKHOUSE_URL is None:
            raise
        return _unstored(run_by_id(whole))


def _id(name: UUID | str | None) -> UUID | None:
    """The id that the text is, if it is a whole one."""
    try:
        return UUID(name) if isinstance(name, str) else name
    except ValueError:
        return None


def _unstored(record: RunRecord) -> Run:
    call = {name: getattr(record, name) for name in _CALL} if record.target_kind else {}
    if call:
        call["fired_at"] = record.fired_at.isoformat()
    task = Task(
        id=record.task_id,
        type=record.operation_type,
        code=record.operation_code,
        information=_information(record),
        schedule_id=record.schedule_id,
        schedule_name=record.schedule_name,
        rack_id=record.rack_id,
        rack_name=record.rack_name,
    )
    columns = {name: getattr(record, name) for name in _COMMON}
    return Run(id=record.run_id, task=task, call=call, **columns)


def _information(record: RunRecord) -> dict[str, Any]:
    """As much of the operation as its words need."""
    method, _, path = record.target_summary.partition(" ")
    return {"target": {"method": method, "path": path}} if path else {}
