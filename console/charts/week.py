"""A week of a calendar: days across, hours down, side by side what comes at the same time. Pure.

The hours are the wall clock's, so that a nightly run stands at the same height every day. On a day on which clocks
change the hour that is missing, or that comes twice, is marked in its column.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

WIDTH: Final = 1100
GUTTER: Final = 44  # for the hours
HOUR: Final = 30
BOX: Final = 22
DENSE: Final = 350  # boxes, above which no tooltips are sent along
MOST_LANES: Final = 3
MOST_ALL_DAY: Final = 3
_CHARACTER: Final = 6.6  # pixels, of the names
_HOURS: Final = 24
_MINUTES: Final = 60


@dataclass(frozen=True, slots=True)
class Entry:
    """One mark: `words` begins with its name, `css` are its classes. `all_day`: a day's worth of what fires often."""

    at: datetime
    name: str
    words: str
    url: str
    css: str
    all_day: bool = False


@dataclass(frozen=True, slots=True)
class Column:
    """One day. `url` is its list, for what finds no room."""

    since: datetime
    until: datetime
    heading: str
    url: str
    entries: Sequence[Entry]


@dataclass(frozen=True, slots=True)
class Box:
    """An entry as drawn: its text is the beginning of its name."""

    entry: Entry
    x: float
    y: float
    width: float
    text: str

    @property
    def text_at(self) -> tuple[float, float]:
        """Where the text stands."""
        return round(self.x + 5, 1), round(self.y + BOX - 6, 1)


@dataclass(frozen=True, slots=True)
class More:
    """So many entries that found no room, and the list that has them."""

    count: int
    x: float
    y: float
    width: float
    url: str

    @property
    def text_at(self) -> tuple[float, float]:
        """Where the number stands."""
        return round(self.x + 4, 1), round(self.y + BOX - 6, 1)


@dataclass(frozen=True, slots=True)
class Odd:
    """An hour that the clock skips or shows twice."""

    x: float
    y: float
    width: float
    height: float
    words: str


@dataclass(frozen=True, slots=True)
class Week:
    """The drawing."""

    width: int
    height: int
    top: int
    headings: tuple[tuple[float, Column], ...]
    hours: tuple[tuple[float, str], ...]
    boxes: tuple[Box, ...]
    more: tuple[More, ...]
    odd: tuple[Odd, ...]
    now: tuple[float, float, float] | None  # x, y, width of the line

    @property
    def dense(self) -> bool:
        """Full enough that each byte of a box counts."""
        return len(self.boxes) > DENSE


def draw(columns: Sequence[Column], *, zone: ZoneInfo, now: datetime) -> Week:
    """Lay out the days."""
    room = (WIDTH - GUTTER) / len(columns)
    strips = min(MOST_ALL_DAY + 1, max(len([e for e in column.entries if e.all_day]) for column in columns))
    top = 26 + strips * (BOX + 2)
    boxes: list[Box] = []
    more: list[More] = []
    odd: list[Odd] = []
    line = None
    for place, column in enumerate(columns):
        x = GUTTER + place * room
        cell = _Cell(round(x + 2, 1), round(room - 4, 1), top, zone, column)
        for found in (cell.all_day(), cell.hours()):
            boxes += found[0]
            more += found[1]
        odd += cell.odd()
        if column.since <= now < column.until:
            line = (cell.x, cell.y(now), cell.width)
    return Week(
        width=WIDTH,
        height=top + _HOURS * HOUR + BOX,
        top=top,
        headings=tuple((round(GUTTER + (n + 0.5) * room, 1), column) for n, column in enumerate(columns)),
        hours=tuple((top + hour * HOUR, f"{hour:02}:00") for hour in range(_HOURS)),
        boxes=tuple(boxes),
        more=tuple(more),
        odd=tuple(odd),
        now=line,
    )


