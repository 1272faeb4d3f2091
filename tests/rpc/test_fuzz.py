"""Whatever bytes come, a method answers or refuses in our own words; what it refuses changes nothing (TH-3, TH-25).

Each request is first one of our making, so that most of it is sound, and then damaged.
"""

from __future__ import annotations

from uuid import uuid4

import pytest
from django.db import connection, transaction
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.field_mask_pb2 import FieldMask
from google.protobuf.message import DecodeError, Message
from google.protobuf.timestamp_pb2 import Timestamp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from flowsched.errors import FlowschedError, InvalidInput
from inventory.models import Bmc, Component, NVLDomain, Rack
from rpc.proto import flow_pb2 as pb
from schedules.models import TaskSchedule
from scopes.models import TaskScheduleScope
from tasks.models import Task
from tests.factories import DomainFactory
from tests.rpc.calls import METHODS, ZERO, config, new_call, on_racks, power_on, run, uid
from tests.schedules.helpers import make_component, make_racks, make_schedule, whole
from tests.tasks_runs.helpers import make_task

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
    one, two, busy = make_racks(3)
    make_component(one)
    make_component(busy)
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
            if name.removesuffix("TaskSchedule") in ("Get", "Pause", "Resume", "Delete", "Trigger")
        },
        **acting(one),
        **on_tasks(busy),
        **on_inventory(one, two),
    }


def acting(rack):
    """Operations that act at once."""
    options = pb.QueueOptions(conflict_strategy=1, queue_timeout_seconds=60)
    target = on_racks(rack, types=[1])
    window = {"start_time": Timestamp(seconds=1), "end_time": Timestamp(seconds=2)}
    queued = {"target_spec": target, "description": "d", "queue_options": options}
    return {
        "PowerOnRack": pb.PowerOnRackRequest(**queued),
        "PowerOffRack": pb.PowerOffRackRequest(**queued, forced=True),
        "PowerResetRack": pb.PowerResetRackRequest(**queued, forced=True),
        "ACPowerCycleRack": pb.ACPowerCycleRackRequest(**queued),
        "BringUpRack": pb.BringUpRackRequest(target_spec=target, description="d"),
        "IngestRack": pb.IngestRackRequest(target_spec=target, description="d"),
        "UpgradeFirmware": pb.UpgradeFirmwareRequest(**queued, **window, target_version="1", sub_targets=["bmc"]),
    }


def on_tasks(rack):
    task = uid(make_task(rack, status="waiting", job=False).pk)
    return {
        "ListTasks": pb.ListTasksRequest(
            rack_id=uid(rack.pk), component_id=uid(rack.components.get().pk), pagination=pb.Pagination(limit=5)
        ),
        "GetTasksByIDs": pb.GetTasksByIDsRequest(task_ids=[task, task]),
        "CancelTask": pb.CancelTaskRequest(task_id=task),
    }


def on_inventory(one, two):
    """The rest: what is new, what is there, filters and orders."""
    page = pb.Pagination(offset=1, limit=5)
    info = pb.StringQueryInfo(patterns=["a%", "b"], is_wildcard=True, use_or=True)
    domain = DomainFactory()
    named = pb.Identifier(id=uid(domain.pk), name=domain.name)
    racks = [pb.Identifier(id=uid(one.pk), name=one.name), pb.Identifier(name=two.name)]
    serial = pb.DeviceSerialInfo(manufacturer=one.manufacturer, serial_number=one.serial_number)
    part = one.components.get()
    part_serial = pb.DeviceSerialInfo(manufacturer=part.manufacturer, serial_number=part.serial_number)
    new = pb.Component(
        type=pb.COMPONENT_TYPE_COMPUTE,
        info=pb.DeviceInfo(
            id=uid(uuid4()), name="c", manufacturer="m", serial_number="new", model="x", description="d"
        ),
        firmware_version="1",
        position=pb.RackPosition(slot_id=1, tray_idx=2, host_id=3),
        bmcs=[pb.BMCInfo(type=1, mac_address="aa:bb:cc:dd:ee:01", ip_address="10.0.0.1")],
        component_id="ext",
    )
    loose = pb.Component(rack_id=uid(two.pk))
    loose.MergeFrom(new)
    return {
        "CreateExpectedRack": pb.CreateExpectedRackRequest(
            rack=pb.Rack(
                info=pb.DeviceInfo(id=uid(uuid4()), name="new", serial_number="new", description="d"),
                location=pb.Location(region="r", datacenter="d", room="o", position="p"),
                components=[new],
                nvl_domain_ids=[uid(domain.pk)],
                external_id="ext",
            )
        ),
        "GetRackInfoByID": pb.GetRackInfoByIDRequest(id=uid(one.pk), with_components=True),
        "GetRackInfoBySerial": pb.GetRackInfoBySerialRequest(serial_info=serial, with_components=True),
        "GetListOfRacks": pb.GetListOfRacksRequest(
            filters=[pb.Filter(rack_field=1, query_info=info)],
            with_components=True,
            pagination=page,
            order_by=pb.OrderBy(rack_field=2, direction="DESC"),
        ),
        "AddComponent": pb.AddComponentRequest(component=loose),
        "GetComponentInfoByID": pb.GetComponentInfoByIDRequest(id=uid(part.pk), with_rack=True),
        "GetComponentInfoBySerial": pb.GetComponentInfoBySerialRequest(serial_info=part_serial, with_rack=True),
        "GetComponents": pb.GetComponentsRequest(
            target_spec=on_racks(one, types=[1]),
            filters=[
                pb.Filter(component_field=1, query_info=info),
                pb.Filter(component_field=4, query_info=pb.StringQueryInfo(patterns=["compute"])),
            ],
            pagination=page,
            order_by=pb.OrderBy(component_field=4, direction="ASC"),
        ),
        "CreateNVLDomain": pb.CreateNVLDomainRequest(
            nvl_domain=pb.NVLDomain(identifier=pb.Identifier(id=uid(uuid4()), name="new"))
        ),
        "AttachRacksToNVLDomain": pb.AttachRacksToNVLDomainRequest(nvl_domain_identifier=named, rack_identifiers=racks),
        "DetachRacksFromNVLDomain": pb.DetachRacksFromNVLDomainRequest(rack_identifiers=racks),
        "GetListOfNVLDomains": pb.GetListOfNVLDomainsRequest(info=info, pagination=page),
        "GetRacksForNVLDomain": pb.GetRacksForNVLDomainRequest(nvl_domain_identifier=named),
        "Version": pb.VersionRequest(),
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


CHANGED = (TaskSchedule, TaskScheduleScope, Task, Rack, Component, Bmc, NVLDomain)


def state():
    """Every row that a method may change, but for the audit trail."""
    return [list(model.objects.order_by("pk").values()) for model in CHANGED]


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
    raw = bytearray(requests[method].SerializeToString() or b"\x00")
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
    assert tried or method == "Version"


def test_th11_ten_thousand_targets_are_refused_by_their_number(requests):
    """TH-11."""
    target = pb.RackTarget(name="r01")
    spec = pb.OperationTargetSpec(racks=pb.RackTargets(targets=[target] * 10_000))
    schedule = requests["AddTaskScheduleScope"].schedule_id
    with pytest.raises(InvalidInput, match="10000 targets are more than the limit of 5000"):
        run("AddTaskScheduleScope", pb.AddTaskScheduleScopeRequest(schedule_id=schedule, target_spec=spec))
