"""Where times and numbers fall on a chart's axes. Pure; coordinates have one decimal, which is all a screen shows."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from console.moments import zone_name

_HOUR: Final = timedelta(hours=1)
_MINUTE: Final = timedelta(minutes=1)
_STEPS: Final = (1, 2, 5)


@dataclass(frozen=True, slots=True)
class Tick:
    """A place on the axis and what stands there."""

    x: float
    label: str


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of time laid over `width` pixels from `left` on, linear in real time."""

    since: datetime
    until: datetime
    left: float
    width: float

    def x(self, at: datetime) -> float:
        """The place of an instant, kept inside."""
        share = (at - self.since) / (self.until - self.since)
        return round(self.left + self.width * min(1.0, max(0.0, share)), 1)


def whole_hours(since: datetime, until: datetime, zone: ZoneInfo) -> list[datetime]:
    """The instants from `since` on and before `until` at which the zone's clock shows a whole hour."""
    found = []
    at = since
    while at < until:
        wall = at.astimezone(zone)
        past = timedelta(minutes=wall.minute, seconds=wall.second, microseconds=wall.microsecond)
        if not past:
            found.append(at)
        at += _HOUR - past
    return found


def hour_ticks(span: Span, zone: ZoneInfo, *, every: int) -> list[Tick]:
    """The whole hours that divide by `every`, as the zone's clock shows them."""
    hours = [(at, at.astimezone(zone).hour) for at in whole_hours(span.since, span.until, zone)]
    return [Tick(span.x(at), f"{hour:02}") for at, hour in hours if hour % every == 0]


@dataclass(frozen=True, slots=True)
class ClockChange:
    """The instant at which the zone's clock changes, and what it does, in words."""

    at: datetime
    words: str


def clock_changes(since: datetime, until: datetime, zone: ZoneInfo) -> list[ClockChange]:
    """The clock changes after `since` and not after `until`, to the minute; looked for hour by hour."""
    found = []
    at = since
    while at < until:
        later = min(at + _HOUR, until)
        if at.astimezone(zone).utcoffset() != later.astimezone(zone).utcoffset():
            change = _narrowed(at, later, zone)
            found.append(ClockChange(change, _words(change, zone)))
        at = later
    return found


def _narrowed(low: datetime, high: datetime, zone: ZoneInfo) -> datetime:
    after = high.astimezone(zone).utcoffset()
    while high - low > _MINUTE:
        middle = low + (high - low) // 2
        if middle.astimezone(zone).utcoffset() == after:
            high = middle
        else:
            low = middle
    return high.replace(second=0, microsecond=0)


def _words(change: datetime, zone: ZoneInfo) -> str:
    before, after = (change - _MINUTE).astimezone(zone), change.astimezone(zone)
    offsets = before.utcoffset(), after.utcoffset()
    assert offsets[0] is not None
    assert offsets[1] is not None
    direction = "forward" if offsets[1] > offsets[0] else "back"
    return f"clocks go {direction}: {zone_name(before)} → {zone_name(after)}"


def rounded_up(value: int) -> int:
    """The next of 1, 2, 5, 10, 20, 50 … that is not below `value`: where an axis ends."""
    size = 1
    while True:
        for step in _STEPS:
            if value <= step * size:
                return step * size
        size *= 10
