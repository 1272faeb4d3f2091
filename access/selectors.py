"""Reading users, tokens and calendar feeds."""

from __future__ import annotations

import hashlib

from django.contrib.auth.models import User
from django.db.models import QuerySet

from access.models import CalendarFeed, Token
from flowsched.errors import InvalidInput, NotFound

SHORTEST_KEY = 6


def user_get(username: str, *, lock: bool = False) -> User:
    """The user of this name, whether switched off or not. Raises NotFound."""
    rows = User.objects.select_for_update(no_key=True) if lock else User.objects
    user = rows.filter(username=username.replace("\x00", "")).first()
    if user is None:
        raise NotFound(
            f"there is no user '{username[:64]}': manage.py user add makes one, manage.py user list shows all"
        )
    return user


def tokens_list(username: str | None = None) -> QuerySet[Token]:
    """Tokens of a user or of all, newest first. Raises NotFound for a user who is not there."""
    rows: QuerySet[Token] = Token.objects.select_related("user").order_by("-created", "digest")
    return rows if username is None else rows.filter(user=user_get(username))


def token_get(key: str) -> Token:
    """The only token that begins with `key`, as lists show it. Raises NotFound, InvalidInput where several do."""
    if len(key) < SHORTEST_KEY:
        raise InvalidInput(
            f"give at least {SHORTEST_KEY} characters of the token, as token list shows them", field="key"
        )
    found = list(Token.objects.select_related("user").filter(token_key__startswith=key.replace("\x00", ""))[:2])
    if not found:
        raise NotFound(f"there is no token that begins with '{key[:20]}': token list shows them")
    if len(found) > 1:
        raise InvalidInput(f"several tokens begin with '{key[:20]}': give more characters", field="key")
    token: Token = found[0]
    return token


def feed_digest(token: str) -> str:
    """What is stored of a feed's token: 256 random bits need no salt."""
    return hashlib.sha256(token.encode()).hexdigest()


def feed_of(token: str) -> CalendarFeed:
    """The feed whose address has this token. Raises NotFound, also for one that was revoked."""
    feed = CalendarFeed.objects.filter(digest=feed_digest(token)).first()
    if feed is None:
        raise NotFound("there is no such calendar: its address is wrong or was revoked")
    return feed


def feeds_list(user_id: int | None) -> QuerySet[CalendarFeed]:
    """The feeds of a user, or of all for None, by name."""
    rows = CalendarFeed.objects.select_related("user").order_by("name", "id")
    return rows if user_id is None else rows.filter(user_id=user_id)


def feed_get(feed_id: int, user_id: int | None, *, lock: bool = False) -> CalendarFeed:
    """One feed of a user, or of any for None. Raises NotFound."""
    rows = feeds_list(user_id).filter(pk=feed_id)
    feed = (rows.select_for_update(no_key=True, of=("self",)) if lock else rows).first()
    if feed is None:
        raise NotFound("there is no such feed: it may have been revoked already")
    return feed
