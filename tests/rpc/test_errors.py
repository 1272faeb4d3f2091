"""The table of errors, kind by kind, as a client sees it (F-122, D-2)."""

from __future__ import annotations

import inspect
import logging

import grpc
import pytest
from django.db import DataError, InterfaceError, OperationalError, connection
from google.rpc.status_pb2 import Status

from flowsched import errors
from flowsched.errors import AlreadyExists, FlowschedError, InvalidInput, NotFound, Refusal
from rpc.call import Method
from rpc.errors import DETAILS_KEY, STATUSES, status_of
from tests.rpc.harness import make_token, running

Code = grpc.StatusCode

TABLE = {
    "InvalidInput": Code.INVALID_ARGUMENT,
    "NotFound": Code.NOT_FOUND,
    "AlreadyExists": Code.ALREADY_EXISTS,
    "PreconditionFailed": Code.FAILED_PRECONDITION,
    "QueueFull": Code.RESOURCE_EXHAUSTED,
    "PermissionDenied": Code.PERMISSION_DENIED,
    "Unauthenticated": Code.UNAUTHENTICATED,
    "VersionMismatch": Code.FAILED_PRECONDITION,
    "KeyReused": Code.FAILED_PRECONDITION,
    "Busy": Code.ABORTED,
    "TooLarge": Code.RESOURCE_EXHAUSTED,
    "TooMany": Code.RESOURCE_EXHAUSTED,
    "Unavailable": Code.UNAVAILABLE,
}
KINDS = [
    kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, FlowschedError)
    and kind is not FlowschedError
]  # fmt: skip


def test_every_kind_of_error_has_a_status():
    assert {kind.__name__ for kind in KINDS} == set(TABLE)
    assert {kind.kind for kind in KINDS} == set(STATUSES)


class Raiser:
    """A method that raises what it is told to."""

    def __init__(self):
        self.error = None

    def __call__(self, call, request):
        raise self.error


@pytest.fixture
def raising(transactional_db):
    raiser = Raiser()
    statuses = {"NAME_TAKEN": Code.UNKNOWN}
    methods = {"GetTaskSchedule": Method("schedule.read", raiser, statuses)}
    with running(methods) as server, server.client(make_token("viewer")) as client:

        def failed(error):
            raiser.error = error
            return client.failed("GetTaskSchedule", metadata=(("x-request-id", "r-1"),))

        yield failed


def test_each_kind_is_its_status_with_its_reason(raising):
    """F-122: all of them through one server, so that none leaves it broken for the next."""
    for kind in KINDS:
        failure = raising(kind(f"what {kind.kind}, which, what to do", reason="some_reason"))
        assert failure.code == TABLE[kind.__name__], kind
        assert failure.message == f"what {kind.kind}, which, what to do"
        denied = kind is errors.PermissionDenied  # its reason is the permission, which is no code
        assert failure.reasons == ["PERMISSION_DENIED" if denied else "SOME_REASON"]
        assert failure.infos[0].domain == "flowsched"
        assert failure.trailing["x-request-id"] == "r-1"
        assert raising(kind("why")).reasons == [kind.kind.upper()]


def test_fields_at_fault_are_named(raising):
    failure = raising(InvalidInput("two things", fields={"spec": "no duration", "name": "empty"}))
    assert failure.code == Code.INVALID_ARGUMENT
    assert failure.violations == {"spec": "no duration", "name": "empty"}
    assert failure.reasons == []
    failure = raising(InvalidInput("too many", field="target_spec", reason="TOO_MANY_TARGETS"))
    assert (failure.violations, failure.reasons) == ({"target_spec": "too many"}, ["TOO_MANY_TARGETS"])
    info = raising(NotFound("no rack", field="target_spec")).infos[0]
    assert info.metadata == {"field": "target_spec"}


def test_a_method_may_give_one_reason_another_status(raising):
    """D-2: a rename to a taken name is UNKNOWN; the reason says why. Nothing else is."""
    failure = raising(AlreadyExists("there is one", reason="NAME_TAKEN", field="name"))
    assert (failure.code, failure.reasons) == (Code.UNKNOWN, ["NAME_TAKEN"])
    assert raising(AlreadyExists("there is one", field="name")).code == Code.ALREADY_EXISTS


