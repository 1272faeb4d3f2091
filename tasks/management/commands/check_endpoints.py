"""`manage.py check_endpoints`: whether what FLOWSCHED_ENDPOINTS leads to answers, and lets us in."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandParser

from flowsched.cli import REFUSED, FlowCommand
from flowsched.errors import InvalidInput
from tasks.http.endpoints import endpoint_of, endpoints
from tasks.http.identity import Tokens
from tasks.http.transport import Sender
from tasks.http.trying import endpoint_try

LONGEST = 600.0  # seconds


class Command(FlowCommand):
    """See the module."""

    help = "try each endpoint of HTTP operations: its address, TLS, and a token; sends no request of any operation"

    def add_arguments(self, parser: CommandParser) -> None:
        """Names, the time for each check, --json."""
        super().add_arguments(parser)
        parser.add_argument("names", nargs="*", metavar="NAME", help="endpoints to try; all without one")
        parser.add_argument("--timeout", type=float, default=10.0, metavar="SECONDS", help="for each check; 10")

    def run(self, **options: Any) -> int | None:
        """Try them one after the other; 1 if anything fails."""
        if not 0 < options["timeout"] <= LONGEST:
            raise InvalidInput(f"--timeout must be above 0 and at most {LONGEST:g} seconds", field="timeout")
        chosen = [endpoint_of(name, field="names") for name in options["names"]] or list(endpoints().values())
        sender = Sender()
        tokens = Tokens(lambda: sender)
        try:
            results = {e: endpoint_try(e, sender, tokens, seconds=options["timeout"]) for e in chosen}
        finally:
            sender.close()
        failed = not all(finding.ok for findings in results.values() for finding in findings)
        if options["json"]:
            self.print_json(
                {
                    "endpoints": [
                        {
                            "name": endpoint.name,
                            "kind": endpoint.kind,
                            "base_url": str(endpoint.base_url),
                            "ok": all(finding.ok for finding in findings),
                            "checks": [asdict(finding) for finding in findings],
                        }
                        for endpoint, findings in results.items()
                    ]
                }
            )
        else:
            rows = [
                (endpoint.name, endpoint.kind, finding.check, "ok" if finding.ok else "FAILED", finding.found)
                for endpoint, findings in results.items()
                for finding in findings
            ]
            self.print_table(
                ["endpoint", "kind", "check", "result", "found"],
                rows,
                empty="No endpoint is configured: set FLOWSCHED_ENDPOINTS (docs/operations.md).",
            )
        return REFUSED if failed else None
