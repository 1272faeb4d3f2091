"""What can be asked of a rack: operation types, codes, numbers, information fields, budgets.

Promises one table from which the stored code, the number on the wire, the names people read and the classes that
decide about retries all come. An operation marked idempotent here is repeated after a crash: a wrong mark does an
effect twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from typing import Any

from flowsched.errors import InvalidInput
from tasks.http.call import call_parse
from tasks.http.wording import call_words, endpoint_words

MAX_TEXT = 255
MAX_SUB_TARGETS = 100


class OperationType(StrEnum):
    """The stored types. Direct operations create the first three, schedules those and HTTP calls."""

    POWER = "power_control"
    FIRMWARE = "firmware_control"
    BRING_UP = "bring_up"
    INJECT = "inject_expectation"
    DECOMMISSION = "decommission"
    HTTP = "http_call"


class OperationKind(StrEnum):
    """What a caller may ask for, in the words of every door."""

    POWER_ON = "power_on"
    POWER_OFF = "power_off"
    POWER_RESET = "power_reset"
    BRING_UP = "bring_up"
    INGEST = "ingest"
    UPGRADE_FIRMWARE = "upgrade_firmware"


@dataclass(frozen=True, slots=True)
class Operation:
    """A validated operation as a task stores it."""

    type: str
    code: str
    information: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Code:
    """One row of the table. `name` is the wire's, `label` the one people read in a sentence."""

    type: OperationType
    code: str
    number: int
    name: str
    label: str
    idempotent: bool = False  # doing it twice leaves what doing it once leaves
    disruptive: bool = True  # takes running work off the components


CODES: tuple[Code, ...] = (
    Code(OperationType.POWER, "power_on", 1, "PowerOn", "power on", True, False),
    Code(
        OperationType.POWER, "force_power_on", 2, "ForcePowerOn", "forced power on", idempotent=True, disruptive=False
    ),
    Code(OperationType.POWER, "power_off", 3, "PowerOff", "power off", idempotent=True),
    Code(OperationType.POWER, "force_power_off", 4, "ForcePowerOff", "forced power off", idempotent=True),
    Code(OperationType.POWER, "restart", 5, "Restart", "power reset"),
    Code(OperationType.POWER, "force_restart", 6, "ForceRestart", "forced power reset"),
    Code(OperationType.POWER, "warm_reset", 7, "WarmReset", "warm reset"),
    Code(OperationType.POWER, "cold_reset", 8, "ColdReset", "cold reset"),
    Code(OperationType.FIRMWARE, "upgrade", 1, "FirmwareUpgrade", "firmware upgrade"),
    Code(OperationType.FIRMWARE, "downgrade", 2, "FirmwareDowngrade", "firmware downgrade"),
    Code(OperationType.FIRMWARE, "rollback", 3, "FirmwareRollback", "firmware rollback"),
    Code(OperationType.FIRMWARE, "version", 4, "FirmwareVersion", "firmware version query", disruptive=False),
    Code(OperationType.BRING_UP, "bring_up", 0, "rack bring-up", "bring-up"),
    Code(OperationType.BRING_UP, "ingest", 0, "rack ingest", "ingest", disruptive=False),
    Code(OperationType.INJECT, "inject_expectation", 0, "inject expectation", "expectation", disruptive=False),
    Code(OperationType.DECOMMISSION, "decommission", 0, "rack decommission", "decommission"),
    Code(OperationType.HTTP, "api", 0, "HTTP call", "HTTP call", disruptive=False),
    Code(OperationType.HTTP, "gateway", 0, "HTTP call", "HTTP call", disruptive=False),
)
_BY_CODE = {(row.type.value, row.code): row for row in CODES}

# How long a run of a type may take in all, attempts and back-off included.
BUDGETS: Mapping[str, timedelta] = {
    OperationType.POWER.value: timedelta(minutes=60),
    OperationType.FIRMWARE.value: timedelta(minutes=60),
    OperationType.INJECT.value: timedelta(minutes=60),
    OperationType.BRING_UP.value: timedelta(minutes=120),
}