def test_what_is_no_error_of_ours_is_internal_logged_once_and_says_nothing(raising, caplog):
    caplog.set_level(logging.DEBUG)
    for error in (RuntimeError("SELECT secret"), DataError("SELECT secret"), KeyError("secret")):
        caplog.clear()
        failure = raising(error)
        assert failure.code == Code.INTERNAL
        assert "secret" not in failure.message
        assert "r-1" in failure.message
        assert failure.reasons == ["INTERNAL"]
        [record] = caplog.records
        assert "r-1" in record.getMessage()
        assert "secret" in record.exc_text


def test_a_database_that_is_away_is_unavailable_and_a_lock_timeout_aborted(raising):
    assert raising(OperationalError("connection refused")).code == Code.UNAVAILABLE
    assert raising(InterfaceError("closed")).code == Code.UNAVAILABLE


def test_a_statement_the_database_refuses(transactional_db):
    """F-122, for real: a lock that is not to be had, and a statement that takes too long."""

    def run(call, request):
        with connection.cursor() as cursor:
            cursor.execute(statements.pop())

    statements = ["SET statement_timeout = '5ms'; SELECT pg_sleep(5)", "SELECT 1/0"]
    statements.append("SET lock_timeout = '5ms'; SELECT * FROM auth_user FOR UPDATE")
    token = make_token("viewer")
    with connection.cursor() as cursor, running({"GetTaskSchedule": Method("", run)}) as server:
        cursor.execute("BEGIN; SELECT * FROM auth_user FOR UPDATE")
        with server.client(token) as client:
            busy = client.failed("GetTaskSchedule")
            cursor.execute("COMMIT")
            fault = client.failed("GetTaskSchedule")
            late = client.failed("GetTaskSchedule")
    assert (busy.code, fault.code, late.code) == (Code.ABORTED, Code.INTERNAL, Code.UNAVAILABLE)
    assert not any(word in f"{busy}{fault}{late}" for word in ("SELECT", "division", "auth_user", "psycopg"))


HUGE = "ü" * 40_000
MANY = tuple(Refusal(None, f"rack-{n}-{'ü' * 200}", "rejected", "rack_busy", HUGE) for n in range(500))


@pytest.mark.parametrize(
    "error",
    [
        InvalidInput(HUGE, fields={f"{n}{HUGE}": HUGE for n in range(300)}, reason=HUGE),
        errors.PreconditionFailed(HUGE, reason="ALL_REFUSED", refusals=MANY),
    ],
    ids=["fields", "refusals"],
)
def test_details_never_outgrow_what_a_client_takes(raising, error):
    """A client of default settings refuses more than 8 KiB of trailing metadata, and the call with it."""
    status = status_of(error, request_id="r" * 64)
    failure = raising(error)
    assert failure.code == STATUSES_OF[type(error)]
    assert failure.message == status.message
    assert failure.message.endswith("…")
    assert Status.FromString(failure.trailing[DETAILS_KEY]) == status
    assert status.details


@pytest.mark.parametrize("letter", ["a", "ü"])
def test_the_racks_that_refused_are_in_the_details(raising, letter):
    """D-13: as many as fit, and how many did not."""
    refusals = [Refusal(None, f"{letter}-{n}", "rejected", "rack_busy", f"why {letter * 60}") for n in range(100)]
    few = raising(errors.PreconditionFailed("no rack", reason="ALL_REFUSED", refusals=refusals[:3]))
    assert few.reasons == ["ALL_REFUSED", *["RACK_BUSY"] * 3]
    assert [info.metadata["rack_name"] for info in few.infos[1:]] == [f"{letter}-{n}" for n in range(3)]
    many = raising(errors.PreconditionFailed(letter * 5000, reason="ALL_REFUSED", refusals=refusals))
    assert many.reasons[-1] == "MORE_REFUSALS"
    shown = len(many.infos) - 2
    assert shown >= 10
    assert shown + int(many.infos[-1].metadata["count"]) == 100


STATUSES_OF = {InvalidInput: Code.INVALID_ARGUMENT, errors.PreconditionFailed: Code.FAILED_PRECONDITION}
