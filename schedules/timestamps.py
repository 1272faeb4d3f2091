"""One-time specs: RFC 3339 timestamps, strictly (T-2).

The standard library reads far more than RFC 3339 (week dates, missing zones, commas); what it would guess, an
operator did not say. So a strict pattern decides first, and only its numbers reach `datetime`.
"""

from __future__ import annotations

import re
from calendar import monthrange
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
_LAST_MONTH: Final = 12


def parse_timestamp(text: str) -> datetime:
    """Return the instant in UTC, cut to microseconds. Raises InvalidInput on field `spec`."""
    try:
        return _parse(text)
    except ValueError as error:
        raise InvalidInput(f"invalid one-time spec {quote(text)}: {error}", field="spec") from None


def _parse(text: str) -> datetime:
    """Return the instant; raises ValueError with the reason."""
    # fullmatch: `$` would let a newline at the end through.
    match = _PATTERN.fullmatch(text) if len(text) <= MAX_CHARACTERS else None
    if match is None:
        raise ValueError("expected RFC 3339, e.g. 2026-06-01T04:00:00Z")
    offset = _offset(match[8], match[9], match[10])
    try:
        instant = _wall_clock(match) - offset
    except OverflowError:
        raise ValueError("date value out of range") from None
    if not all(FIRST_YEAR <= year <= LAST_YEAR for year in (int(match[1]), instant.year)):
        raise ValueError(f"year out of range {FIRST_YEAR}-{LAST_YEAR}")
    return instant


def _wall_clock(match: re.Match[str]) -> datetime:
    """Return the date and time as written, labelled UTC.

    The reasons are our own words: those of `datetime` change from one Python release to the next.
    """
    year, month, day, hour, minute, second = (int(match[group]) for group in range(1, 7))
    if not year:
        raise ValueError("year 0 is out of range")
    if not 1 <= month <= _LAST_MONTH:
        raise ValueError(f"month must be in 1..{_LAST_MONTH}")
    if not 1 <= day <= monthrange(year, month)[1]:
        raise ValueError("day is out of range for month")
    for name, value, last in (("hour", hour, _LAST_HOUR), ("minute", minute, _LAST_MINUTE), ("second", second, 59)):
        if value > last:
            raise ValueError(f"{name} must be in 0..{last}")
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
