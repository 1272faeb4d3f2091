"""The methods of a schedule's racks, and the conflict check. F-157…F-164."""

from __future__ import annotations

import uuid
from datetime import timedelta

import pytest

from flowsched.errors import InvalidInput, NotFound, PreconditionFailed
from inventory.models import Rack
from rpc.proto import flow_pb2 as pb
from scopes.models import TaskScheduleScope
from tests.rpc.calls import NOW, ZERO, create, new_call, on_components, on_racks, power_on, run, uid
from tests.schedules.helpers import ALICE, columns, make_component, make_racks, make_schedule, statements, whole

pytestmark = pytest.mark.django_db
CDU, UMS = pb.COMPONENT_TYPE_CDU, pb.COMPONENT_TYPE_UMS
ABSENT = uid(uuid.uuid4())


def schedule_on(*racks):
    return uid(make_schedule(targets=whole(*racks)).pk)


def add(schedule, spec, call=None):
    request = pb.AddTaskScheduleScopeRequest(schedule_id=schedule, target_spec=spec)
    return list(run("AddTaskScheduleScope", request, call).scopes)


def replace(schedule, spec):
    request = pb.UpdateTaskScheduleScopeRequest(schedule_id=schedule, desired_scope=spec)
    return run("UpdateTaskScheduleScope", request)


def listed(schedule):
    return list(run("ListTaskScheduleScopes", pb.ListTaskScheduleScopesRequest(schedule_id=schedule)).scopes)


def racks_of(scopes):
    return [scope.rack_id.id for scope in scopes]


def by_name(*names, types=()):
    return pb.OperationTargetSpec(
        racks=pb.RackTargets(targets=[pb.RackTarget(name=name, component_types=types) for name in names])
    )


def test_f158_new_scopes_then_those_that_grew():
    """F-158, F-208…F-213: unchanged racks are left out, so the answer may be empty."""
    one, two, three, four = make_racks(4)
    schedule = schedule_on(one)
    [second] = add(schedule, on_racks(two, types=[CDU]))
    assert (second.rack_id, list(second.types.types)) == (uid(two.pk), [CDU])
    found = add(schedule, on_racks(one, two, three, four, types=[UMS, CDU]))
    assert racks_of(found) == [str(rack.pk) for rack in (three, four, two)]
    assert (found[2].id, list(found[2].types.types)) == (second.id, [CDU, UMS])
    assert add(schedule, on_racks(one, three, types=[UMS])) == []
    assert racks_of(listed(schedule)) == [str(rack.pk) for rack in (one, two, three, four)]
    [whole_rack] = add(schedule, on_racks(two))
    assert whole_rack.WhichOneof("component_filter") is None


def test_f211_components_are_merged_by_id():
    """F-211, F-202, F-117."""
    one, two = make_racks(2)
    parts = [make_component(two) for _ in range(3)]
    schedule = schedule_on(one)
    add(schedule, on_components(*parts[:2]))
    [grown] = add(schedule, on_components(*parts[1:]))
    assert [target.id for target in grown.components.targets] == [uid(part.pk) for part in parts]


def test_f159_a_merge_that_cannot_be_undoes_the_whole_request():
    """F-159, F-212."""
    one, two, three = make_racks(3)
    schedule = schedule_on(one)
    add(schedule, on_racks(two, types=[CDU]))
    before = listed(schedule)
    new, clash = make_component(three), make_component(two)
    with pytest.raises(PreconditionFailed) as error:
        add(schedule, on_components(new, clash))
    assert error.value.reason == "FILTER_KIND"
    assert listed(schedule) == before