_FORCED = {
    OperationKind.POWER_OFF: ("power_off", "force_power_off"),
    OperationKind.POWER_RESET: ("restart", "force_restart"),
}
_POWER = frozenset({OperationKind.POWER_ON, OperationKind.POWER_OFF, OperationKind.POWER_RESET})
REFUSED_KEYS = {
    "rule_id": "operation rules are not part of this system: leave rule_id out",
    "authentication_data": "authentication data is never stored here: configure the credentials at the executor",
}
_FIRMWARE_KEYS = frozenset({"target_version", "start_time", "end_time", "override_version_check", "sub_targets"})
_COMMON_KEYS = frozenset({"override_readiness_check"})


def operation(
    kind: str,
    *,
    forced: bool = False,
    target_version: str | None = None,
    start_time: int | None = None,
    end_time: int | None = None,
    override_readiness_check: bool = False,
    override_version_check: bool = False,
    sub_targets: Sequence[str] = (),
) -> Operation:
    """The operation a caller asked for, as it is stored (F-185…F-191). Raises InvalidInput that names the field.

    Zero, empty and false mean "not given", as on the wire, and are left out of what is stored.
    """
    known = _kind(kind)
    if forced and known not in _FORCED:
        raise InvalidInput("forced applies to power_off and power_reset only", field="forced")
    firmware = {
        "target_version": target_version or None,
        "start_time": start_time or None,
        "end_time": end_time or None,
        "override_version_check": override_version_check or None,
        "sub_targets": list(sub_targets) or None,
    }
    optional = {name: value for name, value in firmware.items() if value is not None}
    if optional and known is not OperationKind.UPGRADE_FIRMWARE:
        name = next(iter(optional))
        raise InvalidInput(f"{name} applies to upgrade_firmware only", field=name)
    if override_readiness_check:
        optional["override_readiness_check"] = True
    code, required = _stored(known, forced=forced)
    return operation_check(Operation(_BY_KIND_TYPE[known], code, {**required, **optional}))


_BY_KIND_TYPE = {
    OperationKind.POWER_ON: OperationType.POWER.value,
    OperationKind.POWER_OFF: OperationType.POWER.value,
    OperationKind.POWER_RESET: OperationType.POWER.value,
    OperationKind.BRING_UP: OperationType.BRING_UP.value,
    OperationKind.INGEST: OperationType.BRING_UP.value,
    OperationKind.UPGRADE_FIRMWARE: OperationType.FIRMWARE.value,
}


def _kind(kind: str) -> OperationKind:
    try:
        return OperationKind(kind)
    except ValueError:
        known = ", ".join(OperationKind)
        raise InvalidInput(f"unknown operation '{str(kind)[:64]}': use one of {known}", field="operation") from None


def _stored(kind: OperationKind, *, forced: bool) -> tuple[str, dict[str, Any]]:
    """The code and the fields that are always stored, zero or not."""
    if kind in _POWER:
        code = _FORCED[kind][forced] if kind in _FORCED else "power_on"
        return code, {"operation": _BY_CODE[OperationType.POWER.value, code].number, "forced": forced}
    if kind is OperationKind.UPGRADE_FIRMWARE:
        return "upgrade", {"operation": 1}
    if kind is OperationKind.INGEST:
        return "ingest", {"op_code": "ingest"}
    return "bring_up", {}


def operation_check(value: Operation) -> Operation:
    """`value` unchanged if this system can run it; InvalidInput otherwise.

    Everything that stores an operation passes here, so that a row written by another door or read from a template
    meets the same rules: known type and code, nothing secret, no field that another operation owns.
    """
    if (value.type, value.code) not in _BY_CODE:
        raise InvalidInput(f"unknown operation '{value.code[:64]}' of type '{value.type[:64]}'", field="operation")
    if not isinstance(value.information, Mapping):
        raise InvalidInput("the operation's information must be an object", field="information")
    for key, sentence in REFUSED_KEYS.items():
        if value.information.get(key):
            raise InvalidInput(sentence, field=key)
    if value.type == OperationType.HTTP:
        call_parse(value.code, value.information)
        return value
    if value.type == OperationType.FIRMWARE:
        _check_firmware(value.information)
    else:
        alien = sorted(_FIRMWARE_KEYS & value.information.keys())
        if alien:
            raise InvalidInput(f"{alien[0]} applies to firmware operations only", field=alien[0])
    for key in _COMMON_KEYS & value.information.keys():
        if not isinstance(value.information[key], bool):
            raise InvalidInput(f"{key} must be true or false", field=key)
    return value


