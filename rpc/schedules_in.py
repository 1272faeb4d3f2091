"""ScheduleConfig and update masks as what the schedules' services take (F-60, F-61, F-124, F-137…F-143, D-12).

Looks nothing up. A mask names four paths, exactly; anything else is refused, so that a misspelt path is not a change
that silently never happened.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from flowsched.errors import InvalidInput
from inventory.identifiers import check_name, shown
from rpc.convert_in import fields_named, required
from rpc.proto import flow_pb2 as pb
from schedules.changes import ScheduleChanges
from schedules.checks import check_spec_given
from schedules.models import TaskSchedule

MAX_PATHS: Final = 16
NAME, OVERLAP, SPEC, TIMEZONE = "schedule.name", "schedule.overlap_policy", "schedule.spec", "schedule.spec.timezone"
PATHS: Final = (NAME, OVERLAP, SPEC, TIMEZONE)

# How the services call what ScheduleConfig holds -> where it is in a request.
FIELDS: Final[Mapping[str, str]] = {
    "name": NAME,
    "overlap_policy": OVERLAP,
    "spec_type": "schedule.spec.type",
    "spec": "schedule.spec.spec",
    "timezone": TIMEZONE,
}
SPEC_TYPES: Final[Mapping[pb.ScheduleSpecType, str]] = {
    pb.SCHEDULE_SPEC_TYPE_INTERVAL: TaskSchedule.SpecType.INTERVAL.value,
    pb.SCHEDULE_SPEC_TYPE_CRON: TaskSchedule.SpecType.CRON.value,
    pb.SCHEDULE_SPEC_TYPE_ONE_TIME: TaskSchedule.SpecType.ONE_TIME.value,
}


@dataclass(frozen=True, slots=True)
class ScheduleIn:
    """A ScheduleConfig in which everything is given; whether the spec can be read is for the service."""

    name: str
    spec_type: str
    spec: str
    timezone: str
    overlap_policy: str


def schedule_in(request: pb.CreateTaskScheduleRequest) -> ScheduleIn:
    """The schedule to create. Raises InvalidInput for what is missing, in the order of F-124."""
    config: pb.ScheduleConfig = required(request, "schedule")
    name = _name(config)
    spec = _spec(config)
    return ScheduleIn(name, spec_type_in(spec.type), spec.spec, spec.timezone, overlap_policy_in(config.overlap_policy))


def timing_named(request: pb.UpdateTaskScheduleRequest) -> bool:
    """Whether the mask names something that decides when the schedule runs."""
    return any(path in (SPEC, TIMEZONE) for path in request.update_mask.paths[:MAX_PATHS])


def changes_in(request: pb.UpdateTaskScheduleRequest) -> ScheduleChanges:
    """What the mask says to change. Raises InvalidInput: the mask, then the schedule, then each path in its order."""
    paths = request.update_mask.paths
    if not paths:
        raise InvalidInput(f"update_mask is empty: name what to change, {_listed()}", field="update_mask")
    if len(paths) > MAX_PATHS:
        raise InvalidInput(f"update_mask names {len(paths)} paths: at most {MAX_PATHS} are read", field="update_mask")
    config: pb.ScheduleConfig = required(request, "schedule")
    wanted: dict[str, Any] = {}
    for path in dict.fromkeys(paths):
        read = _CHANGES.get(path)
        if read is None:
            raise InvalidInput(
                f"update_mask: '{shown(path)}' cannot be changed: use {_listed()}",
                reason="MASK_PATH",
                field="update_mask",
            )
        wanted |= read(config)
    if SPEC in paths and TIMEZONE in paths:
        wanted["timezone"] = config.spec.timezone or "UTC"  # named, so empty means UTC and not "as it was"
    return ScheduleChanges(**wanted)


def spec_type_in(number: pb.ScheduleSpecType) -> str:
    """The stored name; empty for UNSPECIFIED. A number not on the wire is left for the parser to refuse (F-126)."""
    return SPEC_TYPES.get(number, str(number) if number else "")


def overlap_policy_in(number: pb.OverlapPolicy) -> str:
    """QUEUE, or else SKIP: whatever else the number is (F-114)."""
    policy = TaskSchedule.OverlapPolicy
    return policy.QUEUE.value if number == pb.OVERLAP_POLICY_QUEUE else policy.SKIP.value


def _name(config: pb.ScheduleConfig) -> str:
    return check_name(config.name, what=NAME, field=NAME)


def _spec(config: pb.ScheduleConfig) -> pb.ScheduleSpec:
    spec: pb.ScheduleSpec = required(config, "spec", SPEC)
    with fields_named(FIELDS):
        check_spec_given(spec_type_in(spec.type), spec.spec)
    return spec


def _spec_change(config: pb.ScheduleConfig) -> dict[str, Any]:
    """Type and text; and the timezone if one was sent, as the wire cannot tell an empty one from none (D-12)."""
    spec = _spec(config)
    change = {"spec_type": spec_type_in(spec.type), "spec": spec.spec}
    return change | ({"timezone": spec.timezone} if spec.timezone else {})


_CHANGES: Final[Mapping[str, Callable[[pb.ScheduleConfig], dict[str, Any]]]] = {
    NAME: lambda config: {"name": _name(config)},
    OVERLAP: lambda config: {"overlap_policy": overlap_policy_in(config.overlap_policy)},
    SPEC: _spec_change,
    TIMEZONE: lambda config: {"timezone": required(config, "spec", SPEC).timezone},
}


def _listed() -> str:
    return f"{', '.join(PATHS[:-1])} or {PATHS[-1]}"
