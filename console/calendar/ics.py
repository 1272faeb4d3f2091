"""A feed as iCalendar text. Pure: what happens when, in; bytes, out.

Times are UTC, one event a firing, its name made of schedule and due time, so that a client that reads again knows what
it has seen. Nothing in it depends on when it was made: an unchanged plan is the same bytes. No reasons, no people.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final
from uuid import UUID

from icalendar import Calendar, Event, vDuration, vText

REFRESH: Final = timedelta(hours=1)
_PRODUCT: Final = "-//flowsched//calendar feed//EN"


@dataclass(frozen=True, slots=True)
class Happening:
    """One firing, past or to come. `changed` is when what is said of it last changed."""

    schedule_id: UUID
    at: datetime
    changed: datetime
    summary: str
    description: str
    operation: str
    url: str

    @property
    def uid(self) -> str:
        """The schedule and the due time, to the microsecond where it has any."""
        at = self.at.astimezone(UTC)
        fraction = f".{at.microsecond:06}" if at.microsecond else ""
        return f"{self.schedule_id}-{at:%Y%m%dT%H%M%S}{fraction}Z@flowsched"


def calendar_text(*, name: str, about: str, happenings: Iterable[Happening]) -> bytes:
    """The calendar `name`; `about` says in a sentence what it holds and what was left out."""
    calendar = Calendar()
    calendar.add("prodid", _PRODUCT)
    calendar.add("version", "2.0")
    calendar.add("calscale", "GREGORIAN")
    calendar.add("method", "PUBLISH")
    # As text by name: the library escapes by itself only what it knows to be text.
    for key, said in (("name", name), ("x-wr-calname", name), ("description", about), ("x-wr-caldesc", about)):
        calendar.add(key, vText(said))
    calendar.add("refresh-interval", vDuration(REFRESH), parameters={"VALUE": "DURATION"})
    calendar.add("x-published-ttl", f"PT{REFRESH // timedelta(hours=1)}H")
    for happening in happenings:
        calendar.add_component(_event(happening))
    return bytes(calendar.to_ical())


def _event(happening: Happening) -> Event:
    event = Event()
    event.add("uid", happening.uid)
    event.add("dtstamp", happening.changed.astimezone(UTC))
    event.add("dtstart", happening.at.astimezone(UTC))
    event.add("summary", happening.summary)
    event.add("description", happening.description)
    if happening.operation:
        event.add("categories", [happening.operation])
    event.add("url", happening.url)
    event.add("transp", "TRANSPARENT")  # racks are busy, people are not
    return event
