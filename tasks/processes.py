"""Who dispatches and who works: one row a process, beaten every few seconds, so that a silent one can be told."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

from flowsched import __version__
from tasks.models import Process

BEAT = timedelta(seconds=5)
SILENT_AFTER = timedelta(seconds=20)  # four beats
KEPT_FOR = timedelta(days=1)
STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class ProcessStatus:
    """A process as an operator sees it. `alive`: not stopped and not silent."""

    process: Process
    alive: bool
    silent_for: timedelta


def process_register(*, kind: str, now: datetime, detail: dict[str, Any] | None = None) -> UUID:
    """Add this process's row; forget rows of processes that have been silent for a day."""
    Process.objects.filter(last_beat__lt=now - KEPT_FOR).delete()
    process = Process.objects.create(
        id=uuid4(),
        kind=kind,
        host=socket.gethostname()[:255],
        pid=os.getpid(),
        version=__version__,
        detail=detail or {},
        started_at=now,
        last_beat=now,
    )
    return process.id


def process_beat(*, process_id: UUID, now: datetime, state: str = "running", detail: dict[str, Any]) -> bool:
    """Say that this process is alive; False if its row is gone, then register again."""
    return Process.objects.filter(id=process_id).update(last_beat=now, state=state[:16], detail=detail) == 1


def process_keep(
    process_id: UUID | None, *, kind: str, now: datetime, state: str = "running", detail: dict[str, Any]
) -> UUID:
    """Say that this process is alive, registering it if it has no row yet or its row is gone; return the row's id."""
    if process_id is not None and process_beat(process_id=process_id, now=now, state=state, detail=detail):
        return process_id
    return process_register(kind=kind, now=now, detail=detail)


def process_stop(*, process_id: UUID, now: datetime) -> None:
    """Say that this process has ended in order."""
    Process.objects.filter(id=process_id).update(last_beat=now, state=STOPPED)


def processes_list(*, kind: str = "", now: datetime) -> list[ProcessStatus]:
    """All processes known, the newest beat first."""
    rows = Process.objects.order_by("-last_beat", "id")
    if kind:
        rows = rows.filter(kind=kind)
    return [
        ProcessStatus(
            process=row,
            alive=row.state != STOPPED and now - row.last_beat < SILENT_AFTER,
            silent_for=max(timedelta(0), now - row.last_beat),
        )
        for row in rows[:1000]
    ]


def processes_alive(*, kind: str = "", now: datetime) -> list[Process]:
    """The processes, of a kind or of all, that beat lately and have not stopped."""
    return [status.process for status in processes_list(kind=kind, now=now) if status.alive]
