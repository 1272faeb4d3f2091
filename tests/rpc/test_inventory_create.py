"""Creating racks over gRPC (F-173, F-269…F-271)."""

from __future__ import annotations

import json
import uuid

import pytest

from audit.models import AuditEntry
from flowsched.errors import AlreadyExists, NotFound
from inventory.models import Component, Rack
from rpc.proto import flow_pb2 as pb
from tests.factories import DomainFactory
from tests.inventory.conftest import EXAMPLE
from tests.rpc.calls import ZERO, run, uid
from tests.rpc.devices import create, get, info, rack, refused, tray

pytestmark = pytest.mark.django_db


BMCS = {"host": pb.BMC_TYPE_HOST, "dpu": pb.BMC_TYPE_DPU}


def from_file(value: dict) -> pb.Rack:
    """The example rack as a message."""
    components = []
    for one in value["components"]:
        bmcs = [
            pb.BMCInfo(
                type={"host": 1, "dpu": 2}[bmc["type"]], mac_address=bmc["mac"], ip_address=bmc.get("ip") or None
            )
            for bmc in one["bmcs"]
        ]
        position = {name.replace("index", "idx"): number for name, number in one["position"].items()}
        number = getattr(pb, f"COMPONENT_TYPE_{one['type'].upper().replace('NVL', 'NV')}")
        components.append(
            pb.Component(type=number, info=device(one["info"]), bmcs=bmcs, position=pb.RackPosition(**position))
        )
    return pb.Rack(info=device(value["info"]), location=pb.Location(**value["location"]), components=components)


def device(value: dict) -> pb.DeviceInfo:
    return pb.DeviceInfo(**{**value, "id": uid(value["id"])})


def test_f173_the_example_rack_comes_back_as_it_was_sent():
    """F-173, F-269…F-271: components by type and place, everything else word for word."""
    sent = from_file(json.loads(EXAMPLE.read_text()))
    assert create(sent).id == sent.info.id
    back = run("GetRackInfoByID", pb.GetRackInfoByIDRequest(id=sent.info.id, with_components=True)).rack
    assert (back.info, back.location) == (sent.info, sent.location)
    by_id = {component.info.id.id: component for component in sent.components}
    assert len(by_id) == len(back.components) > 5
    for component in back.components:
        was = by_id[component.info.id.id]
        assert component.rack_id == sent.info.id
        component.ClearField("rack_id")
        for field in ("model", "description"):  # an empty one is not set in answers
            if not getattr(was.info, field):
                was.info.ClearField(field)
        assert sorted(component.bmcs, key=str) == sorted(was.bmcs, key=str)
        component.ClearField("bmcs")
        was.ClearField("bmcs")
        assert component == was
    entry = AuditEntry.objects.get()
    assert (entry.verb, entry.object_name, entry.door, entry.actor) == ("rack.create", "r01", "grpc", "alice")


def test_f269_what_nobody_said_stays_unset_or_minus_one():
    create(rack(tray(2)))
    found = get()
    assert found.location == pb.Location()
    assert not found.info.HasField("model")
    assert not found.nvl_domain_ids
    assert found.operation_status == pb.PHASE_UNKNOWN
    [component] = found.components
    assert component.position == pb.RackPosition(slot_id=-1, tray_idx=-1, host_id=-1)
    assert component.power_state == ""
    assert not component.HasField("nvl_domain_id")
    assert not component.HasField("status")
    assert not get(with_components=False).components


def test_f269_where_it_stands_is_stored_as_imports_store_it():
    place = pb.Location(region="r", datacenter="d", room="o", position="p")
    create(rack(location=place))
    assert Rack.objects.get().location == {"region": "r", "data_center": "d", "room": "o", "position": "p"}
    assert get().location == place


def test_f173_external_ids_and_the_domain_it_is_to_be_in():
    domain = DomainFactory()
    component = tray(2, component_id="c-ext", firmware_version="7", position=pb.RackPosition(slot_id=3))
    create(rack(component, external_id="r-ext", nvl_domain_ids=[uid(domain.id)]))
    found = get()
    assert (found.external_id, list(found.nvl_domain_ids)) == ("r-ext", [uid(domain.id)])
    [back] = found.components
    assert (back.component_id, back.firmware_version, back.rack_external_id) == ("c-ext", "7", "r-ext")
    assert back.nvl_domain_id == uid(domain.id)
    assert back.position == pb.RackPosition(slot_id=3, tray_idx=0, host_id=0)


