"""The racks of a schedule and its tasks, over a real port, by a client made of the wire's facts."""

from __future__ import annotations

import grpc
import pytest

from tests.doors.statuses import refusals_of, refused
from tests.doors.walk import R01, create, external, near, racks
from tests.doors.world import COMPUTE, component_id, make_racks, rack_id
from tests.faults.harness import database_clock

pytestmark = pytest.mark.process
COMPUTES, SWITCHES, SHELVES = 1, 2, 3
PENDING, TERMINATED, WAITING = 1, 5, 6


@pytest.fixture
def rows(flow):
    """Three racks, besides the example's."""
    make_racks(1, 2, 3)
    return flow


def rack(number, *types):
    return {"name": f"rack-{number}", "component_types": types}


def parts(flow, number, *indexes):
    return {"components": {"targets": [{"id": flow.wire.id(component_id(number, index))} for index in indexes]}}


def said(scopes):
    """Each scope as (rack, its filter)."""
    found = []
    for scope in scopes:
        kind = scope.WhichOneof("component_filter")
        values = {
            None: None,
            "types": list(scope.types.types),
            "components": [target.id.id for target in scope.components.targets],
        }
        found.append((scope.rack_id.id, values[kind]))
    return found


def scopes(flow, one):
    return said(flow.ListTaskScheduleScopes(schedule_id=one.id).scopes)


def add(flow, one, target_spec):
    return said(flow.AddTaskScheduleScope(schedule_id=one.id, target_spec=target_spec).scopes)


def test_adding_merges_by_each_rule(rows):
    """F-158, F-208…F-213: new racks in request order, then those whose filter grew; the others stay unsaid."""
    flow = rows
    one = create(flow, "a", ("INTERVAL", "1h"), racks(rack(1), rack(2, COMPUTES)))
    assert add(flow, one, racks(rack(1, SHELVES))) == [], "F-208: all of a rack holds its parts already"
    assert add(flow, one, racks(rack(2, SHELVES, COMPUTES))) == [(rack_id(2), [COMPUTES, SHELVES])], "F-210"
    assert add(flow, one, racks(rack(2, SHELVES))) == [], "F-210: nothing new"
    assert add(flow, one, parts(flow, 3, 1)) == [(rack_id(3), [component_id(3, 1)])], "F-213: as given"
    assert add(flow, one, parts(flow, 3, 0, 1)) == [(rack_id(3), [component_id(3, 1), component_id(3, 0)])], "F-211"
    before = scopes(flow, one)
    with refused("FAILED_PRECONDITION") as it:  # F-212, F-159: kinds differ, and nothing of the request is done
        add(flow, one, racks({"name": "r01"}, rack(3, SHELVES)))
    assert it.details.reasons == ["FILTER_KIND"]
    assert "rack-3" in it.error.details()
    assert scopes(flow, one) == before
    assert add(flow, one, racks({"name": "r01"}, rack(2))) == [(R01, None), (rack_id(2), None)], "F-209, F-213"
    assert scopes(flow, one) == [(rack_id(1), None), (rack_id(2), None), before[2], (R01, None)]


def test_a_rack_twice_is_refused(rows):
    """F-200: also by id and by name, and also when adding."""
    flow = rows
    one = create(flow, "a", ("INTERVAL", "1h"), racks(rack(1)))
    for twice in (racks(rack(2), rack(2)), racks(rack(2), {"id": flow.wire.id(rack_id(2))})):
        with refused("INVALID_ARGUMENT") as it:
            add(flow, one, twice)
        assert "rack-2" in it.error.details()
    assert scopes(flow, one) == [(rack_id(1), None)]


def test_reconciling_makes_it_exactly_what_is_desired(rows):
    """F-160, F-161, F-214…F-216: counts, the full list, and rows that stay keep their identity."""
    flow = rows
    one = create(flow, "a", ("INTERVAL", "1h"), racks(rack(1, COMPUTES, SHELVES), rack(2), rack(3, SHELVES)))
    flow.TriggerTaskSchedule(id=one.id)
    before = {scope.rack_id.id: scope for scope in flow.ListTaskScheduleScopes(schedule_id=one.id).scopes}
    assert all(scope.HasField("last_task_id") for scope in before.values())
    desired = racks({"name": "r01"}, rack(3), rack(1, SHELVES, COMPUTES))
    answer = flow.UpdateTaskScheduleScope(schedule_id=one.id, desired_scope=desired)
    assert (answer.added, answer.removed, answer.updated) == (1, 1, 1)
    assert said(answer.scopes) == [(rack_id(1), [COMPUTES, SHELVES]), (rack_id(3), None), (R01, None)]
    for scope in answer.scopes[:2]:
        old = before[scope.rack_id.id]
        assert (scope.id, scope.created_at, scope.last_task_id) == (old.id, old.created_at, old.last_task_id)
    assert not answer.scopes[2].HasField("last_task_id")
    again = flow.UpdateTaskScheduleScope(schedule_id=one.id, desired_scope=desired)
    assert (again.added, again.removed, again.updated) == (0, 0, 0)
    assert again.scopes == answer.scopes
    other = flow.UpdateTaskScheduleScope(schedule_id=one.id, desired_scope=parts(flow, 1, 0))
    assert said(other.scopes) == [(rack_id(1), [component_id(1, 0)])], "F-214: any change of kind"
    for empty in (racks(), {}):
        with refused("INVALID_ARGUMENT"):
            flow.UpdateTaskScheduleScope(schedule_id=one.id, desired_scope=empty)


