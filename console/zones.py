"""The viewer's zone: what the account says, else what the browser said, else UTC."""

from __future__ import annotations

from typing import Final
from zoneinfo import ZoneInfo

from django.http import HttpRequest

from access.callers import Caller
from schedules.zones import zone_names

COOKIE: Final = "fs_tz"


def zone_of(request: HttpRequest, caller: Caller | None) -> ZoneInfo:
    """The zone to show times in; a name that is none counts as not given."""
    for name in (caller.timezone if caller else "", request.COOKIES.get(COOKIE, "")):
        if name in zone_names():
            return ZoneInfo(name)
    return ZoneInfo("UTC")
