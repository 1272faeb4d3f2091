"""The clock: the database's, so that processes on hosts that disagree still agree on what is due (D-7).

Only doors and loops call it, once per request or tick; everything below takes `now` as a parameter.
"""

from __future__ import annotations

from datetime import datetime

from django.db import connection


def now() -> datetime:
    """The database's wall clock, aware, UTC, microseconds."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        row = cursor.fetchone()
    value: datetime = row[0]
    return value
