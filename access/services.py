"""Changing who gets in: users with roles, tokens, calendar feeds. Each verb is one transaction with its audit row."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from secrets import token_urlsafe
from typing import Final

from django.contrib.auth.models import Group, Permission, User
from django.db import IntegrityError, transaction
from knox.models import get_digest_token
from knox.settings import CONSTANTS

from access.models import CalendarFeed, Profile, Token
from access.permissions import ROLES
from access.selectors import feed_digest, feed_get, token_get, user_get
from audit.services import verb
from flowsched.actor import Actor
from flowsched.errors import AlreadyExists, InvalidInput, PreconditionFailed

MAX_LIFE: Final = timedelta(days=3660)
MAX_TOKENS: Final = 50
MAX_NAME: Final = 255
MAX_FEEDS: Final = 20
FEED_USED_EVERY: Final = timedelta(hours=1)  # how exact a feed's `last_used_at` is
_PREFIX: Final = 6
_USERNAME: Final = re.compile(r"[A-Za-z0-9@.+_-]{1,150}")  # what Django lets through, in ASCII


def user_create(*, username: str, roles: Sequence[str], by: Actor, now: datetime) -> User:
    """Create a user without a password, in the groups of its roles, for automation that comes with a token.

    A role's group is made with the role's permissions when it is missing, and left as it is when it is there. Raises
    InvalidInput (a name or role that is none), AlreadyExists.
    """
    with verb("user.create", by=by, kind="user", now=now, object_name=username[:MAX_NAME]) as done:
        if not _USERNAME.fullmatch(username):
            raise InvalidInput(
                "a user name has 1 to 150 letters, digits and @ . + - _; choose another one", field="username"
            )
        unknown = next((role for role in roles if role not in ROLES), None)
        if unknown is not None:
            raise InvalidInput(f"unknown role '{unknown[:64]}': use {', '.join(ROLES)}", field="role")
        user = User(username=username, date_joined=now)
        user.set_unusable_password()
        try:
            with transaction.atomic():
                user.save(force_insert=True)
        except IntegrityError as error:
            raise AlreadyExists(f"there is a user '{username}' already", field="username") from error
        user.groups.set([_group(role) for role in dict.fromkeys(roles)])
        done.object_id, done.after = str(user.pk), {"roles": list(dict.fromkeys(roles))}
        return user


def token_create(
    *, username: str, name: str = "", life: timedelta | None, by: Actor, now: datetime
) -> tuple[Token, str]:
    """Create a token of a user; return it with its text, which is not stored and cannot be shown again.

    `life` is how long it is good for, None for ever. Raises NotFound, InvalidInput (name, life), PreconditionFailed
    (a user who is switched off, or has as many tokens as one may have).
    """
    with verb("token.create", by=by, kind="token", now=now, object_name=username[:MAX_NAME]) as done:
        if len(name) > MAX_NAME or not name.isprintable():
            raise InvalidInput(
                f"a token's name has at most {MAX_NAME} characters and no control characters", field="name"
            )
        if life is not None and not timedelta(0) < life <= MAX_LIFE:
            raise InvalidInput(f"a token lives longer than nothing and at most {MAX_LIFE.days} days", field="expires")
        user = user_get(username, lock=True)
        if not user.is_active:
            raise PreconditionFailed(f"user '{username}' is switched off: a token would not be accepted")
        if Token.objects.filter(user=user).count() >= MAX_TOKENS:
            raise PreconditionFailed(f"user '{username}' has {MAX_TOKENS} tokens: revoke those no longer used")
        digest, text = get_digest_token()
        token = Token(
            digest=digest,
            token_key=text[: CONSTANTS.TOKEN_KEY_LENGTH],
            user=user,
            name=name,
            expiry=None if life is None else now + life,
        )
        token.save(force_insert=True)
        done.object_id = token.token_key
        done.after = {"name": name, "expiry": token.expiry.isoformat() if token.expiry else None}
        return token, text


def token_revoke(*, key: str, by: Actor, now: datetime) -> Token:
    """Delete the token whose first characters are `key`; it is refused from then on. Raises NotFound, InvalidInput."""
    with verb("token.revoke", by=by, kind="token", now=now) as done:
        token = token_get(key)
        done.object_id, done.object_name = token.token_key, token.user.get_username()
        used = token.last_used_at
        done.before = {"name": token.name, "last_used_at": used.isoformat() if used else None}
        token.delete()
        return token


def feed_create(
    *, user_id: int, name: str, shows: Mapping[str, str], by: Actor, now: datetime
) -> tuple[CalendarFeed, str]:
    """Create a calendar feed of a user; return it with its token, which is not stored and cannot be shown again.

    `shows` is a filter, checked by the caller, and kept as it is. Raises InvalidInput (name), AlreadyExists,
    PreconditionFailed (as many feeds as one may have).
    """
    with verb("feed.create", by=by, kind="feed", now=now, object_name=name[:MAX_NAME]) as done:
        if not 0 < len(name) <= MAX_NAME or not name.isprintable() or name != name.strip():
            raise InvalidInput(
                f"a feed's name has 1 to {MAX_NAME} characters, no control characters, no blanks at its ends",
                field="name",
            )
        User.objects.select_for_update(no_key=True).get(pk=user_id)  # so that two at once do not pass the limit
        mine = CalendarFeed.objects.filter(user_id=user_id)
        if mine.filter(name=name).exists():
            raise AlreadyExists(
                f"you have a feed '{name}' already: revoke it, or name this one otherwise", field="name"
            )
        if mine.count() >= MAX_FEEDS:
            raise PreconditionFailed(f"you have {MAX_FEEDS} feeds: revoke those that nobody reads any more")
        text = token_urlsafe(32)
        feed = CalendarFeed.objects.create(
            digest=feed_digest(text), prefix=text[:_PREFIX], user_id=user_id, name=name, filter=dict(shows),
            created_at=now,
        )  # fmt: skip
        done.object_id, done.after = str(feed.pk), {"filter": dict(shows)}
        return feed, text


def feed_revoke(*, feed_id: int, user_id: int | None, by: Actor, now: datetime) -> CalendarFeed:
    """Delete a feed of this user, or of any for None; its address is refused from then on. Raises NotFound."""
    with verb("feed.revoke", by=by, kind="feed", now=now, object_id=str(feed_id)) as done:
        feed = feed_get(feed_id, user_id, lock=True)
        used = feed.last_used_at
        done.object_name = feed.name
        done.before = {"filter": feed.filter, "last_used_at": used.isoformat() if used else None}
        CalendarFeed.objects.filter(pk=feed_id).delete()
        return feed


def feed_used(*, feed: CalendarFeed, now: datetime) -> None:
    """Note that somebody read the feed; no verb of a person, so without a row in the audit trail."""
    if feed.last_used_at is None or feed.last_used_at < now - FEED_USED_EVERY:
        CalendarFeed.objects.filter(pk=feed.pk).update(last_used_at=now)


def timezone_set(*, user_id: int, timezone: str, by: Actor, now: datetime) -> None:
    """Keep the zone, checked by the caller, in which a user wants to see times."""
    with verb("user.timezone", by=by, kind="user", now=now, object_id=str(user_id), object_name=by.name) as done:
        before = Profile.objects.filter(pk=user_id).values_list("timezone", flat=True).first() or ""
        Profile.objects.update_or_create(pk=user_id, defaults={"timezone": timezone})
        done.changed = before != timezone
        done.before, done.after = {"timezone": before}, {"timezone": timezone}


def _group(role: str) -> Group:
    group, made = Group.objects.get_or_create(name=role)
    if made:
        wanted = {tuple(name.split(".", 1)) for name in ROLES[role]}
        known = Permission.objects.select_related("content_type").filter(codename__in=[code for _, code in wanted])
        group.permissions.set([p for p in known if (p.content_type.app_label, p.codename) in wanted])
    return group
