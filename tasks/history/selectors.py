"""Reading runs: PostgreSQL answers for all it holds, ClickHouse for those it has forgotten (D-27).

Every page says whether older history is part of it. ClickHouse being away is no error of a page: what PostgreSQL
holds is answered, with the words that older history is not to be had now.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final
from uuid import UUID

from django.conf import settings
from django.db import connection
from django.db.models import QuerySet

from flowsched.address import Address
from flowsched.errors import InvalidInput, NotFound
from tasks.history.clickhouse import ClickHouseAway
from tasks.history.merging import merged_page
from tasks.history.reader import Key, Older, records_by_ids
from tasks.history.records import RunRecord, record_of
from tasks.models import Run
from tasks.retention import KEPT
from tasks.states import OPEN_RUN, RunState

MAX_LIMIT: Final = 500
MAX_OFFSET: Final = 10_000_000
MAX_HELD: Final = 500  # runs past their time that a query to ClickHouse names
MAX_OVERLAP: Final = 20_000  # runs that were under way when the newest forgotten one ended
NOT_NOW: Final = "older history is not to be had now"

_OLDEST = f"""
SELECT task.finished_at, {KEPT}, ARRAY(SELECT run.id FROM run WHERE run.task_id = task.id)
FROM task WHERE finished_at IS NOT NULL ORDER BY finished_at LIMIT %s
"""  # noqa: S608  our own text


class OlderState(StrEnum):
    """Whether runs that PostgreSQL has forgotten are part of an answer. `none`: there is no ClickHouse to ask."""

    NONE = "none"
    INCLUDED = "included"
    AWAY = "away"


@dataclass(frozen=True, slots=True)
class RunsPage:
    """Runs, newest first, and how many there are in all. `note` is for people, empty unless `older` is away.

    While older history is away `total` counts what PostgreSQL holds.
    """

    runs: list[RunRecord]
    total: int
    older: OlderState
    note: str = ""


@dataclass(frozen=True, slots=True)
class _Boundary:
    """Of the runs finished by `until` PostgreSQL holds these only, the rest is forgotten; None: of any time."""

    until: datetime | None
    held: list[UUID]


def runs_page(
    *, schedule_id: UUID | None = None, state: str | None = None, offset: int = 0, limit: int = 50
) -> RunsPage:
    """A page of runs, newest first: by when they were asked for, attempt, id (I-58, I-68, I-101).

    Raises InvalidInput for a limit outside 1 to 500, an offset outside 0 to 10,000,000, a state that is none.
    """
    _check(state, offset, limit)
    runs = Run.objects.select_related("task").order_by("-queued_at", "-attempt", "-id")
    if schedule_id is not None:
        runs = runs.filter(task__schedule_id=schedule_id)
    if state is not None:
        runs = runs.filter(state=state)
    total = runs.count()
    address = settings.FLOWSCHED_CLICKHOUSE_URL
    if address is None or state in OPEN_RUN:
        return RunsPage(_slice(runs, offset, limit), total, OlderState.NONE)
    try:
        return _page_of_both(address, runs, total, schedule_id, state, offset=offset, limit=limit)
    except ClickHouseAway as error:
        return RunsPage(_slice(runs, offset, limit), total, OlderState.AWAY, f"{NOT_NOW}: {error.message}")


def run_by_id(run_id: UUID) -> RunRecord:
    """One run, wherever it is. NotFound if nobody has it; ClickHouseAway if nobody can say."""
    run = Run.objects.select_related("task").filter(id=run_id).first()
    if run is not None:
        return record_of(run)
    address: Address | None = settings.FLOWSCHED_CLICKHOUSE_URL
    found = None
    if address is not None:
        try:
            found = records_by_ids(address, [run_id]).get(run_id)
        except ClickHouseAway as error:
            raise ClickHouseAway(f"run {run_id} is not among the recent ones, and {NOT_NOW}: {error.message}") from None
    if found is None:
        raise NotFound(f"no run has the id {run_id}")
    return found


def _check(state: str | None, offset: int, limit: int) -> None:
    if not 1 <= limit <= MAX_LIMIT:
        raise InvalidInput(f"limit must be 1 to {MAX_LIMIT}", field="limit")
    if not 0 <= offset <= MAX_OFFSET:
        raise InvalidInput(f"offset must be 0 to {MAX_OFFSET}", field="offset")
    if state is not None and state not in set(RunState):
        raise InvalidInput(f"state must be one of {', '.join(RunState)}", field="state")


def _slice(runs: QuerySet[Run], offset: int, limit: int) -> list[RunRecord]:
    return [record_of(run) for run in runs[offset : offset + limit]]


def _page_of_both(
    address: Address,
    runs: QuerySet[Run],
    total: int,
    schedule_id: UUID | None,
    state: str | None,
    *,
    offset: int,
    limit: int,
) -> RunsPage:
    """What was queued after the boundary is PostgreSQL's alone and comes first; before it both are merged.

    PostgreSQL is read before the boundary is: what is forgotten in between is then known to both, and told once.
    """
    page = _slice(runs, offset, limit)
    boundary = _boundary()
    recent = 0 if boundary.until is None else runs.filter(queued_at__gt=boundary.until).count()
    older = Older(address, boundary.until, boundary.held, schedule_id, state)
    count = older.count()
    everything = RunsPage(page, total + count, OlderState.INCLUDED)
    if offset + limit <= recent or not count:
        return everything
    overlap = runs if boundary.until is None else runs.filter(queued_at__lte=boundary.until)
    near = _keys(overlap)
    first = page[: max(0, recent - offset)]
    keys = merged_page(near, older.keys, count, offset=max(0, offset - recent), limit=limit - len(first))
    return RunsPage([*first, *_records(address, keys)], everything.total, OlderState.INCLUDED)


def _keys(runs: QuerySet[Run]) -> list[Key]:
    rows = runs.values_list("queued_at", "attempt", "id")[: MAX_OVERLAP + 1]
    keys = [(queued_at, attempt, str(run_id)) for queued_at, attempt, run_id in rows]
    if len(keys) > MAX_OVERLAP:
        raise ClickHouseAway(f"more than {MAX_OVERLAP} runs were under way at its end")
    return keys


def _records(address: Address, keys: list[Key]) -> list[RunRecord]:
    ids = [UUID(key[2]) for key in keys]
    found = {run.id: record_of(run) for run in Run.objects.select_related("task").filter(id__in=ids)}
    found |= records_by_ids(address, [run_id for run_id in ids if run_id not in found])
    return [found[run_id] for run_id in ids if run_id in found]


def _boundary() -> _Boundary:
    """Retention goes by when tasks finished, oldest first: the oldest that it would not keep says how far it came."""
    for limit in (20, MAX_HELD):
        with connection.cursor() as cursor:
            cursor.execute(_OLDEST, [limit])
            rows = cursor.fetchall()
        until = next((finished_at for finished_at, kept, _runs in rows if not kept), None)
        held = [run_id for finished_at, _kept, ids in rows if until is None or finished_at <= until for run_id in ids]
        seen_all = len(rows) < limit or (until is not None and rows[-1][0] > until)
        if seen_all:
            return _Boundary(until, held)
    raise ClickHouseAway(f"more than {MAX_HELD} runs that are past their time still wait to be exported")
