"""Durations as Go writes them (`1h30m`, `1.5s`), in integer nanoseconds.

The one duration parser of the project (T-1): intervals, `@every`, misfire grace. It promises to give the value that
Go's `time.ParseDuration` gives, to the nanosecond, because the specs come from systems written in Go; a parser that
is nearly right moves an operator's maintenance window without a word.
"""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Final

from flowsched.errors import InvalidInput
from schedules.quoting import quote

MAX_CHARACTERS: Final = 256
MAX_NANOSECONDS: Final = 2**63 - 1
NANOSECONDS_PER_MICROSECOND: Final = 1_000

# Longest first: format_duration takes them in this order.
_UNITS: Final = {
    "h": 3_600_000_000_000,
    "m": 60_000_000_000,
    "s": 1_000_000_000,
    "ms": 1_000_000,
    "us": 1_000,
    "ns": 1,
}
# Both code points that print as a micro sign: the one on keyboards and the Greek letter.
_ALIASES: Final = {"\u00b5s": "us", "\u03bcs": "us"}
_PART: Final = re.compile(r"([0-9]*)(?:\.([0-9]*))?([^.0-9]*)")


def parse_duration(text: str, *, field: str = "") -> int:
    """Return the nanoseconds that `text` names, negative ones included.

    Raises InvalidInput (on `field`) with what is wrong: `duration is too long`, `invalid duration '…'`,
    `missing unit in duration '…'` or `unknown unit '…' in duration '…'`.
    """
    try:
        return _parse(text)
    except ValueError as error:
        raise InvalidInput(str(error), field=field) from None


def format_duration(nanoseconds: int) -> str:
    """Return the shortest text in whole units that parses to `nanoseconds`: `1h30m`, `15s`, `1s500ms`, `0s`."""
    rest = abs(nanoseconds)
    parts = []
    for unit, size in _UNITS.items():
        count, rest = divmod(rest, size)
        if count:
            parts.append(f"{count}{unit}")
    return ("-" if nanoseconds < 0 else "") + ("".join(parts) or "0s")


def to_nanoseconds(value: timedelta) -> int:
    """Return `value` in nanoseconds, exactly."""
    return value // timedelta(microseconds=1) * NANOSECONDS_PER_MICROSECOND


def to_timedelta(nanoseconds: int) -> timedelta:
    """Return `nanoseconds` cut to whole microseconds, the resolution that the database stores."""
    return timedelta(microseconds=nanoseconds // NANOSECONDS_PER_MICROSECOND)


def _parse(text: str) -> int:
    """Return nanoseconds; raises ValueError with the message."""
    if len(text) > MAX_CHARACTERS:
        raise ValueError(f"duration is too long: at most {MAX_CHARACTERS} characters")
    negative = text.startswith("-")
    rest = text[1:] if text.startswith(("+", "-")) else text
    if rest == "0":
        return 0
    if not rest:
        raise ValueError(f"invalid duration {quote(text)}")
    total = 0
    while rest:
        value, length = _part(rest, text)
        total += value
        rest = rest[length:]
        # One more than the largest is allowed for a moment: -2**63 is a duration, 2**63 is none.
        if total > MAX_NANOSECONDS + 1:
            raise ValueError(f"invalid duration {quote(text)}")
    if negative:
        return -total
    if total > MAX_NANOSECONDS:
        raise ValueError(f"invalid duration {quote(text)}")
    return total


def _part(rest: str, text: str) -> tuple[int, int]:
    """Return the nanoseconds and the length of the number and unit that `rest` begins with."""
    match = _PART.match(rest)
    if match is None or not (match[1] or match[2]):
        raise ValueError(f"invalid duration {quote(text)}")
    whole = int(match[1] or "0")
    if whole > MAX_NANOSECONDS + 1:
        raise ValueError(f"invalid duration {quote(text)}")
    name = match[3]
    if not name:
        raise ValueError(f"missing unit in duration {quote(text)}")
    unit = _UNITS.get(_ALIASES.get(name, name))
    if unit is None:
        raise ValueError(f"unknown unit {quote(name)} in duration {quote(text)}")
    return whole * unit + _fraction(match[2] or "", unit), match.end()


def _fraction(digits: str, unit: int) -> int:
    """Return the nanoseconds of a decimal fraction of `unit`, with Go's rounding.

    In floating point, and not exactly, because that is what the specs' origin does: `1.000000001h` is 3600000003600.
    Digits beyond what int64 holds are ignored.
    """
    value, scale = 0, 1.0
    for digit in digits:
        if value > MAX_NANOSECONDS // 10:
            break
        longer = value * 10 + int(digit)
        if longer > MAX_NANOSECONDS + 1:
            break
        value, scale = longer, scale * 10
    return int(float(value) * (float(unit) / scale)) if value else 0
