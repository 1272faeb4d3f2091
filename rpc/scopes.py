"""The methods of a schedule's racks, and the conflict check (F-157…F-164)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from google.protobuf.empty_pb2 import Empty

from rpc.call import Call, Method
from rpc.convert_in import fields_named, optional_id, required_id
from rpc.convert_out import schedule_out, scope_out
from rpc.operations_in import scheduled_in
from rpc.proto import flow_pb2 as pb
from rpc.schedules import known_first
from rpc.targets_in import targets_in
from scopes.selectors import schedule_conflicts, scopes_of
from scopes.services import scope_remove, scopes_add, scopes_reconcile


def add_task_schedule_scope(call: Call, request: pb.AddTaskScheduleScopeRequest) -> pb.AddTaskScheduleScopeResponse:
    """Add racks, merging filters; new scopes, then those that grew (F-157…F-159)."""
    schedule_id = required_id(request, "schedule_id")
    with known_first(schedule_id):
        targets = targets_in(request, "target_spec")
    added = scopes_add(schedule_id=schedule_id, targets=targets, by=call.by, now=call.now)
    return pb.AddTaskScheduleScopeResponse(scopes=[scope_out(scope) for scope in added.scopes])


def remove_task_schedule_scope(call: Call, request: pb.RemoveTaskScheduleScopeRequest) -> Empty:
    """Take one rack out, unless it is the last (F-162, D-19)."""
    scope_remove(scope_id=required_id(request, "scope_id"), by=call.by, now=call.now)
    return Empty()


def update_task_schedule_scope(
    call: Call, request: pb.UpdateTaskScheduleScopeRequest
) -> pb.UpdateTaskScheduleScopeResponse:
    """Make the racks exactly these; all of them, and how many came, went and changed (F-160, F-161)."""
    schedule_id = required_id(request, "schedule_id")
    with known_first(schedule_id):
        targets = targets_in(request, "desired_scope")
    with fields_named({"target_spec": "desired_scope"}):
        result = scopes_reconcile(schedule_id=schedule_id, targets=targets, by=call.by, now=call.now)
    return pb.UpdateTaskScheduleScopeResponse(
        scopes=[scope_out(scope) for scope in result.scopes],
        added=result.added,
        removed=result.removed,
        updated=result.updated,
    )


def list_task_schedule_scopes(
    call: Call, request: pb.ListTaskScheduleScopesRequest
) -> pb.ListTaskScheduleScopesResponse:
    """The racks of a schedule in their order, all of them (F-163)."""
    scopes = scopes_of(required_id(request, "schedule_id"))
    return pb.ListTaskScheduleScopesResponse(scopes=[scope_out(scope) for scope in scopes])


def check_schedule_conflicts(
    call: Call, request: pb.CheckScheduleConflictsRequest
) -> pb.CheckScheduleConflictsResponse:
    """The schedules that may meet this operation on a rack, oldest first (F-164, F-264, D-21)."""
    asked = scheduled_in(request)
    exclude = optional_id(request, "exclude_schedule_id")
    with asked.fields():
        found = schedule_conflicts(operation=asked.operation, targets=asked.targets, exclude_schedule_id=exclude)
    return pb.CheckScheduleConflictsResponse(conflicts=[schedule_out(schedule) for schedule in found])


METHODS: Final[Mapping[str, Method]] = {
    "AddTaskScheduleScope": Method("scope.add", add_task_schedule_scope),
    "RemoveTaskScheduleScope": Method("scope.remove", remove_task_schedule_scope),
    "UpdateTaskScheduleScope": Method("scope.reconcile", update_task_schedule_scope),
    "ListTaskScheduleScopes": Method("scope.read", list_task_schedule_scopes),
    "CheckScheduleConflicts": Method("schedule.check_conflicts", check_schedule_conflicts),
}
