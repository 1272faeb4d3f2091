"""Which days a view shows, and where each begins. Pure.

A day is the viewer's: from one midnight of their clock to the next, 23 or 25 hours long where clocks change.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Final, Literal
from zoneinfo import ZoneInfo

from console.charts.axis import ClockChange, clock_changes
from schedules.zones import find_change, read

View = Literal["month", "week", "list"]
VIEWS: Final[tuple[View, ...]] = ("month", "week", "list")
MOST_DAYS: Final = 45
LIST_DAYS: Final = 14
_DAY: Final = timedelta(days=1)
_MINUTE: Final = timedelta(minutes=1)
_WEEK: Final = 7
_HOURS: Final = 24
_LEAST_WEEKS: Final = 4  # from this week on, so that the end of a month is not all there is of the plan


@dataclass(frozen=True, slots=True)
class Day:
    """One day of the viewer: its two midnights, and the clock change inside, if any."""

    date: date
    since: datetime
    until: datetime
    change: ClockChange | None

    @property
    def hours(self) -> int:
        """How long it is: 24, but for days on which clocks change."""
        return round((self.until - self.since) / timedelta(hours=1))

    @property
    def odd(self) -> str:
        """What is unusual about its length, for its heading; empty for most."""
        return f"{self.hours} hours" if self.hours != _HOURS else ""


@dataclass(frozen=True, slots=True)
class Window:
    """What a view shows. `inside` is the month that a month's view is about, for days that belong to its neighbours.

    `cut`: the weeks from this one on are shown, and `before` leads to the whole month.
    """

    view: View
    days: tuple[Day, ...]
    title: str
    before: date
    after: date
    inside: int | None = None
    cut: bool = False

    @property
    def edges(self) -> list[datetime]:
        """The midnights, one more than there are days."""
        return [*(day.since for day in self.days), self.days[-1].until]

    @property
    def since(self) -> datetime:
        """Where it begins."""
        return self.days[0].since

    @property
    def until(self) -> datetime:
        """Where it ends."""
        return self.days[-1].until

    @property
    def changes(self) -> list[ClockChange]:
        """The clock changes of its days."""
        return [day.change for day in self.days if day.change]

    @property
    def weeks(self) -> list[Sequence[Day]]:
        """Its days in rows of seven."""
        return [self.days[place : place + _WEEK] for place in range(0, len(self.days), _WEEK)]


def window_of(view: View, anchor: date, zone: ZoneInfo, *, days: int = LIST_DAYS) -> Window:
    """The window of a view that shows the day `anchor`; `days` is the length of a list."""
    if view == "month":
        return _month(anchor, zone)
    if view == "week":
        first = anchor - anchor.weekday() * _DAY
        shown = _days(first, _WEEK, zone)
        return Window(view, shown, _between(first, first + 6 * _DAY), first - 7 * _DAY, first + 7 * _DAY)
    length = max(1, min(MOST_DAYS, days))
    title = f"{anchor:%A} {_long(anchor)}" if length == 1 else _between(anchor, anchor + (length - 1) * _DAY)
    return Window(view, _days(anchor, length, zone), title, anchor - length * _DAY, anchor + length * _DAY)


def month_from(today: date, zone: ZoneInfo) -> Window:
    """The month of today from this week on, so that today stands in its first row, however late in the month it is."""
    whole = _month(today, zone)
    start = today - today.weekday() * _DAY
    if whole.days[0].date == start:
        return whole
    weeks = max(_LEAST_WEEKS, ((whole.days[-1].date - start).days + 1) // _WEEK)
    days = _days(start, weeks * _WEEK, zone)
    title = _between(start, days[-1].date)
    return Window("month", days, title, today.replace(day=1), whole.after, cut=True)


def midnight(day: date, zone: ZoneInfo) -> datetime:
    """The instant at which a day begins: the first that the clock shows of it, where midnight itself is skipped."""
    readings = read(datetime(day.year, day.month, day.day), zone)  # noqa: DTZ001  a wall clock
    return find_change(readings, zone)[0] if readings.skipped else readings.before.astimezone(UTC)


def _month(anchor: date, zone: ZoneInfo) -> Window:
    first = anchor.replace(day=1)
    following = (first + 31 * _DAY).replace(day=1)
    start = first - first.weekday() * _DAY
    weeks = -(-(following - start).days // _WEEK)
    days = _days(start, weeks * _WEEK, zone)
    return Window("month", days, f"{first:%B %Y}", (first - _DAY).replace(day=1), following, inside=first.month)


def _days(first: date, count: int, zone: ZoneInfo) -> tuple[Day, ...]:
    starts = [midnight(first + n * _DAY, zone) for n in range(count + 1)]
    return tuple(
        Day(first + n * _DAY, starts[n], starts[n + 1], _change(starts[n], starts[n + 1], zone)) for n in range(count)
    )


def _change(since: datetime, until: datetime, zone: ZoneInfo) -> ClockChange | None:
    """The change inside; one at the day's first instant is this day's, as it takes its first hour."""
    before, after = since - _MINUTE, until - _MINUTE
    if before.astimezone(zone).utcoffset() == after.astimezone(zone).utcoffset():
        return None
    return next(iter(clock_changes(before, after, zone)), None)


def _between(first: date, last: date) -> str:
    if first.year != last.year:
        return f"{_long(first)} to {_long(last)}"
    if first.month != last.month:
        return f"{first.day} {first:%B} to {_long(last)}"
    return f"{first.day} to {_long(last)}"


def _long(day: date) -> str:
    return f"{day.day} {day:%B %Y}"
