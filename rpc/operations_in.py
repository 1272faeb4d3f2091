"""Operation messages as operations, targets and queueing: the same for a schedule and for a call that acts at once.

What flowsched does not have is refused rather than ignored: an operation rule (D-18), a secret to store (D-18), a
filter that ingest would not apply (F-313).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final, TypeAlias

from flowsched.errors import InvalidInput
from inventory.targets import Target
from rpc.convert_in import fields_named, required, seconds_in
from rpc.proto import flow_pb2 as pb
from rpc.targets_in import targets_in
from tasks.operations import REFUSED_KEYS, Operation, OperationKind, OperationType, operation, operation_check

RackRequest: TypeAlias = (
    pb.PowerOnRackRequest
    | pb.PowerOffRackRequest
    | pb.PowerResetRackRequest
    | pb.ACPowerCycleRackRequest
    | pb.BringUpRackRequest
    | pb.IngestRackRequest
    | pb.UpgradeFirmwareRequest
)

_KINDS: Final[Mapping[type[Any], OperationKind]] = {
    pb.PowerOnRackRequest: OperationKind.POWER_ON,
    pb.PowerOffRackRequest: OperationKind.POWER_OFF,
    pb.PowerResetRackRequest: OperationKind.POWER_RESET,
    pb.BringUpRackRequest: OperationKind.BRING_UP,
    pb.IngestRackRequest: OperationKind.INGEST,
    pb.UpgradeFirmwareRequest: OperationKind.UPGRADE_FIRMWARE,
}
_PLAIN: Final = ("forced", "target_version", "override_readiness_check", "override_version_check", "sub_targets")
# How services call what these messages hold, besides the name that the message has for it.
_OTHER_NAMES: Final[Mapping[str, str]] = {
    "operation": "",
    "information": "",
    "queue_timeout": ".queue_options.queue_timeout_seconds",
}
_SAME_NAMES: Final = (*_PLAIN, "target_spec", "start_time", "end_time", "rule_id", "description")


@dataclass(frozen=True, slots=True)
class OperationIn:
    """What one message asks for. `queue_timeout` None: the setting's. `path` is where the message is in its request.

    A schedule takes no `queue` from it: its overlap policy decides (F-128).
    """

    operation: Operation
    targets: list[Target]
    queue: bool
    queue_timeout: timedelta | None
    path: str = ""

    @contextmanager
    def fields(self) -> Iterator[None]:
        """Let what a service finds wrong with this name its field as the request does."""
        with fields_named(_names(self.path)):
            yield


def scheduled_in(request: pb.CreateTaskScheduleRequest | pb.CheckScheduleConflictsRequest) -> OperationIn:
    """The operation that a schedule is to carry. Its description is ignored (F-120)."""
    message: pb.ScheduledOperation = required(request, "operation")
    which = message.WhichOneof("operation")
    if which is None:
        known = ", ".join(field.name for field in message.DESCRIPTOR.oneofs_by_name["operation"].fields)
        raise InvalidInput(f"operation is empty: give one of {known}", field="operation")
    return operation_in(getattr(message, which), f"operation.{which}")


def operation_in(request: RackRequest, path: str = "") -> OperationIn:
    """The operation that `request` asks for, with its targets. Raises InvalidInput: targets first, then the rest."""
    prefix = f"{path}." if path else ""
    targets = targets_in(request, "target_spec", f"{prefix}target_spec")
    _refuse_unsupported(request, prefix)
    with fields_named(_names(path)):
        made = _operation(request, prefix)
    has_options = "queue_options" in request.DESCRIPTOR.fields_by_name
    options = getattr(request, "queue_options", None) if has_options else None
    queue = options is not None and options.conflict_strategy == pb.CONFLICT_STRATEGY_QUEUE
    seconds = options.queue_timeout_seconds if options is not None else 0
    return OperationIn(made, targets, queue, timedelta(seconds=seconds) if seconds > 0 else None, path)


def _operation(request: RackRequest, prefix: str) -> Operation:
    if isinstance(request, pb.ACPowerCycleRackRequest):
        return _cold_reset(override=request.override_readiness_check)
    known = request.DESCRIPTOR.fields_by_name
    given: dict[str, Any] = {name: getattr(request, name) for name in _PLAIN if name in known}
    for name in ("start_time", "end_time"):
        if name in known:
            given[name] = seconds_in(request, name, f"{prefix}{name}")
    return operation(_KINDS[type(request)], **given)


def _cold_reset(*, override: bool) -> Operation:
    """Cutting and restoring the power (F-167, F-188); nobody can ask for it but through this one call."""
    information: dict[str, Any] = {"operation": pb.POWER_CONTROL_OP_COLD_RESET, "forced": False}
    if override:
        information["override_readiness_check"] = True
    return operation_check(Operation(OperationType.POWER, "cold_reset", information))


def _refuse_unsupported(request: RackRequest, prefix: str) -> None:
    if request.HasField("rule_id"):
        raise InvalidInput(REFUSED_KEYS["rule_id"], reason="RULES_UNSUPPORTED", field=f"{prefix}rule_id")
    if isinstance(request, pb.UpgradeFirmwareRequest) and request.HasField("authentication_data"):
        raise InvalidInput(REFUSED_KEYS["authentication_data"], field=f"{prefix}authentication_data")
    if isinstance(request, pb.IngestRackRequest) and request.filters:
        raise InvalidInput(
            "ingest takes no filters: leave them out, and name the racks or component types in target_spec",
            field=f"{prefix}filters",
        )


def _names(path: str) -> Mapping[str, str]:
    prefix = f"{path}." if path else ""
    other = {name: f"{path}{rest}".removeprefix(".") for name, rest in _OTHER_NAMES.items()}
    return {name: f"{prefix}{name}" for name in _SAME_NAMES} | other
