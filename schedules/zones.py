"""Time zones: which names count, and what a wall clock in one of them means.

The pinned `tzdata` package decides, never the machine's own files (T-6): two hosts with different system databases
would compute different firings for the same schedule.
"""

from __future__ import annotations

import zoneinfo
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo

import tzdata  # type: ignore[import-untyped]  # data only; the package ships no types

from flowsched.errors import InvalidInput
from schedules.quoting import quote

# PYTHONTZPATH is read once, when zoneinfo is first imported, and that may be before any of our code could set it; so
# the search path is emptied here. Without this line the system's files win over the package. What was loaded earlier
# is forgotten for the same reason.
zoneinfo.reset_tzpath(to=())
ZoneInfo.clear_cache()

_SECOND: Final = timedelta(seconds=1)
# Names a database may list that say nothing about a place: a placeholder, and links to the machine's own settings.
_NOT_ZONES: Final = frozenset({"Factory", "Local", "localtime", "posixrules"})
_QUOTED_CHARACTERS: Final = 64  # twice the longest name there is
_NOT_ZONE_FOLDERS: Final = ("posix/", "right/")


def tzdata_version() -> str:
    """Return the release of the zone database in use, such as `2026f`."""
    return str(tzdata.IANA_VERSION)


@lru_cache(maxsize=1)
def zone_names() -> frozenset[str]:
    """Return every accepted name, aliases included."""
    names = zoneinfo.available_timezones() - _NOT_ZONES
    return frozenset(name for name in names if not name.startswith(_NOT_ZONE_FOLDERS))


def parse_zone_name(text: str) -> str:
    """Return the zone's name; nothing means UTC. Raises InvalidInput on field `timezone`."""
    name = text or "UTC"
    # Membership first: ZoneInfo() raises four kinds of exception on bad names, and reads paths.
    if name not in zone_names():
        shown = quote(text, _QUOTED_CHARACTERS)
        raise InvalidInput(f"invalid timezone {shown}: not an IANA time zone name", field="timezone")
    return name


@dataclass(frozen=True, slots=True)
class Readings:
    """The two instants that a wall-clock time may mean (UTC): with the offset before a clock change, and after it.

    Equal: an ordinary time. `before` earlier: the clock went back and shows the time twice. `before` later: the clock
    went forward and never shows it.
    """

    before: datetime
    after: datetime

    @property
    def twice(self) -> bool:
        """The clock shows this time in two passes."""
        return self.before < self.after

    @property
    def skipped(self) -> bool:
        """The clock never shows this time."""
        return self.after < self.before


def read(wall: datetime, zone: ZoneInfo) -> Readings:
    """Return what the naive `wall` means in `zone`."""
    before = wall.replace(tzinfo=zone, fold=0).utcoffset()
    after = wall.replace(tzinfo=zone, fold=1).utcoffset()
    assert before is not None
    assert after is not None
    naive = wall.replace(fold=0)
    return Readings(before=(naive - before).replace(tzinfo=UTC), after=(naive - after).replace(tzinfo=UTC))


def find_change(readings: Readings, zone: ZoneInfo) -> tuple[datetime, int]:
    """Return the instant (UTC) of the clock change between two unequal readings, and the probes it took.

    Bisects whole seconds, as zone changes have no finer grain: 17 probes for the widest known change, one day.
    The change lies after the earlier reading and not after the later one.
    """
    low, high = sorted((readings.before.replace(microsecond=0), readings.after.replace(microsecond=0)))
    later = high.astimezone(zone).utcoffset()
    probes = 0
    while high - low > _SECOND:
        middle = low + (high - low) // (2 * _SECOND) * _SECOND
        probes += 1
        if middle.astimezone(zone).utcoffset() == later:
            high = middle
        else:
            low = middle
    return high, probes
