"""Who is at the door, with what rights: one query, which also reads the clock.

A door turns what it was shown (a token, a session, a certificate's name) into a Caller, asks `require` before any
work, and hands `caller.actor(...)` to the service.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from hmac import compare_digest
from typing import Any, Final

from django.contrib.auth.models import Permission, User
from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import DateTimeField, Func, OuterRef, Q, Subquery, Value
from django.db.models.functions import Coalesce, Concat
from knox.crypto import hash_token
from knox.settings import CONSTANTS

from access.models import Profile, Token
from access.permissions import PERMISSIONS
from audit.services import verb
from flowsched.actor import Actor, Door
from flowsched.errors import PermissionDenied, Unauthenticated

LAST_USED_EVERY: Final = timedelta(minutes=1)  # how exact `last_used_at` is; a write a request would cost more than it
MAX_TOKEN: Final = 255
_NOT_KNOWN: Final = "the token is not known, has expired or was revoked: get a new one with manage.py token create"


@dataclass(frozen=True, slots=True)
class Caller:
    """An active user at a door. `permissions` None means all of them: a superuser. `now` is when we looked."""

    user_id: int
    name: str
    permissions: frozenset[str] | None
    now: datetime
    token: str = ""
    timezone: str = ""

    is_authenticated = True  # what the framework asks of a user
    is_active = True

    @property
    def pk(self) -> int:
        """The user's id, as the framework calls it."""
        return self.user_id

    def may(self, name: str) -> bool:
        """Whether the caller may do the verb `name`."""
        return self.permissions is None or PERMISSIONS.get(name, "") in self.permissions

    def actor(self, door: Door, request_id: str = "") -> Actor:
        """Who the services are told it is."""
        return Actor(self.name, door, request_id)


def by_token(text: str) -> Caller:
    """The caller that a bearer token belongs to. Raises Unauthenticated, always in the same words."""
    if not (text.isascii() and text.isprintable() and 0 < len(text) <= MAX_TOKEN):
        raise Unauthenticated(_NOT_KNOWN, reason="TOKEN_UNKNOWN")
    digest = hash_token(text)
    rows = Token.objects.filter(token_key=text[: CONSTANTS.TOKEN_KEY_LENGTH], user__is_active=True)
    for row in _looked_up(rows, "user_id").select_related("user"):
        if compare_digest(digest, row.digest) and (row.expiry is None or row.expiry > row.now):
            _note_use(row)
            return _caller(row.user, row)
    raise Unauthenticated(_NOT_KNOWN, reason="TOKEN_UNKNOWN")


def by_username(name: str) -> Caller:
    """The caller of this user name, for a door that has made sure of it. Raises Unauthenticated."""
    return _only(User.objects.filter(username=name))


def by_user(user_id: int) -> Caller:
    """The caller of a session. Raises Unauthenticated for one that is gone or switched off."""
    return _only(User.objects.filter(pk=user_id))


def require(
    caller: Caller, names: str | Iterable[str], *, door: Door, request_id: str = "", object_id: object = ""
) -> None:
    """Let the caller pass if it may do the verb, or all of several verbs; else record the refusal.

    Raises PermissionDenied that names the permission missing.
    """
    for name in [names] if isinstance(names, str) else names:
        if not caller.may(name):
            permission = PERMISSIONS.get(name, name)
            actor = caller.actor(door, request_id)
            kind = name.partition(".")[0]
            with verb(name, by=actor, kind="schedule" if kind == "scope" else kind, now=caller.now) as done:
                done.object_id = str(object_id)
                raise PermissionDenied(
                    f"user '{caller.name}' may not do this: it takes the permission {permission}", reason=permission
                )


def _looked_up(rows: Any, user: str) -> Any:
    """With the clock and the names of the permissions that the user or one of its groups has."""
    held = (
        Permission.objects.filter(Q(user=OuterRef(user)) | Q(group__user=OuterRef(user)))
        .order_by()
        .values(full=Concat("content_type__app_label", Value("."), "codename"))
        .distinct()
    )
    clock = Func(function="clock_timestamp", output_field=DateTimeField())
    zone = Profile.objects.filter(pk=OuterRef(user)).values("timezone")
    return rows.annotate(now=clock, held=ArraySubquery(held), zone=Coalesce(Subquery(zone), Value("")))


def _only(rows: Any) -> Caller:
    row = _looked_up(rows.filter(is_active=True), "pk").first()
    if row is None:
        raise Unauthenticated("this user does not exist here or is switched off", reason="USER_UNKNOWN")
    return _caller(row, row)


def _caller(user: User, looked_up: Any) -> Caller:
    permissions = None if user.is_superuser else frozenset(looked_up.held)
    token = looked_up.token_key if isinstance(looked_up, Token) else ""
    return Caller(user.pk, user.get_username(), permissions, looked_up.now, token, looked_up.zone)


def _note_use(row: Any) -> None:
    if row.last_used_at is None or row.last_used_at < row.now - LAST_USED_EVERY:
        unchanged = Q(last_used_at=row.last_used_at) if row.last_used_at else Q(last_used_at__isnull=True)
        Token.objects.filter(unchanged, pk=row.pk).update(last_used_at=row.now)
