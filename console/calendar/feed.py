"""The feed's address: outside the admin's sign-in, read-only, in the name of whoever made it (TH-14)."""

from __future__ import annotations

import hashlib
import re
from http import HTTPStatus
from typing import Final

from django.core.cache import cache
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from access.callers import Caller, by_user
from access.models import CalendarFeed
from access.selectors import feed_of
from access.services import feed_used
from console.calendar.filters import Filters
from console.calendar.happenings import happenings
from console.calendar.ics import calendar_text
from flowsched import db
from flowsched.errors import FlowschedError, NotFound, Unauthenticated

A_MINUTE: Final = 60
KNOWN: Final = 12  # requests a minute of one address; clients ask a few times a day
UNKNOWN: Final = 60  # of wrong addresses, from one place
CACHED: Final = 300  # seconds for which a client need not ask again
_TOKEN: Final = re.compile(r"[A-Za-z0-9_-]{43}")
_NOT_FOUND: Final = "There is no such calendar: its address is wrong or was revoked."


@require_safe
def feed(request: HttpRequest, token: str) -> HttpResponse:
    """The calendar behind a token; the same words for one that never was, was revoked, or whose owner may not look."""
    try:
        with db.translate():
            found, caller = _owner(token)
            if _too_often(f"feed-{found.pk}", KNOWN):
                return _plain("Asked too often. Once an hour is enough.", HTTPStatus.TOO_MANY_REQUESTS)
            feed_used(feed=found, now=caller.now)
            return _answer(request, found, caller)
    except (NotFound, Unauthenticated):
        if _too_often(f"feed-from-{request.META.get('REMOTE_ADDR', '')}", UNKNOWN):
            return _plain("Asked too often.", HTTPStatus.TOO_MANY_REQUESTS)
        return _plain(_NOT_FOUND, HTTPStatus.NOT_FOUND)
    except FlowschedError:
        return _plain("The calendar cannot be read at the moment.", HTTPStatus.SERVICE_UNAVAILABLE)


def _owner(token: str) -> tuple[CalendarFeed, Caller]:
    """The feed and whose it is. Raises NotFound, Unauthenticated."""
    if not _TOKEN.fullmatch(token):
        raise NotFound(_NOT_FOUND)
    found = feed_of(token)
    caller = by_user(found.user_id)
    if not caller.may("schedule.read"):
        raise NotFound(_NOT_FOUND)
    return found, caller


def _answer(request: HttpRequest, found: CalendarFeed, caller: Caller) -> HttpResponse:
    held = happenings(
        Filters.stored(found.filter),
        now=caller.now,
        with_past=caller.may("firing.read"),
        address=request.build_absolute_uri,
    )
    body = calendar_text(name=found.name, about=held.about, happenings=held.events)
    tag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
    if request.headers.get("If-None-Match") == tag:
        response = HttpResponse(status=HTTPStatus.NOT_MODIFIED)
    else:
        response = HttpResponse(body, content_type="text/calendar; charset=utf-8")
        response["Content-Disposition"] = 'inline; filename="flowsched.ics"'
    response["ETag"] = tag
    response["Cache-Control"] = f"private, max-age={CACHED}"
    return response


def _plain(sentence: str, status: HTTPStatus) -> HttpResponse:
    response = HttpResponse(sentence, status=status, content_type="text/plain; charset=utf-8")
    response["Cache-Control"] = "no-store"
    if status in {HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE}:
        response["Retry-After"] = str(A_MINUTE)
    return response


def _too_often(key: str, most: int) -> bool:
    """Counted by each server process for itself, as the REST door does."""
    cache.add(key, 0, A_MINUTE)
    try:
        return cache.incr(key) > most
    except ValueError:  # it ran out between the two lines
        return False
