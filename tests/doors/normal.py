"""Two databases' rows made comparable: ids named by the order they appear in, times said by the call they came from.

What is masked is what differs by nature: through which door, under which request id, whose lease it was.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import connection

# table -> an order that does not hang on random ids
ORDERS = {
    "nvl_domain": "name",
    "rack": "name",
    "component": "serial_number",
    "bmc": "mac_address",
    "task_schedule": "name",
    "task_schedule_scope": "(SELECT name FROM task_schedule s WHERE s.id = t.schedule_id), position",
    "firing": "id",
    "firing_scope": "firing_id, position",
    "task": "created_at, rack_name, code",
    "run": "started_at",
    "hold": "id",
    "procrastinate_jobs": "id",
    "audit_entry": "id",
}
MASKED = {
    "firing": {"lease_owner", "lease_token", "lease_until"},
    "audit_entry": {"door", "request_id"},
}
_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_PREFIX = re.compile(r"\b(?:rack|component)\.(?=[a-z])")  # the wire names what REST has as its whole body
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)")
STEP = 600  # seconds: what a schedule adds to a call's time is a multiple of this
NEAR = timedelta(seconds=STEP / 2)


class Times:
    """Says of an instant which call it is of, and how many steps later."""

    def __init__(self, windows: Sequence[tuple[datetime, datetime]]) -> None:
        self.windows = list(windows)

    def said(self, instant: datetime) -> str:
        """`call 3`, `call 3 +3600 s`; a whole second is of nobody's clock: as it is, or `now` where it is cut off."""
        start = self.windows[0][0]
        if not instant.microsecond:
            return "now" if abs(instant - start) < NEAR else instant.isoformat()
        steps = round((instant - start).total_seconds() / STEP)
        of = instant - timedelta(seconds=steps * STEP)
        for number, (begin, end) in enumerate(self.windows):
            if begin <= of <= end:
                return f"call {number}" + (f" +{steps * STEP} s" if steps else "")
        return f"between calls +{steps * STEP} s"


def dump(times: Times) -> dict[str, list[dict[str, Any]]]:
    """Our tables' rows, comparable."""
    found = {}
    with connection.cursor() as cursor:
        for table, order in ORDERS.items():
            cursor.execute(f"SELECT t.* FROM {table} t ORDER BY {order}")
            columns = [column.name for column in cursor.description]
            masked = MASKED.get(table, set())
            rows = [dict(zip(columns, row, strict=True)) for row in cursor.fetchall()]
            found[table] = [
                {name: _plain(value, times) for name, value in row.items() if name not in masked | _unsaid(row)}
                for row in rows
            ]
    return json.loads(_named(_PREFIX.sub("", json.dumps(found))))


def _unsaid(row: dict[str, Any]) -> set[str]:
    """REST detaches racks from a domain that it names, the wire from whichever they are in."""
    return {"object_id", "object_name"} if row.get("verb") == "nvl_domain.detach" else set()


def _plain(value: Any, times: Times) -> Any:
    if isinstance(value, datetime):
        return times.said(value)
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, int | float | None):
        return value
    return _TIME.sub(lambda match: times.said(_instant(match[0])), value if isinstance(value, str) else str(value))


def _instant(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


def _named(text: str) -> str:
    names: dict[str, str] = {}
    return _ID.sub(lambda match: names.setdefault(match[0], f"id-{len(names)}"), text)


def differences(one: dict[str, list[dict[str, Any]]], other: dict[str, list[dict[str, Any]]]) -> list[str]:
    """Where the two differ, for a person to read."""
    found = []
    for table, rows in one.items():
        others = other[table]
        if len(rows) != len(others):
            found.append(f"{table}: {len(rows)} rows and {len(others)}: {rows} and {others}")
            continue
        for index, (mine, theirs) in enumerate(zip(rows, others, strict=True)):
            found += [
                f"{table}[{index}].{column}: {mine[column]!r} and {theirs[column]!r}"
                for column in mine
                if mine[column] != theirs[column]
            ]
    return found
