"""Runs until asked to stop, then takes STUB_DRAIN seconds; with STUB_FAIL it ends at once."""

import os
import signal
import sys
import threading

from django.core.management.base import BaseCommand


class Command(BaseCommand):
    name = "run_dispatcher"

    def add_arguments(self, parser):
        parser.add_argument("--bind")
        if not os.environ.get("STUB_NO_STATUS"):
            parser.add_argument("--status", action="store_true")

    def handle(self, **options):
        if options.get("status"):
            sys.exit(0)
        if os.environ.get("STUB_FAIL") == self.name:
            sys.exit("cannot work")
        asked = threading.Event()
        signal.signal(signal.SIGTERM, lambda *_: asked.set())
        print(f"{self.name} {os.getpid()} began", flush=True)  # noqa: T201
        while not asked.wait(0.1):
            pass
        threading.Event().wait(float(os.environ.get("STUB_DRAIN", "0")))
        print(f"{self.name} {os.getpid()} drained", flush=True)  # noqa: T201
