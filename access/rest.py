"""Who calls the REST door, whether it may, and how often: who (401), may it (403, recorded), how often (429).

Only then is the body read. Views stand on `access.views.RestView`.
"""

from __future__ import annotations

from typing import Any, Final

from django.conf import settings
from rest_framework.authentication import BaseAuthentication, SessionAuthentication
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.throttling import SimpleRateThrottle

from access.callers import Caller, by_token, by_user, require
from flowsched import db
from flowsched.actor import Door
from flowsched.errors import Unauthenticated

_SCHEME: Final = "bearer"


class BearerAuthentication(BaseAuthentication):
    """`Authorization: Bearer <token>`; the same tokens as gRPC's."""

    def authenticate(self, request: Request) -> tuple[Any, Any] | None:
        """The caller, or None where no such header is."""
        given = request.META.get("HTTP_AUTHORIZATION", "")
        scheme, _, text = given.partition(" ")
        if not given:
            return None
        if scheme.lower() != _SCHEME:
            raise Unauthenticated("send the token as Authorization: Bearer <token>", reason="SCHEME")
        with db.translate():
            caller = by_token(text.strip())
        return caller, caller.token

    def authenticate_header(self, request: Request) -> str:
        """What a 401 asks for."""
        return "Bearer"


class CallerSessionAuthentication(SessionAuthentication):
    """The admin's session, with CSRF enforced."""

    def authenticate(self, request: Request) -> tuple[Any, Any] | None:
        """The caller, or None without a session."""
        found = super().authenticate(request)
        if found is None:
            return None
        with db.translate():
            return by_user(found[0].pk), "session"

    def enforce_csrf(self, request: Request) -> None:
        """Check Django's request: the framework's own would parse the body before we know what the caller may."""
        super().enforce_csrf(request._request)  # type: ignore[arg-type]  # noqa: SLF001


class MayDoVerb(BasePermission):
    """Whether the caller may do the view's verb for this method; a refusal is recorded."""

    def has_permission(self, request: Request, view: Any) -> bool:
        """Raise Unauthenticated or PermissionDenied, or let pass."""
        caller = caller_of(request)
        verb = getattr(view, "verbs", {}).get(request.method if request.method != "HEAD" else "GET")
        if verb is None:
            # No such method: the view answers 405. One that is there and has no verb is closed (TH-1).
            return not hasattr(view, str(request.method).lower()) or request.method == "OPTIONS"
        if verb:
            require(
                caller, verb, door=Door.REST, request_id=request_id_of(request), object_id=view.kwargs.get("id", "")
            )
        return True


class CallerRateThrottle(SimpleRateThrottle):
    """Requests a minute and user, counted by each server process."""

    scope = "caller"

    def __init__(self) -> None:
        self.rate = f"{settings.FLOWSCHED_API_REQUESTS_PER_MINUTE}/min"
        super().__init__()

    def get_cache_key(self, request: Request, view: Any) -> str | None:
        """One counter a user."""
        return f"rest-rate-{caller_of(request).user_id}"


def caller_of(request: Request) -> Caller:
    """The caller. Raises Unauthenticated where there is none."""
    caller: object = request.user
    if not isinstance(caller, Caller):
        raise Unauthenticated(
            "send a token as Authorization: Bearer <token>; manage.py token create makes one", reason="NO_CREDENTIALS"
        )
    return caller


def request_id_of(request: Request) -> str:
    """The id that flowsched.rest.middleware gave the request."""
    return str(getattr(request._request, "request_id", ""))  # noqa: SLF001  DRF's own way to Django's request
