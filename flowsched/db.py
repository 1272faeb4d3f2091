"""What every writer needs of the database: typed errors, retries, notifications, patience for migrations."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import psycopg
from django.db import IntegrityError, InterfaceError, InternalError, OperationalError, connection, connections
from psycopg.types.array import ListBinaryDumper

from flowsched.errors import Busy, Unavailable
from flowsched.postgres.errors import StartFailed

P = ParamSpec("P")
R = TypeVar("R")

BUSY_STATES = frozenset({"55P03", "40P01", "40001"})  # lock timeout, deadlock, serialization failure
QUERY_CANCELED = "57014"
IDLE_IN_TRANSACTION = "25P03"
UNAVAILABLE = {
    QUERY_CANCELED: "the database took longer than FLOWSCHED_STATEMENT_TIMEOUT over one statement; try again later",
    IDLE_IN_TRANSACTION: "this process stalled inside a transaction, and the database ended its session; try again",
    "53100": "the database's disk is full; free space there, then try again",
    "53300": "the database has no connection left; try again in a moment, or raise its max_connections",
}
ATTEMPTS = 3
DISPATCHER_CHANNEL = "flowsched_schedules"  # what dispatchers listen on: something may be due now
PAUSE_SECONDS = 0.05


@contextmanager
def translate() -> Iterator[None]:
    """Turn lock timeouts, deadlocks and serialization failures into Busy, everything that is away into Unavailable."""
    try:
        yield
    except StartFailed as error:
        raise Unavailable(str(error)) from error
    except OperationalError as error:
        state = _state(error)
        if state in BUSY_STATES:
            raise Busy("another session holds a row this needs; try again in a moment") from error
        message = UNAVAILABLE.get(state or "", "the database is out of reach; try again in a moment")
        raise Unavailable(message) from error
    except InterfaceError as error:
        raise Unavailable("the connection to the database was lost; try again in a moment") from error
    except InternalError as error:
        if _state(error) != IDLE_IN_TRANSACTION:
            raise
        raise Unavailable(UNAVAILABLE[IDLE_IN_TRANSACTION]) from error


def retried(function: Callable[P, R]) -> Callable[P, R]:
    """Run `function` up to three times while it meets lock timeouts, deadlocks or serialization failures, then Busy.

    `function` must be one whole transaction: what failed was undone by the database, so running it again is the first
    time. Inside somebody else's transaction that is not so, and it runs once. The pause grows and carries jitter:
    two parties to a deadlock must not meet again.
    """

    @wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        attempts = 1 if connection.in_atomic_block else ATTEMPTS
        for attempt in range(1, attempts):
            try:
                with translate():
                    return function(*args, **kwargs)
            except Busy:
                time.sleep(PAUSE_SECONDS * attempt * random.uniform(0.5, 1.5))  # noqa: S311 - jitter, not a secret
        with translate():
            return function(*args, **kwargs)

    return run


class _BoundCursor(psycopg.Cursor[Any]):
    """Remembers its statement for Django's query log also when it is sent by the name it was prepared under."""

    def _convert_query(self, query: Any, params: Any = None) -> Any:
        self._query = super()._convert_query(query, params)
        return self._query


def bound_cursor() -> Any:
    """A cursor of Django's connection whose values travel beside the statement instead of being written into it.

    For the statements that a firing repeats with arrays of hundreds of values: quoting those in Python, and parsing
    them in the server, costs more than the statement. Errors and query logs are Django's as with `connection.cursor()`.
    """
    django: Any = connection
    django.ensure_connection()
    with django.wrap_database_errors:
        cursor = _BoundCursor(django.connection)
        cursor.adapters.register_dumper(list, ListBinaryDumper)  # as text, each value is escaped by regular expressions
        return django._prepare_cursor(cursor)  # noqa: SLF001  what cursor() calls


def separate_session() -> psycopg.Connection[tuple[Any, ...]]:
    """A session beside Django's, to the same database and under the same limits, every statement its own transaction.

    For what a session in use cannot do, such as waiting for notifications. Raises psycopg's errors.
    """
    parameters = connection.get_connection_params()
    for name in ("cursor_factory", "context"):  # how Django reads and writes values
        parameters.pop(name, None)
    return psycopg.connect(**parameters, autocommit=True)


def is_busy(error: BaseException) -> bool:
    """Whether trying again in a moment may help: a lock timeout, a deadlock, a serialization failure."""
    return isinstance(error, Busy) or _state(error) in BUSY_STATES


def notify(channel: str) -> None:
    """Send a NOTIFY that listeners receive when the current transaction commits."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_notify(%s, '')", [channel])


def constraint_of(error: IntegrityError) -> str:
    """The name of the constraint that `error` broke, for a service to turn into a typed error; empty if it has none."""
    diagnostics = getattr(error.__cause__, "diag", None)
    return getattr(diagnostics, "constraint_name", None) or ""


@contextmanager
def patient(using: str = "default") -> Iterator[None]:
    """Lift this session's limits on long statements and idle transactions, for migrations.

    The lock timeout stays: a migration that waits for a lock makes every later claim queue up behind it.
    """
    limits = ("statement_timeout", "idle_in_transaction_session_timeout")
    with connections[using].cursor() as cursor:
        for limit in limits:
            cursor.execute(f"SET {limit} = 0")
    try:
        yield
    finally:
        if connections[using].connection is not None and not connections[using].needs_rollback:
            with connections[using].cursor() as cursor:
                for limit in limits:
                    cursor.execute(f"RESET {limit}")


def _state(error: BaseException) -> str | None:
    return getattr(error.__cause__, "sqlstate", None)
