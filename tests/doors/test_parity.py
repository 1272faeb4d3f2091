"""The same call through either door leaves the same rows: one table of calls (calls.py), driven through both.

After each call every table of ours is read, made comparable (normal.py) and kept; then the tables are emptied and the
same calls go through the other door. Racks and callers are the same both times.
"""

from __future__ import annotations

import uuid
from datetime import datetime

import grpc
import pytest
from django.db import connection

from inventory.models import NVLDomain
from tests.doors import calls, stock
from tests.doors.normal import Times, differences, dump
from tests.doors.world import make_racks, rack_id, truncate
from tests.faults.harness import database_clock

pytestmark = pytest.mark.process
RACKS = 5
DOMAIN = uuid.UUID("dddddddd-0000-4000-8000-000000000001")
TABLES = {
    "schedules": calls.SCHEDULES,
    "scopes": calls.SCOPES,
    "firing": calls.FIRING,
    "direct": calls.DIRECT,
    "inventory": stock.INVENTORY,
}
MADE = "2026-01-01T00:00:00Z"


def start(doors, people):
    """Emptied tables with the same racks, two of them in a domain, and the same clock readings in them."""
    truncate()
    make_racks(*range(1, RACKS + 1))
    NVLDomain.objects.create(id=DOMAIN, name="domain", created_at=MADE)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE rack SET created_at = %s, updated_at = %s", [MADE, MADE])
        cursor.execute("UPDATE component SET created_at = %s, updated_at = %s", [MADE, MADE])
        cursor.execute("UPDATE rack SET nvldomain_id = %s WHERE id = ANY(%s)", [DOMAIN, [rack_id(4), rack_id(5)]])
        cursor.execute("TRUNCATE audit_entry RESTART IDENTITY")


def drive(door, table):
    """The tables after each call, made through `door`."""
    windows: list[tuple[datetime, datetime]] = []
    times, found = Times(windows), []
    for call in table:
        begin = database_clock()
        door(call)
        windows.append((begin, database_clock()))
        times.windows = windows
        found.append(dump(times))
    return found


def through_rest(doors, people):
    def make(call):
        method, path, body = call.rest
        answer = doors.rest(people[call.by])(method, calls.path_of(path), calls.filled(body))
        expected = calls.KINDS[call.kind][0]
        assert answer.status == expected if expected else answer.status < 400, (call.name, answer.status, answer.body)

    return make


def through_grpc(doors, people):
    def make(call):
        rpc, fields = call.grpc
        try:
            doors.grpc(people[call.by]).call(rpc, **calls.filled(fields))
            code, said = grpc.StatusCode.OK, ""
        except grpc.RpcError as error:
            code, said = error.code(), error.details()
        assert code.name == calls.KINDS[call.kind][1], (call.name, code, said)

    return make


@pytest.mark.parametrize("table", TABLES)
def test_the_same_call_leaves_the_same_rows(doors, people, table):
    """Both doors, call by call: schedules, scopes, firings, tasks, jobs, racks, and who did what."""
    rows = TABLES[table]
    start(doors, people)
    rest = drive(through_rest(doors, people), rows)
    start(doors, people)
    wire = drive(through_grpc(doors, people), rows)
    for call, mine, theirs in zip(rows, rest, wire, strict=True):
        assert differences(mine, theirs) == [], f"after: {call.name}"


def test_the_comparison_sees_a_difference(doors, people):
    """A door that wrote another column, another row or another time would be found out."""
    start(doors, people)
    [left] = drive(through_rest(doors, people), calls.SCHEDULES[:1])
    start(doors, people)
    other = calls.create("hourly", ("interval", "2h"), calls.RESET, calls.racks(1, types=["compute", "powershelf"]))
    [right] = drive(through_grpc(doors, people), [other])
    text = " ".join(differences(left, right))
    for column in ("task_schedule[0].spec", "task_schedule[0].next_run_at", "task_schedule_scope[0].component_filter"):
        assert column in text
    assert "audit_entry[0].after" in text
    assert "audit_entry[0].door" not in text
