"""Idempotency keys: the same key answers the same result, and another request under it is refused (24 h).

A key is noted before the work and its answer after it. What makes the work itself repeatable is the id that
`Key.id` derives from user and key: the services take it and do nothing twice. So a process that dies in between loses
only the stored answer, and the repeat gets it from the service.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID, uuid5

from django.db import connection

from access.models import IdempotencyKey
from flowsched import db
from flowsched.errors import InvalidInput, KeyReused

KEPT: Final = timedelta(hours=24)
MAX_KEY: Final = 255
BATCH: Final = 20_000  # keys forgotten in one statement; a fraction of a second
_NAMESPACE: Final = UUID("6f1d8f0e-53f5-4a8f-9a63-0c2f6b9f6b58")
# One statement, so that of two requests at once one notes the key and the other finds it, and a key that is just being
# forgotten is there or is not.
_NOTE: Final = """
INSERT INTO idempotency_key AS known (user_id, key, fingerprint, created_at)
VALUES (%(user)s, %(key)s, %(print)s, %(now)s)
ON CONFLICT ON CONSTRAINT idempotency_key_once DO UPDATE SET
    fingerprint = CASE WHEN known.created_at < %(end)s THEN excluded.fingerprint ELSE known.fingerprint END,
    status = CASE WHEN known.created_at < %(end)s THEN NULL ELSE known.status END,
    body = CASE WHEN known.created_at < %(end)s THEN NULL ELSE known.body END,
    created_at = CASE WHEN known.created_at < %(end)s THEN excluded.created_at ELSE known.created_at END
RETURNING id, fingerprint, status, body::text, created_at
"""


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
    with db.translate(), connection.cursor() as cursor:
        cursor.execute(_NOTE, {"user": user_id, "key": key, "print": fingerprint, "now": now, "end": now - KEPT})
        row, known, status, stored, since = cursor.fetchone()
    if known != fingerprint:
        raise KeyReused(
            "this Idempotency-Key came with another request before: use a new key for each request",
            reason="KEY_REUSED",
            field="Idempotency-Key",
        )
    answer = None if status is None else Answer(status, json.loads(stored) if stored else None)
    # The time of the first use is in the id: a key that comes again later than 24 h is a new request.
    return Key(row, uuid5(_NAMESPACE, f"{user_id}:{since.isoformat()}:{key}"), answer)


def finish(key: Key, *, status: int, body: Any) -> None:
    """Keep the answer of a request that was done. Refused ones are not kept: sent again, they are tried again."""
    with db.translate():
        IdempotencyKey.objects.filter(pk=key.row).update(status=status, body=body)


def keys_forget(*, now: datetime, limit: int = BATCH) -> int:
    """Chore: forget up to `limit` keys older than 24 h, oldest first; how many. One being used just now is left."""
    with connection.cursor() as cursor:
        cursor.execute(
            "DELETE FROM idempotency_key WHERE id = ANY(ARRAY(SELECT id FROM idempotency_key WHERE created_at < %s"
            " ORDER BY created_at LIMIT %s FOR UPDATE SKIP LOCKED))",
            [now - KEPT, limit],
        )
        return int(cursor.rowcount)
