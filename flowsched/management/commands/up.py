"""`manage.py up`: what bin/up runs once the packages are there."""

from __future__ import annotations

import sys
from typing import Any

from django.core.management.base import CommandParser

from flowsched.cli import FlowCommand


class Command(FlowCommand):
    """Database, tables, dispatcher and worker, until Ctrl-C."""

    help = "Start the local database, update its tables, then keep dispatcher and worker running until Ctrl-C."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        """Nothing to choose: a second copy is told apart by FLOWSCHED_DATA_DIR."""

    def run(self, **options: Any) -> int:
        """Run in the foreground."""
        from flowsched.up import Up  # noqa: PLC0415 - the supervisor is no business of other commands

        return Up(sys.stdout).run()
