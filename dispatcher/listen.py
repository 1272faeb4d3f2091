"""A connection of its own that waits for NOTIFY, so that a change to a schedule is seen at once.

A lost notification, or a lost listener, costs latency up to one poll and never a firing.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

import psycopg
from django.db import connection

from flowsched import db

logger = logging.getLogger(__name__)

SLICE = 0.25  # seconds: how long a stop request may go unnoticed
RECONNECT_AFTER = 5.0  # seconds between attempts to listen again


class Listener:
    """Waits for a notification on one channel, or for time to pass where there is no connection."""

    def __init__(self, channel: str) -> None:
        self.channel = channel
        self._connection: psycopg.Connection[tuple[object, ...]] | None = None
        self._retry_at = 0.0

    def wait(self, seconds: float, stop: Callable[[], bool]) -> bool:
        """Wait up to `seconds`. True as soon as something was notified; False when time is up or `stop()` says so."""
        deadline = time.monotonic() + seconds
        while not stop():
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            if self._heard(min(left, SLICE)):
                return True
        return False

    def connect(self) -> bool:
        """Listen, if not listening yet. True when notifications sent from now on will be heard."""
        if self._connection is not None:
            return True
        if time.monotonic() < self._retry_at:
            return False
        try:
            connection.ensure_connection()  # starts the embedded database, if that is what is used
            self._connection = db.separate_session()
            self._connection.execute(f'LISTEN "{self.channel}"')
        except psycopg.Error as error:
            self._fail(error)
            return False
        return True

    def close(self) -> None:
        """Hang up."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _heard(self, seconds: float) -> bool:
        if self._connection is None:
            time.sleep(seconds)
            return False
        try:
            return any(True for _ in self._connection.notifies(timeout=seconds, stop_after=1))
        except psycopg.Error as error:
            self._fail(error)
            return True  # what was sent while away is lost: scan once

    def _fail(self, error: psycopg.Error) -> None:
        logger.warning("not listening (%s); polling until it works again", str(error).splitlines()[0] or "lost")
        self.close()
        self._retry_at = time.monotonic() + RECONNECT_AFTER
