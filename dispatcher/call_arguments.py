"""The `schedule` command's words for HTTP calls: flags become the operation that every other door stores."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from flowsched import strictjson
from flowsched.errors import InvalidInput
from tasks.http.call import BACKOFFS, METHODS
from tasks.operations import Operation, OperationType

MAX_FILE: Final = 256 * 1024  # bytes; as much as REST takes
IDENTITIES: Final = ("none", "service_account", "delegated_user")
# Flags beside --http and --webhook, by the name that argparse gives them; each belongs to one of the two, or to both.
_BOTH: Final = ("endpoint", "header", "timeout", "retries", "backoff", "max_running", "idempotency_key")
_API: Final = ("path", "query", "body", "identity", "subject", "consent")
_GATEWAY: Final = ("payload",)


def add_call(parser: ArgumentParser, which: Any) -> None:
    """Declare the flags; `which` is the group of what a schedule can do, of which it does one."""
    which.add_argument("--http", metavar="METHOD", choices=METHODS, help="make an HTTP call: GET, POST, …")
    which.add_argument("--webhook", metavar="ID", help="notify a webhook of a gateway")
    call = parser.add_argument_group("HTTP calls", "values may be templates: {{ rack.name }}, {{ now }}")
    call.add_argument("--endpoint", metavar="NAME", help="which of the configured endpoints")
    call.add_argument("--path", help="below the endpoint's base URL, without the query")
    call.add_argument("--query", action="append", metavar="KEY=VALUE", help="of the query (repeatable)")
    call.add_argument("--header", action="append", metavar="NAME=VALUE", help="a header (repeatable)")
    call.add_argument("--body", metavar="JSON|@FILE", help="a JSON object")
    call.add_argument("--payload", metavar="JSON|@FILE", help="a webhook's JSON object")
    call.add_argument("--identity", choices=IDENTITIES, help="as whom (default none)")
    call.add_argument("--subject", help="for whom, with --identity delegated_user")
    call.add_argument("--consent", metavar="ID", help="by whose leave, with --identity delegated_user")
    call.add_argument("--timeout", type=float, metavar="SECONDS", help="of one attempt in all (default 120)")
    call.add_argument("--retries", type=int, help="attempts after the first (default 0)")
    call.add_argument("--backoff", choices=BACKOFFS, help="the wait between attempts (default exponential)")
    call.add_argument("--max-running", type=int, metavar="N", help="calls under way at once (default any number)")
    call.add_argument("--idempotency-key", metavar="KEY", help="for endpoints that honour one")


def is_call(options: dict[str, Any]) -> bool:
    """Whether the words are about an HTTP call."""
    return options["http"] is not None or options["webhook"] is not None


def check_no_call(options: dict[str, Any]) -> None:
    """Refuse flags of calls beside an operation on racks. Raises InvalidInput."""
    _refuse(options, (*_BOTH, *_API, *_GATEWAY), "goes with --http and --webhook only")


def call_from(options: dict[str, Any]) -> Operation:
    """The call as typed; what is wrong with its parts is for the service to say. Raises InvalidInput."""
    if options["webhook"] is not None:
        _refuse(options, _API, "goes with --http, not with --webhook")
        target = {"webhook_id": options["webhook"], "payload": _document(options["payload"], "payload")}
        return _operation("gateway", options, target, {"kind": "none"})
    _refuse(options, _GATEWAY, "goes with --webhook; a body is --body")
    target = {
        "method": options["http"],
        "path": options["path"],
        "query": _pairs(options["query"], "query"),
        "body": _document(options["body"], "body"),
    }
    identity = {
        "kind": options["identity"] or "none",
        "subject": options["subject"],
        "consent_id": options["consent"],
    }
    return _operation("api", options, target, _said(identity))


def _operation(code: str, options: dict[str, Any], target: dict[str, Any], identity: dict[str, Any]) -> Operation:
    common = {"endpoint": options["endpoint"], "headers": _pairs(options["header"], "headers")}
    policy = {
        "timeout": options["timeout"],
        "retries": options["retries"],
        "retry_backoff": options["backoff"],
        "max_running_instances": options["max_running"],
        "idempotency_key": options["idempotency_key"],
    }
    information = {"target": _said(target | common), "identity": identity, "policy": _said(policy)}
    return Operation(OperationType.HTTP.value, code, information)


def _said(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _refuse(options: dict[str, Any], names: Sequence[str], why: str) -> None:
    for name in names:
        if options[name] is not None:
            raise InvalidInput(f"--{name.replace('_', '-')} {why}", field=name)


def _pairs(texts: list[str] | None, part: str) -> dict[str, str] | None:
    """`KEY=VALUE` each; a value may hold further signs."""
    found: dict[str, str] = {}
    for text in texts or ():
        name, separator, value = text.partition("=")
        if not separator or name in found:
            why = "is given twice" if separator else "has no '=': write KEY=VALUE"
            raise InvalidInput(f"'{name[:64]}' of the {part} {why}", field=f"target.{part}")
        found[name] = value
    return found or None


def _document(text: str | None, part: str) -> Any:
    """JSON as typed, or in the file behind an @."""
    if text is None:
        return None
    field, faults = f"target.{part}", {}
    try:
        data = _file(text[1:]) if text.startswith("@") else text.encode()
        value = strictjson.read(
            data,
            source=f"--{part}",
            complain=lambda pointer, why: faults.update({f"{field}.{strictjson.path_of(pointer)}".strip("."): why}),
        )
    except InvalidInput as error:
        raise InvalidInput(error.message, field=field) from None
    except OSError as error:
        raise InvalidInput(f"--{part}: {text[1:]} cannot be read: {error.strerror}", field=field) from None
    except UnicodeEncodeError:
        raise InvalidInput(f"--{part}: this is no text in UTF-8", field=field) from None
    if faults:
        raise InvalidInput("; ".join(f"{place}: {why}" for place, why in faults.items()), fields=faults)
    return value


def _file(name: str) -> bytes:
    with Path(name).open("rb") as file:
        data = file.read(MAX_FILE + 1)
    if len(data) > MAX_FILE:
        raise InvalidInput(f"{name} is larger than {MAX_FILE // 1024} KiB", field="file")
    return data
