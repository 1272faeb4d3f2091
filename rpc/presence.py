"""The server's row among the processes, so that `run_dispatcher --status` lists it beside dispatchers and workers."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

from django.db import connection

from flowsched import clock, db
from flowsched.errors import Busy, Unavailable
from tasks.heart import every
from tasks.processes import BEAT, process_keep, process_stop

logger = logging.getLogger(__name__)

KIND: Final = "grpc"


class Presence:
    """Beats from a thread of its own until left. It never ends the server: a call tells better what is wrong."""

    def __init__(self, detail: Mapping[str, Any]) -> None:
        self._detail = dict(detail)
        self._state = "running"
        self._id: UUID | None = None
        self._stop = threading.Event()
        self._wake = threading.Event()
        self._thread = threading.Thread(target=self._run, name="grpc-beat", daemon=True)

    def start(self) -> None:
        """Begin to beat."""
        self._thread.start()

    def draining(self) -> None:
        """Say so at once."""
        self._state = "draining"
        self._wake.set()

    def leave(self) -> None:
        """Say that this process has ended in order, if there is a database to tell."""
        self._stop.set()
        self._wake.set()
        self._thread.join(timeout=5)
        try:
            with db.translate():
                if self._id is not None:
                    process_stop(process_id=self._id, now=clock.now())
        except (Busy, Unavailable) as error:
            logger.warning("grpc: %s", error)
        finally:
            connection.close()

    def _run(self) -> None:
        try:
            every(BEAT.total_seconds(), self._beat, stop=self._stop, wake=self._wake)
        except Exception:
            logger.exception("grpc: this process is no longer listed among the processes; it goes on serving")

    def _beat(self) -> None:
        now = clock.now()
        self._id = process_keep(self._id, kind=KIND, now=now, state=self._state, detail=self._detail)
