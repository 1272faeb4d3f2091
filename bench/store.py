"""A database of its own for a measurement: made, migrated, filled, warmed; the installation's own is not touched."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import django

NAME = "flowsched_bench"


def start() -> None:
    """Set Django up; the embedded server starts with the first connection."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "flowsched.settings")
    django.setup()


@contextmanager
def database() -> Iterator[None]:
    """Switch to a fresh, migrated database; drop it at the end."""
    from django.core.management import call_command  # noqa: PLC0415  after start()
    from django.db import connection  # noqa: PLC0415

    own = connection.settings_dict["NAME"]
    _admin(f'DROP DATABASE IF EXISTS "{NAME}" WITH (FORCE)', f'CREATE DATABASE "{NAME}"')
    switch(NAME)
    try:
        call_command("migrate", verbosity=0)
        yield
    finally:
        switch(own)
        _admin(f'DROP DATABASE IF EXISTS "{NAME}" WITH (FORCE)')


def switch(name: str) -> None:
    """Let this process's connection go to another database of the same server."""
    from django.db import connection  # noqa: PLC0415

    connection.close()
    connection.settings_dict["NAME"] = name


def _admin(*statements: str) -> None:
    from django.db import connection  # noqa: PLC0415

    connection.ensure_connection()
    with connection.cursor() as cursor:
        cursor.execute("SET statement_timeout = 0")
        for statement in statements:
            cursor.execute(statement)


def execute(sql: str, *values: object) -> list[tuple[object, ...]]:
    """One statement without a time limit, committed."""
    from django.db import connection  # noqa: PLC0415

    with connection.cursor() as cursor:
        cursor.execute("SET statement_timeout = 0")
        cursor.execute(sql, values)
        rows = cursor.fetchall() if cursor.description else []
        cursor.execute("RESET statement_timeout")
    return rows


def say(text: str) -> None:
    """Progress, on stderr, so that the figures alone are on stdout."""
    print(text, file=sys.stderr, flush=True)
