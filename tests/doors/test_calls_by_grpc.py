"""Schedules of HTTP calls, which the wire cannot express, seen and handled by a client of the wire over a real port."""

from __future__ import annotations

import grpc
import pytest

from flowsched import clock
from flowsched.actor import SYSTEM
from inventory.targets import RackTarget
from schedules.models import TaskSchedule
from schedules.services import schedule_create
from tasks.models import Task
from tasks.operations import Operation
from tests.doors.servers import ENDPOINTS
from tests.doors.walk import R01, create, names, racks
from tests.doors.wireclient import FACTS

pytestmark = pytest.mark.process
CALL = Operation(
    "http_call", "api",
    {
        "target": {"endpoint": "inventory", "method": "POST", "path": "/v1/racks"},
        "identity": {"kind": "service_account"},
        "policy": {"max_running_instances": 1},
    },
)  # fmt: skip
HOOK = Operation("http_call", "gateway", {"target": {"endpoint": "chat", "webhook_id": "night", "payload": {}}})


@pytest.fixture
def made(flow, settings):
    """Makes a schedule of a call, as another door would."""
    settings.FLOWSCHED_ENDPOINTS = ENDPOINTS

    def make(name, *on, operation=CALL):
        targets = [RackTarget(name=rack) for rack in on]
        row = schedule_create(
            name=name, spec_type="interval", spec="1h", operation=operation, targets=targets, by=SYSTEM, now=clock.now()
        )
        return flow.wire.id(row.pk)

    return make


def test_it_is_listed_and_shown(flow, made):
    """D-1, F-116: beside others, in words; its grace is not the wire's."""
    create(flow, "hardware", ("INTERVAL", "1h"), racks({"name": "r01"}))
    one, two = made("call"), made("hook", operation=HOOK)
    listed = flow.ListTaskSchedules()
    assert (names(listed.task_schedules), listed.total) == (["hardware", "call", "hook"], 3)
    shown = flow.GetTaskSchedule(id=one)
    assert shown == listed.task_schedules[1]
    assert (shown.operation_type, shown.description) == ("HTTP_CALL", "HTTP POST /v1/racks")
    assert (shown.enabled, shown.spec.spec, shown.overlap_policy) == (True, "1h", 1)
    assert flow.GetTaskSchedule(id=two).description == "HTTP POST /notifications/night"


def test_d1_a_scope_without_a_rack_has_no_rack_id(flow, made):
    """D-1: and none that covers a rack is listed by a rack it does not cover."""
    alone, on_rack = made("alone"), made("on rack", "r01")
    [scope] = flow.ListTaskScheduleScopes(schedule_id=alone).scopes
    assert not scope.HasField("rack_id")
    assert scope.WhichOneof("component_filter") is None
    [scope] = flow.ListTaskScheduleScopes(schedule_id=on_rack).scopes
    assert scope.rack_id.id == R01
    assert names(flow.ListTaskSchedules(rack_id={"id": R01}).task_schedules) == ["on rack"]


def test_it_is_changed_paused_and_resumed(flow, made):
    """F-137, F-147, F-148: what is common to all schedules; the call stays as it was."""
    one = made("call")
    stored = TaskSchedule.objects.get().operation_template
    spec = {"type": flow.wire.number("SCHEDULE_SPEC_TYPE_CRON"), "spec": "0 2 * * *", "timezone": "Europe/Berlin"}
    changed = flow.UpdateTaskSchedule(
        id=one, schedule={"name": "renamed", "spec": spec, "overlap_policy": flow.wire.number("OVERLAP_POLICY_QUEUE")},
        update_mask={"paths": ["schedule.name", "schedule.spec", "schedule.overlap_policy"]},
    )  # fmt: skip
    assert (changed.name, changed.spec.spec, changed.overlap_policy) == ("renamed", "0 2 * * *", 2)
    assert (changed.operation_type, changed.description) == ("HTTP_CALL", "HTTP POST /v1/racks")
    assert flow.PauseTaskSchedule(id=one).enabled is False
    assert flow.ResumeTaskSchedule(id=one).enabled is True
    assert TaskSchedule.objects.get().operation_template == stored
    flow.DeleteTaskSchedule(id=one)
    assert flow.code("GetTaskSchedule", id=one) is grpc.StatusCode.NOT_FOUND


