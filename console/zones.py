"""The viewer's zone: what the account says, else what the browser said, else UTC."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Final
from zoneinfo import ZoneInfo

from django.http import HttpRequest

from access.callers import Caller
from flowsched.errors import InvalidInput
from inventory.identifiers import shown
from schedules.zones import parse_zone_name, zone_names

COOKIE: Final = "fs_tz"
SUGGESTED: Final = 2


def zone_of(request: HttpRequest, caller: Caller | None) -> ZoneInfo:
    """The zone to show times in; a name that is none counts as not given."""
    for name in (caller.timezone if caller else "", request.COOKIES.get(COOKIE, "")):
        if name in zone_names():
            return ZoneInfo(name)
    return ZoneInfo("UTC")


def zone_named(text: str, *, field: str) -> ZoneInfo:
    """The zone of this name; nothing means UTC. Raises InvalidInput on `field`, with the zone that may be meant."""
    if text and text not in zone_names():
        near = " or ".join(zones_like(text))
        hint = f"did you mean {near}?" if near else "write it as America/New_York"
        raise InvalidInput(f"'{shown(text)}' is not a time zone; {hint}", field=field)
    return ZoneInfo(parse_zone_name(text))


def zones_like(text: str) -> list[str]:
    """The names nearest to what somebody wrote: the same place, else one that holds it, else one spelt much like it."""
    wanted, names = _plain(text), sorted(zone_names(), key=lambda name: ("/" not in name, name))
    if not wanted:
        return []
    for same in (
        [name for name in names if wanted in {_plain(name), _plain(name.rpartition("/")[2])}],
        [name for name in names if "/" in name and wanted in _plain(name)],
    ):
        if same:
            return same[:SUGGESTED]
    places = {_plain(part): name for name in reversed(names) for part in (name.rpartition("/")[2], name)}
    return [places[place] for place in get_close_matches(wanted, places, n=SUGGESTED, cutoff=0.75)]


def _plain(text: str) -> str:
    """Without case, blanks and what stands for them."""
    return "".join(letter for letter in text.casefold() if letter.isalnum() or letter == "/")
