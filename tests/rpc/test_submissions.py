"""Operations that act at once (F-165…F-169, F-245, D-13, D-18)."""

from __future__ import annotations

from datetime import timedelta

import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from google.rpc.error_details_pb2 import ErrorInfo
from google.rpc.status_pb2 import Status

from audit.models import AuditEntry
from flowsched.errors import InvalidInput, NotFound, PreconditionFailed, QueueFull
from rpc.proto import flow_pb2 as pb
from rpc.refusals import KEY
from tasks.holding import hold_set
from tasks.models import Task
from tests.rpc.calls import NOW, new_call, on_components, on_racks, run, uid
from tests.rpc.harness import make_token, running
from tests.schedules.helpers import ALICE, make_component, make_racks

pytestmark = pytest.mark.django_db


@pytest.fixture
def racks():
    found = make_racks(3)
    for rack in found:
        make_component(rack)
    return found


def firmware(*racks, **fields):
    return pb.UpgradeFirmwareRequest(target_spec=on_racks(*racks), **fields)


MADE = [
    ("PowerOnRack", pb.PowerOnRackRequest(), "power_control/power_on", {"operation": 1, "forced": False}),
    ("PowerOffRack", pb.PowerOffRackRequest(), "power_control/power_off", {"operation": 3, "forced": False}),
    (
        "PowerOffRack",
        pb.PowerOffRackRequest(forced=True),
        "power_control/force_power_off",
        {"operation": 4, "forced": True},
    ),
    ("PowerResetRack", pb.PowerResetRackRequest(), "power_control/restart", {"operation": 5, "forced": False}),
    (
        "PowerResetRack",
        pb.PowerResetRackRequest(forced=True),
        "power_control/force_restart",
        {"operation": 6, "forced": True},
    ),
    ("ACPowerCycleRack", pb.ACPowerCycleRackRequest(), "power_control/cold_reset", {"operation": 8, "forced": False}),
    ("BringUpRack", pb.BringUpRackRequest(), "bring_up/bring_up", {}),
    ("IngestRack", pb.IngestRackRequest(), "bring_up/ingest", {"op_code": "ingest"}),
    ("UpgradeFirmware", pb.UpgradeFirmwareRequest(), "firmware_control/upgrade", {"operation": 1}),
    (
        "UpgradeFirmware",
        pb.UpgradeFirmwareRequest(
            target_version="1.2",
            sub_targets=["bmc", "bios"],
            start_time=Timestamp(seconds=100),
            end_time=Timestamp(seconds=200, nanos=5),
            override_readiness_check=True,
            override_version_check=True,
        ),
        "firmware_control/upgrade",
        {
            "operation": 1,
            "target_version": "1.2",
            "sub_targets": ["bmc", "bios"],
            "start_time": 100,
            "end_time": 200,
            "override_readiness_check": True,
            "override_version_check": True,
        },
    ),
]


@pytest.mark.parametrize(("method", "request_", "stored", "information"), MADE)
def test_f167_each_method_makes_its_operation(racks, method, request_, stored, information):
    """F-165, F-167, F-313: what is stored, by whom, when."""
    request_.target_spec.CopyFrom(on_racks(racks[0]))
    request_.description = "why not"
    answer = run(method, request_)
    task = Task.objects.get()
    assert [one.id for one in answer.task_ids] == [str(task.id)]
    assert (f"{task.type}/{task.code}", task.information) == (stored, information)
    assert (task.rack_id, task.description, task.status, task.created_at) == (racks[0].id, "why not", "pending", NOW)
    entry = AuditEntry.objects.get()
    assert (entry.verb, entry.actor, entry.door, entry.request_id) == ("task.submit", "alice", "grpc", "req-1")


def ids_of(answer):
    rows = {str(task.id): task.rack_id for task in Task.objects.all()}
    return [rows[one.id] for one in answer.task_ids]


def test_f166_ids_are_in_the_order_of_the_request(racks):
    wanted = sorted(racks, key=lambda rack: rack.id, reverse=True)
    assert ids_of(run("PowerOnRack", pb.PowerOnRackRequest(target_spec=on_racks(*wanted)))) == [r.id for r in wanted]


