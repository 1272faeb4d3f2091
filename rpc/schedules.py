"""The methods of schedules (F-124…F-156)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final
from uuid import UUID

import grpc
from google.protobuf.empty_pb2 import Empty

from dispatcher.firing import trigger
from flowsched.errors import InvalidInput
from rpc.call import Call, Method
from rpc.convert_in import fields_named, optional_id, page_in, required_id
from rpc.convert_out import schedule_out
from rpc.operations_in import scheduled_in
from rpc.proto import flow_pb2 as pb
from rpc.refusals import trail_refusals
from rpc.schedules_in import FIELDS, changes_in, schedule_in, timing_named
from schedules.selectors import schedule_get, schedules_list
from schedules.services import schedule_create, schedule_delete, schedule_pause, schedule_resume, schedule_update


def create_task_schedule(call: Call, request: pb.CreateTaskScheduleRequest) -> pb.TaskSchedule:
    """Create a schedule with its scopes (F-124…F-132)."""
    given = schedule_in(request)
    asked = scheduled_in(request)
    with asked.fields(), fields_named(FIELDS):
        schedule = schedule_create(
            name=given.name,
            spec_type=given.spec_type,
            spec=given.spec,
            timezone=given.timezone,
            overlap_policy=given.overlap_policy,
            operation=asked.operation,
            targets=asked.targets,
            queue_timeout=asked.queue_timeout,
            by=call.by,
            now=call.now,
        )
    return schedule_out(schedule)


def get_task_schedule(call: Call, request: pb.GetTaskScheduleRequest) -> pb.TaskSchedule:
    """One schedule (F-133)."""
    return schedule_out(schedule_get(required_id(request, "id")))


def list_task_schedules(call: Call, request: pb.ListTaskSchedulesRequest) -> pb.ListTaskSchedulesResponse:
    """A page of schedules, or all of them (F-134…F-136)."""
    rack_id = optional_id(request, "rack_id")
    offset, limit = page_in(request)
    rows, total = schedules_list(rack_id=rack_id, enabled_only=request.enabled_only, limit=limit, offset=offset)
    return pb.ListTaskSchedulesResponse(task_schedules=[schedule_out(row) for row in rows], total=total)


def update_task_schedule(call: Call, request: pb.UpdateTaskScheduleRequest) -> pb.TaskSchedule:
    """Change what the mask names, all or nothing (F-137…F-146, D-12)."""
    schedule_id = required_id(request, "id")
    with known_first(schedule_id, when=timing_named(request)):
        changes = changes_in(request)
    with fields_named(FIELDS):
        schedule = schedule_update(schedule_id=schedule_id, changes=changes, by=call.by, now=call.now)
    return schedule_out(schedule)


def pause_task_schedule(call: Call, request: pb.PauseTaskScheduleRequest) -> pb.TaskSchedule:
    """Stop it from firing (F-147)."""
    return schedule_out(schedule_pause(schedule_id=required_id(request, "id"), by=call.by, now=call.now))


def resume_task_schedule(call: Call, request: pb.ResumeTaskScheduleRequest) -> pb.TaskSchedule:
    """Let it fire again (F-148)."""
    return schedule_out(schedule_resume(schedule_id=required_id(request, "id"), by=call.by, now=call.now))


def delete_task_schedule(call: Call, request: pb.DeleteTaskScheduleRequest) -> Empty:
    """Delete it (F-149)."""
    schedule_delete(schedule_id=required_id(request, "id"), by=call.by, now=call.now)
    return Empty()


def trigger_task_schedule(call: Call, request: pb.TriggerTaskScheduleRequest) -> pb.SubmitTaskResponse:
    """Fire it now (F-150…F-156). Racks that refused are in the trailing metadata, or in the error if all did (D-13)."""
    result = trigger(schedule_id=required_id(request, "id"), by=call.by, now=call.now)
    trail_refusals(call.context, result.refused)
    return pb.SubmitTaskResponse(task_ids=[pb.UUID(id=str(task_id)) for task_id in result.task_ids])


@contextmanager
def known_first(schedule_id: UUID, *, when: bool = True) -> Iterator[None]:
    """Raise NotFound for an unknown schedule instead of what is wrong with the rest of the request (F-138, F-157)."""
    try:
        yield
    except InvalidInput:
        if when:
            schedule_get(schedule_id)
        raise


METHODS: Final[Mapping[str, Method]] = {
    "CreateTaskSchedule": Method("schedule.create", create_task_schedule),
    "GetTaskSchedule": Method("schedule.read", get_task_schedule),
    "ListTaskSchedules": Method("schedule.read", list_task_schedules),
    # What Flow's clients are promised for a rename to a taken name (D-2).
    "UpdateTaskSchedule": Method(
        "schedule.update", update_task_schedule, statuses={"NAME_TAKEN": grpc.StatusCode.UNKNOWN}
    ),
    "PauseTaskSchedule": Method("schedule.pause", pause_task_schedule),
    "ResumeTaskSchedule": Method("schedule.resume", resume_task_schedule),
    "DeleteTaskSchedule": Method("schedule.delete", delete_task_schedule),
    "TriggerTaskSchedule": Method("schedule.trigger", trigger_task_schedule),
}
