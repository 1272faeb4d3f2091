"""Who signs in and out, in the audit trail; who is locked out, too. Wrong passwords are counted by the lockout itself.

The text somebody typed for a user name is kept only where such a user exists: it may be a password, typed too early.
"""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.http import HttpRequest

from audit.services import verb
from flowsched import clock
from flowsched.actor import Actor, Door
from flowsched.errors import FlowschedError, TooMany


def signed_in(request: HttpRequest, user: User, **_: Any) -> None:
    """Record it."""
    _record("session.begin", request, user)


def signed_out(request: HttpRequest, user: User | None, **_: Any) -> None:
    """Record it, unless nobody was signed in."""
    if user is not None:
        _record("session.end", request, user)


def locked_out(request: HttpRequest, username: str, **_: Any) -> None:
    """Record it for a user who exists."""
    user = User.objects.filter(username=username.replace("\x00", "")).first() if username else None
    if user is not None:
        _record("session.begin", request, user, refused="too many wrong passwords: locked out for a while")


def _record(name: str, request: HttpRequest, user: User, *, refused: str = "") -> None:
    by = Actor(user.get_username(), Door.ADMIN, str(getattr(request, "request_id", "")))
    try:
        with verb(name, by=by, kind="session", now=clock.now(), object_id=str(user.pk), object_name=by.name):
            if refused:
                raise TooMany(refused)
    except FlowschedError:
        if not refused:
            raise
