"""`manage.py demo_racks`: plausible racks in bulk."""

from __future__ import annotations

import dataclasses
from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser

from flowsched import clock
from flowsched.actor import Actor
from flowsched.cli import FlowCommand
from inventory.demo import demo_document
from inventory.management.summary import print_summary
from inventory.services import racks_import


class Command(FlowCommand):
    """Make racks for demonstrations and measurements."""

    help = "Make plausible racks in bulk. The same prefix and seed make the same racks: again changes nothing."

    def add_arguments(self, parser: CommandParser) -> None:
        """Take how many of what."""
        super().add_arguments(parser)
        parser.add_argument("--racks", type=int, required=True, help="how many racks")
        parser.add_argument("--components", type=int, default=18, help="components a rack (default 18; a full one: 37)")
        parser.add_argument("--domains", type=int, default=4, help="NVLink domains to deal them out to (default 4)")
        parser.add_argument("--prefix", default="demo", help="what their names begin with (default demo)")
        parser.add_argument("--seed", type=int, default=1, help="another seed makes other ids (default 1)")

    def run(self, **options: Any) -> int | None:
        """Make them, sum up."""
        names = ("racks", "components", "domains", "prefix", "seed")
        document = demo_document(
            **{name: options[name] for name in names}, max_components=settings.FLOWSCHED_MAX_COMPONENTS_PER_RACK
        )
        # A version that a firmware task installed since is not put back.
        summary = racks_import(
            document=document, by=Actor.cli(), now=clock.now(), keep_firmware=True, verb_name="rack.demo"
        )
        if options["json"]:
            self.print_json(dataclasses.asdict(summary))
        else:
            print_summary(self, summary)
        return None