@pytest.mark.parametrize(
    ("method", "request_type", "field"),
    [
        ("AddTaskScheduleScope", pb.AddTaskScheduleScopeRequest, "target_spec"),
        ("UpdateTaskScheduleScope", pb.UpdateTaskScheduleScopeRequest, "desired_scope"),
    ],
)
def test_f157_what_is_wrong_is_said_in_this_order(method, request_type, field):
    """F-157, F-160: the id, the schedule, the shape of the targets, the targets."""
    known, unknown_rack = schedule_on(*make_racks(1)), by_name("nowhere")
    for request, kind, named in (
        (request_type(), InvalidInput, "schedule_id"),
        (request_type(schedule_id=pb.UUID(id=ZERO)), InvalidInput, "schedule_id"),
        (request_type(schedule_id=ABSENT), NotFound, ""),
        (request_type(schedule_id=known), InvalidInput, field),
        (request_type(schedule_id=known, **{field: by_name("")}), InvalidInput, f"{field}.racks.targets[0].name"),
        (request_type(schedule_id=known, **{field: unknown_rack}), NotFound, field),
        (request_type(schedule_id=known, **{field: by_name(*[Rack.objects.get().name] * 2)}), InvalidInput, field),
    ):
        with pytest.raises(kind) as error:
            run(method, request)
        assert error.value.field == named


def test_f160_the_final_list_and_what_came_went_and_changed():
    """F-160, F-214, F-215: rows that stay keep id, created_at and last task; a rack that comes back starts anew."""
    one, two, three = make_racks(3)
    schedule = schedule_on(one, two)
    first, second = listed(schedule)
    found = replace(schedule, on_racks(three, two, types=[CDU]))
    assert (found.added, found.removed, found.updated) == (1, 1, 1)
    assert racks_of(found.scopes) == [str(two.pk), str(three.pk)]
    assert (found.scopes[0].id, found.scopes[0].created_at) == (second.id, second.created_at)
    assert list(found.scopes) == listed(schedule)
    same = replace(schedule, on_racks(two, three, types=[CDU, CDU]))
    assert (same.added, same.removed, same.updated, list(same.scopes)) == (0, 0, 0, list(found.scopes))
    back = replace(schedule, on_racks(one))
    assert (back.added, back.removed, len(back.scopes)) == (1, 2, 1)
    assert back.scopes[0].id != first.id
    assert not back.scopes[0].HasField("last_task_id")


def test_f161_a_schedule_cannot_be_emptied():
    """F-161."""
    schedule = schedule_on(*make_racks(1))
    for spec in (pb.OperationTargetSpec(), by_name()):
        with pytest.raises(InvalidInput):
            replace(schedule, spec)
    assert len(listed(schedule)) == 1


def test_f162_remove():
    """F-162, D-19: all but the last."""
    schedule = schedule_on(*make_racks(2))
    first, second = listed(schedule)
    answer = run("RemoveTaskScheduleScope", pb.RemoveTaskScheduleScopeRequest(scope_id=first.id))
    assert answer.ByteSize() == 0
    assert listed(schedule) == [second]
    with pytest.raises(PreconditionFailed, match="delete the schedule instead"):
        run("RemoveTaskScheduleScope", pb.RemoveTaskScheduleScopeRequest(scope_id=second.id))
    with pytest.raises(NotFound):
        run("RemoveTaskScheduleScope", pb.RemoveTaskScheduleScopeRequest(scope_id=first.id))
    with pytest.raises(InvalidInput, match=r"^scope_id is required$"):
        run("RemoveTaskScheduleScope", pb.RemoveTaskScheduleScopeRequest())
    assert listed(schedule) == [second]


def test_f163_list():
    """F-163, D-20: in the order of the request, all of them; none is not the same as no schedule."""
    racks = make_racks(250)
    made = create(*reversed(racks))
    found = listed(made.id)
    assert racks_of(found) == [str(rack.pk) for rack in reversed(racks)]
    assert {scope.schedule_id.id for scope in found} == {made.id.id}
    TaskScheduleScope.objects.all().delete()
    assert listed(made.id) == []
    with pytest.raises(NotFound):
        listed(ABSENT)
    with pytest.raises(InvalidInput):
        listed(None)


