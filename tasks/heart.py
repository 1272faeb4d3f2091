"""The heartbeat of a worker process: one thread that renews the leases of all runs in hand, in one statement.

It also carries news to them: cancelled, lease lost. A heart that stops costs every run its lease, so whatever goes
wrong in it ends the process, for a supervisor to start anew; the database being away is no such thing.
"""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable
from uuid import UUID

import psycopg
from django.db import connection

from flowsched import clock, db
from flowsched.errors import Busy, Unavailable
from tasks.control import Control, mend_connection
from tasks.runs import lease_seconds, runs_renew, runs_show_progress

logger = logging.getLogger(__name__)

CANCEL_CHANNEL = "flowsched_cancel"
LISTEN_SECONDS = 0.5


class Heart:
    """The runs in hand, by lease token."""

    def __init__(self) -> None:
        self._runs: dict[UUID, Control] = {}
        self._lock = threading.Lock()
        self.wake = threading.Event()

    def add(self, token: UUID, control: Control) -> None:
        """Renew this run's lease from now on."""
        with self._lock:
            self._runs[token] = control

    def remove(self, token: UUID) -> None:
        """The run is over."""
        with self._lock:
            self._runs.pop(token, None)

    def count(self) -> int:
        """How many runs are in hand."""
        return len(self._runs)

    def release_all(self) -> None:
        """Tell every run to let go before its next side effect."""
        for control in self._snapshot().values():
            control.tell(release=True)

    def beat(self) -> int:
        """Renew all leases, tell runs what happened to theirs, show their progress; returns how many are ours."""
        runs = self._snapshot()
        if not runs:
            return 0
        sent = time.monotonic()
        renewed = runs_renew(runs, {token: control.note for token, control in runs.items()})
        for token, control in runs.items():
            if token not in renewed:
                control.tell(lost=True)
                continue
            control.confirm(sent)
            if renewed[token]:
                control.tell(cancel=True)
        if renewed:
            runs_show_progress(renewed, now=clock.now())
        return len(renewed)

    def _snapshot(self) -> dict[UUID, Control]:
        with self._lock:
            return dict(self._runs)


def every(
    seconds: float, chore: Callable[[], object], *, stop: threading.Event, wake: threading.Event | None = None
) -> None:
    """Do `chore` each `seconds`, with jitter, and at once when woken, until `stop`; the database may come and go."""
    away = False
    while not stop.is_set():
        try:
            with db.translate():
                chore()
            if away:
                logger.warning("%s: the database is back", threading.current_thread().name)
            away = False
        except (Busy, Unavailable) as error:
            mend_connection()
            if not away:
                logger.warning("%s: waiting for the database: %s", threading.current_thread().name, error)
            away = True
        pause = seconds * random.uniform(0.8, 1.0)  # noqa: S311 - jitter
        (wake or stop).wait(pause)
        if wake is not None:
            wake.clear()
    connection.close()


def listen(channel: str, on_notify: Callable[[], object], *, stop: threading.Event) -> None:
    """Call `on_notify` at each notification until `stop`; what is missed while away, the next beat sees anyway."""
    while not stop.is_set():
        try:
            with db.separate_session() as listener:
                listener.execute(psycopg.sql.SQL("LISTEN {}").format(psycopg.sql.Identifier(channel)))
                on_notify()
                while not stop.is_set():
                    for _notification in listener.notifies(timeout=LISTEN_SECONDS, stop_after=1):
                        on_notify()
        except psycopg.OperationalError:
            stop.wait(LISTEN_SECONDS)


def renewal_seconds() -> float:
    """A third of the lease: twice in vain before one runs out."""
    return lease_seconds() / 3
