"""`manage.py run_dispatcher`: claims due schedules and fires them, until told to stop."""

from __future__ import annotations

import logging
import signal
from types import FrameType
from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser

from dispatcher import selectors
from dispatcher.loop import Loop
from flowsched.cli import REFUSED, FlowCommand, show
from flowsched.errors import InvalidInput
from tasks.hold import hold_current, hold_json, hold_line
from tasks.processes import processes_alive

logger = logging.getLogger(__name__)


class StopNow(BaseException):
    """The second stop request: leave the transaction in hand to roll back, the firing in hand to be taken over."""


class Command(FlowCommand):
    """The dispatcher process."""

    help = "Fire due schedules. The first SIGTERM or Ctrl-C finishes the batch in hand, the second stops at once."

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the loop's numbers and the one-shot modes."""
        super().add_arguments(parser)
        parser.add_argument("--once", action="store_true", help="fire what is due, then exit")
        parser.add_argument(
            "--status", action="store_true", help="show processes and what is due; exit code 1 if none is alive"
        )
        parser.add_argument(
            "--poll-interval",
            type=float,
            default=None,
            help="seconds between polls (default FLOWSCHED_POLL_INTERVAL, %(metavar)s may only be shorter)",
            metavar="SECONDS",
        )
        parser.add_argument(
            "--batch-size", type=int, default=settings.FLOWSCHED_BATCH_SIZE, help="due schedules a claim (1 to 1000)"
        )

    def run(self, **options: Any) -> int:
        """Dispatch."""
        if options["status"]:
            return self._status(as_json=options["json"])
        loop = Loop(batch_size=_batch_size(options["batch_size"]), poll_interval=_poll(options["poll_interval"]))
        if options["once"]:
            claimed = loop.run_once()
            hold = hold_current()
            if options["json"]:
                self.print_json({"claimed": claimed, "held": hold_json(hold)})
            elif hold:
                self.stdout.write(hold_line(hold))
            else:
                self.stdout.write(f"{claimed} schedule{'' if claimed == 1 else 's'} fired")
            return 0
        return self._serve(loop)

    def _serve(self, loop: Loop) -> int:
        def stop(number: int, _frame: FrameType | None) -> None:
            if loop.draining:
                raise StopNow
            logger.info("%s: finishing the batch in hand; once more to stop at once", signal.Signals(number).name)
            loop.drain()

        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, stop)
        logger.info(
            "dispatcher %s started: poll %.1f s, batch %d", loop.holder.owner, loop.poll_interval, loop.batch_size
        )
        try:
            loop.run_forever()
        except StopNow:
            logger.warning("stopped at once; what was in hand is taken over when its lease runs out")
            return 1
        logger.info("dispatcher %s stopped", loop.holder.owner)
        return 0

    def _status(self, *, as_json: bool) -> int:
        """Show how things stand. Exit code 1 where no dispatcher is alive, for probes."""
        backlog = selectors.backlog()
        hold = hold_current()
        processes = processes_alive(now=backlog.now)
        code = 0 if any(process.kind == "dispatcher" for process in processes) else REFUSED
        if as_json:
            self.print_json(
                {
                    "now": backlog.now,
                    "held": hold_json(hold),
                    "executor": settings.FLOWSCHED_EXECUTOR,
                    "schedules": backlog.schedules,
                    "enabled": backlog.enabled,
                    "due": backlog.due,
                    "oldest_due_at": backlog.oldest_due,
                    "next_due_at": backlog.next_due,
                    "open_firings": backlog.open_firings,
                    "disabled_by_system": backlog.disabled_by_system,
                    "processes": [
                        {
                            "kind": p.kind, "host": p.host, "pid": p.pid, "version": p.version,
                            "state": p.state, "started_at": p.started_at, "last_beat": p.last_beat,
                        }
                        for p in processes
                    ],
                }
            )  # fmt: skip
            return code
        if hold:
            self.stdout.write(hold_line(hold))
        lag = (backlog.now - backlog.oldest_due).total_seconds() if backlog.oldest_due else 0.0
        self.stdout.write(
            f"As of {show(backlog.now)}, executor {settings.FLOWSCHED_EXECUTOR}: {backlog.schedules} schedules, "
            f"{backlog.enabled} enabled, {backlog.disabled_by_system} disabled by the system, {backlog.due} due "
            f"(oldest {lag:.0f} s), next due {show(backlog.next_due)}, {backlog.open_firings} firings open."
        )
        self.print_table(
            ["kind", "host", "pid", "version", "state", "last beat"],
            [(p.kind, p.host, p.pid, p.version, p.state, p.last_beat) for p in processes],
            empty="No dispatcher or worker is alive: schedules are not firing. Start both with bin/up.",
        )
        return code


def _batch_size(value: int) -> int:
    if not 1 <= value <= 1000:  # noqa: PLR2004  named in the message
        raise InvalidInput(f"--batch-size {value} is out of range: use 1 to 1000", field="batch_size")
    return value


def _poll(value: float | None) -> float:
    longest = settings.FLOWSCHED_POLL_INTERVAL.total_seconds()
    if value is None:
        return float(longest)
    if not 0 < value <= longest:
        raise InvalidInput(
            f"--poll-interval {value:g} is out of range: it may only be shorter than FLOWSCHED_POLL_INTERVAL "
            f"({longest:g} s), which grace periods are checked against",
            field="poll_interval",
        )
    return value
