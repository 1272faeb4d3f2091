"""What is submitted, and what becomes of it: the values that admission takes and gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any, Literal
from uuid import UUID

from django.conf import settings

from inventory.components import parse_component_type
from tasks.operations import OperationType

MAX_QUEUE_TIMEOUT = timedelta(days=365)


@dataclass(frozen=True, slots=True)
class Submission:
    """One operation on one rack, or one call without any. `key` makes it idempotent; `queue` says wait, do not refuse.

    `fired_at` is when the schedule fired, where one did.
    """

    key: UUID
    rack_id: UUID | None
    rack_name: str
    types: tuple[str, ...] | None
    components: tuple[UUID, ...] | None
    type: str
    code: str
    information: Mapping[str, Any]
    description: str
    queue: bool
    queue_timeout: timedelta | None
    schedule_id: UUID | None = None
    schedule_name: str = ""
    fired_at: datetime | None = None

    @property
    def lane(self) -> UUID:
        """What its order is kept by: the rack, or of a call the schedule; one without any has a lane of its own."""
        owner = self.schedule_id if self.type == OperationType.HTTP else self.rack_id
        return owner or self.key


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one submission. `locked`: nothing was decided, submit again.

    Which rack it was is filled in for a direct operation; elsewhere `key` says it.
    """

    key: UUID
    state: Literal["submitted", "rejected", "failed", "locked"]
    task_id: UUID | None
    reason_code: str
    reason: str
    rack_id: UUID | None = None
    rack_name: str = ""


def queue_timeout(asked: timedelta | None) -> timedelta:
    """The time in the queue: none, zero and negative mean the setting's (F-169); bounded, so that dates stay dates."""
    default: timedelta = settings.FLOWSCHED_QUEUE_TIMEOUT
    return min(asked, MAX_QUEUE_TIMEOUT) if asked is not None and asked > timedelta(0) else default


@lru_cache(maxsize=256)
def stored_types(types: tuple[str, ...]) -> tuple[str, ...]:
    """The stored names of component types. Raises InvalidInput for one that nobody knows."""
    return tuple(parse_component_type(name).value for name in types)
