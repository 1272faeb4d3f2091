"""Racks and components as messages, and calls that must be refused."""

from __future__ import annotations

import uuid

import pytest

from flowsched.errors import InvalidInput
from inventory.models import Component, NVLDomain, Rack
from rpc.proto import flow_pb2 as pb
from tests.rpc.calls import run, uid


def info(number: int, **fields) -> pb.DeviceInfo:
    values = {"id": uid(uuid.UUID(int=number)), "name": f"thing-{number}", "serial_number": f"S{number}", **fields}
    return pb.DeviceInfo(**{name: value for name, value in values.items() if value is not None})


def tray(number: int, **fields) -> pb.Component:
    return pb.Component(**{"type": pb.COMPONENT_TYPE_COMPUTE, "info": info(number), **fields})


def rack(*components: pb.Component, **fields) -> pb.Rack:
    return pb.Rack(**{"info": info(1), "components": components, **fields})


def create(given: pb.Rack) -> pb.CreateExpectedRackResponse:
    return run("CreateExpectedRack", pb.CreateExpectedRackRequest(rack=given))


def get(number: int = 1, *, with_components: bool = True) -> pb.Rack:
    request = pb.GetRackInfoByIDRequest(id=uid(uuid.UUID(int=number)), with_components=with_components)
    return run("GetRackInfoByID", request).rack


def refused(method, request, kind=InvalidInput):
    before = Rack.objects.count(), Component.objects.count(), NVLDomain.objects.count()
    with pytest.raises(kind) as found:
        run(method, request)
    assert (Rack.objects.count(), Component.objects.count(), NVLDomain.objects.count()) == before
    return found.value
