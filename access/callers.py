"""Who is at the door, with what rights: one query, which also reads the clock.

A door turns what it was shown (a token, a session, a certificate's name) into a Caller, asks `require` before any
work, and hands `caller.actor(...)` to the service.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from hmac import compare_digest
from typing import Any, Final

from django.db import connection
from knox.crypto import hash_token
from knox.settings import CONSTANTS

from access.models import Token
from access.permissions import permissions_for
from audit.services import verb
from flowsched.actor import Actor, Door
from flowsched.errors import PermissionDenied, Unauthenticated

LAST_USED_EVERY: Final = timedelta(minutes=1)  # how exact `last_used_at` is; a write a request would cost more than it
MAX_TOKEN: Final = 255
# Every request of every door asks this. As text, because having the ORM put it together anew each time took longer than
# all else about a small request.
_USER: Final = """
SELECT {columns} u.id, u.username, u.is_superuser, clock_timestamp(),
       ARRAY(SELECT DISTINCT c.app_label || '.' || p.codename
               FROM (SELECT permission_id FROM auth_user_user_permissions WHERE user_id = u.id
                     UNION ALL
                     SELECT gp.permission_id FROM auth_user_groups g
                       JOIN auth_group_permissions gp ON gp.group_id = g.group_id WHERE g.user_id = u.id) held
               JOIN auth_permission p ON p.id = held.permission_id
               JOIN django_content_type c ON c.id = p.content_type_id),
       COALESCE((SELECT timezone FROM user_profile WHERE user_id = u.id), '')
  FROM {source} WHERE u.is_active AND {which} = %s
"""
_BY_TOKEN: Final = _USER.format(
    columns="t.digest, t.expiry, t.last_used_at,",
    source="access_token t JOIN auth_user u ON u.id = t.user_id",
    which="t.token_key",
)
_BY_NAME: Final = _USER.format(columns="", source="auth_user u", which="u.username")
_BY_ID: Final = _USER.format(columns="", source="auth_user u", which="u.id")
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
        return self.permissions is None or any(one in self.permissions for one in permissions_for(name))

    def actor(self, door: Door, request_id: str = "") -> Actor:
        """Who the services are told it is."""
        return Actor(self.name, door, request_id)


def by_token(text: str) -> Caller:
    """The caller that a bearer token belongs to. Raises Unauthenticated, always in the same words."""
    if not (text.isascii() and text.isprintable() and 0 < len(text) <= MAX_TOKEN):
        raise Unauthenticated(_NOT_KNOWN, reason="TOKEN_UNKNOWN")
    digest = hash_token(text)
    with connection.cursor() as cursor:
        cursor.execute(_BY_TOKEN, [text[: CONSTANTS.TOKEN_KEY_LENGTH]])
        rows = cursor.fetchall()
    for known, expiry, used, *user in rows:
        caller = _caller(user, token=text[: CONSTANTS.TOKEN_KEY_LENGTH])
        if compare_digest(digest, known) and (expiry is None or expiry > caller.now):
            _note_use(known, used, caller.now)
            return caller
    raise Unauthenticated(_NOT_KNOWN, reason="TOKEN_UNKNOWN")


def by_username(name: str) -> Caller:
    """The caller of this user name, for a door that has made sure of it. Raises Unauthenticated."""
    return _only(_BY_NAME, name)


def by_user(user_id: int) -> Caller:
    """The caller of a session. Raises Unauthenticated for one that is gone or switched off."""
    return _only(_BY_ID, user_id)


def require(
    caller: Caller, names: str | Iterable[str], *, door: Door, request_id: str = "", object_id: object = ""
) -> None:
    """Let the caller pass if it may do the verb, or all of several verbs; else record the refusal.

    What a verb names behind a colon, an endpoint, is recorded as the object. Raises PermissionDenied that names the
    permission missing.
    """
    for name in [names] if isinstance(names, str) else names:
        if not caller.may(name):
            permission = (permissions_for(name) or (name,))[-1]
            actor = caller.actor(door, request_id)
            word, _, thing = name.partition(":")
            kind = word.partition(".")[0]
            with verb(word, by=actor, kind="schedule" if kind == "scope" else kind, now=caller.now) as done:
                done.object_id, done.object_name = str(object_id), thing
                raise PermissionDenied(
                    f"user '{caller.name}' may not do this: it takes the permission {permission}", reason=permission
                )


def _only(statement: str, value: str | int) -> Caller:
    with connection.cursor() as cursor:
        cursor.execute(statement, [value])
        row = cursor.fetchone()
    if row is None:
        raise Unauthenticated("this user does not exist here or is switched off", reason="USER_UNKNOWN")
    return _caller(row)


def _caller(columns: Sequence[Any], *, token: str = "") -> Caller:
    """The caller in the columns of _USER."""
    user_id, name, superuser, now, held, zone = columns
    return Caller(user_id, name, None if superuser else frozenset(held), now, token, zone)


def _note_use(digest: str, used: datetime | None, now: datetime) -> None:
    if used is None or used < now - LAST_USED_EVERY:
        Token.objects.filter(digest=digest, last_used_at=used).update(last_used_at=now)
