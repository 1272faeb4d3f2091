"""gRPC: whatever is sent, the answer says what is wrong with it, and a refusal leaves nothing behind (TH-3, 12, 25)."""

from __future__ import annotations

import socket

import grpc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.doors.awkward import ALLOWED, NO_IDS, PATHS, SPELLINGS, TEXTS, bounded, masks, sound_name
from tests.doors.calls import RESET, create, racks
from tests.doors.statuses import details_of
from tests.doors.wireclient import FACTS
from tests.doors.wirestrategies import messages
from tests.doors.world import fingerprint, make_racks

pytestmark = pytest.mark.process
RPCS = sorted(FACTS["methods"])
NEVER = {grpc.StatusCode.INTERNAL, grpc.StatusCode.UNKNOWN, grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.ABORTED}
IDS = [
    (rpc, field["name"], field.get("label") == "repeated")
    for rpc, method in sorted(FACTS["methods"].items())
    for field in FACTS["messages"][method["request"]]
    if field["type"] == "UUID" and rpc != "DecommissionRack"
]


@pytest.fixture
def flow(doors, people):
    """A client who may do everything; one rack and one schedule stand."""
    client = doors.grpc(people["superuser"])
    make_racks(1)
    rpc, fields = create("standing", ("cron", "0 4 * * *"), RESET, racks(1)).grpc
    client.standing = client.call(rpc, **fields)
    client.rows = fingerprint()
    return client


def attempt(flow, rpc, request=None, **fields):
    """The status of a call that may fail, but in no way that is our fault; refused, it has changed nothing."""
    error = flow.error(rpc, request, **fields)
    if error is None:
        flow.rows = fingerprint()
        return grpc.StatusCode.OK
    taken = error.code() is grpc.StatusCode.UNKNOWN and details_of(error).reasons == ["NAME_TAKEN"]
    assert error.code() not in NEVER or taken, (rpc, error.code(), error.details())
    assert error.details(), (rpc, error.code())
    assert fingerprint() == flow.rows, (rpc, error.code(), error.details())
    return error.code()


def test_any_message(flow):
    """Every field of every request, with enums out of range, times out of range, ids and texts of any spelling."""

    @settings(bounded, max_examples=100)
    @given(st.sampled_from(RPCS), st.data())
    def run(rpc, data):
        attempt(flow, rpc, data.draw(messages(flow.wire, FACTS["methods"][rpc]["request"])))

    run()


def test_any_bytes(flow):
    """What is no message is INVALID_ARGUMENT, at every RPC; what happens to be one is treated as one."""

    @settings(bounded, max_examples=100)
    @given(st.sampled_from(RPCS), st.one_of(st.binary(max_size=60), st.binary(min_size=200, max_size=300)))
    def run(rpc, data):
        attempt(flow, rpc, data)

    run()
    for rpc in RPCS:
        if rpc != "DecommissionRack":
            assert attempt(flow, rpc, b"\xff") is grpc.StatusCode.INVALID_ARGUMENT, rpc


def test_bytes_of_a_message_with_some_of_them_changed(flow):
    """Bit flips and cuts of a request that is fine."""
    rpc, fields = create("new", ("cron", "0 3 * * *", "UTC"), RESET, racks(1)).grpc
    sound = flow.wire.request(rpc, **fields).SerializeToString()

    @settings(bounded, max_examples=60)
    @given(st.integers(0, len(sound) - 1), st.integers(1, 255), st.integers(0, len(sound)))
    def run(place, bits, length):
        data = bytearray(sound)
        data[place] ^= bits
        attempt(flow, rpc, bytes(data[:length] if length % 3 == 0 else data))

    run()


def update(flow, paths, **config):
    config = config or {"name": "standing", "spec": {"type": 2, "spec": "0 3 * * *", "timezone": "UTC"}}
    return attempt(flow, "UpdateTaskSchedule", id=flow.standing.id, schedule=config, update_mask={"paths": paths})


def test_a_path_that_is_not_one_of_the_four(flow):
    """TH-3, F-137: alone, after one that is, and before it."""
    for path in PATHS:
        for paths in ([path], ["schedule.name", path], [path, "schedule.spec"]):
            assert update(flow, paths, name="changed") is grpc.StatusCode.INVALID_ARGUMENT, paths


def test_any_mask(flow):
    """TH-3: done if and only if every path is one of the four and there is at least one; at most 16 (TH-11)."""

    @settings(bounded, max_examples=60)
    @given(masks)
    def run(paths):
        sound = 0 < len(paths) <= 16 and set(paths) <= set(ALLOWED)
        expected = {grpc.StatusCode.OK} if sound else {grpc.StatusCode.INVALID_ARGUMENT}
        assert update(flow, paths) in expected, paths

    run()