def test_the_last_scope_is_not_removed(rows):
    """F-162, D-19."""
    flow = rows
    one = create(flow, "a", ("INTERVAL", "1h"), racks(rack(1), rack(2)))
    first, last = flow.ListTaskScheduleScopes(schedule_id=one.id).scopes
    assert flow.RemoveTaskScheduleScope(scope_id=first.id).ByteSize() == 0
    with refused("FAILED_PRECONDITION") as it:
        flow.RemoveTaskScheduleScope(scope_id=last.id)
    assert it.details.reasons == ["LAST_SCOPE"]
    assert "delete the schedule" in it.error.details()
    with refused("NOT_FOUND") as it:
        flow.RemoveTaskScheduleScope(scope_id=first.id)
    assert first.id.id in it.error.details()
    assert scopes(flow, one) == [(rack_id(2), None)]


def test_triggered_tasks_are_listed_and_cancelled(rows):
    """F-47, F-119, F-150, F-170…F-172: in scope order, with what is absent absent; cancelled twice is once."""
    flow = rows
    one = create(flow, "a", ("INTERVAL", "1h"), racks(rack(2), rack(1, COMPUTES)), forced=True)
    flow.PauseTaskSchedule(id=one.id)
    ids = flow.TriggerTaskSchedule(id=one.id).task_ids
    tasks = flow.GetTasksByIDs(task_ids=[*ids, ids[0], flow.wire.id(rack_id(9))]).tasks
    assert [task.id for task in tasks] == [*ids, ids[0]], "as asked for, twice where asked twice, unknown ones left out"
    assert [task.rack_id.id for task in tasks[:2]] == [rack_id(2), rack_id(1)]
    task = tasks[1]
    assert task.operation == "ForceRestart, forced true"
    assert sorted(part.id for part in task.component_uuids) == [component_id(1, 0), component_id(1, 1)]
    assert (task.status, task.executor_type, task.execution_id) == (PENDING, 0, "")
    assert task.description.startswith("a — ")
    assert near(task.created_at, database_clock())
    for absent in ("started_at", "finished_at", "queue_expires_at", "applied_rule_id"):
        assert not task.HasField(absent), absent
    listed = flow.ListTasks(rack_id={"id": rack_id(1)}, active_only=True, pagination={"limit": 1})
    assert (listed.total, listed.tasks[0]) == (1, task)
    assert flow.ListTasks(component_id={"id": component_id(2, 3)}).total == 1
    ended = flow.CancelTask(task_id=task.id).task
    assert ended.status == TERMINATED
    assert ended.HasField("finished_at")
    assert flow.CancelTask(task_id=task.id).task == ended
    assert flow.ListTasks(rack_id={"id": rack_id(1)}, active_only=True).total == 0
    assert flow.ListTasks(rack_id={"id": rack_id(1)}).tasks[0] == ended
    assert not flow.GetTaskSchedule(id=one.id).enabled, "F-151: a trigger leaves a pause alone"


def test_tasks_of_an_unknown_id_and_bad_pages_are_refused(rows):
    """F-170, F-172."""
    with refused("NOT_FOUND") as it:
        rows.CancelTask(task_id={"id": rack_id(9)})
    assert rack_id(9) in it.error.details()
    for bad in ({"limit": 0}, {"limit": -1}, {"limit": 1, "offset": -1}):
        with refused("INVALID_ARGUMENT"):
            rows.ListTasks(pagination=bad)


def test_refused_racks_are_named(rows):
    """D-13, F-154, F-155: beside the answer where some were accepted, in the error where none was."""
    flow = rows
    one = create(flow, "a", ("INTERVAL", "1h"), racks(rack(1), rack(2)))
    flow.PowerOffRack(target_spec=racks(rack(1)))
    answer, call = flow.with_call("TriggerTaskSchedule", id=one.id)
    assert [task.rack_id.id for task in flow.GetTasksByIDs(task_ids=answer.task_ids).tasks] == [rack_id(2)]
    [info] = refusals_of(call).infos
    assert info.reason
    assert rack_id(1) in info.metadata.values()
    with refused("FAILED_PRECONDITION") as it:
        flow.TriggerTaskSchedule(id=one.id)
    named = " ".join(value for info in it.details.infos for value in info.metadata.values())
    assert rack_id(1) in named
    assert rack_id(2) in named


