"""The outcomes' panels: a drawing, a smaller one, a legend and a table, all of the same counts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from zoneinfo import ZoneInfo

from console.charts import outcomes
from console.charts.outcomes import Bucket, Outcomes
from console.dashboard.ranges import Range
from console.moments import clock
from console.words import WORDS

WIDE: Final = 560
NARROW: Final = 340

Address = Callable[[str, datetime, datetime], str]  # outcome (empty: any), from, to -> the list behind a number


@dataclass(frozen=True, slots=True)
class Kind:
    """What is counted: its name in the page, its words, and its outcomes, the worst first."""

    name: str
    title: str
    explained: str
    nothing: str
    order: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """One badge of the legend."""

    key: str
    count: int
    url: str

    @property
    def word(self) -> str:
        """As the vocabulary says it."""
        return WORDS[self.key].word

    @property
    def tone(self) -> str:
        """Its colour there."""
        return WORDS[self.key].tone


@dataclass(frozen=True, slots=True)
class Line:
    """One row of the table."""

    bucket: Bucket
    url: str
    cells: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class OutcomesPanel:
    """What the template shows. `words` is the whole in a sentence."""

    kind: Kind
    wide: Outcomes
    narrow: Outcomes
    legend: tuple[Entry, ...]
    lines: tuple[Line, ...]
    words: str

    @property
    def drawings(self) -> tuple[tuple[str, Outcomes], ...]:
        """Each size with the class that shows it."""
        return ("wide-only", self.wide), ("narrow-only", self.narrow)


def outcomes_panel(
    buckets: Sequence[Bucket], kind: Kind, *, chosen: Range, zone: ZoneInfo, address: Address
) -> OutcomesPanel:
    """The panel of the buckets of the chosen range."""
    order = kind.order

    def drawn(shown: Sequence[Bucket], width: int) -> Outcomes:
        return outcomes.draw(
            shown,
            order,
            width=width,
            label=chosen.label,
            address=lambda bucket: address("", bucket.since, bucket.until),
            words=lambda bucket: _bar_words(bucket, order, zone),
        )

    totals = outcomes.sums(buckets, order)
    return OutcomesPanel(
        kind=kind,
        wide=drawn(buckets, WIDE),
        narrow=drawn(outcomes.merged(buckets, 2), NARROW),
        legend=tuple(Entry(key, count, address(key, chosen.since, chosen.until)) for key, count in totals.items()),
        lines=tuple(_line(bucket, tuple(totals), address) for bucket in buckets if bucket.total),
        words=in_words(totals),
    )


def in_words(totals: dict[str, int]) -> str:
    """`412 outcomes: 397 completed, 3 failed, 12 skipped`."""
    total = sum(totals.values())
    parts = ", ".join(f"{count} {WORDS[key].word.lower()}" for key, count in reversed(totals.items()))
    return f"{total} outcome{'' if total == 1 else 's'}" + (f": {parts}" if parts else "")


def _bar_words(bucket: Bucket, order: Sequence[str], zone: ZoneInfo) -> str:
    day = bucket.since.astimezone(zone)
    when = f"{day:%a} {day.day} {day:%b} {clock(bucket.since, zone)} to {clock(bucket.until, zone)}"
    return f"{when}, {in_words(outcomes.sums([bucket], order))}"


def _line(bucket: Bucket, keys: Sequence[str], address: Address) -> Line:
    cells = tuple(Entry(key, bucket.counts.get(key, 0), address(key, bucket.since, bucket.until)) for key in keys)
    return Line(bucket, address("", bucket.since, bucket.until), cells)
