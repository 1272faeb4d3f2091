"""Calls of the service's methods as its server makes them, without the server."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from access.callers import Caller
from inventory.models import Rack
from rpc.call import Call
from rpc.methods import METHODS
from rpc.proto import flow_pb2 as pb
from rpc.servicer import _parsed

NOW = datetime(2026, 3, 1, 12, 0, 0, 123456, tzinfo=UTC)
ZERO = "00000000-0000-0000-0000-000000000000"
_number = itertools.count(1)


class Context:
    """The server's side of a call, as far as methods use it."""

    def __init__(self) -> None:
        self.trailer: tuple = ()

    def trailing_metadata(self) -> tuple:
        return self.trailer

    def set_trailing_metadata(self, metadata: tuple) -> None:
        self.trailer = metadata

    def time_remaining(self) -> float:
        return 0.0

    def is_active(self) -> bool:
        return True


def new_call(name: str = "alice", now: datetime = NOW) -> Call:
    return Call(Caller(1, name, None, now), "req-1", Context())


def run(method: str, request: Any, call: Call | None = None) -> Any:
    """What the method answers, request and answer after a round over the wire."""
    read, fault = _parsed(method, request.SerializeToString())
    if fault is not None:
        raise fault
    answer = METHODS[method].run(call or new_call(), read)
    return type(answer).FromString(answer.SerializeToString())


def uid(value: object) -> pb.UUID:
    return pb.UUID(id=str(value))


def on_racks(*racks: Rack, types: Sequence[int] = ()) -> pb.OperationTargetSpec:
    targets = [pb.RackTarget(id=uid(rack.pk), component_types=types) for rack in racks]
    return pb.OperationTargetSpec(racks=pb.RackTargets(targets=targets))


def on_components(*components: Any) -> pb.OperationTargetSpec:
    targets = [pb.ComponentTarget(id=uid(component.pk)) for component in components]
    return pb.OperationTargetSpec(components=pb.ComponentTargets(targets=targets))


def power_on(*racks: Rack, **fields: Any) -> pb.ScheduledOperation:
    return pb.ScheduledOperation(power_on=pb.PowerOnRackRequest(target_spec=on_racks(*racks), **fields))


def config(**fields: Any) -> pb.ScheduleConfig:
    """A good ScheduleConfig, hourly, with these fields instead; None leaves one out."""
    spec = pb.ScheduleSpec(type=pb.SCHEDULE_SPEC_TYPE_INTERVAL, spec="1h")
    values = {"name": f"schedule-{next(_number)}", "spec": spec, **fields}
    return pb.ScheduleConfig(**{name: value for name, value in values.items() if value is not None})


def create(*racks: Rack, **fields: Any) -> pb.TaskSchedule:
    request = pb.CreateTaskScheduleRequest(schedule=config(**fields), operation=power_on(*racks))
    return run("CreateTaskSchedule", request)


def cron(spec: str = "0 2 * * *", timezone: str = "") -> pb.ScheduleSpec:
    return pb.ScheduleSpec(type=pb.SCHEDULE_SPEC_TYPE_CRON, spec=spec, timezone=timezone)


def one_time(spec: str = "2026-04-01T00:00:00Z") -> pb.ScheduleSpec:
    return pb.ScheduleSpec(type=pb.SCHEDULE_SPEC_TYPE_ONE_TIME, spec=spec)
