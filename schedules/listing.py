"""Every firing of a calendar in a stretch of time, a day at a time: for lists and charts of what will run.

The rules are `schedules/firings.py`'s (T-5), and a test holds both to the same answers. `find_next` asks the calendar
engine about one minute; asked ten thousand times, for a month of a schedule that fires every five minutes, it takes a
second and more. Here an ordinary day costs one addition a firing, and only days around a clock change are looked at
minute by minute.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo

from schedules.cron import Calendar
from schedules.firings import DstPolicy
from schedules.timestamps import LAST_YEAR
from schedules.zones import Readings, find_change, read

_DAY: Final = timedelta(days=1)
_MARGIN: Final = 2 * _DAY  # a firing that a date names may lie a day after it, where a zone skips a date


def find_days(
    calendar: Calendar, zone: ZoneInfo, after: datetime, until: datetime | None, *, dst: DstPolicy
) -> Iterator[Sequence[datetime]]:
    """Yield the firings strictly after `after` and before `until` (aware; None: to the end of time), in UTC.

    In order and without repetition, about a day's in each sequence, none of them empty.
    """
    last = after.astimezone(UTC)
    for found in _days(calendar, zone, last, until, literal=dst == "wall" or calendar.every_hour):
        fresh = found if found[0] > last else [at for at in found if at > last]
        if until is not None and fresh and fresh[-1] >= until:
            fresh = [at for at in fresh if at < until]
        if fresh:
            if fresh[-1].year > LAST_YEAR:
                return
            last = fresh[-1]
            yield fresh


def _days(
    calendar: Calendar, zone: ZoneInfo, after: datetime, until: datetime | None, *, literal: bool
) -> Iterator[Sequence[datetime]]:
    """Yield what each matching date names; dates next to each other around a clock change together, sorted."""
    walls = [timedelta(hours=h, minutes=m) for h in sorted(calendar.hours) for m in sorted(calendar.minutes)]
    day = (after.astimezone(zone) - _MARGIN).date()
    end = date(LAST_YEAR, 12, 31) if until is None else (until.astimezone(zone) + _MARGIN).date()
    unsettled: set[datetime] = set()
    while day <= end:
        if _names(calendar, day):
            midnight = datetime(day.year, day.month, day.day)  # noqa: DTZ001  a wall clock
            offset = _constant_offset(midnight, zone)
            if offset is None:
                unsettled.update(at for wall in walls for at in _instants(midnight + wall, zone, literal=literal))
            else:
                if unsettled:
                    yield sorted(unsettled)
                    unsettled = set()
                start = (midnight - offset).replace(tzinfo=UTC)
                yield [start + wall for wall in walls]
        day += _DAY
    if unsettled:
        yield sorted(unsettled)


def _names(calendar: Calendar, day: date) -> bool:
    """Whether the calendar has firings on this date (T-4)."""
    if day.month not in calendar.months:
        return False
    in_days, in_weekdays = day.day in calendar.days, day.isoweekday() % 7 in calendar.weekdays
    return in_days or in_weekdays if calendar.either_day else in_days and in_weekdays


@lru_cache(maxsize=4096)
def _constant_offset(midnight: datetime, zone: ZoneInfo) -> timedelta | None:
    """Return the offset that holds from this midnight to the next, both included; None around a clock change."""
    begins, ends = read(midnight, zone), read(midnight + _DAY, zone)
    if begins.before != begins.after or ends.before != ends.after or ends.before - begins.before != _DAY:
        return None
    return midnight - begins.before.replace(tzinfo=None)


def _instants(wall: datetime, zone: ZoneInfo, *, literal: bool) -> tuple[datetime, ...]:
    """Return when a named minute fires on a day on which the clock changes."""
    readings: Readings = read(wall, zone)
    if readings.skipped:
        return () if literal else (find_change(readings, zone)[0],)
    if readings.twice and literal:
        return readings.before, readings.after
    return (readings.before,)