@pytest.mark.parametrize(
    ("rpc", "fields", "operation"),
    [
        ("PowerOnRack", {}, "PowerOn, forced false"),
        ("PowerOffRack", {"forced": True}, "ForcePowerOff, forced true"),
        ("PowerResetRack", {}, "Restart, forced false"),
        ("ACPowerCycleRack", {}, "ColdReset, forced false"),
        ("BringUpRack", {}, "rack bring-up"),
        ("IngestRack", {}, "rack ingest"),
        ("UpgradeFirmware", {"target_version": "9"}, "FirmwareUpgrade, target version 9"),
    ],
)
def test_direct_operations(rows, rpc, fields, operation):
    """F-119, F-165…F-168: one task a rack, in request order; what a rule is for is refused (D-18)."""
    flow = rows
    answer = flow.call(rpc, target_spec=racks(rack(2), rack(1)), description="by hand", **fields)
    tasks = flow.GetTasksByIDs(task_ids=answer.task_ids).tasks
    assert [(task.rack_id.id, task.operation) for task in tasks] == [(rack_id(2), operation), (rack_id(1), operation)]
    assert {task.description for task in tasks} == {"by hand"}
    with refused("INVALID_ARGUMENT") as it:
        flow.call(rpc, target_spec=racks(rack(3)), rule_id={"id": rack_id(1)}, **fields)
    assert "rule_id" in it.error.details()


def test_a_queue_is_waited_in_and_may_be_full(rows):
    """F-169, F-247, D-15: the waiting task says until when; one more than the limit is RESOURCE_EXHAUSTED."""
    flow = rows
    queue = {"conflict_strategy": 1, "queue_timeout_seconds": 600}
    flow.PowerOffRack(target_spec=racks(rack(1)), queue_options=queue)
    [waiting] = flow.PowerOffRack(target_spec=racks(rack(1)), queue_options=queue).task_ids
    [task] = flow.GetTasksByIDs(task_ids=[waiting]).tasks
    assert task.status == WAITING
    assert task.queue_expires_at.seconds == task.created_at.seconds + 600
    with refused("RESOURCE_EXHAUSTED") as it:
        flow.PowerOffRack(target_spec=racks(rack(1)), queue_options=queue)
    assert "rack-1" in it.error.details()


def test_what_is_not_ours_is_unimplemented(rows):
    """F-5, F-167."""
    flow = rows
    assert flow.code("DecommissionRack", target_spec=racks(rack(1))) is grpc.StatusCode.UNIMPLEMENTED
    for rpc in [*flow.wire.facts["unimplemented"], "NoSuchMethod", "CreateOperationRule"]:
        call = flow.channel.unary_unary(f"/v1.Flow/{rpc}")
        with pytest.raises(grpc.RpcError) as error:
            call(b"", timeout=10, metadata=flow.metadata)
        assert error.value.code() is grpc.StatusCode.UNIMPLEMENTED, rpc


def test_the_inventory_over_the_wire(rows):
    """F-174…F-182: read back as it was created, by id and by serial; domains by either name."""
    flow = rows
    rack_one = flow.GetRackInfoByID(id={"id": rack_id(1)}, with_components=True).rack
    serial = {"manufacturer": "M", "serial_number": "S1"}
    assert flow.GetRackInfoBySerial(serial_info=serial, with_components=True).rack == rack_one
    assert [part.component_id for part in rack_one.components] == ["ext-1-0", "ext-1-1", "ext-1-2", "ext-1-3"]
    listed = flow.GetListOfRacks(pagination={"limit": 2})
    assert (listed.total, [row.info.name for row in listed.racks]) == (4, ["r01", "rack-1"])
    domain = {"id": {"id": rack_id(77)}, "name": "domain"}
    assert flow.CreateNVLDomain(nvl_domain={"identifier": domain}).id.id == rack_id(77)
    flow.AttachRacksToNVLDomain(nvl_domain_identifier={"name": "domain"}, rack_identifiers=[{"name": "rack-1"}])
    inside = flow.GetRacksForNVLDomain(nvl_domain_identifier={"id": {"id": rack_id(77)}}).racks
    assert [row.info.name for row in inside] == ["rack-1"]
    flow.DetachRacksFromNVLDomain(rack_identifiers=[{"id": {"id": rack_id(1)}}])
    assert not flow.GetRacksForNVLDomain(nvl_domain_identifier={"name": "domain"}).racks
    found = flow.GetComponents(target_spec=external(flow, COMPUTE))
    assert [(part.component_id, part.rack_id.id) for part in found.components] == [(COMPUTE, R01)]
    assert flow.Version().version