def test_f245_a_rack_named_twice_is_one(racks):
    """F-245, F-315: by id and name, and by two components."""
    one, two, _ = racks
    spec = on_racks(one, two, types=[pb.COMPONENT_TYPE_COMPUTE])
    spec.racks.targets.add(name=one.name)
    assert ids_of(run("PowerOnRack", pb.PowerOnRackRequest(target_spec=spec))) == [one.id, two.id]
    Task.objects.all().delete()
    parts = [one.components.get(), two.components.get(), make_component(one)]
    answer = run("PowerOnRack", pb.PowerOnRackRequest(target_spec=on_components(*parts, parts[0])))
    assert ids_of(answer) == [one.id, two.id]
    first = Task.objects.get(rack_id=one.id).attributes["components_by_type"]["Compute"]
    assert set(first) == {str(parts[0].id), str(parts[2].id)}


@pytest.mark.parametrize("number", [0, 2, 9])
def test_f169_what_is_not_queue_is_reject(racks, number):
    options = pb.QueueOptions(conflict_strategy=number, queue_timeout_seconds=60)
    request = pb.PowerOffRackRequest(target_spec=on_racks(racks[0]), queue_options=options)
    run("PowerOffRack", request)
    with pytest.raises(PreconditionFailed, match="is busy") as refused:
        run("PowerOffRack", request)
    assert refused.value.reason == "rack_busy"
    assert Task.objects.count() == 1


@pytest.mark.parametrize(("seconds", "waits"), [(90, 90), (0, 3600), (-5, 3600)])
def test_f169_queue_waits_as_long_as_asked(racks, seconds, waits):
    options = pb.QueueOptions(conflict_strategy=pb.CONFLICT_STRATEGY_QUEUE, queue_timeout_seconds=seconds)
    request = pb.PowerOffRackRequest(target_spec=on_racks(racks[0]), queue_options=options)
    run("PowerOffRack", request)
    run("PowerOffRack", request)
    waiting = Task.objects.get(status="waiting")
    assert waiting.queue_expires_at == NOW + timedelta(seconds=waits)


def test_f169_a_full_queue(racks, settings):
    settings.FLOWSCHED_MAX_WAITING_PER_RACK = 0
    options = pb.QueueOptions(conflict_strategy=pb.CONFLICT_STRATEGY_QUEUE)
    request = pb.PowerOffRackRequest(target_spec=on_racks(racks[0]), queue_options=options)
    run("PowerOffRack", request)
    with pytest.raises(QueueFull):
        run("PowerOffRack", request)


@pytest.mark.parametrize("kind", [pb.BringUpRackRequest, pb.IngestRackRequest])
def test_f168_bring_up_and_ingest_never_wait(racks, kind):
    method = kind.__name__.removesuffix("Request")
    run(method, kind(target_spec=on_racks(racks[0])))
    with pytest.raises(PreconditionFailed, match="is busy"):
        run(method, kind(target_spec=on_racks(racks[0])))


def busy(*racks):
    run("PowerOffRack", pb.PowerOffRackRequest(target_spec=on_racks(*racks)))


def test_d13_some_refused_is_a_success_that_names_them(racks):
    """D-13, F-166, F-315."""
    busy(racks[1])
    call = new_call()
    answer = run("PowerOffRack", pb.PowerOffRackRequest(target_spec=on_racks(*racks)), call)
    assert ids_of(answer) == [racks[0].id, racks[2].id]
    [(key, value)] = call.context.trailer
    info = ErrorInfo()
    assert key == KEY
    assert Status.FromString(value).details[0].Unpack(info)
    assert (info.reason, info.metadata["rack_id"]) == ("RACK_BUSY", str(racks[1].id))


def test_d13_all_refused_is_an_error_that_names_them(racks):
    busy(*racks)
    with pytest.raises(PreconditionFailed) as refused:
        run("PowerOffRack", pb.PowerOffRackRequest(target_spec=on_racks(*racks)))
    assert [refusal.rack_id for refusal in refused.value.refusals] == [rack.id for rack in racks]
    assert Task.objects.count() == 3


def test_f165_one_target_that_is_not_there_fails_all(racks):
    spec = on_racks(*racks)
    spec.racks.targets.add(name="nowhere")
    with pytest.raises(NotFound, match="nowhere"):
        run("PowerOnRack", pb.PowerOnRackRequest(target_spec=spec))
    assert not Task.objects.exists()


