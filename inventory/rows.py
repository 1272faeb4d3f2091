"""The import's SQL: arrays in, rows out, COPY for what is new.

One statement a question for any number of racks. The ORM would build an object a row and a placeholder a value, which
is most of the time of a large import.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection

from inventory.document import ComponentDocument, RackDocument

COMPONENT_COLUMNS = (
    "rack_id", "type", "name", "manufacturer", "model", "serial_number", "description", "external_id",
    "slot_id", "tray_index", "host_id", "deleted_at", "firmware_version",
)  # fmt: skip


class Clash(NamedTuple):
    """A value that `own` claims and another row holds."""

    own: UUID
    what: str
    holder_id: UUID
    holder_name: str
    removed: bool


class BmcRow(NamedTuple):
    """A stored BMC with its component."""

    mac_address: str
    component_id: UUID
    type: str
    ip_address: str | None
    component_name: str
    component_removed: bool


def _fetch(sql: str, parameters: Sequence[Any]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        return list(cursor.fetchall())


_RACK_CLASHES = """
WITH want AS (SELECT * FROM unnest(%s::uuid[], %s::text[], %s::text[], %s::text[], %s::text[])
                       AS want (id, name, manufacturer, serial_number, external_id))
SELECT want.id, 'name', held.id, held.name, held.deleted_at IS NOT NULL
  FROM want JOIN rack held ON held.name = want.name AND held.id <> want.id
UNION ALL
SELECT want.id, 'serial number', held.id, held.name, held.deleted_at IS NOT NULL
  FROM want JOIN rack held ON held.manufacturer = want.manufacturer AND held.serial_number = want.serial_number
                          AND held.id <> want.id
UNION ALL
SELECT want.id, 'external id', held.id, held.name, held.deleted_at IS NOT NULL
  FROM want JOIN rack held ON held.external_id = want.external_id AND held.id <> want.id
"""


def rack_clashes(racks: Sequence[RackDocument]) -> list[Clash]:
    """Names, serial numbers and external ids of `racks` that racks of other ids hold, removed ones included."""
    columns = [
        [rack.id for rack in racks],
        [rack.name for rack in racks],
        [rack.manufacturer for rack in racks],
        [rack.serial_number for rack in racks],
        [_text(rack.external_id) for rack in racks],
    ]
    return [Clash(*row) for row in _fetch(_RACK_CLASHES, columns)]


_COMPONENT_CLASHES = """
WITH want AS (SELECT * FROM unnest(%s::uuid[], %s::text[], %s::text[], %s::text[], %s::text[])
                       AS want (id, type, manufacturer, serial_number, external_id))
SELECT want.id, 'serial number', held.id, held.name, held.deleted_at IS NOT NULL
  FROM want JOIN component held ON held.manufacturer = want.manufacturer AND held.serial_number = want.serial_number
                               AND held.id <> want.id
UNION ALL
SELECT want.id, 'external id', held.id, held.name, held.deleted_at IS NOT NULL
  FROM want JOIN component held ON held.type = want.type AND held.external_id = want.external_id
                               AND held.id <> want.id
"""


def component_clashes(components: Sequence[ComponentDocument]) -> list[Clash]:
    """Serial numbers and external ids of `components` that components of other ids hold, removed ones included."""
    columns = [
        [component.id for component in components],
        [component.type for component in components],
        [component.manufacturer for component in components],
        [component.serial_number for component in components],
        [_text(component.external_id) for component in components],
    ]
    return [Clash(*row) for row in _fetch(_COMPONENT_CLASHES, columns)]


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def components_now(ids: Sequence[UUID], racks: Sequence[UUID]) -> dict[UUID, dict[str, Any]]:
    """Components with these ids, removed ones included, and all live ones in these racks: columns and `rack_name`."""
    sql = f"""
SELECT c.id, r.name, {", ".join(f"c.{column}" for column in COMPONENT_COLUMNS)}
  FROM component c LEFT JOIN rack r ON r.id = c.rack_id
 WHERE c.id = ANY(%s::uuid[]) OR (c.rack_id = ANY(%s::uuid[]) AND c.deleted_at IS NULL)
"""  # noqa: S608  column names of ours
    names = ("id", "rack_name", *COMPONENT_COLUMNS)
    return {row[0]: dict(zip(names, row, strict=True)) for row in _fetch(sql, [ids, racks])}


_BMCS = """
SELECT b.mac_address, b.component_id, b.type, host(b.ip_address), c.name, c.deleted_at IS NOT NULL
  FROM bmc b JOIN component c ON c.id = b.component_id
 WHERE b.component_id = ANY(%s::uuid[]) OR b.mac_address = ANY(%s::text[])
"""


def bmcs_now(components: Sequence[UUID], macs: Sequence[str]) -> dict[str, BmcRow]:
    """BMCs of these components and those with these MAC addresses, by MAC address."""
    return {row[0]: BmcRow(*row) for row in _fetch(_BMCS, [components, macs])}


_COMPONENT_TYPES = {
    "id": "uuid", "rack_id": "uuid", "slot_id": "int", "tray_index": "int", "host_id": "int",
    "deleted_at": "timestamptz", "updated_at": "timestamptz",
}  # fmt: skip


def components_update(columns: Sequence[str], changed: Sequence[dict[str, Any]]) -> None:
    """Set `columns` of these components; the others keep what they hold when this runs."""
    arrays = ", ".join(f"%s::{_COMPONENT_TYPES.get(column, 'text')}[]" for column in ("id", *columns))
    sql = f"""
UPDATE component SET {", ".join(f"{column} = new.{column}" for column in columns)}
  FROM unnest({arrays}) AS new (id, {", ".join(columns)})
 WHERE component.id = new.id
"""  # noqa: S608  column names of ours
    with connection.cursor() as cursor:
        cursor.execute(sql, [[row[column] for row in changed] for column in ("id", *columns)])


def copy_in(table: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Insert new rows with COPY. A row that breaks a constraint raises IntegrityError, as an INSERT would."""
    sql = f"COPY {table} ({', '.join(columns)}) FROM STDIN"
    with connection.wrap_database_errors, connection.cursor() as cursor, cursor.copy(sql) as copy:
        for row in rows:
            copy.write_row(row)
