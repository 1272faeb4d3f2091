"""`manage.py dispatch VERB`: hold everything for a while, release it, see how it stands."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from flowsched import clock
from flowsched.actor import Actor
from flowsched.cli import FlowCommand
from flowsched.errors import InvalidInput
from tasks.hold import hold_current, hold_json, hold_line, hold_words, holds_list
from tasks.holding import hold_release, hold_set
from tasks.reasons import span

PAGE = 500


class Command(FlowCommand):
    """One switch: while held nothing is claimed, submitted or begun."""

    help = "Hold all dispatching for a reason, release it, or show whether it is held."

    def add_arguments(self, parser: CommandParser) -> None:
        """One subparser a verb."""
        verbs = parser.add_subparsers(dest="verb", required=True, metavar="hold|release|status")
        hold = verbs.add_parser("hold", help="nothing new begins from now on; what runs goes on")
        hold.add_argument("--reason", required=True, help="why: one line, shown wherever it is refused")
        release = verbs.add_parser("release", help="end the hold: what came due fires once, or is missed by its grace")
        status = verbs.add_parser("status", help="whether it is held, why, by whom; and the holds before")
        status.add_argument("--limit", type=int, default=10, help=f"how many holds (1 to {PAGE}, default 10)")
        for parser_ in (hold, release, status):
            super().add_arguments(parser_)

    def run(self, **options: Any) -> int | None:
        """Call the verb's method."""
        getattr(self, f"_{options['verb']}")(options)
        return None

    def _hold(self, options: dict[str, Any]) -> None:
        result = hold_set(reason=options["reason"], by=Actor.cli(), now=clock.now())
        if options["json"]:
            self.print_json({"held": hold_json(result.hold), "news": result.news})
            return
        said = {
            "begun": "Nothing new begins from now on; tasks that run go on, those that wait go on waiting.",
            "reason": "It was held already: the reason is changed, nothing else.",
            "unchanged": "It was held already, for this reason: nothing changed.",
        }
        words = hold_words(result.hold)
        self.stdout.write(f"{words[0].upper()}{words[1:]}. {said[result.news]}")

    def _release(self, options: dict[str, Any]) -> None:
        result = hold_release(by=Actor.cli(), now=clock.now())
        if options["json"]:
            counts = {"waiting": result.waiting, "started": result.started, "promoted": result.promoted}
            self.print_json({"held": None, "released": hold_json(result.hold)} | counts)
            return
        hold = result.hold
        assert hold.released_at is not None
        self.stdout.write(
            f"Released after {span(hold.released_at - hold.held_at)}. Schedules that came due fire now or are missed, "
            f"as their grace says. {result.started} pending tasks begin; {result.waiting} waiting tasks got the time "
            f"of the hold on top, {result.promoted} of them leave their queues."
        )

    def _status(self, options: dict[str, Any]) -> None:
        limit: int = options["limit"]
        if not 1 <= limit <= PAGE:
            raise InvalidInput(f"--limit {limit} is out of range: use 1 to {PAGE}", field="limit")
        hold, holds = hold_current(), holds_list(limit=limit)
        if options["json"]:
            self.print_json({"held": hold_json(hold), "holds": [hold_json(one) for one in holds]})
            return
        self.stdout.write(hold_line(hold) if hold else "Not held.")
        self.print_table(
            ["held", "by", "released", "by", "reason"],
            [(one.held_at, one.held_by, one.released_at, one.released_by, one.reason) for one in holds],
            empty="It has never been held.",
        )