@pytest.mark.parametrize("on", [(), ("r01",)])
def test_it_is_triggered_and_its_task_shown(flow, made, on):
    """F-150, F-47, F-119: the task by its id and in the list, without a rack where it has none; and cancelled."""
    one = made("call", *on)
    [task_id] = flow.TriggerTaskSchedule(id=one).task_ids
    [task] = flow.GetTasksByIDs(task_ids=[task_id]).tasks
    assert task.operation == "HTTP call, POST /v1/racks"
    assert task.status == flow.wire.number("TASK_STATUS_PENDING")
    assert task.HasField("rack_id") is bool(on)
    assert list(flow.ListTasks().tasks) == [task]
    [scope] = flow.ListTaskScheduleScopes(schedule_id=one).scopes
    assert scope.last_task_id == task_id
    assert flow.code("TriggerTaskSchedule", id=one) is grpc.StatusCode.FAILED_PRECONDITION  # one at a time
    ended = flow.CancelTask(task_id=task_id).task
    assert ended.status == flow.wire.number("TASK_STATUS_TERMINATED")
    assert len(flow.TriggerTaskSchedule(id=one).task_ids) == 1
    assert Task.objects.count() == 2


def test_d1_racks_take_the_place_of_none_and_are_not_added_to_it(flow, made):
    """D-1: adding is FAILED_PRECONDITION, replacing replaces."""
    one = made("call")
    error = flow.error("AddTaskScheduleScope", schedule_id=one, target_spec=racks({"name": "r01"}))
    assert error.code() is grpc.StatusCode.FAILED_PRECONDITION
    replaced = flow.UpdateTaskScheduleScope(schedule_id=one, desired_scope=racks({"name": "r01"}))
    assert (replaced.added, replaced.removed) == (1, 1)
    assert [scope.rack_id.id for scope in replaced.scopes] == [R01]


def test_it_conflicts_with_nothing_on_its_racks(flow, made):
    """A call and an operation on hardware never meet."""
    made("call", "r01")
    found = flow.CheckScheduleConflicts(operation={"power_reset": {"target_spec": racks({"name": "r01"})}})
    assert list(found.conflicts) == []


def test_it_cannot_be_created_here(flow):
    """The wire has no message for it; one that a newer client might have is an empty operation to us."""
    assert not any("http" in field["name"] for field in FACTS["messages"]["ScheduledOperation"])
    request = flow.wire.request(
        "CreateTaskSchedule", schedule={"name": "call", "spec": {"type": 1, "spec": "1h"}}, operation={}
    )
    unknown = bytes([0x9A, 0x06, 0x00])  # field 99, empty
    [(place, operation)] = [
        (field["number"], field["type"])
        for field in FACTS["messages"]["CreateTaskScheduleRequest"]
        if field["name"] == "operation"
    ]
    assert operation == "ScheduledOperation"
    data = request.SerializeToString() + bytes([place << 3 | 2, len(unknown)]) + unknown
    error = flow.error("CreateTaskSchedule", data)
    assert error.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert "operation is empty" in error.details()
    assert not TaskSchedule.objects.exists()


def test_f316_one_that_cannot_be_read_any_more_breaks_no_list(flow, made):
    """F-136, F-316."""
    one = made("call")
    made("good")
    TaskSchedule.objects.filter(name="call").update(operation_template={"type": "http_call", "code": "api"})
    shown = flow.ListTaskSchedules().task_schedules
    assert [(row.name, row.operation_type) for row in shown] == [("call", "HTTP_CALL"), ("good", "HTTP_CALL")]
    assert flow.GetTaskSchedule(id=one).description == "HTTP"
    assert flow.PauseTaskSchedule(id=one).enabled is False
