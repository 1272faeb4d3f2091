"""How many calls a worker makes at a time: so many of each endpoint, and so many of all at the database.

An endpoint that hangs fills its own places and nobody else's. Calls that find its places taken wait here as ids,
without a thread; a process that dies loses nothing with them, since a task without a job gets another.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final
from uuid import UUID

from django.db import connection

from tasks.execution import Seat

MAX_PARKED: Final = 10_000  # of an endpoint; those beyond get another job when their time comes


class Places:
    """The places of each endpoint in this process. `most` says how many one has."""

    def __init__(self, most: Callable[[str], int]) -> None:
        self._most = most
        self._taken: dict[str, int] = {}
        self._parked: dict[str, deque[UUID]] = {}
        self._closed = False
        self._lock = threading.Lock()

    def take(self, endpoint: str, task_id: UUID) -> bool:
        """Take a place, or leave the task waiting for one."""
        with self._lock:
            if self._taken.get(endpoint, 0) < self._most(endpoint) and not self._closed:
                self._taken[endpoint] = self._taken.get(endpoint, 0) + 1
                return True
            self._parked.setdefault(endpoint, deque(maxlen=MAX_PARKED)).append(task_id)
            return False

    def hand_on(self, endpoint: str) -> UUID | None:
        """Give the place to the task that waits longest, which is returned, or give it up."""
        with self._lock:
            waiting = self._parked.get(endpoint)
            if waiting and not self._closed:
                return waiting.popleft()
            self._taken[endpoint] -= 1
            return None

    def close(self) -> None:
        """Begin nothing more: places that become free stay so."""
        with self._lock:
            self._closed = True

    def left(self) -> list[UUID]:
        """Those that waited and will not be begun here."""
        with self._lock:
            waiting = [task_id for parked in self._parked.values() for task_id in parked]
            self._parked.clear()
            return waiting


class CallSeat(Seat):
    """A run's place at the database, one of a few for all calls of a process; given up while its target takes long."""

    def __init__(self, seats: threading.Semaphore) -> None:
        self._seats = seats

    @contextmanager
    def left(self) -> Iterator[None]:
        """Close this thread's connection and let another call have the place."""
        connection.close()
        self._seats.release()
        try:
            yield
        finally:
            self._seats.acquire()
