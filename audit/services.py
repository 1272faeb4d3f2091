"""Writing the audit trail: one row a verb, in the verb's own transaction; a refusal in one of its own (D-22)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction

from audit.models import AuditEntry
from flowsched import db
from flowsched.actor import Actor
from flowsched.errors import FlowschedError
from flowsched.faults import fault


@dataclass(slots=True)
class Verb:
    """What the verb under way did; its service fills this in. `changed` False leaves no row: nothing happened."""

    object_id: str = ""
    object_name: str = ""
    before: dict[str, Any] | None = None
    after: dict[str, Any] | None = None
    changed: bool = True


@contextmanager
def verb(
    name: str, *, by: Actor, kind: str, now: datetime, object_id: UUID | str = "", object_name: str = ""
) -> Iterator[Verb]:
    """Run the body in one transaction together with its audit row.

    A FlowschedError leaves the body undone, is recorded as a refusal in a transaction of its own and raised again.
    Lock timeouts, deadlocks and lost connections come out as Busy and Unavailable. `name` is the verb
    ("schedule.pause"), `kind` the sort of object.
    """
    done = Verb(object_id=str(object_id), object_name=object_name)
    try:
        with db.translate(), transaction.atomic():
            yield done
            if done.changed:
                _write(name, by=by, kind=kind, now=now, done=done, refused="")
            fault("verb.before_commit")
    except FlowschedError as error:
        if error.kind not in {"busy", "unavailable"}:
            with db.translate(), transaction.atomic():
                done.before = done.after = None
                _write(name, by=by, kind=kind, now=now, done=done, refused=error.message)
        raise


def _write(name: str, *, by: Actor, kind: str, now: datetime, done: Verb, refused: str) -> None:
    AuditEntry.objects.create(
        at=now,
        actor=by.name[:255],
        door=by.door,
        verb=name,
        object_kind=kind,
        object_id=done.object_id.replace("\x00", "")[:64],
        object_name=done.object_name.replace("\x00", "")[:255],
        before=done.before,
        after=done.after,
        refused=refused.replace("\x00", ""),
        request_id=by.request_id[:64],
    )
