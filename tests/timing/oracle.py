"""An independent answer to "when does it fire next": a day-by-day search that shares nothing with the product.

No bisection, no folds, no calendar library: it lists the wall-clock minutes of each matching day and finds the instants
that show them by trying the offsets in force around that day. Slow, and simple enough to be believed.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

DAY = timedelta(days=1)
MINUTE = timedelta(minutes=1)
# No zone changes its clock twice within four days since 1973, so two samples that far apart see every offset.
AROUND = timedelta(hours=40)
SEARCHED_DAYS = 9 * 366


@dataclass(frozen=True)
class Named:
    """What an expression names, as the test made it up."""

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]  # 0 = Sunday
    either_day: bool

    def on(self, date):
        in_days = date.day in self.days
        in_weekdays = date.isoweekday() % 7 in self.weekdays
        day = (in_days or in_weekdays) if self.either_day else (in_days and in_weekdays)
        return date.month in self.months and day

    def walls(self, date):
        if not self.on(date):
            return []
        return [
            datetime(date.year, date.month, date.day, h, m) for h in sorted(self.hours) for m in sorted(self.minutes)
        ]


def next_firing(named, zone, policy, after):
    """Return the least firing later than `after`, or None within nine years."""
    literal = policy == "wall" or named.hours == frozenset(range(24))
    date = after.astimezone(zone).date() - 2 * DAY
    for offset in range(SEARCHED_DAYS):
        # A firing of a day may lie after one of the next day's only around a clock change: look at two days together.
        dates = (date + offset * DAY, date + (offset + 1) * DAY)
        found = [t for d in dates for wall in named.walls(d) for t in firings(wall, zone, literal=literal) if t > after]
        if found:
            return min(found)
    return None


def firings(wall, zone, *, literal):
    shown = instants(wall, zone)
    if literal:
        return shown
    return shown[:1] or [end_of_gap(wall, zone)]


def instants(wall, zone):
    """Return every instant at which the zone's clock shows `wall`, in order."""
    as_utc = wall.replace(tzinfo=UTC)
    offsets = {(as_utc + side * AROUND).astimezone(zone).utcoffset() for side in (-1, 1)}
    candidates = sorted(as_utc - offset for offset in offsets)
    return [t for t in candidates if t.astimezone(zone).replace(tzinfo=None) == wall]


def end_of_gap(wall, zone):
    """Return the first minute whose wall clock is past `wall`, by looking at one after the other."""
    t = wall.replace(tzinfo=UTC) - AROUND
    while t.astimezone(zone).replace(tzinfo=None) < wall:
        t += MINUTE
    return t
