"""Tokens, hashed at rest, and the idempotency keys under which a request was seen before."""

from __future__ import annotations

from datetime import datetime

from django.conf import settings
from django.db import models
from knox.models import AbstractAuthToken


class Token(AbstractAuthToken):  # type: ignore[misc]  # knox has no types
    """A bearer token of a user. Only its digest is stored; `token_key`, its first characters, names it in lists."""

    name: models.CharField[str, str] = models.CharField(max_length=255, default="", blank=True)
    last_used_at: models.DateTimeField[datetime | None, datetime | None] = models.DateTimeField(null=True, blank=True)

    class Meta:
        db_table = "access_token"
        default_permissions = ("add", "delete", "view")

    def __str__(self) -> str:
        return str(self.token_key)


class IdempotencyKey(models.Model):
    """A key that a user sent with a request: what the request was, and its answer once there is one."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+", db_index=False)
    key = models.CharField(max_length=255)
    fingerprint = models.CharField(max_length=64)
    status = models.PositiveSmallIntegerField(null=True, blank=True)
    body = models.JSONField(null=True, blank=True)
    created_at = models.DateTimeField()

    class Meta:
        db_table = "idempotency_key"
        default_permissions = ()
        constraints = [models.UniqueConstraint(fields=["user", "key"], name="idempotency_key_once")]
        indexes = [models.Index(fields=["created_at"], name="idempotency_key_age")]

    def __str__(self) -> str:
        return self.key


class Profile(models.Model):
    """What a user set for themselves."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, primary_key=True, related_name="+")
    timezone = models.CharField(max_length=64, default="", blank=True)

    class Meta:
        db_table = "user_profile"
        default_permissions = ()

    def __str__(self) -> str:
        return f"profile of user {self.pk}"


class CalendarFeed(models.Model):
    """An address under which a calendar reads the plan of its filter: read-only, as its owner, until revoked.

    Only the digest of the token in the address is stored; `prefix`, its first characters, tells one address in a log
    from another.
    """

    digest = models.CharField(max_length=64, unique=True)
    prefix = models.CharField(max_length=8)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+", db_index=False)
    name = models.CharField(max_length=255)
    filter = models.JSONField(default=dict)
    created_at = models.DateTimeField()
    last_used_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        db_table = "calendar_feed"
        default_permissions = ()
        constraints = [models.UniqueConstraint(fields=["user", "name"], name="calendar_feed_name_once")]

    def __str__(self) -> str:
        return self.name
