"""The table of errors holds at both doors: each kind provoked once, its statuses, no word of SQL."""

from __future__ import annotations

from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import grpc
import psycopg
import pytest
from django.db import connection

from flowsched import db
from tests.doors import calls
from tests.doors.calls import Call, create, racks, uid
from tests.doors.statuses import details_of
from tests.doors.world import fingerprint, make_racks
from tests.faults.harness import DOORS, query, wait_for

pytestmark = pytest.mark.process
NEVER_SAID = ("SELECT", "UPDATE", "INSERT", "psycopg", "Traceback", "task_schedule", "canary", "django", 'File "')


@contextmanager
def held():
    """Another session holds the schedule's row."""
    with db.separate_session() as other:
        other.autocommit = False
        assert other.execute("SELECT 1 FROM task_schedule FOR UPDATE").fetchall()
        yield
        other.rollback()


@contextmanager
def broken():
    """The database refuses a write in words of its own, of a kind that nobody expects."""
    with connection.cursor() as cursor:
        cursor.execute(
            "CREATE FUNCTION canary() RETURNS trigger LANGUAGE plpgsql AS"
            " $$BEGIN RAISE EXCEPTION 'canary: SELECT secret FROM task_schedule'; END$$"
        )
        cursor.execute("CREATE TRIGGER canary BEFORE UPDATE ON task_schedule FOR EACH ROW EXECUTE FUNCTION canary()")
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute("DROP FUNCTION canary CASCADE")


@contextmanager
def away():
    """The database lets nobody in any more, and has thrown out who was."""
    name = connection.settings_dict["NAME"]
    parameters = connection.get_connection_params()
    for key in ("cursor_factory", "context"):
        parameters.pop(key, None)
    theirs = "FROM pg_stat_activity WHERE datname = current_database() AND application_name = %s"
    with psycopg.connect(**parameters | {"dbname": "postgres"}, autocommit=True) as admin:
        admin.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS false')
        try:
            query(f"SELECT pg_terminate_backend(pid) {theirs}", DOORS)
            wait_for(lambda: not query(f"SELECT 1 {theirs}", DOORS), 10, "the doors' sessions have ended")
            yield
        finally:
            admin.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS true')


@dataclass(frozen=True)
class Case:
    """A call that ends in its `kind` of error: under which circumstances, and which words the answer must have."""

    call: Call
    words: tuple[str, ...]
    around: Any = nullcontext
    fields: tuple[str, str] | None = None  # the field at fault: in the body, in the message
    reason: str = ""
    token: str | None = field(default=None)


PAUSE = calls.verb("mine", "pause", kind="busy")
GET = Call("get", ("GET", "schedules/{$schedule mine}/", None), ("GetTaskSchedule", {"id": uid("$schedule mine")}))
UNKNOWN = Call(
    "get", ("GET", f"schedules/{calls.NOBODY}/", None), ("GetTaskSchedule", {"id": uid(calls.NOBODY)}), "not_found"
)
LARGE = create("x" * (5 << 20), ("interval", "1h"), calls.RESET, racks(1), kind="too_large")


def of_kind(call: Call, kind: str) -> Call:
    return Call(call.name, call.rest, call.grpc, kind, call.by)


CASES = {
    "bad spec": Case(
        create("new", ("cron", "0 0 30 2 *"), calls.RESET, racks(1), kind="invalid_input"),
        ("never occurs",),
        fields=("spec.spec", "schedule.spec.spec"),
    ),
    "no such rack": Case(create("new", ("interval", "1h"), calls.RESET, racks(77), kind="not_found"), ("rack-77",)),
    "no such schedule": Case(UNKNOWN, (calls.NOBODY,)),
    "name taken": Case(
        create("mine", ("interval", "1h"), calls.RESET, racks(1), kind="already_exists"), ("mine",), reason="NAME_TAKEN"
    ),
    "renamed to a taken name": Case(
        calls.change("mine", {"name": "other"}, kind="name_taken"), ("other",), reason="NAME_TAKEN"
    ),
    "last scope": Case(
        calls.remove("mine", "rack-1", kind="precondition_failed"), ("delete the schedule",), reason="LAST_SCOPE"
    ),
    "not allowed": Case(
        calls.verb("mine", "pause", kind="permission_denied", by="viewer"), ("schedules.change_taskschedule",)
    ),
    "nobody": Case(of_kind(GET, "unauthenticated"), ("token",), token=""),
    "unknown token": Case(of_kind(GET, "unauthenticated"), ("token create",), token="fs_" + "a" * 60),
    "locked row": Case(PAUSE, ("try again",), around=held),
    "too large": Case(LARGE, ()),
    "database away": Case(of_kind(GET, "unavailable"), ("database", "try again"), around=away),
    "a fault": Case(of_kind(PAUSE, "internal"), ("request id",), around=broken),
}


