"""From PostgreSQL's outbox to ClickHouse: at least once, in batches, by one process at a time (D-27).

A run's row in the outbox was written by the statement that ended the run. It is deleted when ClickHouse has
acknowledged the run, and not before; who dies in between sends it again, as the same version, and the final view has
it once. Nothing else waits for this: with ClickHouse away the outbox grows, and retention leaves alone what is in it.
"""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final
from uuid import UUID

from django.db import connection

from flowsched.faults import fault
from tasks.history.clickhouse import ClickHouseAway, configured, connect, told
from tasks.history.records import record_of, row_of
from tasks.history.table import TABLE, WRITTEN
from tasks.models import RunExport

if TYPE_CHECKING:
    from clickhouse_connect.driver.client import Client

    from flowsched.address import Address

logger = logging.getLogger(__name__)

BATCH: Final = 1000
ROUNDS: Final = 100  # batches before others get a turn
FILL: Final = 5000  # runs a statement
INSERT_SECONDS: Final = 60
FIRST_PAUSE: Final = 5.0  # seconds after a failure; doubled up to
LONGEST_PAUSE: Final = 300.0
ALONE: Final = 5_620_270_001  # the advisory lock of whoever exports
_MICROSECOND = timedelta(microseconds=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_FILL = """
WITH page AS (SELECT id FROM run WHERE id > %s AND finished_at IS NOT NULL ORDER BY id LIMIT %s),
filled AS (INSERT INTO run_export (run_id, written_at) SELECT id, clock_timestamp() FROM page RETURNING run_id)
SELECT count(*), (SELECT id FROM page ORDER BY id DESC LIMIT 1) FROM filled
"""


class Exporter:
    """One process's part in it, as a chore: `run_once` sends what waits, or nothing while ClickHouse is away."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._client: Client | None = None
        self._failures = 0
        self._not_before = 0.0

    def run_once(self) -> int:
        """Send what waits, unless another process is at it or ClickHouse failed a moment ago; how many were sent.

        An outage is told once, and once that it is over.
        """
        if self._failures and self._clock() < self._not_before:
            return 0
        try:
            sent = self.send()
        except ClickHouseAway as error:
            self._failed(error)
            return 0
        if self._failures and sent:
            logger.info("history: ClickHouse is back, %d runs exported", sent)
            self._failures = 0
        return sent

    def send(self) -> int:
        """Send what waits, at most ROUNDS batches; 0 also when another process is at it. Raises ClickHouseAway."""
        if not RunExport.objects.exists():
            return 0
        with alone() as mine:
            return self._send() if mine else 0

    def _send(self) -> int:
        address = configured()
        total = 0
        try:
            self._client = self._client or connect(address, seconds=INSERT_SECONDS)
            for _round in range(ROUNDS):
                sent = outbox_send(self._client, address)
                total += sent
                if sent < BATCH:
                    break
        except ClickHouseAway:
            self._client = None
            raise
        return total

    def _failed(self, error: ClickHouseAway) -> None:
        if not self._failures:
            waiting = RunExport.objects.count()
            logger.warning("history: %s. %d runs wait in PostgreSQL, nothing is lost; trying again", error, waiting)
        pause = min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(self._failures, 10))
        self._failures += 1
        self._not_before = self._clock() + pause * random.uniform(0.5, 1.0)  # noqa: S311 - jitter


def outbox_send(client: Client, address: Address, *, limit: int = BATCH) -> int:
    """Send the oldest `limit` rows and, once they are acknowledged, delete them; how many. Raises ClickHouseAway."""
    rows = list(RunExport.objects.select_related("run__task").order_by("id")[:limit])
    if not rows:
        return 0
    data = [[*row_of(record_of(row.run)), (row.written_at - _EPOCH) // _MICROSECOND] for row in rows]
    fault("export.before_insert")
    with told(address):
        # Acknowledged means stored: a server that gathers inserts by default must not do so with these.
        client.insert(TABLE, data, column_names=WRITTEN, settings={"async_insert": 0})
    fault("export.after_insert")
    RunExport.objects.filter(id__in=[row.id for row in rows]).delete()
    return len(rows)


def outbox_fill() -> int:
    """Put every finished run that PostgreSQL holds into the outbox, those exported before too; how many.

    For the runs of before ClickHouse was configured, and for a ClickHouse that lost its table.
    """
    total, after = 0, UUID(int=0)
    with connection.cursor() as cursor:
        while True:
            cursor.execute(_FILL, [after, FILL])
            filled, last = cursor.fetchone()
            total += filled
            if filled < FILL:
                return int(total)
            after = last


def outbox_state() -> tuple[int, datetime | None]:
    """How many rows wait, and since when the first does."""
    first = RunExport.objects.order_by("id").values_list("written_at", flat=True).first()
    return RunExport.objects.count(), first


@contextmanager
def alone() -> Iterator[bool]:
    """Whether nobody else exports, for the time of the block: by a lock that goes with this session, however it ends.

    No transaction is open meanwhile: it would not be allowed to be idle for as long as ClickHouse may take.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s)", [ALONE])
        mine = bool(cursor.fetchone()[0])
    try:
        yield mine
    finally:
        if mine and connection.connection is not None and not connection.connection.closed:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(%s)", [ALONE])