def test_long_lists(flow):
    """TH-11: 10,000 entries are refused with the field's name, wherever a request has a list."""
    many = 10_000
    target = {"id": flow.wire.id("aaaaaaaa-0000-4000-8000-000000000001")}
    lists = {
        "CreateTaskSchedule": {
            "schedule": {"name": "n", "spec": {"type": 1, "spec": "1h"}},
            "operation": {"power_on": {"target_spec": {"racks": {"targets": [target] * many}}}},
        },
        "UpdateTaskSchedule": {
            "id": flow.standing.id, "schedule": {"name": "n"}, "update_mask": {"paths": ["schedule.name"] * many},
        },
        "AddTaskScheduleScope": {
            "schedule_id": flow.standing.id,
            "target_spec": {"racks": {"targets": [{"name": f"rack-{number}"} for number in range(many)]}},
        },
        "UpdateTaskScheduleScope": {
            "schedule_id": flow.standing.id,
            "desired_scope": {"components": {"targets": [target] * many}},
        },
        "PowerOnRack": {"target_spec": {"nvl_domains": {"targets": [{"name": "d"}] * many}}},
        "UpgradeFirmware": {"target_spec": {"racks": {"targets": [target]}}, "sub_targets": ["x"] * many},
        "GetListOfNVLDomains": {"info": {"patterns": ["x"] * many}},
        "AttachRacksToNVLDomain": {
            "nvl_domain_identifier": {"name": "d"}, "rack_identifiers": [{"name": "rack-1"}] * many,
        },
    }  # fmt: skip
    for rpc, fields in lists.items():
        assert attempt(flow, rpc, **fields) in {grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.NOT_FOUND}, rpc
    assert attempt(flow, "GetTasksByIDs", task_ids=[target["id"]] * many) in {
        grpc.StatusCode.OK, grpc.StatusCode.INVALID_ARGUMENT
    }  # fmt: skip


NAMED = {"racks": {"targets": [{"name": "rack-1"}]}}
FINE = {  # what else a request needs so that its id is looked at
    "UpdateTaskSchedule": {"schedule": {"name": "n"}, "update_mask": {"paths": ["schedule.name"]}},
    "AddTaskScheduleScope": {"target_spec": NAMED},
    "UpdateTaskScheduleScope": {"desired_scope": NAMED},
    "CheckScheduleConflicts": {"operation": {"power_on": {"target_spec": NAMED}}},
}


def test_ids_of_every_spelling(flow):
    """TH-25, F-113, F-121: what is no id, and the zero id, is refused by the field's name; the rest is looked up."""
    for number, (rpc, field, repeated) in enumerate(IDS):
        fine = FINE.get(rpc, {"target_spec": NAMED} if field == "rule_id" else {})
        for text in NO_IDS[number % 4 :: 4]:
            error = flow.error(rpc, **fine, **{field: [{"id": text}] if repeated else {"id": text}})
            where = (rpc, field, text[:50], error and error.details())
            assert error, where
            assert error.code() is grpc.StatusCode.INVALID_ARGUMENT, where
            assert any(field in name for name in details_of(error).violations), where
        for text in SPELLINGS:
            code = attempt(flow, rpc, **fine, **{field: [{"id": text}] if repeated else {"id": text}})
            refused = {grpc.StatusCode.INVALID_ARGUMENT} if field == "rule_id" else set()  # D-18
            assert code in refused | {grpc.StatusCode.OK, grpc.StatusCode.NOT_FOUND}, (rpc, text, code)


def test_awkward_names(flow):
    """D-30: a name is stored as it is or refused; it is never cut, and never breaks what reads it back."""
    for number, text in enumerate(TEXTS):
        rpc, fields = create(text, ("interval", "1h"), RESET, racks(1)).grpc
        try:
            request = flow.wire.request(rpc, **fields)
        except UnicodeEncodeError:
            continue
        code = attempt(flow, rpc, request)
        assert code is (grpc.StatusCode.OK if sound_name(text) else grpc.StatusCode.INVALID_ARGUMENT), (
            number,
            text[:20],
            code,
        )
    stored = [row.name for row in flow.ListTaskSchedules().task_schedules]
    assert set(stored) - {"standing"} <= set(TEXTS)


def test_metadata_and_paths_of_any_kind(flow):
    """TH-12: a method that is none, a token that is none, and metadata beyond its limit; then a call as ever."""
    for metadata in (
        [("authorization", "Bearer " + "x" * 300)],
        [("authorization", "Basic eDp5")],
        [("authorization", "")],
    ):
        stub = flow.channel.unary_unary("/v1.Flow/Version")
        with pytest.raises(grpc.RpcError) as error:
            stub(b"", timeout=10, metadata=metadata)
        assert error.value.code() is grpc.StatusCode.UNAUTHENTICATED
    with pytest.raises(grpc.RpcError) as error:
        flow.channel.unary_unary("/v1.Flow/Version")(b"", timeout=10, metadata=[*flow.metadata, ("x", "y" * 20_000)])
    assert error.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    for path in ("/v1.Flow/", "/v2.Flow/Version", "/" + "x" * 500, "/v1.Flow/version", "/v1.Flow/Version/"):
        with pytest.raises(grpc.RpcError) as error:
            flow.channel.unary_unary(path)(b"", timeout=10, metadata=flow.metadata)
        assert error.value.code() is grpc.StatusCode.UNIMPLEMENTED, path
    assert flow.Version().version


def test_bytes_into_the_port(flow, doors):
    """TH-12: what is no HTTP/2 is hung up on, and whoever speaks properly is served as before."""
    preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

    @settings(bounded, max_examples=25)
    @given(st.binary(max_size=200), st.sampled_from([b"", preface, preface + b"\x00\x00\x00\x04\x00\x00\x00\x00\x00"]))
    def run(data, before):
        with socket.create_connection(("127.0.0.1", doors.grpc_port), timeout=5) as one:
            one.sendall(before + data)

    run()
    assert flow.GetTaskSchedule(id=flow.standing.id) == flow.standing
