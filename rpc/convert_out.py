"""Rows as messages of the wire (F-47, F-62, F-73, F-113…F-119).

Looks nothing up, and never fails for what is stored: one row that cannot be read must not empty a list (F-316). It is
shown as far as it can be, and never as something wider than it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from google.protobuf.timestamp_pb2 import Timestamp

from flowsched.errors import InvalidInput
from inventory.components import ComponentType, parse_component_type
from inventory.identifiers import uuid_or_none
from rpc.convert_in import COMPONENT_TYPES
from rpc.proto import flow_pb2 as pb
from rpc.schedules_in import SPEC_TYPES
from schedules.models import TaskSchedule
from schedules.template import summary
from scopes.filters import filter_parse
from scopes.models import TaskScheduleScope
from tasks.models import Task
from tasks.operations import operation_name
from tasks.states import TaskStatus

_SPEC_TYPES: Final = {name: number for number, name in SPEC_TYPES.items()}
_COMPONENT_TYPES: Final = {name: number for number, name in COMPONENT_TYPES.items()}
_STATUSES: Final[Mapping[str, pb.TaskStatus]] = {
    TaskStatus.WAITING: pb.TASK_STATUS_WAITING,
    TaskStatus.PENDING: pb.TASK_STATUS_PENDING,
    TaskStatus.RUNNING: pb.TASK_STATUS_RUNNING,
    TaskStatus.COMPLETED: pb.TASK_STATUS_COMPLETED,
    TaskStatus.FAILED: pb.TASK_STATUS_FAILED,
    TaskStatus.TERMINATED: pb.TASK_STATUS_TERMINATED,
}


def id_out(value: UUID | None) -> pb.UUID | None:
    """An id, lower case and hyphenated; None leaves the field unset (F-113)."""
    return None if value is None else pb.UUID(id=str(value))


def instant_out(value: datetime | None) -> Timestamp | None:
    """An aware instant; None leaves the field unset."""
    if value is None:
        return None
    stamp = Timestamp()
    stamp.FromDatetime(value)
    return stamp


def component_type_out(stored: str) -> pb.ComponentType:
    """The number of a stored type name, in any spelling that is read; UNKNOWN for any other (F-204)."""
    try:
        return _COMPONENT_TYPES[parse_component_type(stored)]
    except InvalidInput:
        return pb.COMPONENT_TYPE_UNKNOWN


def schedule_out(schedule: TaskSchedule) -> pb.TaskSchedule:
    """A schedule, its operation only in words: empty ones if it cannot be read (F-116, F-136)."""
    operation_type, description = summary(schedule.operation_template)
    queue = schedule.overlap_policy == TaskSchedule.OverlapPolicy.QUEUE
    return pb.TaskSchedule(
        id=id_out(schedule.pk),
        name=schedule.name,
        spec=pb.ScheduleSpec(
            type=_SPEC_TYPES.get(schedule.spec_type, pb.SCHEDULE_SPEC_TYPE_UNSPECIFIED),
            spec=schedule.spec,
            timezone=schedule.timezone,
        ),
        overlap_policy=pb.OVERLAP_POLICY_QUEUE if queue else pb.OVERLAP_POLICY_SKIP,
        enabled=schedule.enabled,
        next_run_at=instant_out(schedule.next_run_at),
        last_run_at=instant_out(schedule.last_run_at),
        created_at=instant_out(schedule.created_at),
        updated_at=instant_out(schedule.updated_at),
        operation_type=operation_type,
        description=description,
    )


def scope_out(scope: TaskScheduleScope) -> pb.TaskScheduleScope:
    """A scope: no filter is the whole rack, components by id (F-117)."""
    return pb.TaskScheduleScope(
        id=id_out(scope.pk),
        schedule_id=id_out(scope.schedule_id),
        rack_id=id_out(scope.rack_id),
        last_task_id=id_out(scope.last_task_id),
        created_at=instant_out(scope.created_at),
        **_filter(scope.component_filter),
    )


def task_out(task: Task) -> pb.Task:
    """A task. The wire knows none of our executors and no rule is ever applied (F-47, D-18)."""
    information = task.information if isinstance(task.information, dict) else {}
    waiting = task.status == TaskStatus.WAITING
    return pb.Task(
        id=id_out(task.pk),
        operation=operation_name(task.type, task.code, information),
        rack_id=id_out(task.rack_id),
        component_uuids=[pb.UUID(id=str(found)) for found in _components(task.attributes)],
        description=task.description,
        executor_type=pb.TASK_EXECUTOR_TYPE_UNKNOWN,
        execution_id=task.execution_id,
        status=_STATUSES.get(task.status, pb.TASK_STATUS_UNKNOWN),
        message=task.message,
        queue_expires_at=instant_out(task.queue_expires_at) if waiting else None,
        created_at=instant_out(task.created_at),
        finished_at=instant_out(task.finished_at),
        updated_at=instant_out(task.updated_at),
        started_at=instant_out(task.started_at),
    )


def _filter(stored: Any) -> dict[str, Any]:
    """The member of the oneof, or none for the whole rack.

    A filter that cannot be read fails its scope at each firing. It is shown as a type nobody knows, because no member
    at all would say that the whole rack is meant.
    """
    try:
        found = filter_parse(stored)
    except InvalidInput:
        return {"types": pb.ComponentTypes(types=_types_as_they_are(stored))}
    if found is None:
        return {}
    if found.kind == "types":
        return {"types": pb.ComponentTypes(types=[component_type_out(name) for name in found.types])}
    targets = [pb.ComponentTarget(id=pb.UUID(id=str(component))) for component in found.components]
    return {"components": pb.ComponentTargets(targets=targets)}


def _types_as_they_are(stored: Any) -> list[pb.ComponentType]:
    """The types of a filter by types of which one is unknown (F-204); of anything else one unknown type."""
    types = stored.get("types") if isinstance(stored, dict) and stored.get("kind") == "types" else None
    if not isinstance(types, list) or not types:
        return [pb.COMPONENT_TYPE_UNKNOWN]
    return [component_type_out(name) if isinstance(name, str) else pb.COMPONENT_TYPE_UNKNOWN for name in types]


def _components(attributes: Any) -> list[UUID]:
    """The components a task took, by type in the order of the types, each once (F-246)."""
    by_type = attributes.get("components_by_type") if isinstance(attributes, dict) else None
    if not isinstance(by_type, dict):
        return []
    known = [kind.value for kind in ComponentType]
    names = sorted(by_type, key=lambda name: (known.index(name) if name in known else len(known), name))
    listed = [text for name in names if isinstance(by_type[name], list) for text in by_type[name]]
    found = (uuid_or_none(text) for text in listed if isinstance(text, str))
    return list(dict.fromkeys(component for component in found if component is not None))
