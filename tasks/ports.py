"""Where schedules/ plugs in: what becomes of a schedule when one of its calls has ended, which tasks/ cannot know."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID

from tasks.states import RunState


class CallEnded(Protocol):
    """Told of each call that a worker has ended, after the commit."""

    def __call__(self, schedule_id: UUID, state: RunState, message: str, now: datetime, /) -> None:
        """Take note."""


def _nobody(*_args: object) -> None:
    return None


@dataclass(slots=True)
class Ports:
    """The sockets. Assign to an attribute of `ports` to plug in."""

    call_ended: CallEnded = _nobody


ports = Ports()