@dataclass(frozen=True, slots=True)
class _Cell:
    """One day's place."""

    x: float
    width: float
    top: int
    zone: ZoneInfo
    column: Column

    def y(self, at: datetime) -> float:
        """The height of an instant: its wall clock's."""
        wall = at.astimezone(self.zone)
        return round(self.top + (wall.hour + wall.minute / _MINUTES + wall.second / _MINUTES**2) * HOUR, 1)

    def all_day(self) -> tuple[list[Box], list[More]]:
        """What fires often, above the hours."""
        entries = [entry for entry in self.column.entries if entry.all_day]
        shown = entries if len(entries) <= MOST_ALL_DAY + 1 else entries[:MOST_ALL_DAY]
        boxes = [self._box(entry, 26 + n * (BOX + 2), 0, 1) for n, entry in enumerate(shown)]
        hidden = len(entries) - len(shown)
        y = 26 + MOST_ALL_DAY * (BOX + 2)
        return boxes, [More(hidden, self.x, y, self.width, self.column.url)] if hidden else []

    def hours(self) -> tuple[list[Box], list[More]]:
        """What has its hour: those that would overlap share the width, the fourth and later are counted."""
        boxes, more = [], []
        for group in self._groups():
            lanes = _lanes([self.y(entry.at) for entry in group])
            count = max(lanes) + 1
            width = min(count, MOST_LANES)
            fits = count <= MOST_LANES
            last = MOST_LANES if fits else MOST_LANES - 1
            boxes += [
                self._box(entry, self.y(entry.at), lane, width)
                for entry, lane in zip(group, lanes, strict=True)
                if lane < last
            ]
            if not fits:
                hidden = [entry for entry, lane in zip(group, lanes, strict=True) if lane >= last]
                share = self.width / width
                x = round(self.x + last * share, 1)
                more.append(More(len(hidden), x, self.y(hidden[0].at), round(share, 1), self.column.url))
        return boxes, more

    def _groups(self) -> list[list[Entry]]:
        """Entries that overlap, directly or through others, together."""
        groups: list[list[Entry]] = []
        bottom = 0.0
        for entry in sorted((e for e in self.column.entries if not e.all_day), key=lambda e: self.y(e.at)):
            y = self.y(entry.at)
            if not groups or y >= bottom:
                groups.append([])
            groups[-1].append(entry)
            bottom = max(bottom, y + BOX)
        return groups

    def _box(self, entry: Entry, y: float, lane: int, lanes: int) -> Box:
        share = self.width / lanes
        width = round(share - 1, 1)
        return Box(
            entry, round(self.x + lane * share, 1), y, width, entry.name[: max(1, int((width - 9) / _CHARACTER))]
        )

    def odd(self) -> list[Odd]:
        """The hour that is missing or comes twice, by comparing the clock with the time that has passed."""
        low, high = self.column.since - timedelta(minutes=1), self.column.until
        start = low.astimezone(self.zone).utcoffset()
        end = (self.column.until - timedelta(microseconds=1)).astimezone(self.zone).utcoffset()
        if start is None or end is None or start == end:
            return []
        while high - low > timedelta(minutes=1):
            middle = low + (high - low) // 2
            low, high = (middle, high) if middle.astimezone(self.zone).utcoffset() == start else (low, middle)
        change = high.replace(second=0, microsecond=0)
        after = self.y(change)
        before = round(after + (start - end) / timedelta(hours=1) * HOUR, 1)
        words = "skipped this day" if end > start else "comes twice"
        return [Odd(self.x, min(before, after), self.width, round(abs(after - before), 1), words)]


def _lanes(tops: Sequence[float]) -> list[int]:
    """The first free lane for each of these boxes, given from the top down."""
    free: list[float] = []  # where each lane's last box ends
    found = []
    for y in tops:
        lane = next((n for n, bottom in enumerate(free) if bottom <= y), len(free))
        if lane == len(free):
            free.append(0)
        free[lane] = y + BOX
        found.append(lane)
    return found
