"""When a schedule runs, in a sentence: `every day at 02:30, America/New_York`.

Everybody who shows a schedule says it in these words. The sentence is made from what our parser read, never from the
text that a user typed: the describing library reads other dialects of cron, and says of some what they do not do. It
is asked about simple shapes only; of others we show the expression, and the next runs say the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from functools import lru_cache
from itertools import pairwise
from typing import Final

from cron_descriptor import ExpressionDescriptor, Options

from flowsched.errors import InvalidInput
from schedules.cron import DAY, FIELDS, HOUR, MINUTE, MONTH, WEEKDAY, Calendar, Every, Field, parse_cron
from schedules.durations import parse_duration, to_timedelta

_DAYS: Final = ("Sundays", "Mondays", "Tuesdays", "Wednesdays", "Thursdays", "Fridays", "Saturdays")
_WORKDAYS: Final = frozenset({1, 2, 3, 4, 5})
_MOST_LISTED: Final = 4  # values of a field that a sentence still lists
_UNITS: Final = (("h", 3600), ("min", 60), ("s", 1))  # no days: an interval knows no midnight
_SINGLE: Final = {"h": "every hour", "min": "every minute", "s": "every second"}


@lru_cache(maxsize=4096)
def timing_words(spec_type: str, spec: str, timezone: str = "") -> str:
    """Return when a schedule of this spec runs. The zone is said for cron, where alone it means something.

    One-time schedules are `once`: the time itself is shown beside it, in the zone of whoever looks. Never raises:
    an expression that is no simple shape, or that cannot be read, stands for itself.
    """
    if spec_type == "interval":
        return _interval(spec)
    if spec_type == "cron":
        return _cron(spec, timezone or "UTC")
    return "once"


def every_words(step: timedelta) -> str:
    """Return a constant distance between runs: `every hour`, `every 15 min`, `every 1 h 30 min`."""
    seconds = step.total_seconds()
    rest = int(seconds)
    if seconds != rest or not rest:
        return f"every {seconds:g} s"
    parts = []
    for unit, size in _UNITS:
        count, rest = divmod(rest, size)
        if count:
            parts.append((count, unit))
    if len(parts) == 1 and parts[0][0] == 1:
        return _SINGLE[parts[0][1]]
    return "every " + " ".join(f"{count} {unit}" for count, unit in parts)


def either_day(spec: str) -> bool:
    """Return whether the days of this expression are those of the month and those of the week, both (T-4)."""
    try:
        read = parse_cron(spec)
    except InvalidInput:
        return False
    return isinstance(read, Calendar) and read.either_day


def _interval(spec: str) -> str:
    try:
        return every_words(to_timedelta(parse_duration(spec)))
    except InvalidInput:
        return f"every {spec}"


def _cron(spec: str, timezone: str) -> str:
    """The sentence of an expression, with its zone unless it counts real time."""
    try:
        read = parse_cron(spec)
    except InvalidInput:
        return f"custom: {spec}, {timezone}"
    if isinstance(read, Every):
        return every_words(read.delay)
    said = _at_a_time(read) or _described(read) or f"custom: {' '.join(spec.split())}"
    return f"{said}, {timezone}"


def _at_a_time(calendar: Calendar) -> str:
    """One or two times of day, or one minute of hours in a row, on days that have a name; empty for other shapes."""
    days = _days(calendar) if _full(calendar.months, MONTH) else ""
    if not days:
        return ""
    hours = sorted(calendar.hours)
    times = [f"{hour:02}:{minute:02}" for hour in hours for minute in sorted(calendar.minutes)]
    if len(times) <= 2:  # noqa: PLR2004  as promised
        return f"{days} at {_and(times)}"
    if len(calendar.minutes) == 1 and _in_a_row(hours) and not _full(calendar.hours, HOUR):
        return f"{days} hourly from {times[0]} to {times[-1]}"
    return ""


def _days(calendar: Calendar) -> str:
    """The days in words; empty for those without a name."""
    if calendar.either_day:
        return ""
    any_day, any_weekday = _full(calendar.days, DAY), _full(calendar.weekdays, WEEKDAY)
    if any_day:
        return "every day" if any_weekday else _weekdays(calendar.weekdays)
    if not any_weekday or len(calendar.days) > _MOST_LISTED:
        return ""
    word = "day" if len(calendar.days) == 1 else "days"
    return f"on {word} {_and([str(day) for day in sorted(calendar.days)])} of the month"


def _weekdays(weekdays: frozenset[int]) -> str:
    """The days of the week, Monday first: `weekdays`, `Sundays`, `Mondays to Thursdays`."""
    if weekdays == _WORKDAYS:
        return "weekdays"
    days = sorted(day or len(_DAYS) for day in weekdays)
    names = [_DAYS[day % len(_DAYS)] for day in days]
    return f"{names[0]} to {names[-1]}" if len(days) > 2 and _in_a_row(days) else _and(names)  # noqa: PLR2004  not two


def _described(calendar: Calendar) -> str:
    """What the library says of a simple shape; empty for others, and for days by the month or the week."""
    if calendar.either_day:
        return ""
    values = (calendar.minutes, calendar.hours, calendar.days, calendar.months, calendar.weekdays)
    fields = [_simple(sorted(numbers), field) for numbers, field in zip(values, FIELDS, strict=True)]
    if not all(fields) or ("," in fields[0] and fields[1] == "*"):
        return ""
    options = Options()
    options.use_24hour_time_format = True
    options.locale_code = "en_US"
    said: str = ExpressionDescriptor(" ".join(fields), options).get_description()
    return said[:1].lower() + said[1:]


def _simple(values: Sequence[int], field: Field) -> str:
    """The field as the library is asked about it: a star, a step of the whole, a range, a short list; or empty."""
    if len(values) == field.last - field.first + 1:
        return "*"
    steps = {later - earlier for earlier, later in pairwise(values)}
    step = steps.pop() if len(steps) == 1 else 0
    size = field.last - field.first + 1
    if field in (MINUTE, HOUR) and step > 1 and values[0] == 0 and size % step == 0 and len(values) == size // step:
        return f"*/{step}"
    if _in_a_row(values) and len(values) > 2 and field is not MINUTE:  # noqa: PLR2004  two are a list
        return f"{values[0]}-{values[-1]}"
    return ",".join(map(str, values)) if len(values) <= _MOST_LISTED else ""


def _in_a_row(values: Sequence[int]) -> bool:
    return values[-1] - values[0] == len(values) - 1


def _full(values: frozenset[int], field: Field) -> bool:
    return len(values) == field.last - field.first + 1


def _and(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
