"""`manage.py export_history`: send finished runs to ClickHouse now, or say how many wait."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from flowsched.cli import REFUSED, FlowCommand
from tasks.history.clickhouse import configured
from tasks.history.outbox import Exporter, outbox_fill, outbox_state


class Command(FlowCommand):
    """Workers do the same all the time; this is for after an outage, and for the runs of before."""

    help = "Send the finished runs that wait to ClickHouse. Workers do so by themselves."

    def add_arguments(self, parser: CommandParser) -> None:
        """Options."""
        super().add_arguments(parser)
        which = parser.add_mutually_exclusive_group()
        which.add_argument(
            "--all", action="store_true", help="first put every finished run into the outbox, exported before or not"
        )
        which.add_argument("--status", action="store_true", help="only say how many wait; exit code 1 if any does")

    def run(self, **options: Any) -> int | None:
        """Send until nothing waits, or until another process is found at it."""
        configured()
        filled = outbox_fill() if options["all"] else 0
        sent = 0
        if not options["status"]:
            exporter = Exporter()
            while more := exporter.send():
                sent += more
        waiting, since = outbox_state()
        if options["json"]:
            self.print_json({"filled": filled, "exported": sent, "waiting": waiting, "waiting_since": since})
        else:
            self._say(options, filled, sent, waiting, since)
        return REFUSED if waiting else 0

    def _say(self, options: dict[str, Any], filled: int, sent: int, waiting: int, since: object) -> None:
        if options["all"]:
            self.stdout.write(f"{filled} runs put into the outbox")
        if not options["status"]:
            self.stdout.write(f"{sent} runs exported")
        if waiting:
            why = "" if options["status"] else ": another process is exporting, or they have just come"
            self.stdout.write(f"{waiting} runs wait, the first since {since}{why}")
        elif options["status"]:
            self.stdout.write("no run waits")
