"""`manage.py demo`: racks and five schedules that show within a minute what flowsched does."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from django.apps import apps
from django.conf import settings
from django.core.management import call_command
from django.core.management.base import CommandParser

from flowsched import clock
from flowsched.actor import Actor
from flowsched.cli import FlowCommand
from flowsched.errors import PreconditionFailed
from inventory.models import Rack
from inventory.targets import DomainTarget, RackTarget, Target
from schedules.models import TaskSchedule
from schedules.services import schedule_create
from tasks.operations import operation

MADE_RACKS = 40
DOMAINS = 4
COMPONENTS = 9
ONCE_AFTER = timedelta(seconds=60)
# Seconds a component takes in the simulation: the slow rack's task outlasts its schedule's interval.
LATENCIES = {"demo-0004": 2.5, "r01": 0.4}


class Command(FlowCommand):
    """Fill an empty database with a demonstration."""

    help = "Import the example rack and forty made ones, and create five schedules on simulated hardware."

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the switch that bin/up uses."""
        super().add_arguments(parser)
        parser.add_argument(
            "--first-start", action="store_true", help="do nothing, quietly, where racks or schedules exist"
        )

    def run(self, **options: Any) -> int | None:
        """Make it, unless there is something."""
        if Rack.objects.exists() or TaskSchedule.objects.exists():
            if options["first_start"]:
                return 0
            raise PreconditionFailed(
                "there are racks or schedules already; the demonstration is for an empty database. "
                "Give it one of its own: FLOWSCHED_DATA_DIR=/some/folder bin/up",
                reason="NOT_EMPTY",
            )
        if settings.FLOWSCHED_EXECUTOR != "simulated":
            raise PreconditionFailed(
                f"the executor is '{settings.FLOWSCHED_EXECUTOR}': a demonstration must not touch hardware. "
                "Set FLOWSCHED_EXECUTOR=simulated.",
                reason="NOT_SIMULATED",
            )
        self._racks()
        self._slow_down()
        names = self._schedules(clock.now())
        if options["json"]:
            self.print_json({"racks": Rack.objects.count(), "schedules": names})
        else:
            self.stdout.write(f"{Rack.objects.count()} racks and {len(names)} schedules: " + ", ".join(names))
        return 0

    def _racks(self) -> None:
        example = Path(apps.get_app_config("inventory").path) / "data" / "rack-example.json"
        call_command("import_racks", str(example), stdout=self.stdout, stderr=self.stderr)
        call_command(
            "demo_racks", racks=MADE_RACKS, components=COMPONENTS, domains=DOMAINS, stdout=self.stdout,
            stderr=self.stderr,
        )  # fmt: skip

    def _slow_down(self) -> None:
        """Say how the simulated components behave, unless somebody said so before."""
        path: Path = settings.FLOWSCHED_SIMULATED
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            components = {rack: {"latency": seconds} for rack, seconds in LATENCIES.items()}
            path.write_text(json.dumps({"components": components}, indent=2) + "\n", encoding="utf-8")

    def _schedules(self, now: datetime) -> list[str]:
        once = (now + ONCE_AFTER).strftime("%Y-%m-%dT%H:%M:%SZ")
        racks: list[Target] = [RackTarget(name="r01"), RackTarget(name="demo-0001")]
        self._create("Demo reset", ("interval", "15s"), "power_reset", racks, now)
        self._create("Demo queue", ("interval", "20s"), "power_on", racks[:1], now, overlap="queue")
        self._create(
            "Demo cron", ("cron", "* * * * *"), "power_on", [DomainTarget(name="demo-nvl-2")], now, zone="Asia/Tokyo"
        )
        self._create(
            "Demo firmware", ("one-time", once), "upgrade_firmware", [RackTarget(name="demo-0003")], now,
            target_version="25.1.0",
        )  # fmt: skip
        self._create("Demo slow", ("interval", "10s"), "power_reset", [RackTarget(name="demo-0004")], now)
        return list(TaskSchedule.objects.order_by("created_at").values_list("name", flat=True))

    def _create(
        self,
        name: str,
        timing: tuple[str, str],
        kind: str,
        targets: list[Target],
        now: datetime,
        *,
        overlap: str = "skip",
        zone: str = "",
        target_version: str | None = None,
    ) -> None:
        schedule_create(
            name=name,
            spec_type=timing[0],
            spec=timing[1],
            timezone=zone,
            operation=operation(kind, target_version=target_version),
            overlap_policy=overlap,
            targets=targets,
            by=Actor.cli(),
            now=now,
        )
