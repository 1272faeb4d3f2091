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
