"""Asking ClickHouse for runs that PostgreSQL has forgotten, without a page waiting for a server that is away."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from tasks.history.clickhouse import ClickHouseAway, connect, told
from tasks.history.records import COLUMNS, RunRecord, record_from
from tasks.history.table import TABLE

if TYPE_CHECKING:
    from clickhouse_connect.driver.client import Client

    from flowsched.address import Address

READ_SECONDS: Final = 5
REMEMBER_SECONDS: Final = 5.0  # after a failure nobody asks again for so long, and everybody is told the same
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_NEWEST_FIRST = "ORDER BY queued_at DESC, attempt DESC, toString(run_id) DESC"

Key = tuple[datetime, int, str]  # RunRecord.order


class Reader:
    """One a process: threads share its client, and the knowledge that ClickHouse was away a moment ago."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._address: Address | None = None
        self._client: Client | None = None
        self._failed: ClickHouseAway | None = None
        self._failed_at = 0.0

    def ask(self, address: Address, sql: str, parameters: Mapping[str, object]) -> Sequence[Sequence[Any]]:
        """The rows of a query. Raises ClickHouseAway."""
        client = self._connected(address)
        try:
            with told(address):
                rows: Sequence[Sequence[Any]] = client.query(sql, parameters=dict(parameters)).result_rows
        except ClickHouseAway as error:
            self._remember(error)
            raise
        return rows

    def _connected(self, address: Address) -> Client:
        with self._lock:
            if address != self._address:
                self._address, self._client, self._failed = address, None, None
            if self._failed is not None and self._clock() - self._failed_at < REMEMBER_SECONDS:
                raise ClickHouseAway(self._failed.message)
            if self._client is None:
                try:
                    self._client = connect(address, seconds=READ_SECONDS)
                except ClickHouseAway as error:
                    self._failed, self._failed_at = error, self._clock()
                    raise
            return self._client

    def _remember(self, error: ClickHouseAway) -> None:
        with self._lock:
            self._client, self._failed, self._failed_at = None, error, self._clock()


reader = Reader()


@dataclass(frozen=True, slots=True)
class Older:
    """The runs that ClickHouse alone has: finished by `until`, and not among the `held`.

    Without `until` nothing that has finished is left in PostgreSQL but what is held.
    """

    address: Address
    until: datetime | None
    held: Sequence[UUID] = ()
    schedule_id: UUID | None = None
    state: str | None = None
    _where: tuple[str, dict[str, object]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        terms: dict[str, tuple[str, object]] = {
            "schedule": ("schedule_id = {schedule:UUID}", self.schedule_id),
            "state": ("state = {state:String}", self.state),
            "until": ("finished_at <= fromUnixTimestamp64Micro({until:Int64}, 'UTC')", _micros(self.until)),
            "held": ("NOT has({held:Array(UUID)}, run_id)", list(self.held) or None),
        }
        used = {name: term for name, term in terms.items() if term[1] is not None}
        text = " AND ".join(term for term, _value in used.values()) or "1"
        object.__setattr__(self, "_where", (text, {name: value for name, (_term, value) in used.items()}))

    def count(self) -> int:
        """How many."""
        where, values = self._where
        return int(reader.ask(self.address, f"SELECT count() FROM {TABLE} FINAL WHERE {where}", values)[0][0])  # noqa: S608

    def keys(self, offset: int, limit: int) -> list[Key]:
        """Their keys, newest first."""
        where, values = self._where
        sql = (
            f"SELECT queued_at, attempt, toString(run_id) FROM {TABLE} FINAL WHERE {where}"  # noqa: S608  our own text
            f" {_NEWEST_FIRST} LIMIT {limit:d} OFFSET {offset:d}"
        )
        return [(row[0], int(row[1]), str(row[2])) for row in reader.ask(self.address, sql, values)]


def records_by_ids(address: Address, ids: Sequence[UUID]) -> dict[UUID, RunRecord]:
    """The records with these ids, each in its newest version. Without FINAL, so that the index by run is used."""
    if not ids:
        return {}
    sql = (
        f"SELECT {', '.join(COLUMNS)} FROM {TABLE}"  # noqa: S608  our own text
        " WHERE run_id IN {ids:Array(UUID)} ORDER BY run_id, version DESC LIMIT 1 BY run_id"
    )
    records = [record_from(row) for row in reader.ask(address, sql, {"ids": list(ids)})]
    return {record.run_id: record for record in records}


def _micros(at: datetime | None) -> int | None:
    return None if at is None else (at - _EPOCH) // _MICROSECOND
