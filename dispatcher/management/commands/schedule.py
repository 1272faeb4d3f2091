"""`manage.py schedule VERB`: schedules at the command line, for people and scripts."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from audit.selectors import entries_of
from dispatcher import arguments, rendering, selectors
from dispatcher.firing import trigger
from flowsched import clock
from flowsched.actor import Actor
from flowsched.cli import REFUSED, FlowCommand, show
from flowsched.errors import InvalidInput, NotFound
from inventory.identifiers import uuid_or_none
from inventory.selectors import rack_get
from schedules.changes import UNSET, ScheduleChanges, schedule_update
from schedules.models import TaskSchedule
from schedules.selectors import schedule_get, schedules_list
from schedules.services import schedule_create, schedule_delete, schedule_pause, schedule_resume
from schedules.specs import runs_of
from scopes.dry_run import schedule_dry_run
from scopes.services import scopes_add, scopes_reconcile, scopes_remove
from tasks.hold import hold_current, hold_json, hold_line
from tasks.models import Hold

PAGE = 500
MOST_RUNS = 100


class Command(FlowCommand):
    """One subcommand a verb; each parses, calls one service or selector, and renders."""

    help = "Create, change, look at and fire schedules."

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the subcommands."""
        super().add_arguments(parser)
        arguments.add_subcommands(parser)

    def run(self, **options: Any) -> int | None:
        """Call the verb's method."""
        name = options["verb"] if options["verb"] != "scope" else f"scope_{options['action']}"
        code: int | None = getattr(self, f"_{name.replace('-', '_')}")(options)
        return code

    def _create(self, options: dict[str, Any]) -> None:
        timing = arguments.timing_from(options)
        assert timing is not None  # argparse requires one
        grace = options["grace"]
        row = schedule_create(
            name=options["name"],
            spec_type=timing[0],
            spec=timing[1],
            timezone=options["timezone"] or "",
            operation=arguments.operation_from(options),
            overlap_policy=options["overlap"] or "skip",
            targets=arguments.targets_from(options),
            queue_timeout=arguments.duration_from(options["queue_timeout"], "queue_timeout"),
            misfire_grace=UNSET if grace is None else arguments.duration_from(grace, "grace"),
            by=Actor.cli(),
            now=clock.now(),
        )
        self._print(row, options, f"created schedule '{row.name}', next run {show(row.next_run_at)}")

    def _list(self, options: dict[str, Any]) -> None:
        rack = rack_get(options["rack"]).id if options["rack"] else None
        limit = arguments.bounded(options, "limit", PAGE)
        rows, total = schedules_list(
            rack_id=rack, enabled_only=options["enabled"], limit=limit, offset=options["offset"]
        )
        hold = hold_current()
        if options["json"]:
            entries = [rendering.schedule_json(row) for row in rows]
            self.print_json({"held": hold_json(hold), "total": total, "schedules": entries})
            return
        self._print_hold(hold)
        self.print_table(
            rendering.SCHEDULE_COLUMNS,
            [rendering.schedule_row(row) for row in rows],
            empty="No schedules. Create one: schedule create NAME --every 1h --operation power_reset --rack RACK",
        )
        self._more(options["offset"] + len(rows), total)

    def _show(self, options: dict[str, Any]) -> None:
        row = schedule_get(options["name"])
        reach = selectors.reach(row.id)
        if options["json"]:
            scopes = [rendering.reach_json(scope) for scope in reach]
            self.print_json(rendering.schedule_json(row) | {"scopes": scopes})
            return
        for label, value in rendering.schedule_facts(row):
            self.stdout.write(f"{label + ':':<15} {value}")
        self._print_reach(reach)

    def _update(self, options: dict[str, Any]) -> None:
        row = schedule_get(options["name"])
        grace = options["grace"]
        timing = arguments.timing_from(options)
        changes = ScheduleChanges(
            name=UNSET if options["new_name"] is None else options["new_name"],
            overlap_policy=options["overlap"] or UNSET,
            spec_type=timing[0] if timing else UNSET,
            spec=timing[1] if timing else UNSET,
            timezone=UNSET if options["timezone"] is None else options["timezone"],
            misfire_grace=UNSET if grace is None else arguments.duration_from(grace, "grace"),
        )
        row = schedule_update(
            schedule_id=row.id, changes=changes, by=Actor.cli(), now=clock.now(), expected_version=options["version"]
        )
        self._print(row, options, f"changed schedule '{row.name}', next run {show(row.next_run_at)}")

    def _pause(self, options: dict[str, Any]) -> None:
        row = schedule_get(options["name"])
        row = schedule_pause(schedule_id=row.id, reason=options["reason"], by=Actor.cli(), now=clock.now())
        self._print(row, options, f"schedule '{row.name}' is paused; tasks already submitted go on")

    def _resume(self, options: dict[str, Any]) -> None:
        row = schedule_resume(schedule_id=schedule_get(options["name"]).id, by=Actor.cli(), now=clock.now())
        self._print(row, options, f"schedule '{row.name}' is enabled, next run {show(row.next_run_at)}")

    def _delete(self, options: dict[str, Any]) -> None:
        row = schedule_get(options["name"])
        schedule_delete(schedule_id=row.id, by=Actor.cli(), now=clock.now())
        self._print(row, options, f"deleted schedule '{row.name}'; its history and tasks stay")

    def _trigger(self, options: dict[str, Any]) -> int:
        row = schedule_get(options["name"])
        result = trigger(schedule_id=row.id, by=Actor.cli(), now=clock.now(), request_id=options["request_id"])
        if options["json"]:
            self.print_json(rendering.firing_json(result.firing, [(scope, None) for scope in result.scopes]))
        else:
            self.stdout.write(
                f"schedule '{row.name}' fired: {len(result.task_ids)} tasks submitted, {len(result.refusals)} refused"
            )
            self.print_table(
                ["rack", "outcome", "task", "reason"],
                [(scope.rack_name, scope.state, scope.task_id, scope.reason) for scope in result.scopes],
                empty="It has no scopes: nothing was submitted.",
            )
        return REFUSED if result.refusals and not result.task_ids else 0

    def _preview(self, options: dict[str, Any]) -> None:
        row = schedule_get(options["name"])
        runs = runs_of(row, arguments.bounded(options, "runs", MOST_RUNS), clock.now())[0]
        reach = selectors.reach(row.id)
        if options["json"]:
            self.print_json(
                {"enabled": row.enabled, "runs": runs, "scopes": [rendering.reach_json(scope) for scope in reach]}
            )
            return
        if not row.enabled:
            self.stdout.write(
                f"'{row.name}' is {row.disabled_kind or 'disabled'}: {row.disabled_reason or 'no reason'}"
            )
        self.print_table(
            ["run", "utc", f"in {row.timezone}"],
            [(number, run, rendering.local(run, row.timezone)) for number, run in enumerate(runs, start=1)],
            empty="It has no next run.",
        )
        self._print_reach(reach)

    def _dry_run(self, options: dict[str, Any]) -> int:
        row = schedule_get(options["name"])
        found = schedule_dry_run(schedule_id=row.id, rack=options["rack"], now=clock.now())
        if options["json"]:
            self.print_json(rendering.dry_run_json(found))
        else:
            for line in rendering.dry_run_lines(found):
                self.stdout.write(line)
        return 0 if found.would_run else REFUSED

    def _history(self, options: dict[str, Any]) -> None:
        limit = arguments.bounded(options, "limit", PAGE)
        offset = arguments.bounded(options, "offset", 10_000_000, least=0)
        firings, total = selectors.firings_named(options["name"], limit=limit, offset=offset)
        scopes = selectors.scopes_of_firings([firing.id for firing in firings])
        hold = hold_current()
        if options["json"]:
            entries = [rendering.firing_json(firing, scopes[firing.id]) for firing in firings]
            self.print_json({"held": hold_json(hold), "total": total, "firings": entries})
            return
        self._print_hold(hold)
        rows = [row for firing in firings for row in rendering.firing_rows(firing, scopes[firing.id], options["racks"])]
        self.print_table(rendering.HISTORY_COLUMNS, rows, empty="Nothing has fired yet.")
        self._more(offset + len(firings), total)

    def _log(self, options: dict[str, Any]) -> None:
        limit = arguments.bounded(options, "limit", PAGE)
        entries = entries_of("schedule", _id_of(options["name"]), options["name"], limit=limit)
        if options["json"]:
            self.print_json([rendering.audit_json(entry) for entry in entries])
            return
        self.print_table(
            ["at", "who", "verb", "what"],
            [(entry.at, entry.actor, entry.verb, rendering.audit_words(entry)) for entry in entries],
            empty=f"Nothing is recorded about a schedule '{options['name']}'.",
        )

    def _scope_list(self, options: dict[str, Any]) -> None:
        reach = selectors.reach(schedule_get(options["name"]).id)
        if options["json"]:
            self.print_json([rendering.reach_json(scope) for scope in reach])
        else:
            self._print_reach(reach)

    def _scope_add(self, options: dict[str, Any]) -> None:
        row = schedule_get(options["name"])
        targets = arguments.targets_from(options)
        result = scopes_add(schedule_id=row.id, targets=targets, by=Actor.cli(), now=clock.now())
        self._print_scopes(
            row, options, f"'{row.name}': {len(result.created)} racks added, {len(result.updated)} widened"
        )

    def _scope_set(self, options: dict[str, Any]) -> None:
        row = schedule_get(options["name"])
        targets = arguments.targets_from(options)
        result = scopes_reconcile(schedule_id=row.id, targets=targets, by=Actor.cli(), now=clock.now())
        self._print_scopes(
            row, options, f"'{row.name}': {result.added} added, {result.removed} removed, {result.updated} changed"
        )

    def _scope_remove(self, options: dict[str, Any]) -> None:
        row = schedule_get(options["name"])
        reach = selectors.reach(row.id)  # racks that left the inventory too: their scopes stay until removed
        by_word = {str(scope.rack_id): scope for scope in reach} | {str(scope.scope_id): scope for scope in reach}
        by_word |= {scope.rack_name: scope for scope in reach}
        for rack in options["rack"]:
            if rack not in by_word:
                raise NotFound(f"rack '{rack[:255]}' is not in the scopes of schedule '{row.name}'")
        scope_ids = [by_word[rack].scope_id for rack in dict.fromkeys(options["rack"])]
        scopes_remove(schedule_id=row.id, scope_ids=scope_ids, by=Actor.cli(), now=clock.now())
        self._print_scopes(row, options, f"removed {len(scope_ids)} racks from '{row.name}'")

    def _print(self, row: TaskSchedule, options: dict[str, Any], sentence: str) -> None:
        if options["json"]:
            self.print_json(rendering.schedule_json(row))
        else:
            self.stdout.write(sentence)

    def _print_scopes(self, row: TaskSchedule, options: dict[str, Any], sentence: str) -> None:
        if options["json"]:
            self.print_json([rendering.reach_json(scope) for scope in selectors.reach(row.id)])
        else:
            self.stdout.write(sentence)

    def _print_hold(self, hold: Hold | None) -> None:
        if hold:
            self.stdout.write(hold_line(hold))

    def _print_reach(self, reach: list[selectors.Reach]) -> None:
        self.print_table(
            ["rack", "reaches", "components", "last task", "skipped in a row"],
            [rendering.reach_row(scope) for scope in reach],
            empty="It has no scopes: it will submit nothing. Add racks with schedule scope add.",
        )

    def _more(self, shown: int, total: int) -> None:
        if shown < total:
            self.stdout.write(f"… and {total - shown} more: --offset {shown}")


def _id_of(name: str) -> Any:
    """The schedule's id, or None for one that is gone: its log is found by name."""
    try:
        return schedule_get(name).id
    except (NotFound, InvalidInput):
        return uuid_or_none(name)
