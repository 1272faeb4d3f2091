"""When two schedules first meet: their runs walked side by side. Pure.

A run holds its racks for as long as it is assumed to take; two runs meet where one begins while the other holds them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from schedules.timing import Spec
from schedules.upcoming import runs_within

_LISTED: Final = 30_000  # runs of a calendar: more than one a minute has in a fortnight
_LISTED_REGULAR: Final = 50  # of what comes at a constant distance; the rest is arithmetic


@dataclass(frozen=True, slots=True)
class Runs:
    """The runs of one schedule from now on and before `until`, and how long each is assumed to take."""

    listed: Sequence[datetime]
    step: timedelta | None  # between runs beyond those listed; None: there are none
    takes: timedelta
    until: datetime

    @classmethod
    def of(cls, spec: Spec, *, first: datetime, takes: timedelta, now: datetime, until: datetime) -> Runs:
        """The runs of a schedule that runs next at `first`."""
        most = _LISTED if spec.step is None else _LISTED_REGULAR
        return cls(runs_within(spec, first=first, edges=(now, until), most=most)[0].at, spec.step, takes, until)

    @property
    def first(self) -> datetime | None:
        """The first of them."""
        return self.listed[0] if self.listed else None

    def after(self, at: datetime) -> datetime | None:
        """The first strictly after `at`."""
        place = bisect_right(self.listed, at)
        if place < len(self.listed):
            return self.listed[place]
        if not self.listed or self.step is None:
            return None
        last = self.listed[-1]
        following = last + ((at - last) // self.step + 1) * self.step
        return following if following < self.until else None


def first_meeting(mine: Runs, theirs: Runs) -> tuple[datetime, datetime] | None:
    """The first two runs that meet, mine first; None if none do.

    The one that lags leaps to its first run that could still hold the racks when the other begins, so that the steps
    are as many as the sparser schedule has runs, and not as the denser.
    """
    a, b = mine.first, theirs.first
    while a is not None and b is not None:
        if a <= b:
            if b < a + mine.takes:
                return a, b
            a = mine.after(b - mine.takes)
        else:
            if a < b + theirs.takes:
                return a, b
            b = theirs.after(a - theirs.takes)
    return None
