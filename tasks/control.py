"""What the threads of a worker tell a run, and how the run listens."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field

from django.db import connection

from tasks.runs import lease_seconds


class Released(Exception):
    """The worker lets go of the run before its next side effect."""


@dataclass(slots=True)
class Control:
    """What other threads tell a run, and when its lease was last confirmed (monotonic)."""

    confirmed: float = field(default_factory=time.monotonic)
    cancel: bool = False
    lost: bool = False
    release: bool = False
    note: str = ""
    changed: threading.Condition = field(default_factory=threading.Condition)

    def tell(self, *, cancel: bool = False, lost: bool = False, release: bool = False) -> None:
        """Raise flags and wake the run if it sleeps. Flags are never lowered."""
        with self.changed:
            self.cancel |= cancel
            self.lost |= lost
            self.release |= release
            self.changed.notify_all()

    def confirm(self, at: float) -> None:
        """The lease was compared and renewed by a statement sent at `at`."""
        self.confirmed = max(self.confirmed, at)

    def lease_may_have_run_out(self) -> bool:
        """By this process's clock, which runs on while the process is stopped."""
        return time.monotonic() >= self.confirmed + lease_seconds()


def mend_connection() -> None:
    """Drop this thread's connection if it does not work any more, so that the next query makes a new one."""
    if not connection.in_atomic_block:
        connection.close_if_unusable_or_obsolete()
