"""What a schedule will do, counted and bounded: for the timeline, the calendar, a rack's strip, a form's preview.

Pure, over `Spec`. What is planned is not promised: an interval counts from when it was dispatched, so its runs move
with every delay, and a run that finds nobody to fire it comes late or not at all.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import chain, islice, pairwise
from typing import Final

from schedules.timing import Spec

_MICROSECOND: Final = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Stretch:
    """The runs from `since` on and before `until`: the first few, how many in all, and the constant time between them.

    `every` is None where the time between them varies, and for fewer than two.
    """

    since: datetime
    until: datetime
    at: tuple[datetime, ...]
    count: int
    every: timedelta | None


def first_run(spec: Spec, *, due: datetime | None, now: datetime) -> datetime:
    """When a schedule runs next: when it is due, at once if that is past; without a due time as a new one would.

    Raises InvalidInput where that is beyond the years that we can store.
    """
    return max(due, now) if due is not None else max(spec.first_run(now), now)


def runs_within(spec: Spec, *, first: datetime, edges: Sequence[datetime], most: int) -> list[Stretch]:
    """The runs of a schedule that runs next at `first`, in each stretch between two `edges`; at most `most` of each.

    `edges` ascend. A minute's cron over 45 days costs a few milliseconds, an interval nothing whatever its step.
    """
    if spec.step is not None:
        return [_regular(spec, spec.step, first, between, most) for between in pairwise(edges)]
    after = max(first, edges[0] - _MICROSECOND)  # what comes before need not be listed: it is a calendar's
    found = [first, *chain.from_iterable(spec.days(after, edges[-1]))]
    places = [bisect_left(found, edge) for edge in edges]
    return [
        _stretch(since, until, found[low:high], most)
        for (since, until), (low, high) in zip(pairwise(edges), pairwise(places), strict=True)
    ]


def next_runs(spec: Spec, *, first: datetime, most: int, until: datetime | None = None) -> list[datetime]:
    """The next runs of a schedule that runs next at `first`, that one included, at most `most`, all before `until`."""
    if spec.step is None:
        found = [first, *islice(chain.from_iterable(spec.days(first, until)), most - 1)]
        return [at for at in found[:most] if until is None or at < until]
    found = []
    at: datetime | None = first
    while at is not None and len(found) < most and (until is None or at < until):
        found.append(at)
        at = spec.search(at).at
    return found


def _regular(spec: Spec, step: timedelta, first: datetime, between: tuple[datetime, datetime], most: int) -> Stretch:
    """A stretch of runs that are `step` apart; only from the first to the second the time may be shorter."""
    since, until = between
    head = [first] if since <= first < until else []
    second = spec.search(first).at
    if second is None:
        return _stretch(since, until, head, most)
    low = max(0, -((second - since) // step))
    count = max(0, -((second - until) // step) - low)
    at = (*head, *(second + n * step for n in range(low, low + min(count, most))))
    even = not head or second - first == step
    total = len(head) + count
    return Stretch(since, until, at[:most], total, step if total > 1 and even else None)


def _stretch(since: datetime, until: datetime, found: Sequence[datetime], most: int) -> Stretch:
    return Stretch(since, until, tuple(found[:most]), len(found), _every(found))


def _every(found: Sequence[datetime]) -> timedelta | None:
    """Return the time between any two that follow each other, if it is the same for all."""
    if len(found) < 2:  # noqa: PLR2004  then there is none between
        return None
    gap = found[1] - found[0]
    if found[-1] - found[0] != gap * (len(found) - 1):
        return None
    return gap if all(later - earlier == gap for earlier, later in pairwise(found)) else None
