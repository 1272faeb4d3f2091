"""The stretches of time the charts count in, cut where the viewer's clock shows whole hours. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from console.charts.axis import whole_hours

_HOUR: Final = timedelta(hours=1)
_DAY: Final = timedelta(days=1)
_HOURS: Final = 24
_QUARTERS: Final = 28
_QUARTER_HOURS: Final = 6
_LABELLED_HOURS: Final = 3


@dataclass(frozen=True, slots=True)
class Range:
    """One choice of the outcomes' panel: its name in the address, its words, and where its buckets begin and end."""

    key: str
    words: str
    edges: tuple[datetime, ...]
    label: Callable[[datetime], str]  # of a bucket on the axis, by its begin; empty for most

    @property
    def since(self) -> datetime:
        """Where the first bucket begins."""
        return self.edges[0]

    @property
    def until(self) -> datetime:
        """Where the last bucket ends: in the future, since the current one is not over."""
        return self.edges[-1]


def day(now: datetime, zone: ZoneInfo) -> Range:
    """The last 24 whole hours, the current one included."""
    hours = whole_hours(now - 26 * _HOUR, now + 2 * _HOUR, zone)
    end = next(place for place, at in enumerate(hours) if at > now)

    def label(at: datetime) -> str:
        hour = at.astimezone(zone).hour
        return f"{hour:02}" if hour % _LABELLED_HOURS == 0 else ""

    return Range("24h", "24 hours", tuple(hours[end - _HOURS : end + 1]), label)


def week(now: datetime, zone: ZoneInfo) -> Range:
    """The last 7 days in quarters of a day, the current one included; around a clock change one is an hour off."""
    today = now.astimezone(zone).replace(hour=0, minute=0, second=0, microsecond=0, fold=0, tzinfo=None)
    walls = (today + n * _QUARTER_HOURS * _HOUR for n in range(-4 * 9, 4 * 2 + 1))
    quarters = sorted({wall.replace(tzinfo=zone).astimezone(UTC) for wall in walls})
    end = next(place for place, at in enumerate(quarters) if at > now)

    def label(at: datetime) -> str:
        wall = at.astimezone(zone)
        return f"{wall:%a} {wall.day}" if wall.hour < _QUARTER_HOURS else ""

    return Range("7d", "7 days", tuple(quarters[end - _QUARTERS : end + 1]), label)