RULE = uid("0b5e7f60-0000-4000-8000-000000000001")
REFUSED = [
    ("PowerOnRack", pb.PowerOnRackRequest(rule_id=RULE), "rule_id"),
    ("PowerOffRack", pb.PowerOffRackRequest(rule_id=RULE), "rule_id"),
    ("PowerResetRack", pb.PowerResetRackRequest(rule_id=pb.UUID()), "rule_id"),
    ("ACPowerCycleRack", pb.ACPowerCycleRackRequest(rule_id=RULE), "rule_id"),
    ("BringUpRack", pb.BringUpRackRequest(rule_id=RULE), "rule_id"),
    ("IngestRack", pb.IngestRackRequest(rule_id=RULE), "rule_id"),
    ("IngestRack", pb.IngestRackRequest(filters=[pb.Filter()]), "filters"),
    ("UpgradeFirmware", pb.UpgradeFirmwareRequest(rule_id=RULE), "rule_id"),
    (
        "UpgradeFirmware",
        pb.UpgradeFirmwareRequest(authentication_data=pb.FirmwareAuthenticationData(shared="hunter2")),
        "authentication_data",
    ),
    ("UpgradeFirmware", pb.UpgradeFirmwareRequest(start_time=Timestamp(seconds=-1)), "start_time"),
    (
        "UpgradeFirmware",
        pb.UpgradeFirmwareRequest(start_time=Timestamp(seconds=9), end_time=Timestamp(seconds=9)),
        "end_time",
    ),
    ("UpgradeFirmware", pb.UpgradeFirmwareRequest(sub_targets=[""]), "sub_targets"),
    ("PowerOnRack", pb.PowerOnRackRequest(description="x" * 1001), "description"),
    ("PowerOnRack", pb.PowerOnRackRequest(description="a\x00b"), "description"),
    (
        "PowerOnRack",
        pb.PowerOnRackRequest(queue_options=pb.QueueOptions(queue_timeout_seconds=366 * 86400)),
        "queue_options.queue_timeout_seconds",
    ),
]


@pytest.mark.parametrize(("method", "request_", "field"), REFUSED)
def test_d18_what_is_not_ours_is_refused_by_name(racks, method, request_, field):
    """D-18, F-314."""
    request_.target_spec.CopyFrom(on_racks(racks[0]))
    with pytest.raises(InvalidInput) as refused:
        run(method, request_)
    assert list(refused.value.fields) == [field]
    assert "hunter2" not in refused.value.message
    assert not Task.objects.exists()


def test_f165_a_target_is_a_must():
    for request in (pb.PowerOnRackRequest(), pb.PowerOnRackRequest(target_spec=pb.OperationTargetSpec())):
        with pytest.raises(InvalidInput) as refused:
            run("PowerOnRack", request)
        assert refused.value.field == "target_spec"


def test_d29_while_held_nothing_is_submitted(racks):
    hold_set(reason="chiller work", by=ALICE, now=NOW)
    with pytest.raises(PreconditionFailed, match="chiller work") as refused:
        busy(racks[0])
    assert refused.value.reason == "HELD"
    assert not Task.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_through_the_server(racks, engine_tables):
    """The call a client makes, refusals and request id in its trailer."""
    from rpc.methods import METHODS  # noqa: PLC0415  the only use

    request = pb.PowerOffRackRequest(target_spec=on_racks(*racks))
    with running(METHODS) as server, server.client(make_token("operator")) as client:
        first = client.call("PowerOffRack", pb.PowerOffRackRequest(target_spec=on_racks(racks[0])))
        answer = client.call("PowerOffRack", request, metadata=(("x-request-id", "r-9"),))
        assert ids_of(answer) == [racks[1].id, racks[2].id]
        assert client.trailing["x-request-id"] == "r-9"
        assert Status.FromString(client.trailing[KEY]).message == "1 rack refused"
        failure = client.failed("PowerOffRack", request)
        assert failure.reasons == ["RACK_BUSY"] * 4
        assert first.task_ids[0].id in failure.infos[1].metadata["reason"]
