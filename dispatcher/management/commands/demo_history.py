"""`manage.py demo_history`: schedules with a past, for measurements."""

from __future__ import annotations

import dataclasses
from typing import Any

from django.core.management.base import CommandParser

from dispatcher.demo import history_fill
from flowsched import clock
from flowsched.actor import Actor
from flowsched.cli import FlowCommand


class Command(FlowCommand):
    """Fill a database that has racks."""

    help = "Make schedules on the racks there are, with firings and tasks of the past days. Not for production."

    def add_arguments(self, parser: CommandParser) -> None:
        """Take how many of what."""
        super().add_arguments(parser)
        parser.add_argument("--schedules", type=int, default=10_000, help="how many schedules (default 10000)")
        parser.add_argument("--firings", type=int, default=100_000, help="how many firings (default 100000)")
        parser.add_argument("--days", type=int, default=7, help="over how many past days (default 7)")

    def run(self, **options: Any) -> int | None:
        """Fill it, say with what."""
        names = ("schedules", "firings", "days")
        made = history_fill(**{name: options[name] for name in names}, by=Actor.cli(), now=clock.now())
        if options["json"]:
            self.print_json(dataclasses.asdict(made))
        else:
            numbers = dataclasses.asdict(made).items()
            self.stdout.write(", ".join(f"{number} {name}" for name, number in numbers))
        return None
