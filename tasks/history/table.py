"""The table `scheduler_runs`: what `clickhouse_init` makes, and what is written to and read from.

A row is a run as it was when it was written; the one with the highest version counts, and FINAL shows that one alone.
Merges only compare rows of one partition and one key, so both are made of what a run never changes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from flowsched.errors import PreconditionFailed
from tasks.history.clickhouse import told
from tasks.history.records import COLUMNS

if TYPE_CHECKING:
    from clickhouse_connect.driver.client import Client

    from flowsched.address import Address

TABLE = "scheduler_runs"
_TIME = "DateTime64(6, 'UTC')"
_WORD = "LowCardinality(String)"
# Of ClickHouse's types the wide ones: no run may be one that the table cannot take.
_UUIDS = ("run_id", "task_id", "schedule_id")
_TIMES = ("fired_at", "queued_at", "started_at", "finished_at")
_NUMBERS = ("duration_ms", "attempt", "progress_done", "progress_total", "http_status")
_WORDS = (
    *("operation_type", "operation_code", "executor", "state"),
    *("identity_kind", "endpoint", "target_kind", "error_type"),
)
_TYPES = {
    **dict.fromkeys(_UUIDS, "UUID"),
    "rack_id": "Nullable(UUID)",
    **dict.fromkeys(_TIMES, _TIME),
    **dict.fromkeys(_NUMBERS, "Int64"),
    **dict.fromkeys(_WORDS, _WORD),
}
WRITTEN = (*COLUMNS, "version")
DEFINITIONS = {name: _TYPES.get(name, "String") for name in COLUMNS} | {"version": "UInt64"}
ENGINE = "ReplacingMergeTree"
# A run by its id is found by the index, since the key begins with the schedule.
_BY_RUN = "INDEX by_run run_id TYPE bloom_filter(0.01) GRANULARITY 1"
_CREATE = f"""
CREATE TABLE IF NOT EXISTS {TABLE} (
    {", ".join(f"{name} {type_}" for name, type_ in DEFINITIONS.items())},
    {_BY_RUN}
) ENGINE = {ENGINE}(version)
PARTITION BY toYYYYMM(queued_at)
ORDER BY (schedule_id, queued_at, run_id)
"""


@dataclass(frozen=True, slots=True)
class Made:
    """What `table_init` found missing and made."""

    database: bool
    table: bool
    columns: list[str]


def table_init(client: Client, address: Address) -> Made:
    """Make the database, the table or the columns that are missing; what is there is left alone.

    `client` is connected to no database of its own. A table of that name with another engine is refused
    (PreconditionFailed): doubles would stay in it. One that replicates, or is shared, is welcome.
    """
    with told(address):
        found = client.query("SELECT name FROM system.databases WHERE name = {d:String}", {"d": address.database})
        no_database = not found.result_rows
        if no_database:
            client.command(f"CREATE DATABASE IF NOT EXISTS {address.database}")
        client.database = address.database
        engine = _engine(client, address)
        if not engine:
            client.command(_CREATE)
            return Made(database=no_database, table=True, columns=[])
        if not engine.endswith(ENGINE):
            raise PreconditionFailed(
                f"{address.database}.{TABLE} is there with the engine {engine}, in which a run that is written twice "
                f"stays twice: move it away, or make it a {ENGINE} by version",
                reason="OTHER_TABLE",
            )
        return Made(database=False, table=False, columns=_add_columns(client, address))


def _engine(client: Client, address: Address) -> str:
    rows = client.query(
        "SELECT engine FROM system.tables WHERE database = {d:String} AND name = {t:String}",
        {"d": address.database, "t": TABLE},
    ).result_rows
    return str(rows[0][0]) if rows else ""


def _add_columns(client: Client, address: Address) -> list[str]:
    rows = client.query(
        "SELECT name FROM system.columns WHERE database = {d:String} AND table = {t:String}",
        {"d": address.database, "t": TABLE},
    ).result_rows
    there = {row[0] for row in rows}
    missing = [name for name in DEFINITIONS if name not in there]
    for name in missing:
        client.command(f"ALTER TABLE {TABLE} ADD COLUMN IF NOT EXISTS {name} {DEFINITIONS[name]}")
    return missing
