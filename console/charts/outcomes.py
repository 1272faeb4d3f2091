"""Outcomes over time as stacked bars. Pure: counts in, shapes and words out.

The worst stands at the bottom of each stack and never shrinks below three pixels: one failure under four hundred
successes must be seen. Bars, table and legend come from the same numbers, so their sums agree.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Final

from console.charts.axis import Tick, rounded_up
from console.words import WORDS

HEIGHT: Final = 120  # of the plot
TOP: Final = 14
BOTTOM: Final = 22
LEFT: Final = 38
LEAST: Final = 3.0  # pixels of the smallest part


@dataclass(frozen=True, slots=True)
class Bucket:
    """What happened in one stretch of time: outcome -> how many."""

    since: datetime
    until: datetime
    counts: Mapping[str, int]

    @property
    def total(self) -> int:
        """All outcomes together."""
        return sum(self.counts.values())


@dataclass(frozen=True, slots=True)
class Part:
    """One outcome's share of a bar."""

    key: str
    count: int
    y: float
    height: float

    @property
    def tone(self) -> str:
        """Its colour in the vocabulary."""
        return WORDS[self.key].tone


@dataclass(frozen=True, slots=True)
class Bar:
    """One bucket: its parts, from the bottom up, the list that it leads to, and a sentence."""

    bucket: Bucket
    url: str
    words: str
    x: float
    width: float
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Outcomes:
    """The drawing. `bars` has none for a bucket in which nothing happened."""

    width: int
    height: int
    zero: float
    top: float
    left: int
    most: int  # what the upper end of the axis stands for
    bars: tuple[Bar, ...]
    ticks: tuple[Tick, ...]
    totals: Mapping[str, int]  # in the order of the stack, only what there is
    total: int

    @property
    def zero_text(self) -> float:
        """Where the zero beside the axis stands."""
        return self.zero + 4

    @property
    def plot(self) -> int:
        """The height between the two ends of the axis."""
        return HEIGHT


def sums(buckets: Sequence[Bucket], order: Sequence[str]) -> dict[str, int]:
    """Each outcome's count in all buckets, in `order`, without those that did not occur."""
    totals = {key: sum(bucket.counts.get(key, 0) for bucket in buckets) for key in order}
    return {key: count for key, count in totals.items() if count}


def merged(buckets: Sequence[Bucket], by: int) -> list[Bucket]:
    """Every `by` neighbours as one, for a screen too narrow for all of them."""
    return [_one(buckets[place : place + by]) for place in range(0, len(buckets), by)]


def rebucketed(buckets: Sequence[Bucket], edges: Sequence[datetime]) -> list[Bucket]:
    """The same counts between fewer `edges`, each of which is an edge of the buckets too."""
    groups = [[b for b in buckets if since <= b.since and b.until <= until] for since, until in pairwise(edges)]
    return [_one(group) for group in groups]


def _one(group: Sequence[Bucket]) -> Bucket:
    counts: Counter[str] = Counter()
    for bucket in group:
        counts.update(bucket.counts)
    return Bucket(group[0].since, group[-1].until, counts)


def draw(
    buckets: Sequence[Bucket],
    order: Sequence[str],
    *,
    width: int,
    label: Callable[[datetime], str],
    address: Callable[[Bucket], str],
    words: Callable[[Bucket], str],
) -> Outcomes:
    """Lay out the bars; `order` is the worst outcome first. `label` names a bucket's begin on the axis, or is empty."""
    most = rounded_up(max((bucket.total for bucket in buckets), default=0))
    room = (width - LEFT) / max(1, len(buckets))
    bars, ticks = [], []
    for place, bucket in enumerate(buckets):
        x = LEFT + place * room
        if text := label(bucket.since):
            ticks.append(Tick(round(x, 1), text))
        if bucket.total:
            gap = min(2.0, room / 6)
            parts = _stack(bucket, order, HEIGHT / most)
            bars.append(Bar(bucket, address(bucket), words(bucket), round(x + gap / 2, 1), round(room - gap, 1), parts))
    totals = sums(buckets, order)
    return Outcomes(
        width=width,
        height=TOP + HEIGHT + BOTTOM,
        zero=TOP + HEIGHT,
        top=TOP,
        left=LEFT,
        most=most,
        bars=tuple(bars),
        ticks=tuple(ticks),
        totals=totals,
        total=sum(totals.values()),
    )


def _stack(bucket: Bucket, order: Sequence[str], scale: float) -> tuple[Part, ...]:
    """The parts from the zero line up; what the small ones were given is taken from the largest."""
    counts = [(key, bucket.counts[key]) for key in order if bucket.counts.get(key)]
    heights = {key: max(LEAST, count * scale) for key, count in counts}
    largest = max(heights, key=lambda key: heights[key])
    excess = sum(heights.values()) - HEIGHT
    if excess > 0:
        heights[largest] -= excess
    parts = []
    y = float(TOP + HEIGHT)
    for key, count in counts:
        y -= heights[key]
        parts.append(Part(key, count, round(y, 1), round(heights[key], 1)))
    return tuple(parts)
