"""The `schedule` command's words: what each subcommand takes, and how words become values of the services."""

from __future__ import annotations

from argparse import SUPPRESS, ArgumentParser, _SubParsersAction
from datetime import timedelta
from typing import Any, TypeAlias
from uuid import UUID

from django.core.management.base import CommandParser

from dispatcher.call_arguments import add_call, call_from, check_no_call, is_call
from flowsched.errors import InvalidInput
from inventory.identifiers import uuid_or_none
from inventory.targets import ComponentTarget, DomainTarget, RackTarget, Target
from schedules.durations import parse_duration, to_timedelta
from tasks.operations import Operation, operation

OPERATIONS = ("power_on", "power_off", "power_reset", "bring_up", "ingest", "upgrade_firmware")

Subparsers: TypeAlias = "_SubParsersAction[Any]"


def add_subcommands(parser: CommandParser) -> None:
    """Declare every subcommand of `schedule`."""
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    _add_create(verbs)
    _verb(verbs, "list", "list schedules", _list_arguments)
    _verb(verbs, "show", "show one schedule with its scopes", _name)
    _add_update(verbs)
    pause = _verb(verbs, "pause", "stop a schedule from firing", _name)
    pause.add_argument("--reason", default="", help="why; shown wherever the schedule is")
    _verb(verbs, "resume", "let a paused schedule fire again", _name)
    trigger = _verb(verbs, "trigger", "fire now, whatever its time and overlap policy", _name)
    trigger.add_argument("--request-id", type=_uuid, help="repeat-safe: the same id answers the first result")
    _verb(verbs, "delete", "delete a schedule; its history stays", _name)
    dry_run = _verb(verbs, "dry-run", "show what its HTTP call would send; nothing is sent", _name)
    dry_run.add_argument("--rack", default="", help="for this of its racks, by name (default the first)")
    preview = _verb(verbs, "preview", "show the next runs and the racks each reaches", _name)
    preview.add_argument("--runs", type=int, default=5, help="how many runs (1 to 100, default 5)")
    history = _verb(verbs, "history", "show firings with each rack's outcome and reason", None)
    history.add_argument("name", nargs="?", help="schedule by name or id; all schedules if left out")
    history.add_argument("--limit", type=int, default=20, help="how many firings (1 to 500, default 20)")
    history.add_argument("--offset", type=int, default=0, help="how many of the newest firings to pass over")
    history.add_argument("--racks", type=int, default=10, help="racks shown per firing in the table (default 10)")
    log = _verb(verbs, "log", "show who changed what", _name)
    log.add_argument("--limit", type=int, default=50, help="how many entries (default 50)")
    _add_scope(verbs)


def _verb(verbs: Subparsers, name: str, text: str, arguments: Any) -> ArgumentParser:
    parser: ArgumentParser = verbs.add_parser(name, help=text, description=text)
    # SUPPRESS, so that `schedule --json list` and `schedule list --json` are the same
    parser.add_argument("--json", action="store_true", default=SUPPRESS, help="print JSON instead of a table")
    if arguments is not None:
        arguments(parser)
    return parser


def _name(parser: ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="schedule by name or id")


def _list_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--rack", help="only those that cover this rack (name or id)")
    parser.add_argument("--enabled", action="store_true", help="only enabled ones")
    parser.add_argument("--limit", type=int, default=50, help="how many (default 50)")
    parser.add_argument("--offset", type=int, default=0, help="how many to pass over")


def _add_timing(parser: ArgumentParser, *, required: bool) -> None:
    timing = parser.add_mutually_exclusive_group(required=required)
    timing.add_argument("--every", metavar="DURATION", help="interval, such as 15s, 90m, 1h30m")
    timing.add_argument("--cron", metavar="EXPR", help="five cron fields, such as '0 2 * * 1-5'")
    timing.add_argument("--at", metavar="TIME", help="once, RFC 3339, such as 2026-06-01T04:00:00Z")
    parser.add_argument("--timezone", metavar="ZONE", default=None, help="IANA zone of a cron expression (default UTC)")
    parser.add_argument("--overlap", choices=["skip", "queue"], help="when the previous task of a rack is still active")
    parser.add_argument(
        "--grace", metavar="DURATION", help="fire no later than this after the time due; 'none': however"
    )


def _add_create(verbs: Subparsers) -> None:
    create = _verb(verbs, "create", "create a schedule", _name)
    _add_timing(create, required=True)
    which = create.add_mutually_exclusive_group(required=True)
    which.add_argument("--operation", choices=OPERATIONS, help="what to do with racks")
    add_call(create, which)
    create.add_argument("--forced", action="store_true", help="power off or reset without asking the host")
    create.add_argument("--target-version", default="", help="firmware version, for upgrade_firmware")
    create.add_argument("--queue-timeout", metavar="DURATION", help="how long a queued task may wait for its rack")
    _add_targets(create)


def _add_update(verbs: Subparsers) -> None:
    update = _verb(verbs, "update", "change timing, name, overlap policy or grace", _name)
    _add_timing(update, required=False)
    update.add_argument("--name", dest="new_name", help="rename it")
    update.add_argument("--version", type=int, help="refuse if somebody changed it since this version")


