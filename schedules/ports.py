"""Where the folders below plug in: what a schedule's verbs need done to scopes and firings, which they cannot import.

`scopes/` and `dispatcher/` plug theirs in from `AppConfig.ready()`. What is called unplugged fails loudly, as a
schedule without its scopes would be half a schedule; only `withdraw` defaults to doing nothing, since without a
dispatcher there are no firings. Every one runs inside the caller's transaction, after the caller has locked the
schedule.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NoReturn, Protocol
from uuid import UUID

from inventory.targets import ResolvedTarget
from schedules.models import TaskSchedule


class CreateScopes(Protocol):
    """Insert the scopes of a new schedule, positions in the order of `targets`."""

    def __call__(self, schedule: TaskSchedule, targets: Sequence[ResolvedTarget], now: datetime, /) -> None:
        """Insert them."""


class OnSchedule(Protocol):
    """Do something to all scopes of a schedule, locking them in the order of their ids."""

    def __call__(self, schedule_id: UUID, /) -> None:
        """Do it."""


class Withdraw(Protocol):
    """Turn pending work of earlier firings into `skipped`, and return how many rows that were.

    `scope_ids` None means the whole schedule. After the commit no task appears for what was withdrawn.
    """

    def __call__(
        self, schedule_id: UUID, scope_ids: Sequence[UUID] | None, code: str, reason: str, now: datetime, /
    ) -> int:
        """Withdraw it."""


def _unplugged(*_args: object) -> NoReturn:
    raise RuntimeError("schedules.ports: nothing is plugged in here; is the app that provides it in INSTALLED_APPS?")


def _nothing_to_withdraw(*_args: object) -> int:
    return 0


@dataclass(slots=True)
class Ports:
    """The sockets. Assign to an attribute of `ports` to plug in."""

    create_scopes: CreateScopes = _unplugged
    delete_scopes: OnSchedule = _unplugged
    reset_streaks: OnSchedule = _unplugged
    withdraw: Withdraw = _nothing_to_withdraw


ports = Ports()
