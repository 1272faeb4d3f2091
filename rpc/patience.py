"""How long a call may take to say what it wants: a stream opened and left idle must not keep a thread for good.

grpcio waits for a call's message without limit, in a thread of the pool. Ten streams that never send one would stop a
server of ten threads (TH-12), so one thread watches all who wait and cancels those whose time is over.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import grpc

LOOK_EVERY: Final = 0.5  # seconds


class Patience:
    """Cancels calls that wait for a message longer than `seconds`."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._waiting: dict[int, tuple[float, grpc.ServicerContext]] = {}
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="grpc-patience", daemon=True)

    def start(self) -> None:
        """Begin to watch."""
        self._thread.start()

    def stop(self) -> None:
        """Watch no more."""
        self._stop.set()

    @contextmanager
    def waiting(self, context: grpc.ServicerContext) -> Iterator[None]:
        """The body waits for a message of this call."""
        with self._lock:
            self._waiting[id(context)] = (time.monotonic() + self.seconds, context)
        try:
            yield
        finally:
            with self._lock:
                self._waiting.pop(id(context), None)

    def messages(self, stream: Iterator[bytes], context: grpc.ServicerContext) -> Iterator[bytes]:
        """The messages of a call, each in time. Raises grpc.RpcError once the call is cancelled, here or there."""
        while True:
            with self.waiting(context):
                message = next(stream, None)
            if message is None:
                return
            yield message

    def _watch(self) -> None:
        while not self._stop.wait(LOOK_EVERY):
            now = time.monotonic()
            with self._lock:
                late = [context for until, context in self._waiting.values() if until < now]
            for context in late:
                context.cancel()
