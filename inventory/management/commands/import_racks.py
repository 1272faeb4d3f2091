"""`manage.py import_racks`: a rack file into the inventory."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path
from typing import Any, BinaryIO, cast

from django.conf import settings
from django.core.management.base import CommandParser

from flowsched import clock
from flowsched.actor import Actor
from flowsched.cli import FlowCommand
from flowsched.errors import InvalidInput
from inventory.document import MAX_FILE_BYTES, Document, parse
from inventory.identifiers import shown
from inventory.management.summary import print_summary
from inventory.services import racks_import


class Command(FlowCommand):
    """Read racks from a JSON file, one or a list, and bring the inventory to what it says: all of it or nothing."""

    help = (
        "Import racks from a JSON file: one rack or a list of racks. All or nothing; the same file again changes "
        "nothing. Components that the file omits are kept unless --prune. The domain and external id that the file "
        "does not mention are kept, empty ones are cleared. Power states are never touched, BMC logins never stored."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Take the file and what to do with it."""
        super().add_arguments(parser)
        parser.add_argument("file", help="the JSON file; - reads standard input")
        parser.add_argument("--dry-run", action="store_true", help="say what would happen and write nothing")
        parser.add_argument(
            "--prune", action="store_true", help="remove components of the file's racks that it does not list"
        )

    def run(self, **options: Any) -> int | None:
        """Read, import, sum up."""
        document = _read(options["file"])
        summary = racks_import(
            document=document, by=Actor.cli(), now=clock.now(), prune=options["prune"], dry_run=options["dry_run"]
        )
        if options["json"]:
            self.print_json(dataclasses.asdict(summary))
        else:
            print_summary(self, summary)
        return None


def _read(file: str) -> Document:
    source = "standard input" if file == "-" else shown(file, most=255)
    try:
        if file == "-":
            data = _bounded(sys.stdin.buffer)
        else:
            with Path(file).open("rb") as stream:
                data = _bounded(stream)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        reason = getattr(error, "strerror", None) or str(error)
        raise InvalidInput(f"{source} cannot be read: {reason}", field="file") from None
    return parse(data, source=source, max_components=settings.FLOWSCHED_MAX_COMPONENTS_PER_RACK)


def _bounded(stream: Any) -> bytes:
    """What is in `stream`, at most one byte more than allowed."""
    return cast(BinaryIO, stream).read(MAX_FILE_BYTES + 1)
