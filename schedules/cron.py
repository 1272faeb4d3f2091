"""Cron expressions, read by our own parser into sets of numbers (T-3, T-4).

No text of a user's reaches the calendar library behind `schedules/firings.py`: that library reads several dialects
at once, and what it accepts beyond ours would run on days nobody asked for. What this module refuses, it refuses with
what to write instead.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, NamedTuple

from flowsched.errors import InvalidInput
from schedules.durations import format_duration, parse_duration, to_nanoseconds
from schedules.quoting import escape, quote

MAX_CHARACTERS: Final = 256
_BLANKS: Final = " \t\r\n"  # and no others: a no-break space is a typing error, not a separator
_SPLIT: Final = re.compile(f"[{_BLANKS}]+")
_ITEM: Final = re.compile(r"(?:([*?])|([0-9]+|[a-z]{3})(?:-([0-9]+|[a-z]{3}))?)(?:/([0-9]+))?")
_EVERY: Final = "@every "
_SECOND: Final = timedelta(seconds=1)
_NANOSECONDS_PER_SECOND: Final = 1_000_000_000
_SUNDAY_ELSEWHERE: Final = 7

_DESCRIPTORS: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}


class Field(NamedTuple):
    """One of the five places of an expression: its name in messages, its range, its three-letter names."""

    label: str
    first: int
    last: int
    names: tuple[str, ...] = ()


MINUTE: Final = Field("minute", 0, 59)
HOUR: Final = Field("hour", 0, 23)
DAY: Final = Field("day-of-month", 1, 31)
MONTH: Final = Field(
    "month", 1, 12, ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
)
WEEKDAY: Final = Field("day-of-week", 0, 6, ("sun", "mon", "tue", "wed", "thu", "fri", "sat"))
FIELDS: Final = (MINUTE, HOUR, DAY, MONTH, WEEKDAY)

_LONGEST_MONTHS: Final = dict(zip(range(1, 13), (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31), strict=True))


@dataclass(frozen=True, slots=True)
class Calendar:
    """The wall-clock minutes that an expression names. Equal calendars fire equally, however they were written.

    `either_day`: a day counts if `days` or `weekdays` has it; otherwise both must.
    """

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    either_day: bool

    @property
    def every_hour(self) -> bool:
        """The hours leave nothing out, so the job follows real time and not the clock on the wall (T-5)."""
        return len(self.hours) == HOUR.last - HOUR.first + 1

    @property
    def has_date(self) -> bool:
        """Some listed day exists in some listed month; 29 February does."""
        return any(min(self.days) <= _LONGEST_MONTHS[month] for month in self.months)


@dataclass(frozen=True, slots=True)
class Every:
    """`@every`: a constant delay in whole seconds."""

    delay: timedelta


def parse_cron(text: str, *, min_interval: timedelta = _SECOND) -> Calendar | Every:
    """Return what `text` names. Raises InvalidInput on field `spec`.

    `min_interval` bounds the delay of `@every` from below; it is never less than a second there, as that delay counts
    in whole seconds.
    """
    try:
        return _parse(text, min_interval)
    except ValueError as error:
        raise InvalidInput(f"invalid cron spec {quote(text)}: {error}", field="spec") from None


def _parse(text: str, min_interval: timedelta) -> Calendar | Every:
    """Parse; raises ValueError with the reason, or InvalidInput where the message has a form of its own."""
    if len(text) > MAX_CHARACTERS:
        raise ValueError(f"cron expression is too long: at most {MAX_CHARACTERS} characters")
    if "\0" in text:
        raise ValueError("invalid cron expression: it contains a NUL character")
    body = text.strip(_BLANKS)
    if body.startswith(("TZ=", "CRON_TZ=")):
        raise ValueError("a zone prefix is refused: use the timezone field")
    if body.startswith(_EVERY):
        return _every(body, max(min_interval, _SECOND))
    if body.startswith("@") and body not in _DESCRIPTORS:
        known = ", ".join((*_DESCRIPTORS, "@every <duration>"))
        raise ValueError(f"unrecognized descriptor: {escape(body)}; write one of {known}, or five fields")
    return _calendar(_DESCRIPTORS.get(body, body))


def _every(body: str, minimum: timedelta) -> Every:
    """Return the delay of `@every <duration>`, cut to whole seconds."""
    try:
        nanoseconds = parse_duration(body.removeprefix(_EVERY))
    except InvalidInput as error:
        raise ValueError(error.message) from None
    if nanoseconds < to_nanoseconds(minimum):
        at_least = format_duration(to_nanoseconds(minimum))
        raise InvalidInput(f"cron spec {quote(body)} must be at least {at_least}", field="spec")
    return Every(timedelta(seconds=nanoseconds // _NANOSECONDS_PER_SECOND))


def _calendar(body: str) -> Calendar:
    """Return the calendar of five fields."""
    texts = _SPLIT.split(body) if body else []
    if len(texts) != len(FIELDS):
        raise ValueError(f"expected exactly {len(FIELDS)} fields, found {len(texts)}")
    (minutes, _), (hours, _), (days, any_day), (months, _), (weekdays, any_weekday) = (
        _field(text, field) for text, field in zip(texts, FIELDS, strict=True)
    )
    calendar = Calendar(minutes, hours, days, months, weekdays, either_day=not (any_day or any_weekday))
    if not calendar.has_date and not calendar.either_day:
        raise ValueError("this day-of-month never occurs in the given month(s)")
    return calendar


def _field(text: str, field: Field) -> tuple[frozenset[int], bool]:
    """Return the values that a field lists, and whether one of its items is a star (`*` or `?`, step 1)."""
    values: set[int] = set()
    star = False
    for item in text.lower().split(","):
        try:
            listed, is_star = _item(item, field)
        except ValueError as error:
            raise ValueError(f"bad {field.label} {quote(text)}: {error}") from None
        values.update(listed)
        star = star or is_star
    return frozenset(values), star


def _item(item: str, field: Field) -> tuple[Iterable[int], bool]:
    """Return the values of one item of a list, and whether it is a star."""
    match = _ITEM.fullmatch(item)
    if match is None:
        raise ValueError(f"cannot parse {quote(item)}")
    wildcard, low, high, step_text = match.groups()
    step = int(step_text or "1")
    if step < 1:
        raise ValueError("step must be positive")
    if wildcard:
        return range(field.first, field.last + 1, step), step == 1
    first = _value(low, field, item)
    open_end = field.last if step_text else first
    last = open_end if high is None else _value(high, field, item)
    if last < first:
        raise ValueError(f"range {quote(item)} is reversed: write {_unwrapped(first, last, step, field)}")
    return range(first, last + 1, step), False


def _value(text: str, field: Field, item: str) -> int:
    """Return the number that `text`, digits or a name, stands for in `field`."""
    if text in field.names:
        return field.first + field.names.index(text)
    if not text.isdigit():
        raise ValueError(f"cannot parse {quote(item)}")
    value = int(text)
    if field is WEEKDAY and value == _SUNDAY_ELSEWHERE:
        raise ValueError("use 0 (or SUN) for Sunday, not 7")
    if not field.first <= value <= field.last:
        raise ValueError(f"out of range {field.first}-{field.last}")
    return value


def _unwrapped(first: int, last: int, step: int, field: Field) -> str:
    """Return what to write instead of a range that runs over the end of its field."""
    size = field.last - field.first + 1
    if step > 1:
        values = range(first, last + size + 1, step)
        return ",".join(str(value if value <= field.last else value - size) for value in values)
    pieces = ((first, field.last), (field.first, last))
    return ",".join(str(low) if low == high else f"{low}-{high}" for low, high in pieces)
