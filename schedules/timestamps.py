"""One-time specs: RFC 3339 timestamps, strictly (T-2).

The standard library reads far more than RFC 3339 (week dates, missing zones, commas); what it would guess, an
operator did not say. So a strict pattern decides first, and only its numbers reach `datetime`.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final

from flowsched.errors import InvalidInput
from schedules.quoting import quote

MAX_CHARACTERS: Final = 64
FIRST_YEAR: Final = 1970
LAST_YEAR: Final = 9998  # one spare year, so that converting to any zone cannot leave what datetime can hold

_PATTERN: Final = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]+))?(?:Z|([+-])([0-9]{2}):([0-9]{2}))"
)
_LAST_HOUR: Final = 23
_LAST_MINUTE: Final = 59


def parse_timestamp(text: str) -> datetime:
    """Return the instant in UTC, cut to microseconds. Raises InvalidInput on field `spec`."""
    try:
        return _parse(text)
    except (ValueError, OverflowError) as error:
        raise InvalidInput(f"invalid one-time spec {quote(text)}: {error}", field="spec") from None


def _parse(text: str) -> datetime:
    """Return the instant; raises ValueError or OverflowError with the reason."""
    # fullmatch: `$` would let a newline at the end through.
    match = _PATTERN.fullmatch(text) if len(text) <= MAX_CHARACTERS else None
    if match is None:
        raise ValueError("expected RFC 3339, e.g. 2026-06-01T04:00:00Z")
    offset = _offset(match[8], match[9], match[10])
    instant = _wall_clock(match) - offset
    if not all(FIRST_YEAR <= year <= LAST_YEAR for year in (int(match[1]), instant.year)):
        raise ValueError(f"year out of range {FIRST_YEAR}-{LAST_YEAR}")
    return instant


def _wall_clock(match: re.Match[str]) -> datetime:
    """Return the date and time as written, labelled UTC. Raises ValueError for a day or time that does not exist."""
    year, month, day, hour, minute, second = (int(match[group]) for group in range(1, 7))
    microsecond = int((match[7] or "")[:6].ljust(6, "0"))
    return datetime(year, month, day, hour, minute, second, microsecond, tzinfo=UTC)


def _offset(sign: str | None, hours: str, minutes: str) -> timedelta:
    """Return the distance from UTC; none is written for `Z`."""
    if sign is None:
        return timedelta()
    if int(hours) > _LAST_HOUR or int(minutes) > _LAST_MINUTE:
        raise ValueError("time zone offset out of range")
    offset = timedelta(hours=int(hours), minutes=int(minutes))
    return -offset if sign == "-" else offset
