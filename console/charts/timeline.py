"""The next day as lanes: one row a schedule, one mark a run. Pure: data in, shapes and words out.

What is drawn is what the table beside it lists, mark for mark: `Timeline.rows` is both.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from console.charts.axis import ClockChange, Span, Tick, clock_changes, hour_ticks
from console.moments import clock, span
from console.words import reach

MOST_LANES: Final = 20
MOST_MARKS: Final = 48  # of a lane; with more it becomes a band
MOST_IN_ALL: Final = 300  # then the fullest lanes become bands, so that the page stays small
WIDTH: Final = 1100
LABEL_WIDTH: Final = 210
ROW: Final = 26
TOP: Final = 24
MARK: Final = (9, 14)
LABEL_CHARACTERS: Final = 28
TICK_HOURS: Final = 3
NOW_ROOM: Final = 28  # beside the word "now" no hour is written


@dataclass(frozen=True, slots=True)
class Lane:
    """One schedule's runs in the window: the first ones, how many in all, and their spacing if it is constant."""

    name: str
    url: str
    at: tuple[datetime, ...]
    count: int
    every: timedelta | None = None
    racks: int = 0
    sample: tuple[str, ...] = ()  # a few of the racks' names
    operation: str = ""
    disruptive: bool = False
    overdue: bool = False  # the first run was due before now
    type: str = ""  # of the operation

    @property
    def banded(self) -> bool:
        """Drawn as one band, since single marks would not be told apart."""
        return self.count > len(self.at)

    @property
    def reach(self) -> str:
        """How many racks, or calls."""
        return reach(self.racks, self.type)


@dataclass(frozen=True, slots=True)
class Row:
    """One mark or band: where it is drawn, and what the table says of it."""

    lane: Lane
    at: datetime
    when: str  # beside its lane's name, which is seen
    words: str  # by itself
    x: float
    y: float
    width: float = 0.0  # of a band

    @property
    def often(self) -> str:
        """What stands on a band: `every 15 min, 96 firings`."""
        return _often(self.lane)

    @property
    def text(self) -> tuple[float, float]:
        """Where that stands."""
        return self.x + 6, self.y + 11

    @property
    def points(self) -> str:
        """The diamond of an operation that takes running work off its racks: a shape, not only a colour."""
        half_width, half_height = MARK[0] / 2 + 2, MARK[1] / 2 + 1
        middle = self.y + MARK[1] / 2
        corners = (
            (self.x, middle - half_height),
            (self.x + half_width, middle),
            (self.x, middle + half_height),
            (self.x - half_width, middle),
        )
        return " ".join(f"{x:.1f},{y:.1f}" for x, y in corners)

    @property
    def left(self) -> float:
        """The left edge of a plain mark."""
        return round(self.x - MARK[0] / 2, 1)


@dataclass(frozen=True, slots=True)
class Label:
    """A lane's name, cut to its column."""

    y: float
    text: str
    name: str


@dataclass(frozen=True, slots=True)
class Timeline:
    """The drawing. `hidden`: schedules that run in the window and have no lane."""

    width: int
    height: int
    left: int
    rows: tuple[Row, ...]
    labels: tuple[Label, ...]
    ticks: tuple[Tick, ...]
    now_x: float
    changes: tuple[tuple[float, ClockChange], ...]
    runs: int
    hidden: int
    first: tuple[Row, ...]  # in order of time, for screens too small for the drawing


def draw(
    lanes: Sequence[Lane], *, since: datetime, until: datetime, now: datetime, zone: ZoneInfo, in_all: int
) -> Timeline:
    """Lay out the lanes, of `in_all` schedules that run in the window."""
    shown = _thinned(lanes[:MOST_LANES])
    window = Span(since, until, LABEL_WIDTH, WIDTH - LABEL_WIDTH - 8)
    now_x = window.x(now)
    rows = tuple(row for place, lane in enumerate(shown) for row in _rows(lane, TOP + place * ROW, window, zone))
    changes = tuple((window.x(change.at), change) for change in clock_changes(since, until, zone))
    return Timeline(
        width=WIDTH,
        height=TOP + ROW * len(shown) + 6,
        left=LABEL_WIDTH,
        rows=rows,
        labels=tuple(Label(TOP + place * ROW + 16, _cut(lane.name), lane.name) for place, lane in enumerate(shown)),
        ticks=tuple(tick for tick in hour_ticks(window, zone, every=TICK_HOURS) if abs(tick.x - now_x) > NOW_ROOM),
        now_x=now_x,
        changes=changes,
        runs=sum(lane.count for lane in shown),
        hidden=max(0, in_all - len(shown)),
        first=tuple(sorted(rows, key=lambda row: row.at)[:12]),
    )


def _thinned(lanes: Iterable[Lane]) -> list[Lane]:
    """Fold what is too full into bands: lanes by themselves, then the fullest ones of all together."""
    kept = [replace(lane, at=lane.at[:1]) if lane.count > MOST_MARKS else lane for lane in lanes]
    while sum(len(lane.at) for lane in kept) > MOST_IN_ALL:
        fullest = max(range(len(kept)), key=lambda place: len(kept[place].at))
        kept[fullest] = replace(kept[fullest], at=kept[fullest].at[:1])
    return kept


def _rows(lane: Lane, top: int, window: Span, zone: ZoneInfo) -> list[Row]:
    y = top + (ROW - MARK[1]) / 2 - 2
    what = f"{lane.name}, {lane.reach}"
    if lane.banded:
        begin = window.x(lane.at[0])
        when = f"{_often(lane)} from {clock(lane.at[0], zone)}"
        return [Row(lane, lane.at[0], when, f"{when}: {what}", begin, y, round(window.left + window.width - begin, 1))]
    return [Row(lane, at, clock(at, zone), f"{clock(at, zone)} {what}", window.x(at), y) for at in lane.at]


def _often(lane: Lane) -> str:
    every = f"every {span(lane.every)}, " if lane.every else ""
    return f"{every}{lane.count} firings"


def _cut(name: str) -> str:
    return name if len(name) <= LABEL_CHARACTERS else f"{name[: LABEL_CHARACTERS - 1]}…"
