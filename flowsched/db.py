"""What every writer needs of the database: typed errors, retries, notifications."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import IntegrityError, InterfaceError, OperationalError, connection

from flowsched.errors import Busy, Unavailable

BUSY_STATES = frozenset({"55P03", "40P01", "40001"})  # lock timeout, deadlock, serialization failure


@contextmanager
def translate() -> Iterator[None]:
    """Turn lock timeouts and deadlocks into Busy, lost connections into Unavailable."""
    try:
        yield
    except OperationalError as error:
        state = getattr(error.__cause__, "sqlstate", None)
        if state in BUSY_STATES:
            raise Busy("another session holds a row this needs; try again in a moment") from error
        raise Unavailable("the database is out of reach; try again in a moment") from error
    except InterfaceError as error:
        raise Unavailable("the connection to the database was lost; try again in a moment") from error


def notify(channel: str) -> None:
    """Send a NOTIFY that listeners receive when the current transaction commits."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_notify(%s, '')", [channel])


def constraint_of(error: IntegrityError) -> str:
    """The name of the constraint that `error` broke, for a service to turn into a typed error; empty if it has none."""
    diagnostics = getattr(error.__cause__, "diag", None)
    return getattr(diagnostics, "constraint_name", None) or ""
