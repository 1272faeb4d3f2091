"""The one tree of errors that services raise and doors render.

A message tells an operator what was refused, which thing it was about and what to do instead. It never holds SQL or
a traceback. `reason` is a stable code for programs (`NAME_TAKEN`); `field` names the input at fault.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar
from uuid import UUID


@dataclass(frozen=True, slots=True)
class Refusal:
    """A rack that got no task: the outcome (rejected, failed, ...), a stable code, a sentence for people.

    `rack_id` is None where the operation is on no rack.
    """

    rack_id: UUID | None
    rack_name: str
    outcome: str
    code: str
    reason: str


class FlowschedError(Exception):
    """Base of every error a door may show; anything else is a fault of ours.

    `refusals` are the racks that refused, where that is why (D-13): all of them, so a door bounds what it shows.
    """

    kind: ClassVar[str] = "error"

    def __init__(self, message: str, *, reason: str = "", field: str = "", refusals: Sequence[Refusal] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.reason = reason
        self.field = field
        self.refusals = tuple(refusals)

    def __str__(self) -> str:
        return self.message


class InvalidInput(FlowschedError):
    """The input cannot be understood or breaks a limit. `fields` maps each field at fault to its message."""

    kind = "invalid_input"

    def __init__(
        self, message: str, *, reason: str = "", field: str = "", fields: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message, reason=reason, field=field)
        self.fields: dict[str, str] = dict(fields) if fields is not None else ({field: message} if field else {})


class NotFound(FlowschedError):
    """The thing named does not exist (any more)."""

    kind = "not_found"


class AlreadyExists(FlowschedError):
    """The name or id is taken."""

    kind = "already_exists"


class PreconditionFailed(FlowschedError):
    """The thing exists, but its state does not allow this."""

    kind = "precondition_failed"


class QueueFull(FlowschedError):
    """The rack's waiting queue has no place left."""

    kind = "queue_full"


class PermissionDenied(FlowschedError):
    """The caller is known and may not do this."""

    kind = "permission_denied"


class Unauthenticated(FlowschedError):
    """The caller is not known."""

    kind = "unauthenticated"


class VersionMismatch(FlowschedError):
    """Somebody changed the thing since the caller read it."""

    kind = "version_mismatch"


class KeyReused(FlowschedError):
    """An idempotency key came again with another body."""

    kind = "key_reused"


class Busy(FlowschedError):
    """A lock was not to be had in time; the same call may succeed in a moment."""

    kind = "busy"


class TooLarge(FlowschedError):
    """The request is larger than the limit it names."""

    kind = "too_large"


class TooMany(FlowschedError):
    """The caller asks too often."""

    kind = "too_many"


class Unavailable(FlowschedError):
    """Something this needs, such as the database, is out of reach for now."""

    kind = "unavailable"
