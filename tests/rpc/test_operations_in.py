"""Operation messages, scheduled or direct, as operations, targets and queueing."""

from __future__ import annotations

from datetime import timedelta

import pytest
from google.protobuf.timestamp_pb2 import Timestamp

from flowsched.errors import InvalidInput
from inventory.targets import RackTarget
from rpc.operations_in import operation_in, scheduled_in
from rpc.proto import flow_pb2 as pb
from tests.rpc.calls import ZERO

SPEC = pb.OperationTargetSpec(racks=pb.RackTargets(targets=[pb.RackTarget(name="r01")]))
POWER, BRING_UP, FIRMWARE = "power_control", "bring_up", "firmware_control"
VARIANTS = {
    "power_on": pb.PowerOnRackRequest,
    "power_off": pb.PowerOffRackRequest,
    "power_reset": pb.PowerResetRackRequest,
    "bring_up": pb.BringUpRackRequest,
    "ingest": pb.IngestRackRequest,
    "upgrade_firmware": pb.UpgradeFirmwareRequest,
}


def scheduled(variant, **fields):
    message = VARIANTS[variant](target_spec=SPEC, **fields)
    operation = pb.ScheduledOperation(**{variant: message})
    return scheduled_in(pb.CreateTaskScheduleRequest(operation=operation))


@pytest.mark.parametrize(
    ("variant", "fields", "stored"),
    [
        ("power_on", {}, (POWER, "power_on", {"operation": 1, "forced": False})),
        ("power_off", {}, (POWER, "power_off", {"operation": 3, "forced": False})),
        ("power_off", {"forced": True}, (POWER, "force_power_off", {"operation": 4, "forced": True})),
        ("power_reset", {}, (POWER, "restart", {"operation": 5, "forced": False})),
        ("power_reset", {"forced": True}, (POWER, "force_restart", {"operation": 6, "forced": True})),
        ("bring_up", {}, (BRING_UP, "bring_up", {})),
        ("ingest", {}, (BRING_UP, "ingest", {"op_code": "ingest"})),
        ("upgrade_firmware", {}, (FIRMWARE, "upgrade", {"operation": 1})),
        (
            "power_on",
            {"override_readiness_check": True},
            (POWER, "power_on", {"operation": 1, "forced": False, "override_readiness_check": True}),
        ),
        (
            "bring_up",
            {"override_readiness_check": True},
            (BRING_UP, "bring_up", {"override_readiness_check": True}),
        ),
        (
            "upgrade_firmware",
            {
                "target_version": "1.2",
                "start_time": Timestamp(seconds=100, nanos=5),
                "end_time": Timestamp(seconds=200),
                "sub_targets": ["bmc", "bios"],
                "override_readiness_check": True,
                "override_version_check": True,
            },
            (
                FIRMWARE,
                "upgrade",
                {
                    "operation": 1,
                    "target_version": "1.2",
                    "start_time": 100,
                    "end_time": 200,
                    "sub_targets": ["bmc", "bios"],
                    "override_readiness_check": True,
                    "override_version_check": True,
                },
            ),
        ),
        # Zero, empty and false are what an unset field looks like.
        (
            "upgrade_firmware",
            {"target_version": "", "start_time": Timestamp(), "override_version_check": False},
            (FIRMWARE, "upgrade", {"operation": 1}),
        ),
    ],
)
def test_f185_each_variant_as_it_is_stored(variant, fields, stored):
    """F-185…F-191, F-167, D-18."""
    found = scheduled(variant, **fields)
    assert (found.operation.type, found.operation.code, dict(found.operation.information)) == stored
    assert found.targets == [RackTarget(name="r01")]


@pytest.mark.parametrize("variant", VARIANTS)
def test_f120_the_description_of_a_scheduled_operation_is_ignored(variant):
    """F-120."""
    assert scheduled(variant, description="because \x00") == scheduled(variant)


def test_f167_an_ac_power_cycle_is_a_cold_reset():
    """F-167, F-188."""
    found = operation_in(pb.ACPowerCycleRackRequest(target_spec=SPEC, override_readiness_check=True)).operation
    information = {"operation": 8, "forced": False, "override_readiness_check": True}
    assert (found.type, found.code, found.information) == (POWER, "cold_reset", information)
    plain = operation_in(pb.ACPowerCycleRackRequest(target_spec=SPEC)).operation
    assert plain.information == {"operation": 8, "forced": False}


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("rule", ["0f8fad5b-d9cb-469f-a165-70867728950e", ZERO, "x", ""])
def test_d18_a_rule_is_refused(variant, rule):
    """D-18, F-121, F-285: a rule that is named and not applied would be worse."""
    with pytest.raises(InvalidInput, match="leave rule_id out") as refused:
        scheduled(variant, rule_id=pb.UUID(id=rule))
    assert list(refused.value.fields) == [f"operation.{variant}.rule_id"]
    with pytest.raises(InvalidInput) as refused:
        operation_in(VARIANTS[variant](target_spec=SPEC, rule_id=pb.UUID(id=rule)))
    assert refused.value.field == "rule_id"


