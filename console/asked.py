"""What an address asks for: times and dates, strictly read; what is none counts as not given."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Final

from flowsched.errors import InvalidInput
from schedules.timestamps import parse_timestamp

FIRST: Final = date(1971, 1, 1)
LAST: Final = date(9997, 12, 31)  # a year to spare: a page looks a little beyond


def moment_of(text: str) -> datetime | None:
    """The instant that an address names (`2026-03-01T12:00:00Z`), or None."""
    try:
        at = parse_timestamp(text).astimezone(UTC)
    except InvalidInput:
        return None
    return at if FIRST <= at.date() <= LAST else None


def date_of(text: str) -> date | None:
    """The day that an address names (`2026-03-01`), or None."""
    try:
        day = date.fromisoformat(text) if len(text) == len("2026-03-01") else None
    except ValueError:
        return None
    return day if day is not None and FIRST <= day <= LAST else None