def test_d1_the_scope_of_a_schedule_without_racks():
    """D-1: listed with no rack; racks cannot be added, but can replace it."""
    schedule = schedule_on(*make_racks(1))
    TaskScheduleScope.objects.update(rack_id=None)
    [scope] = listed(schedule)
    assert not scope.HasField("rack_id")
    with pytest.raises(PreconditionFailed):
        add(schedule, on_racks(*make_racks(1)))
    assert (replace(schedule, on_racks(*make_racks(1))).added, len(listed(schedule))) == (1, 1)


def test_f316_one_unreadable_filter_fails_no_list():
    """F-316, F-204."""
    schedule = schedule_on(*make_racks(2))
    broken = listed(schedule)[0]
    TaskScheduleScope.objects.filter(pk=broken.id.id).update(component_filter={"kind": "types", "types": ["Toaster"]})
    found = listed(schedule)
    assert list(found[0].types.types) == [pb.COMPONENT_TYPE_UNKNOWN]
    assert found[1].WhichOneof("component_filter") is None


def test_scope_changes_count_as_changes_of_the_schedule_by_this_caller():
    """D-22."""
    schedule = make_schedule(targets=whole(*make_racks(1)), by=ALICE)
    add(uid(schedule.pk), on_racks(*make_racks(1)), new_call("bob"))
    assert columns(schedule)["version"] == schedule.version + 1


def conflicts(operation, **fields):
    request = pb.CheckScheduleConflictsRequest(operation=operation, **fields)
    return [schedule.name for schedule in run("CheckScheduleConflicts", request).conflicts]


def test_f164_the_enabled_schedules_that_share_a_rack():
    """F-164, F-264, D-21: oldest first, each once; nothing is written."""
    one, two, three = make_racks(3)
    old = make_schedule("z-old", targets=whole(one, two))
    make_schedule("a-new", targets=whole(two), now=NOW + timedelta(seconds=1))
    paused = make_schedule("paused", targets=whole(two))
    run("PauseTaskSchedule", pb.PauseTaskScheduleRequest(id=uid(paused.pk)))
    bring_up = pb.ScheduledOperation(bring_up=pb.BringUpRackRequest(target_spec=on_racks(one, two)))
    assert conflicts(bring_up) == ["z-old", "a-new"]
    assert conflicts(bring_up, exclude_schedule_id=uid(old.pk)) == ["a-new"]
    assert conflicts(bring_up, exclude_schedule_id=ABSENT) == ["z-old", "a-new"]
    assert conflicts(power_on(three)) == []
    with statements() as found:
        conflicts(bring_up)
    assert len(found) <= 2
    assert not any(sql.startswith(("INSERT", "UPDATE")) for sql in found)


def test_f164_what_is_wrong_is_said_in_this_order():
    """F-164: shape, rule, exclude, targets."""
    target, bad = "operation.power_on.target_spec", pb.UUID(id="x")
    unknown = pb.ScheduledOperation(power_on=pb.PowerOnRackRequest(target_spec=by_name("nowhere")))
    ruled = pb.ScheduledOperation(power_on=pb.PowerOnRackRequest(target_spec=by_name("nowhere"), rule_id=ABSENT))
    for operation, kind, field in (
        (None, InvalidInput, "operation"),
        (pb.ScheduledOperation(), InvalidInput, "operation"),
        (pb.ScheduledOperation(power_on=pb.PowerOnRackRequest()), InvalidInput, target),
        (ruled, InvalidInput, "operation.power_on.rule_id"),
        (unknown, InvalidInput, "exclude_schedule_id"),
    ):
        with pytest.raises(kind) as error:
            conflicts(operation, exclude_schedule_id=bad)
        assert error.value.field == field
    with pytest.raises(NotFound) as error:
        conflicts(unknown)
    assert error.value.field == target
