"""Django's `migrate`, without the time limits of hot sessions and one at a time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.core.management.commands import migrate
from django.db import connections

from flowsched import db

ONE_AT_A_TIME = 7_011_001  # any number, as long as nothing else here locks it


class Command(migrate.Command):
    """A data migration may take minutes; two copies that start at once must not migrate side by side."""

    def handle(self, *args: Any, **options: Any) -> str | None:
        """Migrate under an advisory lock of the session."""
        with db.patient(options["database"]), _alone(options["database"]):
            return super().handle(*args, **options)


@contextmanager
def _alone(using: str) -> Iterator[None]:
    connection = connections[using]
    with connection.cursor() as cursor:
        cursor.execute("SET lock_timeout = 0")
        cursor.execute("SELECT pg_advisory_lock(%s)", [ONE_AT_A_TIME])
        cursor.execute("RESET lock_timeout")
    try:
        yield
    finally:
        # A failed migration may have left a broken transaction or no connection: both give the lock up by themselves.
        if connection.connection is not None and not connection.needs_rollback:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(%s)", [ONE_AT_A_TIME])
