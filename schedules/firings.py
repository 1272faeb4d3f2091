"""When a calendar fires in a zone (T-5, T-9).

Two layers. `_Naive` answers "the next named minute after this one" on a calendar without zones; it is croniter, fed
only with lists of numbers that our parser made and with naive times, the one use in which it was found right.
Above it stand the two rules of what a named minute means where clocks change.

Both rules need at most a few answers of the lower layer, whatever the calendar and the zone: `Search.steps` counts
them, so that tests can hold a bound without a stopwatch.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Final, Literal, NamedTuple
from zoneinfo import ZoneInfo

from croniter import croniter

from schedules.cron import FIELDS, Calendar, Field
from schedules.timestamps import LAST_YEAR
from schedules.zones import Readings, find_change, read

DstPolicy = Literal["once", "wall"]

_MINUTE: Final = timedelta(minutes=1)
_MICROSECOND: Final = timedelta(microseconds=1)
# The longest legal gap is 8 years (29 February 2096 to 2104).
_MAX_YEARS: Final = 9
# How often in a row a named minute may fall into a gap before we say it never comes. A zone that moves its clocks on
# a fixed date skips the same date three years running; a dozen is beyond what any zone did.
_MAX_GAPS: Final = 12


class Search(NamedTuple):
    """A search's answer (UTC; None: nothing before the end of the calendar) and what it cost.

    `steps` counts questions to the calendar engine and probes of the zone.
    """

    at: datetime | None
    steps: int


class ClockChange(NamedTuple):
    """The wall-clock time that a calendar names and a clock change touches: skipped, or shown twice."""

    named: datetime
    skipped: bool


def find_next(calendar: Calendar, zone: ZoneInfo, after: datetime, *, dst: DstPolicy) -> Search:
    """Return the first firing strictly after the aware `after`.

    A pure function of its arguments, and constant between two firings: whoever asks late gets the same answer.
    """
    walk = _Walk(_engine(calendar), zone)
    follows_real_time = dst == "wall" or calendar.every_hour
    try:
        at = walk.in_real_time(after) if follows_real_time else walk.once_per_named_time(after)
    except OverflowError:  # the zone's offset leads out of what datetime can hold
        at = None
    return Search(at if at is not None and at.year <= LAST_YEAR else None, walk.steps)


def find_clock_change(calendar: Calendar, zone: ZoneInfo, at: datetime, *, dst: DstPolicy) -> ClockChange | None:
    """Return what a clock change did to the firing at the aware `at`; None where it fires as named, once.

    Only for what fires once per named time: what follows real time fires whenever the clock shows a named minute.
    """
    if dst == "wall" or calendar.every_hour:
        return None
    shown = at.astimezone(zone).replace(tzinfo=None, fold=0)
    if read(shown, zone).twice:
        return ClockChange(shown, skipped=False)
    # What the clock would have shown, had it not gone forward: the gap lies between that and what it shows.
    unchanged = (at - _MICROSECOND).astimezone(zone).replace(tzinfo=None, fold=0) + _MICROSECOND
    named = _engine(calendar).after(unchanged - _MICROSECOND) if unchanged < shown else None
    return ClockChange(named, skipped=True) if named is not None and named < shown else None


@dataclass(slots=True)
class _Walk:
    """One search: the engine and zone it asks, and the count of what it asked."""

    engine: _Naive
    zone: ZoneInfo
    steps: int = 0

    def once_per_named_time(self, after: datetime) -> datetime | None:
        """One firing for each named minute: in its first pass, or at the end of the gap that swallows it."""
        wall = after.astimezone(self.zone)
        start = wall.replace(tzinfo=None, fold=0)
        if wall.fold:  # all that the second pass shows has had its turn in the first
            start = self._local(self._change(read(start, self.zone)), before=True) - _MICROSECOND
        named = self._named_after(start)
        if named is None:
            return None
        readings = read(named, self.zone)
        return self._change(readings) if readings.skipped else readings.before

    def in_real_time(self, after: datetime) -> datetime | None:
        """Every instant at which the clock shows a named minute: nothing in gaps, both passes of a fold."""
        wall = after.astimezone(self.zone)
        start = wall.replace(tzinfo=None, fold=0)
        found = self._shown_after(start, after)
        here = read(start, self.zone)
        if wall.fold or not here.twice:
            return found
        # In a first pass: minutes that the clock has shown already come again before any that lies behind the fold.
        change = self._change(here)
        if found is not None and found < change:
            return found
        return self._shown_after(self._local(change) - _MICROSECOND, change - _MICROSECOND)

    def _shown_after(self, start: datetime, after: datetime) -> datetime | None:
        """Return when, later than `after`, the clock shows the first named minute after the wall clock `start`."""
        for _ in range(_MAX_GAPS):
            named = self._named_after(start)
            if named is None:
                return None
            readings = read(named, self.zone)
            if not readings.skipped:
                return readings.before if readings.before > after else readings.after
            start = self._local(self._change(readings)) - _MICROSECOND
        return None

    def _named_after(self, start: datetime) -> datetime | None:
        """Return the first named minute after the wall clock `start`."""
        self.steps += 1
        return self.engine.after(start)

    def _change(self, readings: Readings) -> datetime:
        """Return the instant of the clock change between two readings of one time."""
        change, probes = find_change(readings, self.zone)
        self.steps += probes
        return change

    def _local(self, change: datetime, *, before: bool = False) -> datetime:
        """Return the wall clock at a clock change: what it is set to or, `before`, what it would have shown."""
        if not before:
            return change.astimezone(self.zone).replace(tzinfo=None, fold=0)
        return (change - _MICROSECOND).astimezone(self.zone).replace(tzinfo=None, fold=0) + _MICROSECOND


class _Naive:
    """The next minute that a calendar names, on a calendar without zones or clock changes."""

    __slots__ = ("_sides",)

    def __init__(self, calendar: Calendar) -> None:
        expressions = _expressions(calendar)
        # Beside weekdays, which come every year, a date need not be searched beyond the next year: it would not win.
        years = _MAX_YEARS if len(expressions) == 1 else 1
        self._sides = tuple(_croniter(expression, years) for expression in expressions)

    def after(self, start: datetime) -> datetime | None:
        """Return the first named minute after the naive `start`, or None."""
        # Whole minutes only: croniter counts in floats, and in far years a float has no room for microseconds.
        minute = start.replace(second=0, microsecond=0)
        answers = [answer for side in self._sides if (answer := _ask(side, minute)) is not None]
        return min(answers, default=None)


def _ask(side: croniter, minute: datetime) -> datetime | None:
    """Ask a copy: a croniter remembers its last answer, and this one is shared between threads."""
    try:
        answer: datetime = copy.copy(side).get_next(datetime, start_time=minute)
    except (ValueError, OverflowError):
        # CroniterBadDateError (a ValueError): nothing within the years allowed. The others: the calendar has ended.
        return None
    return answer


def _croniter(expression: str, max_years: int) -> croniter:
    """Return croniter on an expression of ours; its start is given with each question.

    Its own rule for two listed day fields ("or") is switched off: which rule holds is decided in `_expressions`.
    """
    return croniter(expression, start_time=0.0, day_or=False, max_years_between_matches=max_years)


@lru_cache(maxsize=4096)
def _engine(calendar: Calendar) -> _Naive:
    """Return the engine of a calendar, made once: reading an expression costs as much as answering."""
    return _Naive(calendar)


def _expressions(calendar: Calendar) -> list[str]:
    """Return what croniter reads; it takes a day that matches both day fields.

    "Either day" becomes two expressions, whose earlier answer counts. A date that never comes does not spoil the
    weekdays beside it that way, and is not searched for nine years at every question.
    """
    minutes, hours, days, months, weekdays = (
        _numbers(values, field)
        for values, field in zip(
            (calendar.minutes, calendar.hours, calendar.days, calendar.months, calendar.weekdays), FIELDS, strict=True
        )
    )
    if not calendar.either_day or "*" in (days, weekdays):
        if calendar.either_day:
            days = weekdays = "*"
        return [f"{minutes} {hours} {days} {months} {weekdays}"]
    sides = [f"{minutes} {hours} * {months} {weekdays}"]
    if calendar.has_date:
        sides.append(f"{minutes} {hours} {days} {months} *")
    return sides


def _numbers(values: frozenset[int], field: Field) -> str:
    """Return a list of numbers, or a star for all of them."""
    if len(values) == field.last - field.first + 1:
        return "*"
    return ",".join(map(str, sorted(values)))
