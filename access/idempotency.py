"""Idempotency keys: the same key answers the same result, and another request under it is refused (24 h).

A key is noted before the work and its answer after it. What makes the work itself repeatable is the id that
`request_id` derives from user and key: the services take it and do nothing twice. So a process that dies in between
loses only the stored answer, and the repeat gets it from the service.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID, uuid5

from access.models import IdempotencyKey
from flowsched import db
from flowsched.errors import InvalidInput, KeyReused

KEPT: Final = timedelta(hours=24)
MAX_KEY: Final = 255
_NAMESPACE: Final = UUID("6f1d8f0e-53f5-4a8f-9a63-0c2f6b9f6b58")


@dataclass(frozen=True, slots=True)
class Answer:
    """What a request was answered before."""

    status: int
    body: Any


@dataclass(frozen=True, slots=True)
class Key:
    """A key of a user, noted. `answer` is there if the request was answered before; `id` is for the service."""

    row: int
    id: UUID
    answer: Answer | None


def begin(*, user_id: int, key: str, request: str, body: Any, now: datetime) -> Key:
    """Note that `user_id` sends `request` (method and path) with `body` under `key`.

    Raises InvalidInput for a key that is none, KeyReused if it came with another request within the last 24 h.
    """
    if not 0 < len(key) <= MAX_KEY or not key.isascii() or not key.isprintable():
        raise InvalidInput(f"an Idempotency-Key has 1 to {MAX_KEY} printable ASCII characters", field="Idempotency-Key")
    fingerprint = hashlib.sha256(json.dumps([request, body], sort_keys=True, default=str).encode()).hexdigest()
    with db.translate():
        IdempotencyKey.objects.filter(user_id=user_id, key=key, created_at__lt=now - KEPT).delete()
        IdempotencyKey.objects.bulk_create(
            [IdempotencyKey(user_id=user_id, key=key, fingerprint=fingerprint, created_at=now)], ignore_conflicts=True
        )
        row = IdempotencyKey.objects.get(user_id=user_id, key=key)
    if row.fingerprint != fingerprint:
        raise KeyReused(
            "this Idempotency-Key came with another request before: use a new key for each request",
            reason="KEY_REUSED",
            field="Idempotency-Key",
        )
    answer = None if row.status is None else Answer(row.status, row.body)
    # The day of the first use is in the id: a key that comes again later than 24 h is a new request.
    return Key(row.pk, uuid5(_NAMESPACE, f"{user_id}:{row.created_at.isoformat()}:{key}"), answer)


def finish(key: Key, *, status: int, body: Any) -> None:
    """Keep the answer of a request that was done. Refused ones are not kept: sent again, they are tried again."""
    with db.translate():
        IdempotencyKey.objects.filter(pk=key.row).update(status=status, body=body)


def keys_forget(*, now: datetime) -> int:
    """Chore: forget keys older than 24 h; how many."""
    return IdempotencyKey.objects.filter(created_at__lt=now - KEPT).delete()[0]
