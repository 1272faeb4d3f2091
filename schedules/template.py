"""The operation that a schedule carries, as stored in `operation_template`: write it, read it, say it in words.

No target is stored: racks are the scopes', resolved when the schedule fires. Neither is a conflict strategy, which
would contradict the overlap policy's column some day. Reading is strict, because what is read here is done to
hardware; the words are lenient, because one bad row must not empty a list of schedules.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from flowsched.errors import InvalidInput
from tasks.http.wording import call_words
from tasks.operations import Operation, OperationType, operation_check

MAX_QUEUE_TIMEOUT: Final = timedelta(days=366)
_FIELD: Final = "operation"

POWER: Final = OperationType.POWER.value
FIRMWARE: Final = OperationType.FIRMWARE.value
BRING_UP: Final = OperationType.BRING_UP.value
HTTP: Final = OperationType.HTTP.value

# (type, code) -> what the operation is called in lists. Nothing else can be scheduled.
_WORDS: Final[Mapping[tuple[str, str], tuple[str, str]]] = {
    (POWER, "power_on"): ("POWER_ON", "Power On"),
    (POWER, "force_power_on"): ("POWER_ON", "Power On"),
    (POWER, "power_off"): ("POWER_OFF", "Power Off"),
    (POWER, "force_power_off"): ("POWER_OFF", "Power Off (forced)"),
    (POWER, "restart"): ("POWER_RESET", "Power Reset"),
    (POWER, "warm_reset"): ("POWER_RESET", "Power Reset"),
    (POWER, "force_restart"): ("POWER_RESET", "Power Reset (forced)"),
    (POWER, "cold_reset"): ("POWER_RESET", "Power Reset (forced)"),
    (BRING_UP, "bring_up"): ("BRING_UP", "Bring Up"),
    (BRING_UP, "ingest"): ("INGEST", "Ingest"),
    (FIRMWARE, "upgrade"): ("UPGRADE_FIRMWARE", "Upgrade Firmware"),
    (FIRMWARE, "downgrade"): ("DOWNGRADE_FIRMWARE", "Downgrade Firmware"),
    (FIRMWARE, "rollback"): ("ROLLBACK_FIRMWARE", "Rollback Firmware"),
    (HTTP, "api"): ("HTTP_CALL", "HTTP"),
    (HTTP, "gateway"): ("HTTP_CALL", "HTTP"),
}
_NAMES_VERSION: Final = frozenset({"upgrade", "downgrade"})
# What a known type is called when its code is not known, or missing.
_TYPE_WORDS: Final[Mapping[str, tuple[str, str]]] = {
    POWER: ("POWER_CONTROL", "Power Control"),
    FIRMWARE: ("FIRMWARE_CONTROL", "Firmware Control"),
    BRING_UP: ("BRING_UP", "Bring Up"),
    HTTP: ("HTTP_CALL", "HTTP Call"),
}


@dataclass(frozen=True, slots=True)
class Template:
    """A stored operation that was read and found good. `queue_timeout` None: the setting's."""

    type: str
    code: str
    information: dict[str, Any]
    queue_timeout: timedelta | None = None


def template_dump(
    operation: Operation, queue_timeout: timedelta | None = None, rule_id: object = None
) -> dict[str, Any]:
    """What is stored for `operation`.

    A queue timeout of nothing or less is the setting's, and left out; it is stored in whole seconds, rounded up.
    Raises InvalidInput for an operation that cannot be scheduled, for a timeout above a year, and for any `rule_id`:
    operation rules do not exist here, and a schedule that names one would run without it.
    """
    operation_check(operation)
    if (operation.type, operation.code) not in _WORDS:
        raise InvalidInput(f"'{operation.code}' cannot be scheduled", field=_FIELD)
    if rule_id not in (None, ""):
        raise InvalidInput(
            "operation rules are not supported: leave rule_id out, and the operation acts on what the scopes name",
            reason="RULES_UNSUPPORTED",
            field="rule_id",
        )
    template: dict[str, Any] = {
        "type": operation.type,
        "code": operation.code,
        "information": dict(operation.information),
    }
    if queue_timeout is not None and queue_timeout > timedelta(0):
        if queue_timeout > MAX_QUEUE_TIMEOUT:
            raise InvalidInput(f"a queue timeout must be at most {MAX_QUEUE_TIMEOUT.days} days", field="queue_timeout")
        template["queue_timeout_secs"] = -(-queue_timeout // timedelta(seconds=1))
    return template


def template_load(stored: Any) -> Template:
    """Read a stored operation. Raises InvalidInput with what is wrong; nothing is guessed or fallen back to."""
    if not isinstance(stored, dict) or not stored:
        raise _unreadable("it must be a JSON object with type, code and information")
    kind, code = stored.get("type"), stored.get("code")
    if not isinstance(kind, str) or not isinstance(code, str) or (kind, code) not in _WORDS:
        raise _unreadable(f"unknown type and code '{str(kind)[:64]}', '{str(code)[:64]}'")
    information = stored.get("information", {})
    if not isinstance(information, dict):
        raise _unreadable("its information must be a JSON object")
    if stored.get("rule_id") not in (None, ""):
        raise _unreadable("it names an operation rule, and those are not supported")
    try:
        operation_check(Operation(kind, code, information))
    except InvalidInput as error:
        raise _unreadable(error.message) from None
    return Template(kind, code, information, _queue_timeout(stored.get("queue_timeout_secs")))


def rackless(stored: Any) -> bool:
    """Whether the operation can do without a rack, as a call can (D-1)."""
    return isinstance(stored, dict) and stored.get("type") == HTTP


def summary(stored: Any) -> tuple[str, str]:
    """Return (operation type, description) for a list. Never raises: an unreadable template gives empty strings."""
    if not isinstance(stored, dict) or not stored:
        return "", ""
    kind, code, information = stored.get("type"), stored.get("code", ""), stored.get("information") or {}
    if not isinstance(kind, str) or not isinstance(code, str) or not isinstance(information, dict):
        return "", ""
    words = _WORDS.get((kind, code))
    if words is None:
        default_type, default_words = _TYPE_WORDS.get(kind, (kind.upper(), ""))
        return default_type, code.replace("_", " ").replace("-", " ") or default_words
    if kind == HTTP:
        return words[0], f"{words[1]} {call_words(information)}".strip()
    version = information.get("target_version")
    if kind == FIRMWARE and code in _NAMES_VERSION and isinstance(version, str) and version:
        return words[0], f"{words[1]} to {version}"
    return words


def stored_as() -> dict[str, list[tuple[str, str]]]:
    """Each operation type that `summary` knows, in lower case, with the types and codes that are stored for it."""
    found: dict[str, list[tuple[str, str]]] = {}
    for stored, (operation_type, _) in _WORDS.items():
        found.setdefault(operation_type.lower(), []).append(stored)
    return found


def _queue_timeout(seconds: Any) -> timedelta | None:
    if seconds is None:
        return None
    if type(seconds) is not int or seconds > MAX_QUEUE_TIMEOUT.total_seconds():
        raise _unreadable("its queue_timeout_secs must be a number of seconds, at most a year")
    return timedelta(seconds=seconds) if seconds > 0 else None


def _unreadable(why: str) -> InvalidInput:
    return InvalidInput(f"the stored operation cannot be read: {why}", reason="TEMPLATE_UNREADABLE", field=_FIELD)
