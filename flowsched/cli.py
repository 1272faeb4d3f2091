"""What every command shares: exit codes, `--json`, tables, errors in one shape.

Exit codes: 0 done, 1 refused (the thing's state does not allow it, it is not there, the database is away), 2 wrong
usage (the words or values typed cannot be understood).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from django.db import DatabaseError, InterfaceError

from flowsched import db
from flowsched.errors import FlowschedError, InvalidInput

REFUSED = 1
WRONG_USAGE = 2


class FlowCommand(BaseCommand):
    """A command of ours: `run` does the work and returns its exit code (None is 0)."""

    def add_arguments(self, parser: CommandParser) -> None:
        """Add `--json`; subclasses add theirs and call this one for each (sub)parser."""
        parser.add_argument("--json", action="store_true", help="print JSON instead of a table")

    def run(self, **options: Any) -> int | None:
        """Do the work."""
        raise SystemExit(WRONG_USAGE)

    def handle(self, *_args: Any, **options: Any) -> None:
        """Call `run` and turn the error tree into messages and exit codes."""
        try:
            with db.translate():
                code = self.run(**options) or 0
        except FlowschedError as error:
            self._complain(error, as_json=options.get("json", False))
            code = WRONG_USAGE if isinstance(error, InvalidInput) else REFUSED
        except (DatabaseError, InterfaceError) as error:
            self.stderr.write(f"the database refused: {str(error).splitlines()[0]}. See manage.py localdb status.")
            code = REFUSED
        if code:
            sys.exit(code)

    def _complain(self, error: FlowschedError, *, as_json: bool) -> None:
        if as_json:
            body = {"error": {"kind": error.kind, "reason": error.reason, "message": error.message}}
            if isinstance(error, InvalidInput):
                body["error"]["fields"] = error.fields  # type: ignore[assignment]
            self.stderr.write(json.dumps(body))
        else:
            self.stderr.write(f"{error.kind.replace('_', ' ')}: {error.message}")

    def print_json(self, value: Any) -> None:
        """Print `value` as JSON, times as RFC 3339 UTC, ids as strings."""
        self.stdout.write(json.dumps(value, default=_plain, indent=2, ensure_ascii=False))

    def print_table(self, headers: Sequence[str], rows: Sequence[Sequence[Any]], *, empty: str) -> None:
        """Print aligned columns, or the sentence `empty` where there are no rows."""
        if not rows:
            self.stdout.write(empty)
            return
        cells = [[show(cell) for cell in row] for row in rows]
        widths = [max(len(line[i]) for line in [list(headers), *cells]) for i in range(len(headers))]
        for line in [[h.upper() if h.islower() else h for h in headers], *cells]:
            self.stdout.write("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())


def show(value: Any) -> str:
    """One cell of a table: times in UTC to the second, None as a dash, control characters made visible."""
    if value is None or value == "":
        return "-"
    if isinstance(value, datetime):
        return value.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%SZ")
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in str(value))


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    if isinstance(value, timedelta):
        return f"{value.total_seconds():g}s"
    return str(value)
