"""A rack's fortnight: bars for what ran, dashed ones for what is planned, stacked where they overlap. Pure.

What is drawn is what the table beside it lists, bar for bar: `Strip.bars` is both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from console.charts.axis import ClockChange, Span, Tick, clock_changes
from console.moments import clock, span

MOST: Final = 200  # bars in all
MOST_NARROW: Final = 30  # lines of the list on a small screen
NARROW: Final = timedelta(days=3)  # each way, on a small screen
WIDTH: Final = 1100
LEFT: Final = 4
TOP: Final = 24
ROW: Final = 16
BAR: Final = 12
LEAST: Final = 8  # pixels, so that a minute can be seen and hit
GAP: Final = 1
NOW_ROOM: Final = 40  # beside the word "now" no day is written


@dataclass(frozen=True, slots=True)
class Item:
    """One thing that ran or will. `until` is None for what takes no known time; `key` its outcome, empty if planned.

    `count` above 1: so many of a day in one, `every` that far apart if evenly. `url` may be empty.
    """

    at: datetime
    until: datetime | None
    what: str
    key: str = ""
    tone: str = ""
    word: str = ""
    why: str = ""
    url: str = ""
    count: int = 1
    every: timedelta | None = None

    @property
    def planned(self) -> bool:
        """Whether it is yet to come."""
        return not self.key

    @property
    def often(self) -> str:
        """`every 15 min, 96 times`; empty for a single one."""
        if self.count == 1:
            return ""
        return (f"every {span(self.every)}, " if self.every else "") + f"{self.count} times"


@dataclass(frozen=True, slots=True)
class Bar:
    """An item as drawn; `words` say by themselves what it is."""

    item: Item
    x: float
    y: float
    width: float
    words: str


@dataclass(frozen=True, slots=True)
class Strip:
    """The drawing. `hidden`: items that found no room; `near` those of the days around now, for small screens."""

    width: int
    height: int
    bars: tuple[Bar, ...]
    ticks: tuple[Tick, ...]
    changes: tuple[tuple[float, ClockChange], ...]
    now_x: float
    hidden: int
    near: tuple[Bar, ...]
    near_hidden: int


def draw(
    items: Sequence[Item], *, since: datetime, until: datetime, now: datetime, midnights: Sequence[datetime],
    zone: ZoneInfo,
) -> Strip:  # fmt: skip
    """Lay out the items; where there are too many, those nearest to now on either side."""
    shown = _nearest(items, now, MOST)
    window = Span(since, until, LEFT, WIDTH - 2 * LEFT)
    now_x = window.x(now)
    ticks = [Tick(window.x(at), _day(at.astimezone(zone).date())) for at in midnights if since <= at < until]
    bars, rows = _stacked(shown, window, zone)
    close = [bar for bar in bars if abs(bar.item.at - now) <= NARROW]
    kept = {id(item) for item in _nearest([bar.item for bar in close], now, MOST_NARROW)}
    near = tuple(bar for bar in close if id(bar.item) in kept)
    return Strip(
        width=WIDTH,
        height=TOP + max(1, rows) * ROW + 4,
        bars=tuple(bars),
        ticks=tuple(tick for tick in ticks if abs(tick.x - now_x) > NOW_ROOM),
        changes=tuple((window.x(change.at), change) for change in clock_changes(since, until, zone)),
        now_x=now_x,
        hidden=len(items) - len(shown),
        near=near,
        near_hidden=len(close) - len(near),
    )


def _nearest(items: Sequence[Item], now: datetime, most: int) -> list[Item]:
    """At most `most`, in order of time: half from before and half from after now, or more where the other has less."""
    ordered = sorted(items, key=lambda item: (item.at, item.what))
    before = [item for item in ordered if item.at < now]
    after = [item for item in ordered if item.at >= now]
    back = min(len(before), max(most // 2, most - len(after)))
    return [*before[len(before) - back :], *after[: most - back]]


def _stacked(items: Sequence[Item], window: Span, zone: ZoneInfo) -> tuple[list[Bar], int]:
    """The bars, each in the first row that is free where it begins; and how many rows there are."""
    free: list[float] = []  # where each row's last bar ends
    found = []
    for item in items:
        end = window.x(item.until) if item.until else 0.0
        x = min(window.x(item.at), window.left + window.width - LEAST)
        width = round(max(float(LEAST), end - x - GAP), 1)
        row = next((n for n, taken in enumerate(free) if taken <= x), len(free))
        if row == len(free):
            free.append(0)
        free[row] = x + width + GAP
        found.append(Bar(item, x, TOP + row * ROW, width, _words(item, zone)))
    return found, len(free)


def _words(item: Item, zone: ZoneInfo) -> str:
    when = f"{_day(item.at.astimezone(zone).date())} {clock(item.at, zone)}"
    often = f", {item.often}" if item.often else ""
    return f"{when} {item.what}{often}: {item.word or 'planned'}"


def _day(day: date) -> str:
    return f"{day:%a} {day.day:02}"
