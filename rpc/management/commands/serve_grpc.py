"""`manage.py serve_grpc`: the gRPC door, until told to stop."""

from __future__ import annotations

import os
import signal
from queue import SimpleQueue
from types import FrameType
from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser

from flowsched.cli import FlowCommand
from rpc.methods import METHODS
from rpc.presence import Presence
from rpc.server import Config, Server


class Command(FlowCommand):
    """The gRPC server process."""

    help = "Serve v1.Flow. The first SIGTERM or Ctrl-C lets calls in hand end, a second one stops at once."

    def add_arguments(self, parser: CommandParser) -> None:
        """Options."""
        parser.add_argument(
            "--bind",
            default=settings.FLOWSCHED_GRPC_BIND,
            metavar="HOST:PORT",
            help="where to listen: host:port, [v6]:port or unix:path (default FLOWSCHED_GRPC_BIND, %(default)s); "
            "beyond this machine only with TLS, see FLOWSCHED_GRPC_CERT",
        )

    def run(self, **options: Any) -> int:
        """Serve."""
        config = Config.of_settings()
        server = Server(METHODS, config)
        address = server.bind(options["bind"])
        stop = _signals()
        server.start()
        presence = Presence({"address": address, "threads": config.threads})
        presence.start()
        self.stdout.write(f"listening on {address}, {config.tls}")
        self.stdout.flush()
        stop.get()
        grace = settings.FLOWSCHED_DRAIN_TIMEOUT.total_seconds()
        self.stdout.write(f"draining for at most {grace:g} s; once more to stop at once")
        self.stdout.flush()
        presence.draining()
        server.stop(grace)
        presence.leave()
        self.stdout.write("stopped")
        return 0


def _signals() -> SimpleQueue[int]:
    """Where the first signal arrives; the second ends the process at once.

    A queue, because its put may run while the same thread waits in its get, as a signal handler does.
    """
    first: SimpleQueue[int] = SimpleQueue()
    seen: list[int] = []

    def on_signal(number: int, _frame: FrameType | None) -> None:
        if seen:
            os.write(2, b"grpc: second signal, stopping at once\n")
            os._exit(128 + number)
        seen.append(number)
        first.put(number)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, on_signal)
    return first
