"""`manage.py clickhouse_init`: make the table that run history is written to."""

from __future__ import annotations

from typing import Any

from flowsched.cli import FlowCommand
from tasks.history.clickhouse import configured, connect
from tasks.history.outbox import INSERT_SECONDS
from tasks.history.table import TABLE, table_init


class Command(FlowCommand):
    """May be repeated: what is there is left alone."""

    help = "Make ClickHouse's table scheduler_runs, or what it lacks. May be repeated."

    def run(self, **options: Any) -> int | None:
        """Make it, and say what was made."""
        address = configured()
        client = connect(address, seconds=INSERT_SECONDS, database=False)
        made = table_init(client, address)
        if options["json"]:
            self.print_json(
                {"database": made.database, "table": made.table, "columns": made.columns, "address": str(address)}
            )
            return None
        if made.database:
            self.stdout.write(f"database {address.database}: created")
        what = "created" if made.table else "is there"
        added = f", columns added: {', '.join(made.columns)}" if made.columns else ""
        self.stdout.write(f"table {TABLE} at {address}: {what}{added}")
        return None
