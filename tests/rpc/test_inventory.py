"""Looking up racks and components over gRPC, adding components (F-174, F-177, F-178, F-118)."""

from __future__ import annotations

import uuid

import pytest

from flowsched import clock
from flowsched.errors import AlreadyExists, NotFound, PreconditionFailed
from inventory.models import Component
from rpc.proto import flow_pb2 as pb
from tests.factories import ComponentFactory, RackFactory
from tests.rpc.calls import ZERO, run, uid
from tests.rpc.devices import info, refused, tray
from tests.tasks_runs.helpers import make_task

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("method", ["GetRackInfoByID", "GetComponentInfoByID"])
def test_f174_f178_by_id(method):
    """F-174, F-178."""
    kind = pb.DESCRIPTOR.services_by_name["Flow"].methods_by_name[method].input_type._concrete_class
    for request in (kind(), kind(id=uid("")), kind(id=uid(ZERO)), kind(id=uid("x"))):
        assert refused(method, request).field == "id"
    refused(method, kind(id=uid(uuid.uuid4())), NotFound)


@pytest.mark.parametrize("method", ["GetRackInfoBySerial", "GetComponentInfoBySerial"])
def test_f174_f178_by_serial_number(method):
    kind = pb.DESCRIPTOR.services_by_name["Flow"].methods_by_name[method].input_type._concrete_class
    RackFactory(serial_number="one", manufacturer="a", components=1)
    for manufacturer in ("a", "b"):
        RackFactory(serial_number="two", manufacturer=manufacturer)
        ComponentFactory(serial_number="two", manufacturer=manufacturer)
    ComponentFactory(serial_number="one", manufacturer="a")

    def asked(serial_number, manufacturer=""):
        return kind(serial_info=pb.DeviceSerialInfo(serial_number=serial_number, manufacturer=manufacturer))

    thing = "rack" if "Rack" in method else "component"
    assert getattr(run(method, asked("one")), thing).info.serial_number == "one"
    assert getattr(run(method, asked("two", "b")), thing).info.manufacturer == "b"
    assert refused(method, kind()).field == "serial_info"
    assert refused(method, asked("")).field == "serial_info.serial_number"
    assert refused(method, asked("x" * 256)).field == "serial_info.serial_number"
    refused(method, asked("three"), NotFound)
    refused(method, asked("one", "b"), NotFound)
    refused(method, asked("two"), PreconditionFailed)


def test_f174_a_removed_rack_is_not_there():
    gone = RackFactory(deleted_at=clock.now())
    refused("GetRackInfoByID", pb.GetRackInfoByIDRequest(id=uid(gone.id)), NotFound)


def test_f178_a_component_with_its_rack():
    found = RackFactory(components=1, external_id="r-ext")
    part = found.components.get()

    def asked(**options):
        return run("GetComponentInfoByID", pb.GetComponentInfoByIDRequest(id=uid(part.id), **options))

    assert not asked().HasField("rack")
    answer = asked(with_rack=True)
    assert (answer.component.rack_id, answer.rack.info.id) == (uid(found.id), uid(found.id))
    assert answer.component.rack_external_id == "r-ext"
    assert not answer.rack.components
    Component.objects.update(rack=None)
    assert not asked(with_rack=True).HasField("rack")
    assert not asked().component.HasField("rack_id")
    Component.objects.update(rack=RackFactory(deleted_at=clock.now()))
    assert not asked(with_rack=True).HasField("rack")


@pytest.mark.parametrize("state", ["", "on", "off", "disabled", "unknown"])
def test_f118_power_states_are_words(state):
    """F-118."""
    part = ComponentFactory(power_state=state)
    answer = run("GetComponentInfoByID", pb.GetComponentInfoByIDRequest(id=uid(part.id)))
    assert answer.component.power_state == state


def test_f29_the_tasks_of_a_rack_are_counted():
    one, two = RackFactory(components=1), RackFactory(components=1)
    for status in ("waiting", "waiting", "pending", "running", "running", "running"):
        make_task(one, status=status, job=False)
    make_task(one, status="completed", finished_at=clock.now(), job=False)
    racks = {row.info.id.id: row for row in run("GetListOfRacks", pb.GetListOfRacksRequest()).racks}
    assert racks[str(one.id)].task_stats == pb.TaskStats(
        waiting_task_count=2, pending_task_count=1, running_task_count=3
    )
    assert racks[str(two.id)].HasField("task_stats")
    assert racks[str(two.id)].task_stats == pb.TaskStats()


# Add a component ------------------------------------------------------------------------------------------------


def add(component: pb.Component) -> pb.Component:
    return run("AddComponent", pb.AddComponentRequest(component=component)).component


def test_f177_into_a_rack_into_none_with_and_without_an_id():
    home = RackFactory()
    bmc = pb.BMCInfo(type=pb.BMC_TYPE_DPU, mac_address="AA-BB-CC-00-00-01", ip_address="10.0.0.1")
    made = add(tray(2, rack_id=uid(home.id), bmcs=[bmc], type=pb.COMPONENT_TYPE_NVSWITCH))
    assert (made.info.id, made.rack_id, made.type) == (uid(uuid.UUID(int=2)), uid(home.id), pb.COMPONENT_TYPE_NVSWITCH)
    assert list(made.bmcs) == [pb.BMCInfo(type=2, mac_address="aa:bb:cc:00:00:01", ip_address="10.0.0.1")]
    made = add(tray(3, info=info(3, id=None)))
    assert uuid.UUID(made.info.id.id).version == 4
    assert not made.HasField("rack_id")
    assert Component.objects.count() == 2


BAD_COMPONENTS = [
    (pb.AddComponentRequest(), "component"),
    (pb.AddComponentRequest(component=pb.Component(type=1)), "component.info"),
    (pb.AddComponentRequest(component=tray(2, type=0)), "component.type"),
    (pb.AddComponentRequest(component=tray(2, rack_id=uid(ZERO))), "component.rack_id"),
    (pb.AddComponentRequest(component=tray(2, info=info(2, id=uid("x")))), "component.info.id"),
]


@pytest.mark.parametrize(("request_", "field"), BAD_COMPONENTS, ids=[field for _, field in BAD_COMPONENTS])
def test_f177_what_is_wrong_with_a_component_is_named(request_, field):
    assert field in refused("AddComponent", request_).fields


def test_f177_no_such_rack_and_what_is_there_already(settings):
    refused("AddComponent", pb.AddComponentRequest(component=tray(2, rack_id=uid(uuid.uuid4()))), NotFound)
    add(tray(2))
    refused("AddComponent", pb.AddComponentRequest(component=tray(2)), AlreadyExists)
    refused("AddComponent", pb.AddComponentRequest(component=tray(3, info=info(2, id=None))), AlreadyExists)
    settings.FLOWSCHED_MAX_COMPONENTS_PER_RACK = 1
    full = RackFactory(components=1)
    component = tray(4, rack_id=uid(full.id))
    refused("AddComponent", pb.AddComponentRequest(component=component), PreconditionFailed)
