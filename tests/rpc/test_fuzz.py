"""Whatever bytes come, a method answers or refuses in our own words; what it refuses changes nothing (TH-3, TH-25).

Each request is first one of our making, so that most of it is sound, and then damaged.
"""

from __future__ import annotations

import pytest
from django.db import connection, transaction
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.field_mask_pb2 import FieldMask
from google.protobuf.message import DecodeError, Message
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from flowsched.errors import FlowschedError, InvalidInput
from rpc.proto import flow_pb2 as pb
from schedules.models import TaskSchedule
from scopes.models import TaskScheduleScope
from tests.rpc.calls import METHODS, ZERO, config, new_call, on_racks, power_on, run, uid
from tests.schedules.helpers import make_component, make_racks, make_schedule, whole

pytestmark = pytest.mark.django_db
REQUESTS = {name: pb.DESCRIPTOR.services_by_name["Flow"].methods_by_name[name].input_type.name for name in METHODS}
TEXTS = st.sampled_from(
    ["", "\x00", "a\x00b", " ", "x" * 300, "\n", "\u202e", "*", "schedule", ZERO, "{", "urn:uuid:", "../../etc/passwd",
     "'; DROP TABLE task; --", "0 0 30 2 *", "1h", "-1h", "2026-13-01T00:00:00Z"]
)  # fmt: skip
NUMBERS = st.sampled_from([0, 1, 2, 3, 9, -1, 2**31 - 1, -(2**31)])
EXAMPLES = settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


@pytest.fixture
def requests():
    """A sound request of each method."""
    one, two = make_racks(2)
    make_component(one)
    schedule = uid(make_schedule(targets=whole(one, two)).pk)
    scope = uid(TaskScheduleScope.objects.first().pk)
    firmware = pb.ScheduledOperation(
        upgrade_firmware=pb.UpgradeFirmwareRequest(
            target_spec=on_racks(one, types=[1]), target_version="1", sub_targets=["bmc"], queue_options={}
        )
    )
    mask = FieldMask(paths=["schedule.name", "schedule.spec", "schedule.overlap_policy", "schedule.spec.timezone"])
    by_name = pb.OperationTargetSpec(racks=pb.RackTargets(targets=[pb.RackTarget(name=two.name, component_types=[1])]))
    page = pb.Pagination(limit=5)
    return {
        "CreateTaskSchedule": pb.CreateTaskScheduleRequest(schedule=config(), operation=firmware),
        "ListTaskSchedules": pb.ListTaskSchedulesRequest(rack_id=uid(one.pk), pagination=page, enabled_only=True),
        "UpdateTaskSchedule": pb.UpdateTaskScheduleRequest(id=schedule, schedule=config(), update_mask=mask),
        "AddTaskScheduleScope": pb.AddTaskScheduleScopeRequest(schedule_id=schedule, target_spec=by_name),
        "UpdateTaskScheduleScope": pb.UpdateTaskScheduleScopeRequest(schedule_id=schedule, desired_scope=by_name),
        "RemoveTaskScheduleScope": pb.RemoveTaskScheduleScopeRequest(scope_id=scope),
        "ListTaskScheduleScopes": pb.ListTaskScheduleScopesRequest(schedule_id=schedule),
        "CheckScheduleConflicts": pb.CheckScheduleConflictsRequest(
            operation=power_on(one), exclude_schedule_id=schedule
        ),
        **{
            name: getattr(pb, REQUESTS[name])(id=schedule)
            for name in METHODS
            if name.split("Task")[0] in ("Get", "Pause", "Resume", "Delete", "Trigger")
        },
    }


def leaves(message: Message):
    """(message, field) of every field that is set, at any depth."""
    for field, value in message.ListFields():
        yield message, field
        if field.type == FieldDescriptor.TYPE_MESSAGE:
            for inner in value if field.is_repeated else [value]:
                yield from leaves(inner)


def damage(data, message: Message) -> None:
    """Change one field that is set: another value, or none."""
    owner, field = data.draw(st.sampled_from(list(leaves(message))))
    owner.ClearField(field.name)
    if field.type == FieldDescriptor.TYPE_STRING:
        value = data.draw(TEXTS)
    elif field.type in (FieldDescriptor.TYPE_ENUM, FieldDescriptor.TYPE_INT32):
        value = data.draw(NUMBERS)
    else:
        return
    if field.is_repeated:
        getattr(owner, field.name).extend([value] * data.draw(st.sampled_from([1, 2, 17, 101])))
    else:
        setattr(owner, field.name, value)


def state():
    """Every row that a method may change, but for the audit trail."""
    return list(TaskSchedule.objects.order_by("id").values()), list(TaskScheduleScope.objects.order_by("id").values())


def attempt(method, request):
    """Run it and undo it: refused in our words with nothing changed, or done."""
    with transaction.atomic():
        before = state()
        try:
            run(method, request, new_call())
            refused = None
        except FlowschedError as error:
            refused = error
        assert refused is None or (refused.message and state() == before)
        assert not connection.needs_rollback
        transaction.set_rollback(True)


def test_every_method_has_a_sound_request(requests):
    """What follows would prove little if these were refused."""
    assert requests.keys() == METHODS.keys()
    for method, request in requests.items():
        with transaction.atomic():
            run(method, request)
            transaction.set_rollback(True)


@pytest.mark.parametrize("method", METHODS)
@EXAMPLES
@given(data=st.data())
def test_th25_damaged_requests_are_answered_or_refused(requests, method, data):
    """TH-25, TH-3, F-121: never a fault of ours, never half a change."""
    request = type(requests[method])()
    request.CopyFrom(requests[method])
    for _ in range(data.draw(st.integers(1, 3))):
        if request.ByteSize():
            damage(data, request)
    attempt(method, request)


@pytest.mark.parametrize("method", METHODS)
@EXAMPLES
@given(data=st.data())
def test_th12_damaged_bytes_are_answered_or_refused(requests, method, data):
    """TH-12: whatever still is a message."""
    raw = bytearray(requests[method].SerializeToString())
    for _ in range(data.draw(st.integers(1, 4))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    try:
        request = type(requests[method]).FromString(bytes(raw))
    except DecodeError:
        return
    attempt(method, request)


@pytest.mark.parametrize("method", METHODS)
def test_th10_no_text_with_a_nul_reaches_the_database(requests, method):
    """TH-10: PostgreSQL would refuse it half way through; a description that is ignored (F-120) is the exception."""
    tried = 0
    for place in range(len(list(leaves(requests[method])))):
        request = type(requests[method])()
        request.CopyFrom(requests[method])
        owner, field = list(leaves(request))[place]
        if field.type != FieldDescriptor.TYPE_STRING:
            continue
        tried += 1
        owner.ClearField(field.name)
        if field.is_repeated:
            getattr(owner, field.name).append("a\x00b")
        else:
            setattr(owner, field.name, "a\x00b")
        with pytest.raises(InvalidInput):
            run(method, request)
    assert tried


def test_th11_ten_thousand_targets_are_refused_by_their_number(requests):
    """TH-11."""
    target = pb.RackTarget(name="r01")
    spec = pb.OperationTargetSpec(racks=pb.RackTargets(targets=[target] * 10_000))
    schedule = requests["AddTaskScheduleScope"].schedule_id
    with pytest.raises(InvalidInput, match="10000 targets are more than the limit of 5000"):
        run("AddTaskScheduleScope", pb.AddTaskScheduleScopeRequest(schedule_id=schedule, target_spec=spec))
