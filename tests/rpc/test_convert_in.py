"""Ids, instants, pages, enums and targets as the services take them."""

from __future__ import annotations

import uuid

import pytest
from google.protobuf.timestamp_pb2 import Timestamp

from flowsched.errors import InvalidInput, PreconditionFailed
from inventory.targets import ComponentTarget, DomainTarget, RackTarget
from rpc.convert_in import fields_named, optional_id, page_in, required_id, seconds_in
from rpc.convert_out import id_out
from rpc.proto import flow_pb2 as pb
from rpc.targets_in import targets_in
from tests.rpc.calls import ZERO

TEXT = "0f8fad5b-d9cb-469f-a165-70867728950e"
ID = uuid.UUID(TEXT)
BARE = pb.UUID(id=TEXT)


def spec_of(**kind):
    """An OperationTargetSpec of one kind with these targets."""
    [(name, targets)] = kind.items()
    wrapper = {"racks": pb.RackTargets, "components": pb.ComponentTargets, "nvl_domains": pb.NVLDomainTargets}[name]
    return pb.OperationTargetSpec(**{name: wrapper(targets=targets)})


def read(spec):
    return targets_in(pb.PowerOnRackRequest(target_spec=spec), "target_spec")


@pytest.mark.parametrize(
    "text",
    [TEXT, TEXT.replace("-", ""), f"{{{TEXT}}}", f"urn:uuid:{TEXT}", TEXT.upper(), f"URN:UUID:{TEXT.upper()}"],
)
def test_f113_an_id_is_read_in_every_form_and_written_in_one(text):
    """F-113."""
    found = required_id(pb.GetTaskScheduleRequest(id=pb.UUID(id=text)), "id")
    assert (found, id_out(found)) == (ID, BARE)
    assert id_out(None) is None


@pytest.mark.parametrize(
    "text", ["", " ", "x", TEXT[:-1], f"{TEXT} ", f"{{{TEXT}", "\x00", ZERO, ZERO.replace("-", "")]
)
def test_f121_an_id_that_is_none_names_its_field(text):
    """F-121, F-286: never taken for one that was not sent."""
    with pytest.raises(InvalidInput, match=r"^rack_id: ") as refused:
        optional_id(pb.ListTaskSchedulesRequest(rack_id=pb.UUID(id=text)), "rack_id")
    assert list(refused.value.fields) == ["rack_id"]
    with pytest.raises(InvalidInput) as refused:
        required_id(pb.RemoveTaskScheduleScopeRequest(scope_id=pb.UUID(id=text)), "scope_id")
    assert refused.value.field == "scope_id"


def test_f113_an_unset_id_is_absent_or_required():
    """F-113, F-121."""
    assert optional_id(pb.ListTaskSchedulesRequest(), "rack_id") is None
    with pytest.raises(InvalidInput, match=r"^schedule_id is required$") as refused:
        required_id(pb.AddTaskScheduleScopeRequest(), "schedule_id")
    assert refused.value.fields == {"schedule_id": "schedule_id is required"}


@pytest.mark.parametrize(
    ("seconds", "nanos"),
    [(-1, 0), (253_402_300_800, 0), (2**63 - 1, 0), (-(2**63), 0), (1, -1), (1, 10**9), (1, 2**31 - 1), (1, -(2**31))],
)
def test_f190_an_instant_out_of_range_is_refused(seconds, nanos):
    """F-190, F-125: a Timestamp holds any 64 bits."""
    request = pb.UpgradeFirmwareRequest(end_time=Timestamp(seconds=seconds, nanos=nanos))
    with pytest.raises(InvalidInput, match=r"^operation\.end_time must be a timestamp") as refused:
        seconds_in(request, "end_time", "operation.end_time")
    assert refused.value.field == "operation.end_time"


def test_f190_an_instant_is_kept_in_whole_seconds():
    """F-190."""
    request = pb.UpgradeFirmwareRequest(start_time=Timestamp(seconds=253_402_300_799, nanos=999_999_999))
    assert seconds_in(request, "start_time", "start_time") == 253_402_300_799
    assert seconds_in(request, "end_time", "end_time") is None


def test_f135_pages():
    """F-135: no pagination and limit 0 are no limit; negatives are refused."""
    assert page_in(pb.ListTaskSchedulesRequest()) == (0, None)
    assert page_in(pb.ListTaskSchedulesRequest(pagination=pb.Pagination())) == (0, None)
    assert page_in(pb.ListTaskSchedulesRequest(pagination=pb.Pagination(offset=3, limit=7))) == (3, 7)
    for field in ("offset", "limit"):
        with pytest.raises(InvalidInput, match=rf"pagination\.{field} must not be negative") as refused:
            page_in(pb.ListTaskSchedulesRequest(pagination=pb.Pagination(**{field: -1})))
        assert refused.value.field == f"pagination.{field}"


def test_errors_name_their_fields_as_the_wire_does():
    with pytest.raises(InvalidInput) as refused, fields_named({"name": "schedule.name"}):
        raise InvalidInput("two things", fields={"name": "taken", "other": "odd"})
    assert refused.value.fields == {"schedule.name": "taken", "other": "odd"}
    with pytest.raises(PreconditionFailed) as failed, fields_named({"name": "schedule.name"}):
        raise PreconditionFailed("no", field="name")
    assert failed.value.field == "schedule.name"


def test_f38_racks_by_each_identifier():
    """F-38, F-199, F-206: types in request order, each once."""
    types = [pb.COMPONENT_TYPE_UMS, pb.COMPONENT_TYPE_COMPUTE, pb.COMPONENT_TYPE_UMS]
    found = read(
        spec_of(
            racks=[
                pb.RackTarget(id=BARE),
                pb.RackTarget(name="r01", component_types=types),
                pb.RackTarget(external_id="e1"),
            ]
        )
    )
    assert found == [
        RackTarget(id=ID),
        RackTarget(name="r01", component_types=("UMS", "Compute")),
        RackTarget(external_id="e1"),
    ]