@pytest.fixture
def standing(doors, people):
    """Two schedules on one rack."""
    client = doors.grpc(people["superuser"])
    make_racks(1)
    for name in ("mine", "other"):
        rpc, fields = create(name, ("interval", "1h"), calls.RESET, racks(1)).grpc
        client.call(rpc, **fields)
    return people


@pytest.mark.parametrize("name", CASES)
def test_rest_answers_each_kind_of_error(doors, standing, name):
    """The HTTP column of design.md's table; a problem with a request id, nothing of ours, and nothing changed."""
    case = CASES[name]
    method, path, body = case.call.rest
    path, body = calls.path_of(path), calls.filled(body)
    doors.fault_expected = case.call.kind == "internal"
    client = doors.rest(standing[case.call.by] if case.token is None else case.token)
    before = fingerprint()
    with case.around():
        answer = client(method, path, body, headers={"X-Request-ID": "request-77"})
    assert answer.status == calls.KINDS[case.call.kind][0], answer.body
    kind = {"name_taken": "already_exists"}.get(case.call.kind, case.call.kind)
    assert answer.body["type"] == f"urn:flowsched:problem:{kind}"
    assert answer.body["request_id"] == answer.headers["X-Request-ID"] == "request-77"
    said(case, answer.raw.decode(), answer.body["detail"])
    if case.fields:
        assert answer.fields == [case.fields[0]]
    assert answer.body["reason"] == case.reason or not case.reason
    assert ("Retry-After" in answer.headers) == (answer.status in {429, 503})
    assert answer.status != 401 or answer.headers["WWW-Authenticate"] == "Bearer"
    assert fingerprint() == before
    assert not doors.fault_expected or "request request-77 failed" in doors.log.read_text()


@pytest.mark.parametrize("name", CASES)
def test_grpc_answers_each_kind_of_error(doors, standing, name):
    """The gRPC column: the code, details that a program can read, nothing of ours, and nothing changed."""
    case = CASES[name]
    rpc, fields = case.call.grpc
    fields = calls.filled(fields)
    doors.fault_expected = case.call.kind == "internal"
    client = doors.grpc(standing[case.call.by] if case.token is None else case.token)
    before = fingerprint()
    with case.around(), pytest.raises(grpc.RpcError) as caught:
        client.call(rpc, **fields)
    error = caught.value
    assert error.code().name == calls.KINDS[case.call.kind][1], error.details()
    details = details_of(error)
    said(case, f"{error.details()} {details.infos} {details.violations}", error.details())
    if case.fields:
        assert list(details.violations) == [case.fields[1]]
    if case.reason:
        assert details.reasons == [case.reason]
    assert fingerprint() == before
    if case.call.kind == "internal":
        [info] = details.infos
        assert f"request {info.metadata['request_id']} failed" in doors.log.read_text()


def said(case, everything, sentence):
    """What must be in the answer, and what must not."""
    for word in case.words:
        assert word in sentence, sentence
    for word in NEVER_SAID:
        if word not in "".join(case.words):
            assert word not in everything, everything


def test_too_many_requests_are_told_when_to_come_again(people, web, settings):
    """429 with Retry-After, for each caller alone."""
    settings.FLOWSCHED_API_REQUESTS_PER_MINUTE = 3
    viewer, planner = web(people["viewer"]), web(people["planner"])
    assert [viewer("GET", "me/").status for _ in range(4)] == [200, 200, 200, 429]
    answer = viewer("GET", "me/")
    assert answer.body["type"] == "urn:flowsched:problem:too_many"
    assert 1 <= int(answer.headers["Retry-After"]) <= 61
    assert planner("GET", "me/").status == 200
