"""What the typed fields of an HTTP call mean: an operation, or what is wrong with which input.

The rules are the call's own and the endpoint's (I-3 to I-11, D-23); here the text of each input becomes a value, and
each error finds the input it is about.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from console.schedule_form.call_typed import CALL, PREFIX, CallTyped, lines_read
from flowsched import strictjson
from flowsched.errors import FlowschedError, InvalidInput, NotFound
from inventory.identifiers import shown
from tasks.http.call import call_parse
from tasks.http.endpoints import Endpoint, call_check, endpoint_of
from tasks.operations import Operation

_NUMBER: Final = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,6})?")
_WHOLE: Final = re.compile(r"[0-9]{1,9}")
_MARKS: Final = re.compile(r"[.\[]")
# The last word of a service's field -> the input, where it is called otherwise.
_INPUTS: Final = {"kind": "identity", "max_running_instances": "max_running", "idempotency_key": "key"}
NO_IDENTITY: Final = "none"
SERVICE_ACCOUNT: Final = "service_account"
DELEGATED: Final = "delegated_user"


@dataclass(slots=True)
class CallReading:
    """The operation, if all is well; `wrong` and `missing` say of each other input, by its name, why not."""

    operation: Operation | None = None
    wrong: dict[str, str] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)

    def note(self, error: FlowschedError) -> None:
        """Put what a service refuses on the inputs it is about."""
        self.wrong |= inputs_of(error)


def identities_of(endpoint: Endpoint) -> tuple[str, ...]:
    """As whom an endpoint can be called, the usual first."""
    if not endpoint.has_credentials:
        return (NO_IDENTITY,)
    return (SERVICE_ACCOUNT, DELEGATED) if endpoint.exchange_url is not None else (SERVICE_ACCOUNT,)


def call_read(typed: CallTyped, usable: Mapping[str, Endpoint]) -> CallReading:
    """Read the fields; `usable` are the endpoints that whoever fills the form in may use (I-88)."""
    found = CallReading()
    endpoint = _endpoint(typed.endpoint, usable, found)
    if endpoint is None:
        return found
    gateway = endpoint.kind == "gateway"
    target = _gateway(typed, found) if gateway else _api(typed, found)
    identity = {"kind": NO_IDENTITY} if gateway else _identity(typed, endpoint, found)
    information = {"target": target, "identity": identity, "policy": _policy(typed, found)}
    operation = Operation(CALL, endpoint.kind, information)
    found.operation = _checked(operation, endpoint, found)
    return found


def inputs_of(error: FlowschedError) -> dict[str, str]:
    """The inputs that an error is about, each with what is said there: of one header which, and of several each."""
    fields = getattr(error, "fields", None) or {error.field: error.message}
    said: dict[str, list[str]] = {}
    for place, message in fields.items():
        parts = _MARKS.split(place, maxsplit=2)
        where = place[len(parts[0]) + len(parts[1]) + 2 :].rstrip("]") if len(parts) > 2 else ""  # noqa: PLR2004
        said.setdefault(_input(parts), []).append(f"{where}: {message}" if where else message)
    return {name: "; ".join(messages) for name, messages in said.items()}


def is_of_call(place: str) -> bool:
    """Whether a service's field is one of a call's."""
    return _MARKS.split(place)[0] in {"target", "identity", "policy"}


def _input(parts: list[str]) -> str:
    if len(parts) < 2:  # noqa: PLR2004  the target, the identity as a whole
        return f"{PREFIX}{'identity' if parts[0] == 'identity' else 'endpoint'}"
    return PREFIX + _INPUTS.get(parts[1], parts[1])


def _endpoint(name: str, usable: Mapping[str, Endpoint], found: CallReading) -> Endpoint | None:
    if not name:
        found.missing[f"{PREFIX}endpoint"] = "choose the endpoint that it calls"
        return None
    try:
        endpoint = endpoint_of(name)
    except NotFound as error:
        found.note(error)
        return None
    if name not in usable:
        found.wrong[f"{PREFIX}endpoint"] = (
            f"you may not use the endpoint {shown(name)}: choose another, or ask whoever gives permissions"
        )
        return None
    return endpoint


def _api(typed: CallTyped, found: CallReading) -> dict[str, Any]:
    if not typed.method:
        found.missing[f"{PREFIX}method"] = "choose the method"
    if not typed.path:
        found.missing[f"{PREFIX}path"] = "write the path, such as /v1/racks"
    return {
        "endpoint": typed.endpoint,
        "method": typed.method or "GET",
        "path": typed.path or "/",
        "query": _lines(typed.query, "query", found),
        "headers": _lines(typed.headers, "headers", found),
        "body": _document(typed.body, "body", found),
    }


def _gateway(typed: CallTyped, found: CallReading) -> dict[str, Any]:
    if not typed.webhook_id:
        found.missing[f"{PREFIX}webhook_id"] = "write which webhook, such as night-report"
    if not typed.payload:
        found.missing[f"{PREFIX}payload"] = "write the payload; {} is an empty one"
    return {
        "endpoint": typed.endpoint,
        "webhook_id": typed.webhook_id or "x",
        "headers": _lines(typed.headers, "headers", found),
        "payload": _document(typed.payload, "payload", found) or {},
    }


def _identity(typed: CallTyped, endpoint: Endpoint, found: CallReading) -> dict[str, Any]:
    kind = typed.identity or identities_of(endpoint)[0]
    if kind != DELEGATED:
        return {"kind": kind}
    for name, words in (("subject", "say which user"), ("consent_id", "say by which consent")):
        if not getattr(typed, name):
            found.missing[f"{PREFIX}{name}"] = words
    return {"kind": kind, "subject": typed.subject or "x", "consent_id": typed.consent_id or "x"}


def _policy(typed: CallTyped, found: CallReading) -> dict[str, Any]:
    return {
        "timeout": _number(typed.timeout, "timeout", _NUMBER, "write seconds, such as 120", found),
        "retries": _number(typed.retries, "retries", _WHOLE, "write a whole number, such as 3", found),
        "retry_backoff": typed.retry_backoff,
        "max_running_instances": _number(
            typed.max_running, "max_running", _WHOLE, "write a whole number, or nothing", found
        )
        if typed.max_running
        else None,
        "idempotency_key": typed.key or None,
    }


def _number(text: str, name: str, form: re.Pattern[str], words: str, found: CallReading) -> float:
    if not text:
        found.missing[PREFIX + name] = words
    elif not form.fullmatch(text):
        found.wrong[PREFIX + name] = f"'{shown(text)}' is no number: {words}"
    else:
        return float(text) if "." in text else int(text)
    return 1


def _lines(text: str, name: str, found: CallReading) -> dict[str, str]:
    items, wrong = lines_read(text)
    if wrong:
        found.wrong[PREFIX + name] = "; ".join(wrong[:3]) + (f"; and {len(wrong) - 3} more" if len(wrong) > 3 else "")  # noqa: PLR2004
    return items


def _document(text: str, name: str, found: CallReading) -> Any:
    """JSON text as a value; none for no text (I-99)."""
    if not text:
        return None
    faults: list[str] = []
    try:
        value = strictjson.read(
            text.encode(errors="replace"),
            source=f"the {name}",
            complain=lambda place, why: faults.append(f"{place}: {why}"),
        )
    except InvalidInput as error:
        faults.append(error.message)
        value = {}
    if not faults and not isinstance(value, dict):
        faults.append('it must be an object, such as {"rack": "{{ rack.name }}"}')
    if faults:
        found.wrong[PREFIX + name] = "; ".join(faults[:3])
        return {}
    return value


def _checked(operation: Operation, endpoint: Endpoint, found: CallReading) -> Operation | None:
    """The operation in its normal form, unless an input is wrong or missing. Inputs that are, are not blamed twice."""
    checked = CallReading()
    normal = None
    try:
        call = call_parse(operation.code, operation.information)
        normal = Operation(operation.type, operation.code, call.information())
        call_check(call, endpoint)
    except InvalidInput as error:
        checked.note(error)
    found.wrong |= {
        name: text for name, text in checked.wrong.items() if name not in found.wrong and name not in found.missing
    }
    return None if found.wrong or found.missing else normal
