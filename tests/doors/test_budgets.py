"""How many statements a call takes at each door, who calls included: counted in the servers' own threads."""

from __future__ import annotations

import threading
from contextlib import contextmanager

import pytest
from django.db.backends.utils import CursorWrapper

from inventory.models import Component, Rack
from rpc.methods import METHODS
from tests.doors.calls import RESET, create
from tests.doors.wireclient import Client, Wire
from tests.factories import ComponentFactory, RackFactory
from tests.rpc.harness import running

LIST_BUDGET = 4
TRANSACTION_CONTROL = ("BEGIN", "COMMIT", "SAVEPOINT", "RELEASE", "ROLLBACK")


@pytest.fixture
def both(people, web):
    """A call through each door: `both("rest", method, path, body)`, `both("grpc", rpc, fields)`."""
    rest = web(people["superuser"])
    with running(METHODS) as server, server.client() as client:
        wire = Client(client.channel, people["superuser"], Wire())

        def call(door, *words):
            return rest.ok(*words) if door == "rest" else wire.call(words[0], **words[1])

        call("rest", "GET", "me/")  # connected, and the token's use noted for this minute
        call("grpc", "Version", {})
        yield call


@pytest.fixture
def counted(monkeypatch):
    """`with counted() as statements:` collects those that other threads send, transaction control left out."""
    found = []
    real = {name: getattr(CursorWrapper, name) for name in ("_execute", "_executemany")}

    def noting(name):
        def run(self, sql, *more):
            if threading.current_thread() is not threading.main_thread():
                found.append(str(sql))
            return real[name](self, sql, *more)

        return run

    for name in real:
        monkeypatch.setattr(CursorWrapper, name, noting(name))

    @contextmanager
    def count():
        found.clear()
        statements = []
        yield statements
        statements += [sql for sql in found if not sql.lstrip().startswith(TRANSACTION_CONTROL)]

    return count


def racks(count):
    made = Rack.objects.bulk_create(RackFactory.build_batch(count))
    Component.objects.bulk_create(ComponentFactory.build(rack=rack) for rack in made)
    return {"racks": [{"id": str(rack.id)} for rack in made]}


@pytest.mark.parametrize("door", ["rest", "grpc"])
def test_a_list_of_a_hundred_takes_four_statements_at_most(both, counted, door):
    """All of them, those of a rack, and a page of ten."""
    target = racks(2)
    for number in range(100):
        both("grpc", *create(f"s{number}", ("interval", "1h"), RESET, target).grpc)
    rack = target["racks"][0]["id"]
    lists = {
        "rest": [
            ("GET", "schedules/?limit=100"),
            ("GET", f"schedules/?limit=100&rack_id={rack}&enabled=true"),
            ("GET", "schedules/?limit=10"),
        ],
        "grpc": [
            ("ListTaskSchedules", {}),
            ("ListTaskSchedules", {"rack_id": {"id": rack}, "enabled_only": True, "pagination": {"limit": 100}}),
            ("ListTaskSchedules", {"pagination": {"limit": 10}}),
        ],
    }[door]
    for words in lists:
        with counted() as statements:
            answer = both(door, *words)
        shown = answer["task_schedules"] if door == "rest" else answer.task_schedules
        assert len(shown) == (10 if "10}" in str(words) or "=10'" in str(words) else 100)
        assert len(statements) <= LIST_BUDGET, statements
        assert statements, "nothing was counted"


@pytest.mark.parametrize("door", ["rest", "grpc"])
def test_a_trigger_does_not_grow_with_its_racks(both, counted, door):
    """A chunk holds 250 racks: 200 take as many statements as 100."""
    counts = {}
    for count in (100, 200):
        made = both("grpc", *create(f"s{count}", ("interval", "1h"), RESET, racks(count)).grpc)
        with counted() as statements:
            if door == "rest":
                answer = both("rest", "POST", f"schedules/{made.id.id}/trigger/")["task_ids"]
            else:
                answer = both("grpc", "TriggerTaskSchedule", {"id": made.id}).task_ids
        assert len(answer) == count
        counts[count] = len(statements)
    assert counts[100] == counts[200]
    assert counts[200] <= 30


@pytest.mark.parametrize("door", ["rest", "grpc"])
def test_a_direct_operation_does_not_grow_with_its_racks(both, counted, door):
    """The same of an operation run at once."""
    counts = {}
    for count in (100, 200):
        target = racks(count)
        wire = {"racks": {"targets": [{"id": rack} for rack in target["racks"]]}}
        with counted() as statements:
            if door == "rest":
                both("rest", "POST", "tasks/", {"operation": RESET, "target_spec": target})
            else:
                both("grpc", "PowerResetRack", {"target_spec": wire, "forced": True})
        counts[count] = len(statements)
    assert counts[100] == counts[200]
    assert counts[200] <= 30
