"""How a worker is told to stop: first it fetches nothing more, later it lets go of what it holds."""

from __future__ import annotations

import threading
from collections.abc import Callable


class Stop:
    """Two steps, each taken once: `requested` (fetch no more) and `release` (stop before the next side effect)."""

    def __init__(self) -> None:
        self.requested = threading.Event()
        self.release = threading.Event()
        self._on_request: list[Callable[[], None]] = []
        self._on_release: list[Callable[[], None]] = []

    def subscribe(
        self, *, request: Callable[[], None] | None = None, release: Callable[[], None] | None = None
    ) -> None:
        """Call back at each step, from whatever thread takes it; at once if it is taken already."""
        for event, callbacks, callback in (
            (self.requested, self._on_request, request),
            (self.release, self._on_release, release),
        ):
            if callback is not None:
                callbacks.append(callback)
                if event.is_set():
                    callback()

    def request(self) -> None:
        """Stop fetching."""
        self._take(self.requested, self._on_request)

    def let_go(self) -> None:
        """Stop before the next side effect and release the runs in hand."""
        self._take(self.release, self._on_release)

    @staticmethod
    def _take(event: threading.Event, callbacks: list[Callable[[], None]]) -> None:
        if not event.is_set():
            event.set()
            for callback in list(callbacks):
                callback()