def test_f39_components_by_each_identifier():
    """F-39, F-40: an external reference of no type names no type."""
    cdu = pb.ExternalRef(type=pb.COMPONENT_TYPE_CDU, id="e1")
    found = read(
        spec_of(
            components=[
                pb.ComponentTarget(id=BARE),
                pb.ComponentTarget(external=cdu),
                pb.ComponentTarget(external=pb.ExternalRef(id="e2")),
            ]
        )
    )
    assert found == [
        ComponentTarget(id=ID),
        ComponentTarget(external_type="CDU", external_id="e1"),
        ComponentTarget(external_id="e2"),
    ]


def test_f41_domains_by_each_identifier():
    """F-41, F-203."""
    switch = [pb.COMPONENT_TYPE_NVSWITCH]
    found = read(
        spec_of(nvl_domains=[pb.NVLDomainTarget(id=BARE), pb.NVLDomainTarget(name="d", component_types=switch)])
    )
    assert found == [DomainTarget(id=ID), DomainTarget(name="d", component_types=("NVSwitch",))]


def test_f11_every_component_type_can_be_asked_for():
    """F-11."""
    numbers = [number for number in pb.ComponentType.values() if number]
    [target] = read(spec_of(racks=[pb.RackTarget(id=BARE, component_types=numbers)]))
    assert target.component_types == ("Compute", "NVSwitch", "PowerShelf", "ToRSwitch", "UMS", "CDU")


def test_f197_of_two_kinds_the_last_one_counts():
    """F-197: a oneof keeps the last on the wire."""
    data = (
        spec_of(racks=[pb.RackTarget(name="r01")]).SerializeToString()
        + spec_of(components=[pb.ComponentTarget(id=BARE)]).SerializeToString()
    )
    assert read(pb.OperationTargetSpec.FromString(data)) == [ComponentTarget(id=ID)]


RACKS = "target_spec.racks.targets"
GOOD = pb.RackTarget(name="r01")
BAD_SHAPES = [
    (pb.OperationTargetSpec(), "target_spec"),
    (spec_of(racks=[]), RACKS),
    (spec_of(components=[]), "target_spec.components.targets"),
    (spec_of(nvl_domains=[]), "target_spec.nvl_domains.targets"),
    (spec_of(racks=[GOOD, pb.RackTarget()]), f"{RACKS}[1]"),
    (spec_of(racks=[GOOD, pb.RackTarget(id=pb.UUID(id="x"))]), f"{RACKS}[1].id"),
    (spec_of(racks=[pb.RackTarget(id=pb.UUID())]), f"{RACKS}[0].id"),
    (spec_of(racks=[pb.RackTarget(id=pb.UUID(id=ZERO))]), f"{RACKS}[0].id"),
    (spec_of(racks=[pb.RackTarget(name="")]), f"{RACKS}[0].name"),
    (spec_of(racks=[pb.RackTarget(name="a\x00b")]), f"{RACKS}[0].name"),
    (spec_of(racks=[pb.RackTarget(external_id="")]), f"{RACKS}[0].external_id"),
    (spec_of(racks=[pb.RackTarget(name="r", component_types=[1, 0])]), f"{RACKS}[0].component_types[1]"),
    (spec_of(racks=[pb.RackTarget(name="r", component_types=[2, 2, 77])]), f"{RACKS}[0].component_types[2]"),
    (spec_of(components=[pb.ComponentTarget()]), "target_spec.components.targets[0]"),
    (spec_of(components=[pb.ComponentTarget(id=pb.UUID(id="x"))]), "target_spec.components.targets[0].id"),
    (
        spec_of(components=[pb.ComponentTarget(external=pb.ExternalRef(type=1))]),
        "target_spec.components.targets[0].external.id",
    ),
    (
        spec_of(components=[pb.ComponentTarget(external=pb.ExternalRef(type=-3, id="e"))]),
        "target_spec.components.targets[0].external.type",
    ),
    (spec_of(nvl_domains=[pb.NVLDomainTarget()]), "target_spec.nvl_domains.targets[0]"),
    (spec_of(nvl_domains=[pb.NVLDomainTarget(id=pb.UUID(id=ZERO))]), "target_spec.nvl_domains.targets[0].id"),
    (spec_of(nvl_domains=[pb.NVLDomainTarget(name="")]), "target_spec.nvl_domains.targets[0].name"),
    (
        spec_of(nvl_domains=[pb.NVLDomainTarget(name="d", component_types=[9])]),
        "target_spec.nvl_domains.targets[0].component_types[0]",
    ),
]


@pytest.mark.parametrize(("spec", "path"), BAD_SHAPES)
def test_f196_a_bad_shape_names_the_place(spec, path):
    """F-196."""
    with pytest.raises(InvalidInput) as refused:
        read(spec)
    assert list(refused.value.fields) == [path]
    assert path in refused.value.message


def test_f196_a_missing_spec_is_required():
    """F-196."""
    with pytest.raises(InvalidInput, match=r"^desired_scope is required$"):
        targets_in(pb.UpdateTaskScheduleScopeRequest(), "desired_scope")


def test_th11_more_targets_than_allowed_are_refused_before_any_is_read(settings):
    """TH-11: the first is bad and is not what is said."""
    settings.FLOWSCHED_MAX_SCOPES_PER_SCHEDULE = 3
    with pytest.raises(InvalidInput, match="4 targets are more than the limit of 3") as refused:
        read(spec_of(racks=[pb.RackTarget()] * 4))
    assert refused.value.field == "target_spec"
