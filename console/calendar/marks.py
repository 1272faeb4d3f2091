"""One entry of the calendar: a firing that was, a run to come, or a day's worth of either."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final, Literal
from uuid import UUID

from console.call_shown import is_call
from console.moments import span
from console.outcomes_shown import Count
from console.words import WORDS, reach

MOST_MARKS: Final = 2000
MOST_A_DAY: Final = 8  # of one schedule; with more its day is one entry

Kind = Literal["past", "planned", "paused"]
TOO_MANY: Final = "Too many to draw: filter by rack or schedule."


class TooMany(Exception):
    """More than a calendar can show."""


@dataclass(slots=True)
class Mark:
    """An entry. `count` above 1: so many firings of that day in one, `every` that far apart if evenly.

    `key` is the worst outcome of a past one; `counts` has them all. `why` says why a paused one will not run.
    """

    kind: Kind
    at: datetime
    schedule_id: UUID
    name: str
    operation: str
    disruptive: bool
    url: str
    racks: int = 0
    count: int = 1
    every: timedelta | None = None
    key: str = ""
    counts: list[Count] = field(default_factory=list)
    why: str = ""
    firing_id: int | None = None
    type: str = ""  # of the operation, as the conflict table knows it
    clash: str = ""  # the other schedule that wants the same racks at about that time

    @property
    def often(self) -> str:
        """`every 15 min · 96`; empty for a single one."""
        if self.count == 1:
            return ""
        return f"every {span(self.every)} · {self.count}" if self.every else f"{self.count} times"

    @property
    def is_call(self) -> bool:
        """An HTTP call, which may be on no rack."""
        return is_call(self.type)

    @property
    def reach(self) -> str:
        """How many racks, or calls; empty where that is not counted."""
        return "" if not self.racks and self.kind == "past" else reach(self.racks, self.type)

    @property
    def word(self) -> str:
        """The worst outcome in words."""
        return WORDS[self.key].word if self.key else ""

    @property
    def icon(self) -> str:
        """Its icon."""
        return WORDS[self.key].icon if self.key else ""

    @property
    def css(self) -> str:
        """How it looks: past in the colour of its worst outcome, to come dashed, paused struck out."""
        tone = WORDS[self.key].tone if self.key else "info" if self.kind == "planned" else "mute"
        parts = [self.kind, f"tone-{tone}", "disruptive" if self.disruptive else "", "clash" if self.clash else ""]
        return " ".join(part for part in parts if part)


def by_day(marks: Sequence[Mark], edges: Sequence[datetime]) -> list[list[Mark]]:
    """The marks between each two edges, in order of time; what fires often comes last: it is there every day."""
    found: list[list[Mark]] = [[] for _ in edges[1:]]
    place = 0
    for mark in sorted(marks, key=lambda mark: (mark.at, mark.name)):
        while place + 1 < len(found) and mark.at >= edges[place + 1]:
            place += 1
        found[place].append(mark)
    return [sorted(day, key=lambda mark: mark.count > 1) for day in found]