def test_what_only_answers_hold_is_passed_over():
    """A client may send back what it was given."""
    create(rack(tray(2)))
    Rack.objects.all().update(name="other", serial_number="other")
    sent = get()
    Component.objects.all().delete()
    Rack.objects.all().delete()
    sent.components[0].power_state = "on"
    sent.components[0].leak_status = pb.LEAK_STATUS_DETECTED
    sent.operation_status = pb.PHASE_READY
    create(sent)
    assert get().components[0].power_state == ""


BAD_RACKS = [
    (pb.CreateExpectedRackRequest(), "rack"),
    (pb.CreateExpectedRackRequest(rack=pb.Rack()), "rack.info"),
    (pb.CreateExpectedRackRequest(rack=rack(info=info(1, id=None))), "rack.info.id"),
    (pb.CreateExpectedRackRequest(rack=rack(info=info(1, id=uid(ZERO)))), "rack.info.id"),
    (pb.CreateExpectedRackRequest(rack=rack(info=info(1, name=""))), "rack.info.name"),
    (pb.CreateExpectedRackRequest(rack=rack(info=info(1, serial_number=""))), "rack.info.serial_number"),
    (pb.CreateExpectedRackRequest(rack=rack(info=info(1, name="x" * 256))), "rack.info.name"),
    (pb.CreateExpectedRackRequest(rack=rack(external_id=" x")), "rack.external_id"),
    (pb.CreateExpectedRackRequest(rack=rack(location=pb.Location(room="x" * 256))), "rack.location.room"),
    (pb.CreateExpectedRackRequest(rack=rack(nvl_domain_ids=[uid("x")])), "rack.nvl_domain_ids[0]"),
    (pb.CreateExpectedRackRequest(rack=rack(nvl_domain_ids=[uid(uuid.UUID(int=1))] * 2)), "rack.nvl_domain_ids"),
    (pb.CreateExpectedRackRequest(rack=rack(tray(2, info=info(2, id=None)))), "rack.components[0].info.id"),
    (pb.CreateExpectedRackRequest(rack=rack(tray(2), tray(2))), "rack.components[1].info.id"),
    (pb.CreateExpectedRackRequest(rack=rack(tray(2), tray(3, type=0))), "rack.components[1].type"),
    (pb.CreateExpectedRackRequest(rack=rack(tray(2, type=99))), "rack.components[0].type"),
    (
        pb.CreateExpectedRackRequest(rack=rack(tray(2, position=pb.RackPosition(tray_idx=-2)))),
        "rack.components[0].position.tray_idx",
    ),
    (
        pb.CreateExpectedRackRequest(rack=rack(tray(2, bmcs=[pb.BMCInfo(mac_address="x")]))),
        "rack.components[0].bmcs[0].mac_address",
    ),
    (
        pb.CreateExpectedRackRequest(
            rack=rack(tray(2, bmcs=[pb.BMCInfo(mac_address="aa:bb:cc:dd:ee:ff", ip_address="300.1.1.1")]))
        ),
        "rack.components[0].bmcs[0].ip_address",
    ),
    (
        pb.CreateExpectedRackRequest(rack=rack(tray(2, bmcs=[pb.BMCInfo(type=7, mac_address="aa:bb:cc:dd:ee:ff")]))),
        "rack.components[0].bmcs[0].type",
    ),
    (
        pb.CreateExpectedRackRequest(rack=rack(tray(2, rack_id=uid(uuid.UUID(int=9))))),
        "rack.components[0].rack_id",
    ),
]


@pytest.mark.parametrize(("request_", "field"), BAD_RACKS, ids=[field for _, field in BAD_RACKS])
def test_f173_what_is_wrong_with_a_rack_is_named(request_, field):
    """F-173, F-121."""
    assert field in refused("CreateExpectedRack", request_).fields


def test_f173_a_rack_in_a_domain_that_is_not_there():
    refused("CreateExpectedRack", pb.CreateExpectedRackRequest(rack=rack(nvl_domain_ids=[uid(uuid.uuid4())])), NotFound)


@pytest.mark.parametrize(
    "change",
    [{}, {"name": "n", "serial_number": "s"}, {"id": uid(uuid.UUID(int=8)), "name": "n"}, {"id": uid(uuid.UUID(int=8)),
     "serial_number": "s"}],
    ids=["all", "id", "serial", "name"],
)  # fmt: skip
def test_f173_what_is_there_already(change):
    """F-173: ALREADY_EXISTS, which Flow meant to answer."""
    create(rack())
    again = refused(
        "CreateExpectedRack", pb.CreateExpectedRackRequest(rack=rack(info=info(1, **change))), AlreadyExists
    )
    assert "taken by rack 'thing-1'" in again.message