def _check_firmware(information: Mapping[str, Any]) -> None:
    version = information.get("target_version", "")
    if not isinstance(version, str) or len(version) > MAX_TEXT or not version.isprintable():
        raise InvalidInput(
            f"target_version must be at most {MAX_TEXT} characters without control characters", field="target_version"
        )
    _check_window(information.get("start_time"), information.get("end_time"))
    if not isinstance(information.get("override_version_check", False), bool):
        raise InvalidInput("override_version_check must be true or false", field="override_version_check")
    parts = information.get("sub_targets", [])
    if (
        not isinstance(parts, (list, tuple))
        or len(parts) > MAX_SUB_TARGETS
        or not all(isinstance(part, str) and part and len(part) <= MAX_TEXT and part.isprintable() for part in parts)
    ):
        raise InvalidInput(
            f"sub_targets must be at most {MAX_SUB_TARGETS} names of 1 to {MAX_TEXT} characters", field="sub_targets"
        )


def _check_window(start: Any, end: Any) -> None:
    """A maintenance window in Unix seconds; an end that is not after the start could never run (F-314)."""
    for name, value in (("start_time", start), ("end_time", end)):
        if value is not None and (not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 1 << 40):
            raise InvalidInput(f"{name} must be a time in Unix seconds", field=name)
    if start and end and end <= start:
        raise InvalidInput("end_time must be after start_time", field="end_time")


def code_row(type_: str, code: str) -> Code | None:
    """The table's row, or None for a code nobody here can create."""
    return _BY_CODE.get((type_, code))


def idempotent(type_: str, code: str) -> bool:
    """Whether repeating the operation after an unknown outcome is safe. Unknown codes are not.

    Of an HTTP call the table says no: its method, its key and its endpoint decide, so its executor is asked.
    """
    row = code_row(type_, code)
    return row is not None and row.idempotent


def disruptive(type_: str, code: str) -> bool:
    """Whether the operation takes running work off the components. Unknown codes do, to be safe."""
    row = code_row(type_, code)
    return row is None or row.disruptive


def budget(type_: str) -> timedelta | None:
    """The total time a run of this type may take (F-195); None means no limit."""
    return BUDGETS.get(type_)


def verbs_besides(value: Operation) -> list[str]:
    """What a caller must be allowed besides, to make a schedule of it: a call has its endpoint's rights (I-88)."""
    return [f"endpoint.use:{endpoint_words(value.information)}"] if value.type == OperationType.HTTP else []


def operation_name(type_: str, code: str, information: Mapping[str, Any]) -> str:
    """The operation as one string, as Flow's clients know it (F-119)."""
    row = code_row(type_, code)
    if row is None:
        return code or type_
    if row.type is OperationType.POWER:
        return f"{row.name}, forced {'true' if information.get('forced') else 'false'}"
    if row.type is OperationType.FIRMWARE:
        return f"{row.name}, target version {information.get('target_version', '')}"
    if row.type is OperationType.HTTP:
        return f"{row.name}, {call_words(information)}"
    return row.name


def operation_label(type_: str, code: str, information: Mapping[str, Any] | None = None) -> str:
    """The operation in a sentence: "forced power off", "firmware upgrade to 1.2"."""
    row = code_row(type_, code)
    label = row.label if row else (code or type_).replace("_", " ")
    if type_ == OperationType.HTTP:
        return f"{label} {call_words(information)}".strip()
    version = (information or {}).get("target_version")
    return f"{label} to {version}" if version else label
