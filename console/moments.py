"""Times as people read them: absolute first, the zone always said, UTC and "in 3 h" beside it.

Pure. No page formats a time itself: two that did it differently would show one firing at two times.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

_MINUTE: Final = 60
_HOUR: Final = 60 * _MINUTE
_DAY: Final = 24 * _HOUR
_EXACT_HOURS: Final = 12  # from here on minutes no longer count


@dataclass(frozen=True, slots=True)
class Moment:
    """One instant in words. `iso` is UTC for machines; `other` the clock of the schedule's zone, where it differs."""

    iso: str
    text: str
    utc: str
    relative: str
    other: str = ""


def moment(
    at: datetime, *, zone: ZoneInfo, now: datetime, other: ZoneInfo | None = None, seconds: bool = False
) -> Moment:
    """The instant `at` for somebody in `zone`. Seconds are for tasks and runs."""
    elsewhere = ""
    if other is not None and at.astimezone(other).replace(tzinfo=None) != at.astimezone(zone).replace(tzinfo=None):
        elsewhere = f"{clock(at, other)} in {other.key}"
    same = at.astimezone(zone).utcoffset() == timedelta(0)
    return Moment(
        iso=at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        text=absolute(at, zone=zone, now=now, seconds=seconds),
        utc="" if same else utc_clock(at, zone=zone),
        relative=relative(at, now),
        other=elsewhere,
    )


def absolute(at: datetime, *, zone: ZoneInfo, now: datetime, seconds: bool = False) -> str:
    """`Sat 13 Mar 02:30 EST`, with the year if it is not this one, and the pass in a repeated hour."""
    wall = at.astimezone(zone)
    year = "" if wall.year == now.astimezone(zone).year else f" {wall.year}"
    return f"{wall:%a} {wall.day} {wall:%b}{year} {clock(at, zone, seconds=seconds)}"


def clock(at: datetime, zone: ZoneInfo, *, seconds: bool = False) -> str:
    """`02:30 EST`; in the hour that clocks repeat, `01:30 EDT (first pass)`."""
    wall = at.astimezone(zone)
    shown = f"{wall:%H:%M:%S}" if seconds else f"{wall:%H:%M}"
    return f"{shown} {zone_name(wall)}{_pass(wall)}"


def zone_name(wall: datetime) -> str:
    """The abbreviation in force, or the offset where a zone has none."""
    name = wall.tzname() or ""
    return f"UTC{name}" if name[:1] in {"+", "-"} else name


def offset(at: datetime, zone: ZoneInfo) -> str:
    """How far the zone's clocks are from UTC at an instant: `UTC-05:00`."""
    text = f"{at.astimezone(zone):%z}"
    return f"UTC{text[:3]}:{text[3:5]}"


def utc_clock(at: datetime, *, zone: ZoneInfo) -> str:
    """`07:30 UTC`, with the day where it is another one there."""
    utc = at.astimezone(UTC)
    day = "" if utc.date() == at.astimezone(zone).date() else f"{utc:%a} {utc.day} {utc:%b} "
    return f"{day}{utc:%H:%M} UTC"


def relative(at: datetime, now: datetime) -> str:
    """`in 3 h 12 min`, `12 min ago`, `now`."""
    seconds = round((at - now).total_seconds())
    words = span(timedelta(seconds=abs(seconds)))
    if not seconds:
        return "now"
    return f"in {words}" if seconds > 0 else f"{words} ago"


def span(length: timedelta) -> str:
    """A length of time in its two largest units: `2 d 3 h`, `3 h 12 min`, `4 min 38 s`, `2 s`."""
    seconds = int(length.total_seconds())
    days, rest = divmod(seconds, _DAY)
    hours, rest = divmod(rest, _HOUR)
    minutes, rest = divmod(rest, _MINUTE)
    if days:
        return f"{days} d" + (f" {hours} h" if hours and days < 10 else "")  # noqa: PLR2004  then hours say nothing
    if hours:
        return f"{hours} h" + (f" {minutes} min" if minutes and hours < _EXACT_HOURS else "")
    if minutes:
        return f"{minutes} min" + (f" {rest} s" if rest and minutes < 5 else "")  # noqa: PLR2004  likewise
    return f"{rest} s"


def _pass(wall: datetime) -> str:
    """Which pass of a repeated hour this is; empty elsewhere."""
    first, second = wall.replace(fold=0).utcoffset(), wall.replace(fold=1).utcoffset()
    if first is None or second is None or first <= second:
        return ""
    return " (second pass)" if wall.fold else " (first pass)"