def _add_targets(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--rack", action="append", default=[], metavar="NAME[=TYPES]",
        help="a rack by name or id, with component types if not all: r01=compute,powershelf (repeatable)",
    )  # fmt: skip
    parser.add_argument(
        "--component", action="append", default=[], metavar="ID",
        help="a component by id, or TYPE:EXTERNAL_ID (repeatable)",
    )  # fmt: skip
    parser.add_argument(
        "--domain", action="append", default=[], metavar="NAME[=TYPES]", help="all racks now in a domain (repeatable)"
    )


def _add_scope(verbs: Subparsers) -> None:
    scope: ArgumentParser = verbs.add_parser("scope", help="list, add, set or remove racks of a schedule")
    actions = scope.add_subparsers(dest="action", required=True, metavar="ACTION")
    _verb(actions, "list", "list a schedule's scopes", _name)
    _add_targets(_verb(actions, "add", "add racks; filters of racks it has are merged", _name))
    _add_targets(_verb(actions, "set", "make the scopes exactly these", _name))
    remove = _verb(actions, "remove", "remove racks", _name)
    remove.add_argument(
        "--rack", action="append", required=True, metavar="NAME", help="rack by name or id (repeatable)"
    )


def _uuid(text: str) -> UUID:
    """For argparse, which turns a ValueError into its own words."""
    return UUID(text)


def targets_from(options: dict[str, Any]) -> list[Target]:
    """The targets typed. Raises InvalidInput where there are none and a call is not meant, or several kinds."""
    racks = [_rack(text) for text in options["rack"]]
    components = [_component(text) for text in options["component"]]
    domains = [_domain(text) for text in options["domain"]]
    if not (racks or components or domains) and options.get("operation", "") is None:
        return []  # an HTTP call can do without racks
    if sum(map(bool, (racks, components, domains))) != 1:
        raise InvalidInput(
            "name what to act on by exactly one kind: --rack, --component or --domain (each may be repeated)",
            field="target_spec",
        )
    return [*racks, *components, *domains]


def _rack(text: str) -> RackTarget:
    name, types = _types(text)
    found = uuid_or_none(name)
    return RackTarget(id=found, name=None if found else name, component_types=types)


def _domain(text: str) -> DomainTarget:
    name, types = _types(text)
    found = uuid_or_none(name)
    return DomainTarget(id=found, name=None if found else name, component_types=types)


def _component(text: str) -> ComponentTarget:
    found = uuid_or_none(text)
    if found:
        return ComponentTarget(id=found)
    kind, separator, external_id = text.partition(":")
    if not separator:
        raise InvalidInput(
            f"'{text[:64]}' names no component: give its id, or TYPE:EXTERNAL_ID such as compute:tray-7",
            field="target_spec",
        )
    return ComponentTarget(external_type=kind, external_id=external_id)


def _types(text: str) -> tuple[str, tuple[str, ...]]:
    name, separator, types = text.partition("=")
    if separator and not types:
        raise InvalidInput(f"'{text[:64]}' ends in '=': name component types, or leave it out", field="target_spec")
    return name, tuple(types.split(",")) if types else ()


def timing_from(options: dict[str, Any]) -> tuple[str, str] | None:
    """(spec type, spec) as typed, or None."""
    for flag, spec_type in (("every", "interval"), ("cron", "cron"), ("at", "one-time")):
        if options[flag] is not None:
            return spec_type, options[flag]
    return None


def duration_from(text: str | None, field: str) -> timedelta | None:
    """A duration as typed; None for nothing and for 'none'. Raises InvalidInput on `field`."""
    if text is None or text == "none":
        return None
    try:
        value = to_timedelta(parse_duration(text))
    except InvalidInput as error:
        raise InvalidInput(f"--{field.replace('_', '-')}: {error}", field=field) from error
    if value <= timedelta(0):
        raise InvalidInput(f"--{field.replace('_', '-')} '{text[:64]}' must be positive", field=field)
    return value


def operation_from(options: dict[str, Any]) -> Operation:
    """The operation as typed. Raises InvalidInput for a flag that the operation does not have."""
    kind = options["operation"] or "HTTP calls"
    if options["forced"] and kind not in {"power_off", "power_reset"}:
        raise InvalidInput(f"--forced goes with power_off and power_reset, not with {kind}", field="forced")
    if options["target_version"] and kind != "upgrade_firmware":
        raise InvalidInput(f"--target-version goes with upgrade_firmware, not with {kind}", field="target_version")
    if is_call(options):
        return call_from(options)
    check_no_call(options)
    return operation(kind, forced=options["forced"], target_version=options["target_version"] or None)


def bounded(options: dict[str, Any], name: str, most: int, least: int = 1) -> int:
    """A whole number within its limits. Raises InvalidInput that names them."""
    value: int = options[name]
    if not least <= value <= most:
        raise InvalidInput(f"--{name} {value} is out of range: use {least} to {most}", field=name)
    return value