@pytest.mark.parametrize(
    "secret",
    [
        pb.FirmwareAuthenticationData(),
        pb.FirmwareAuthenticationData(shared="s3cret"),
        pb.FirmwareAuthenticationData(per_component=pb.PerComponentFirmwareAuthenticationData(compute="s3cret")),
    ],
)
def test_d18_authentication_data_is_refused_and_not_repeated(secret):
    """D-18, TH-19."""
    with pytest.raises(InvalidInput, match="configure the credentials") as refused:
        scheduled("upgrade_firmware", authentication_data=secret)
    assert refused.value.field == "operation.upgrade_firmware.authentication_data"
    assert "s3cret" not in refused.value.message


def test_f313_filters_of_ingest_are_refused():
    """F-313, F-168: they would not be applied."""
    with pytest.raises(InvalidInput, match="takes no filters") as refused:
        scheduled("ingest", filters=[pb.Filter()])
    assert refused.value.field == "operation.ingest.filters"


@pytest.mark.parametrize("variant", ["power_on", "power_off", "power_reset", "upgrade_firmware"])
def test_f128_queue_options(variant):
    """F-128, F-169: a timeout of nothing or less is the server's; the strategy counts for direct calls."""
    assert (scheduled(variant).queue, scheduled(variant).queue_timeout) == (False, None)
    for strategy, queue in ((0, False), (1, True), (2, False), (9, False)):
        options = pb.QueueOptions(conflict_strategy=strategy, queue_timeout_seconds=90)
        found = scheduled(variant, queue_options=options)
        assert (found.queue, found.queue_timeout) == (queue, timedelta(seconds=90))
    for seconds in (0, -1, -(2**31)):
        assert scheduled(variant, queue_options=pb.QueueOptions(queue_timeout_seconds=seconds)).queue_timeout is None


def test_f168_bring_up_and_ingest_never_queue():
    """F-168: they have no queue options."""
    for variant in ("bring_up", "ingest"):
        assert (scheduled(variant).queue, scheduled(variant).queue_timeout) == (False, None)


def test_f124_an_operation_is_required_and_has_a_variant():
    """F-124, F-63."""
    with pytest.raises(InvalidInput, match=r"^operation is required$"):
        scheduled_in(pb.CreateTaskScheduleRequest())
    with pytest.raises(InvalidInput, match="give one of power_on, power_off, power_reset, bring_up, upgrade_firmware"):
        scheduled_in(pb.CheckScheduleConflictsRequest(operation=pb.ScheduledOperation()))


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"target_version": "1\x00"}, "target_version"),
        ({"target_version": "v" * 256}, "target_version"),
        ({"sub_targets": [""]}, "sub_targets"),
        ({"sub_targets": ["a\x00"]}, "sub_targets"),
        ({"sub_targets": ["a"] * 101}, "sub_targets"),
        ({"start_time": Timestamp(seconds=2), "end_time": Timestamp(seconds=1)}, "end_time"),
        ({"start_time": Timestamp(seconds=-1)}, "start_time"),
        ({"start_time": Timestamp(seconds=2**63 - 1)}, "start_time"),
        ({"end_time": Timestamp(seconds=5, nanos=-1)}, "end_time"),
    ],
)
def test_f314_what_a_firmware_upgrade_refuses(fields, path):
    """F-314, F-190, D-18: the field is named by its place in the request."""
    with pytest.raises(InvalidInput) as refused:
        scheduled("upgrade_firmware", **fields)
    assert list(refused.value.fields) == [f"operation.upgrade_firmware.{path}"]


def test_f124_the_shape_of_targets_comes_before_rules_and_secrets():
    """F-124: step 6 before step 7."""
    operation = pb.ScheduledOperation(power_on=pb.PowerOnRackRequest(rule_id=pb.UUID(id="x")))
    with pytest.raises(InvalidInput, match=r"^operation\.power_on\.target_spec is required$"):
        scheduled_in(pb.CreateTaskScheduleRequest(operation=operation))


def test_what_a_service_finds_wrong_is_named_by_its_place():
    with pytest.raises(InvalidInput) as refused, scheduled("power_on").fields():
        raise InvalidInput("too long", fields={"queue_timeout": "too long", "target_spec": "twice", "operation": "no"})
    assert list(refused.value.fields) == [
        "operation.power_on.queue_options.queue_timeout_seconds",
        "operation.power_on.target_spec",
        "operation.power_on",
    ]
    direct = operation_in(pb.PowerOnRackRequest(target_spec=SPEC))
    with pytest.raises(InvalidInput) as refused, direct.fields():
        raise InvalidInput("too long", fields={"queue_timeout": "", "target_spec": "", "description": ""})
    assert list(refused.value.fields) == ["queue_options.queue_timeout_seconds", "target_spec", "description"]
