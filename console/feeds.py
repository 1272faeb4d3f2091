"""A person's calendar feeds: make one, whose address is shown once, and revoke one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

from access.models import CalendarFeed
from access.selectors import feed_get, feeds_list
from access.services import feed_create, feed_revoke
from console.calendar.filters import Filters
from console.calendar.happenings import AHEAD, BACK, MOST
from console.confirm import Confirmation, Moved, confirmed
from console.pages import Page, say
from console.schedules_reads import OPERATIONS
from flowsched.errors import AlreadyExists, InvalidInput, PreconditionFailed
from inventory.models import Rack
from schedules.models import TaskSchedule


@dataclass(frozen=True, slots=True)
class Row:
    """One feed, with its filter in words."""

    feed: CalendarFeed
    words: str


class FeedsPage(Page):
    """The list, and the form for a new one."""

    verbs: ClassVar = {"GET": "feed.create", "POST": "feed.create"}
    title = "Calendar feeds"

    def get(self, request: HttpRequest) -> HttpResponse:
        """Show them, the form filled in with the calendar's filter."""
        return self._show(Filters.of(request.GET), name="")

    def post(self, request: HttpRequest) -> HttpResponse:
        """Create one and show its address, this once: it is stored nowhere, so there is no page to go to."""
        filters, name = Filters.of(request.POST), request.POST.get("name", "").strip()
        if filters.unknown:
            return self._show(filters, name=name, error=f"{'; '.join(filters.unknown)}.", status=400)
        try:
            _, token = feed_create(
                user_id=self.viewer.caller.user_id,
                name=name or filters.words or "flowsched",
                shows=filters.to_store(),
                by=self.viewer.by,
                now=self.viewer.now,
            )
        except (InvalidInput, AlreadyExists, PreconditionFailed) as error:
            return self._show(filters, name=name, error=f"{error.message}.", status=400)
        address = request.build_absolute_uri(reverse("calendar_feed", args=[token]))
        return self._show(Filters(), name="", address=address)

    def _show(self, filters: Filters, *, name: str, status: int = 200, **context: Any) -> HttpResponse:
        all_users = self.viewer.caller.permissions is None
        feeds = list(feeds_list(None if all_users else self.viewer.caller.user_id))
        return self.render(
            "console/feeds.html",
            status=status,
            crumbs=[("Calendar", reverse("admin:calendar"))],
            rows=_rows(feeds),
            others=all_users,
            filters=filters,
            name=name,
            operations={key: words for key, (words, _) in OPERATIONS.items()},
            ahead=AHEAD.days,
            back=BACK.days,
            most=MOST,
            **context,
        )


class FeedRevokePage(Page):
    """Take an address back."""

    verbs: ClassVar = {"GET": "feed.revoke", "POST": "feed.revoke"}

    def get(self, request: HttpRequest, id: int) -> HttpResponse:
        """Say what that means."""
        return self.render("console/confirm.html", **_confirmation(self._feed(id)).context())

    def post(self, request: HttpRequest, id: int) -> HttpResponse:
        """Do it."""
        feed = self._feed(id)
        try:
            confirmed(request, _confirmation(feed))
        except Moved:
            return self.render(
                "console/confirm.html", status=409, **_confirmation(feed).context(moved="It was renamed.")
            )
        feed_revoke(feed_id=feed.pk, user_id=self._user_id, by=self.viewer.by, now=self.viewer.now)
        say(request, f'The feed "{feed.name}" is revoked: its address shows nothing any more.')
        return redirect("admin:calendar_feeds")

    @property
    def _user_id(self) -> int | None:
        """Whose feeds these are to revoke: one's own; a superuser's are everybody's."""
        return None if self.viewer.caller.permissions is None else self.viewer.caller.user_id

    def _feed(self, feed_id: int) -> CalendarFeed:
        return feed_get(feed_id, self._user_id)


def _confirmation(feed: CalendarFeed) -> Confirmation:
    return Confirmation(
        title=f'Revoke "{feed.name}"?',
        button="Revoke feed",
        back=reverse("admin:calendar_feeds"),
        says=[
            "Calendars that read its address get nothing from now on. It cannot be brought back; a new one can be made."
        ],
        seen={"feed": str(feed.pk), "name": feed.name},
    )


def _rows(feeds: list[CalendarFeed]) -> list[Row]:
    """With their filters in words: two queries for any number."""
    kept = [Filters.stored(feed.filter) for feed in feeds]
    racks = dict(Rack.objects.filter(pk__in=[f.rack_id for f in kept if f.rack_id]).values_list("pk", "name"))
    names = TaskSchedule.objects.filter(pk__in=[f.schedule_id for f in kept if f.schedule_id])
    schedules = dict(names.values_list("pk", "name"))
    return [
        Row(
            feed,
            ", ".join(
                part
                for part in (
                    racks.get(f.rack_id, "a rack that is gone") if f.rack_id else "",
                    schedules.get(f.schedule_id, "a schedule that is gone") if f.schedule_id else "",
                    OPERATIONS[f.operation][0] if f.operation else "",
                )
                if part
            )
            or "everything",
        )
        for feed, f in zip(feeds, kept, strict=True)
    ]
