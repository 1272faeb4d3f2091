"""How the commands show what an import did."""

from __future__ import annotations

from flowsched.cli import FlowCommand
from inventory.services import Counts, ImportSummary


def print_summary(command: FlowCommand, summary: ImportSummary) -> None:
    """A table of counts, then domains and warnings."""
    command.print_table(
        ["", "created", "updated", "unchanged", "kept", "pruned"],
        [_row("racks", summary.racks), _row("components", summary.components)],
        empty="",
    )
    if summary.domains_created:
        command.stdout.write(f"NVLink domains created: {', '.join(summary.domains_created)}")
    for warning in summary.warnings:
        command.stdout.write(f"note: {warning}")
    if summary.dry_run:
        command.stdout.write("This was a dry run: nothing was written.")


def _row(name: str, counts: Counts) -> list[object]:
    return [name, counts.created, counts.updated, counts.unchanged, counts.kept, counts.pruned]
