"""`manage.py serve_web`: the web doors, REST and pages, until told to stop."""

from __future__ import annotations

import os
import sys
from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser

from flowsched.bind import Bind, answers, refuse_taken
from flowsched.cli import REFUSED, FlowCommand


class Command(FlowCommand):
    """Becomes gunicorn."""

    help = "Serve REST and pages. SIGTERM lets requests in hand end, SIGINT or SIGQUIT stops at once."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        """Options."""
        parser.add_argument(
            "--bind",
            default=settings.FLOWSCHED_WEB_BIND,
            metavar="HOST:PORT",
            help="where to listen: host:port, [v6]:port or unix:path (default FLOWSCHED_WEB_BIND, %(default)s)",
        )
        parser.add_argument("--status", action="store_true", help="whether it answers there; exit code 1 if not")

    def run(self, **options: Any) -> int | None:
        """Look, or serve."""
        bind = Bind.parse(options["bind"])
        if options["status"]:
            up = answers(bind)
            self.stdout.write(f"{bind.url} {'answers' if up else 'does not answer'}")
            return 0 if up else REFUSED
        refuse_taken(bind, setting="FLOWSCHED_WEB_BIND")
        words = ["-m", "gunicorn", "--config", "python:flowsched.web", "--bind", str(bind), "flowsched.wsgi"]
        os.chdir(settings.BASE_DIR)
        return os.execv(sys.executable, [sys.executable, *words])  # noqa: S606  our own words
