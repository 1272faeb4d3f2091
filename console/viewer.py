"""Who looks at a page, when, and in which zone: read once a request and kept with it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString

from access.callers import Caller, by_user
from access.permissions import PERMISSIONS
from console.moments import moment
from console.zones import zone_of
from flowsched.actor import Actor, Door


@dataclass(frozen=True, slots=True)
class Viewer:
    """A signed-in member of staff. `can` tells templates which verbs to offer: `can.schedule_trigger`."""

    caller: Caller
    zone: ZoneInfo
    request_id: str

    @property
    def now(self) -> datetime:
        """The database's clock as this request read it."""
        return self.caller.now

    @property
    def by(self) -> Actor:
        """Who the services are told it is."""
        return self.caller.actor(Door.ADMIN, self.request_id)

    @property
    def can(self) -> dict[str, bool]:
        """Each verb, dots as underscores."""
        return {name.replace(".", "_"): self.caller.may(name) for name in PERMISSIONS}

    def said(self, at: datetime) -> SafeString:
        """An instant inside a sentence: absolute, in UTC, and how far off."""
        parts = moment(at, zone=self.zone, now=self.now)
        utc = f" ({parts.utc})" if parts.utc else ""
        return format_html('<time datetime="{}">{}{}</time>, {}', parts.iso, parts.text, utc, parts.relative)


def viewer_of(request: HttpRequest) -> Viewer | None:
    """The viewer, or None for somebody who is not signed in as staff."""
    found: Viewer | None = getattr(request, "viewer", None)
    if found is None and request.user.is_authenticated and request.user.is_staff:
        caller = by_user(request.user.pk)
        found = Viewer(caller, zone_of(request, caller), str(getattr(request, "request_id", "")))
        request.viewer = found  # type: ignore[attr-defined]
    return found
