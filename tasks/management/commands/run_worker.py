"""`manage.py run_worker`: carry out tasks."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser

from flowsched import clock
from flowsched.cli import REFUSED, FlowCommand
from flowsched.errors import InvalidInput
from tasks.processes import ProcessStatus, processes_list
from tasks.worker import KIND, Worker

MAX_CONCURRENCY = 200


class Command(FlowCommand):
    """Carry out tasks until SIGTERM or Ctrl-C, which drains; a second one stops at once."""

    help = "Carry out tasks. The first SIGTERM or Ctrl-C lets runs in hand end, a second one stops at once."

    def add_arguments(self, parser: CommandParser) -> None:
        """Options."""
        super().add_arguments(parser)
        parser.add_argument(
            "--concurrency", type=int, help="runs at a time (default: FLOWSCHED_WORKER_CONCURRENCY)", metavar="N"
        )
        parser.add_argument("--once", action="store_true", help="carry out what is waiting, then exit")
        parser.add_argument(
            "--status", action="store_true", help="list the worker processes; exit code 1 if none is up"
        )

    def run(self, **options: Any) -> int | None:
        """Work, or list who does."""
        if options["status"]:
            return self._status(as_json=options["json"])
        concurrency = options["concurrency"] or settings.FLOWSCHED_WORKER_CONCURRENCY
        if options["concurrency"] is not None and not 1 <= options["concurrency"] <= MAX_CONCURRENCY:
            raise InvalidInput(f"--concurrency must be between 1 and {MAX_CONCURRENCY}", field="concurrency")
        return Worker(concurrency=concurrency, once=options["once"]).run()

    def _status(self, *, as_json: bool) -> int:
        workers = processes_list(kind=KIND, now=clock.now())
        if as_json:
            self.print_json([_plain(w) for w in workers])
        else:
            self.print_table(
                ["process", "state", "executor", "runs", "started", "last beat", "version"],
                [_row(w) for w in workers],
                empty="no worker has run yet: start one with manage.py run_worker",
            )
        return 0 if any(w.alive for w in workers) else REFUSED


def _state(worker: ProcessStatus) -> str:
    if worker.alive or worker.process.state == "stopped":
        return worker.process.state
    return f"silent for {int(worker.silent_for.total_seconds())} s"


def _row(worker: ProcessStatus) -> list[Any]:
    process = worker.process
    return [
        f"{process.host}:{process.pid}",
        _state(worker),
        process.detail.get("executor"),
        process.detail.get("runs"),
        process.started_at,
        process.last_beat,
        process.version,
    ]


def _plain(worker: ProcessStatus) -> dict[str, Any]:
    process = worker.process
    return {
        "id": process.id,
        "kind": process.kind,
        "host": process.host,
        "pid": process.pid,
        "state": process.state,
        "alive": worker.alive,
        "detail": process.detail,
        "version": process.version,
        "started_at": process.started_at,
        "last_beat": process.last_beat,
    }
