"""Values the firing path passes between its phases, and the keys that make a repeat harmless."""

from __future__ import annotations

import os
import socket
import uuid
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from uuid import UUID

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Reason(StrEnum):
    """Reason codes of a scope's outcome that arise here; those of admission are in tasks/."""

    OVERLAP = "overlap"
    TOO_LATE = "too_late"
    SUPERSEDED = "superseded"
    FILTER_UNREADABLE = "filter_unreadable"
    SCHEDULE_UNREADABLE = "schedule_unreadable"
    RACK_LOCKED = "rack_locked"
    NO_RACK = "no_rack"
    SUBMISSION_ERROR = "submission_error"
    GIVEN_UP = "given_up"
    DELETED = "deleted"
    HELD = "held"


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds the lease of the firings in hand: a name for people, a token every write compares, its length."""

    owner: str
    token: UUID
    lease: timedelta


def new_holder(lease: timedelta) -> Holder:
    """A fresh lease for this process."""
    return Holder(f"{socket.gethostname()}:{os.getpid()}", uuid.uuid4(), lease)


@dataclass(slots=True)
class ScopePlan:
    """What phase 1 decided about one scope: the future FiringScope."""

    scope_id: UUID
    rack_id: UUID | None
    rack_name: str
    position: int
    component_filter: object
    state: str = "pending"
    reason_code: str = ""
    reason: str = ""


@dataclass(slots=True)
class FiringPlan:
    """What phase 1 decided about one due schedule: the future Firing, its scopes, and the advance."""

    schedule_id: UUID
    schedule_name: str
    key: UUID
    cause: str
    due_at: datetime
    fired_at: datetime
    actor: str
    template: object
    queue: bool
    queue_timeout: timedelta | None
    misfire_grace: timedelta | None
    scopes: list[ScopePlan] = field(default_factory=list)
    failed: str = ""  # the firing is closed as failed at once, with this reason
    reason: str = ""  # a note on a firing that is fine, such as one without scopes
    next_run_at: datetime | None = None
    last_run_at: datetime | None = None
    enabled: bool = True
    disabled_kind: str = ""
    disabled_reason: str = ""


def tick_key(schedule_id: UUID, due_at: datetime) -> UUID:
    """The key of a tick: the same after a failover that lost the first firing of it."""
    return uuid.uuid5(schedule_id, str((due_at - EPOCH) // timedelta(microseconds=1)))


def scope_key(firing_key: UUID, scope_id: UUID) -> UUID:
    """The idempotency key of one scope's task, and what an executor hands to its target."""
    return uuid.uuid5(firing_key, str(scope_id))


def utc_seconds(moment: datetime) -> str:
    """RFC 3339, UTC, whole seconds, for descriptions and reasons."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
