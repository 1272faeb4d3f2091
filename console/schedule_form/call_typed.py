"""What stands in the fields of an HTTP call, as text and exactly as typed; nothing is read here.

Query and headers are lines `name: value`, a body is JSON text. What cannot be said in such lines is not copied from a
stored call, and named instead: a copy that silently asks for something else would be worse than none.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Final

from schedules.models import TaskSchedule
from tasks.operations import OperationType

CALL: Final = OperationType.HTTP.value  # the choice among the form's operations
PREFIX: Final = "call_"  # before the names of the inputs
_MOST: Final = 256 * 1024  # characters of a field; the limits of a call are far below
_PARTS: Final = {"target": "the target", "identity": "the identity", "policy": "the policy"}


@dataclass(frozen=True, slots=True)
class CallTyped:
    """The fields; each input's name is PREFIX and the field's. Those of the other kind of endpoint are kept."""

    endpoint: str = ""
    method: str = ""
    path: str = ""
    query: str = ""
    headers: str = ""
    body: str = ""
    webhook_id: str = ""
    payload: str = ""
    identity: str = ""
    subject: str = ""
    consent_id: str = ""
    timeout: str = "120"
    retries: str = "0"
    retry_backoff: str = "exponential"
    max_running: str = ""
    key: str = ""

    @classmethod
    def posted(cls, data: Mapping[str, Any]) -> CallTyped:
        """What a request carries, blanks around it cut off; what it does not carry is as in an empty form."""
        given = {field.name: data.get(PREFIX + field.name) for field in fields(cls)}
        return cls(**{name: _clean(text) for name, text in given.items() if text is not None})


def call_typed(row: TaskSchedule) -> tuple[CallTyped, list[str]]:
    """The fields of a stored call, and what of it they cannot say. A row that holds no call gives an empty form."""
    stored = row.operation_template if isinstance(row.operation_template, dict) else {}
    information = stored.get("information")
    if stored.get("type") != CALL or not isinstance(information, dict):
        return CallTyped(), []
    parts = {name: found if isinstance(found := information.get(name), dict) else {} for name in _PARTS}
    typed, left = _target(CallTyped(), parts["target"])
    return _rest(typed, parts["identity"], parts["policy"]), left


def lines_dump(items: Mapping[str, str]) -> str:
    """One `name: value` a line."""
    return "\n".join(f"{name}: {value}" for name, value in items.items())


def lines_read(text: str) -> tuple[dict[str, str], list[str]]:
    """The items of such lines, and what is wrong with them. Empty lines do not count."""
    items: dict[str, str] = {}
    wrong = []
    for number, line in enumerate(text.splitlines(), start=1):
        name, colon, value = (part.strip() for part in line.partition(":"))
        if not line.strip():
            continue
        if not colon or not name:
            wrong.append(f"line {number} is no “name: value”")
        elif name in items:
            wrong.append(f"line {number} gives {name[:64]} a second time")
        else:
            items[name] = value
    return items, wrong


def _clean(text: Any) -> str:
    return str(text)[:_MOST].replace("\r\n", "\n").strip()


def _target(typed: CallTyped, target: Mapping[str, Any]) -> tuple[CallTyped, list[str]]:
    left = []
    texts = {name: str(target.get(name) or "") for name in ("endpoint", "method", "path", "webhook_id")}
    for name in ("query", "headers"):
        items = target.get(name) or {}
        text = lines_dump(items) if isinstance(items, dict) else ""
        if lines_read(text) == (items, []):
            texts[name] = text
        else:
            left.append(name)
    for name in ("body", "payload"):
        if target.get(name) is not None:
            texts[name] = json.dumps(target[name], ensure_ascii=False, indent=2)
    return replace(typed, **texts), left


def _rest(typed: CallTyped, identity: Mapping[str, Any], policy: Mapping[str, Any]) -> CallTyped:
    said = {"subject": identity.get("subject"), "consent_id": identity.get("consent_id")}
    said |= {name: policy.get(name) for name in ("timeout", "retries", "retry_backoff")}
    said |= {"max_running": policy.get("max_running_instances"), "key": policy.get("idempotency_key")}
    given = {name: str(value) for name, value in said.items() if value is not None}
    return replace(typed, identity=str(identity.get("kind") or ""), **given)
