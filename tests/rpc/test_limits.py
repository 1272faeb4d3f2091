"""What a client cannot do to the server: too much, too large, too slow, not what it says (TH-12, TH-25)."""

from __future__ import annotations

import threading
import time

import grpc
import pytest
from django.db import connection
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from flowsched.errors import InvalidInput
from rpc import server as rpc_server
from rpc.call import Method
from rpc.errors import cut
from rpc.proto import flow_pb2
from rpc.servicer import SERVICE, _parsed
from tests.faults.harness import wait_for
from tests.rpc.harness import make_token, running

Code = grpc.StatusCode
NUL = "a\x00b"


class Gate:
    """A method that holds its calls until told."""

    def __init__(self):
        self.open = threading.Event()
        self.inside = 0
        self.lock = threading.Lock()

    def __call__(self, call, request):
        with self.lock:
            self.inside += 1
        assert self.open.wait(30)
        return flow_pb2.TaskSchedule(name=request.id.id)


@pytest.fixture
def gate():
    gate = Gate()
    yield gate
    gate.open.set()


@pytest.fixture
def methods(gate):
    def listed(call, request):
        return flow_pb2.ListTaskSchedulesResponse(total=request.pagination.offset)

    return {
        "GetTaskSchedule": Method("", gate),
        "ListTaskSchedules": Method("", listed),
        "GetTasksByIDs": Method("", lambda call, request: flow_pb2.GetTasksByIDsResponse()),
    }


@pytest.fixture
def token(transactional_db):
    return make_token("viewer")


def ids(count: int) -> flow_pb2.GetTasksByIDsRequest:
    return flow_pb2.GetTasksByIDsRequest(task_ids=[flow_pb2.UUID(id="x" * 1000)] * count)


def test_a_message_of_four_mib_and_no_more(token, methods):
    with running(methods) as server, server.client(token) as client:
        most = 4 * 1024 * 1024
        request = ids(4100)
        request.task_ids.add(id="x" * (most - request.ByteSize() - 8))
        assert most - 8 < request.ByteSize() <= most
        client.call("GetTasksByIDs", request)
        assert client.failed("GetTasksByIDs", ids(5200)).code == Code.RESOURCE_EXHAUSTED
        client.call("ListTaskSchedules")


def test_metadata_of_sixteen_kib_and_no_more(token, methods):
    with running(methods) as server, server.client(token) as client:
        client.call("ListTaskSchedules", metadata=(("x-note", "n" * 15_000),))
        failure = client.failed("ListTaskSchedules", metadata=(("x-note", "n" * 17_000),))
        assert failure.code == Code.RESOURCE_EXHAUSTED
        client.call("ListTaskSchedules")


def test_an_answer_that_is_too_large_says_so(token, methods, monkeypatch):
    monkeypatch.setattr("rpc.servicer.MAX_ANSWER", 3)
    request = flow_pb2.ListTaskSchedulesRequest(pagination=flow_pb2.Pagination(offset=1))
    with running(methods) as server, server.client(token) as client:
        assert client.call("ListTaskSchedules", request).total == 1
        request.pagination.offset = 1_000_000
        failure = client.failed("ListTaskSchedules", request)
        assert failure.code == Code.RESOURCE_EXHAUSTED
        assert "page by page" in failure.message


def test_calls_beyond_threads_and_queue_are_refused(token, methods, gate, monkeypatch):
    monkeypatch.setattr(rpc_server, "QUEUE_PER_THREAD", 3)
    with running(methods, threads=2) as server, server.client(token) as client:
        calls = [client.start("GetTaskSchedule") for _ in range(6)]
        wait_for(lambda: gate.inside == 2, 10, "both threads are taken")
        codes = {client.failed("GetTaskSchedule").code for _ in range(3)}
        assert codes == {Code.RESOURCE_EXHAUSTED}
        gate.open.set()
        assert all(call.exception(10) is None for call in calls)
        client.call("GetTaskSchedule")


def test_a_call_that_waited_until_its_deadline_is_not_begun(token, methods, gate):
    with running(methods, threads=1, deadline=0.5) as server, server.client(token) as client:
        first = client.start("GetTaskSchedule")
        wait_for(lambda: gate.inside == 1, 10, "the thread is taken")
        waiting = [client.start("GetTaskSchedule", timeout=None), client.start("GetTaskSchedule", timeout=0.3)]
        assert waiting[1].exception(10).code() == Code.DEADLINE_EXCEEDED  # the client's own deadline
        time.sleep(0.5)
        gate.open.set()
        assert first.exception(10) is None  # begun in time: it has its answer, late or not
        failure = waiting[0].exception(10)
        assert failure.code() == Code.DEADLINE_EXCEEDED
        assert "not begun" in failure.details()
        client.call("ListTaskSchedules")
        assert gate.inside == 1


def test_a_call_cancelled_in_the_queue_is_not_begun(token, methods, gate):
    with running(methods, threads=1) as server, server.client(token) as client:
        first = client.start("GetTaskSchedule")
        wait_for(lambda: gate.inside == 1, 10, "the thread is taken")
        client.start("GetTaskSchedule").cancel()
        gate.open.set()
        first.result(10)
        client.call("ListTaskSchedules")
        assert gate.inside == 1


class Idle:
    """Streams that are opened and never say anything."""

    def __init__(self):
        self.over = threading.Event()

    def open(self, client, method="v1.Flow/GetTaskSchedule", token=""):
        def silence():
            self.over.wait(60)
            yield from ()

        metadata = (("authorization", f"Bearer {token}"),) if token else ()
        return client.channel.stream_unary(f"/{method}").future(silence(), metadata=metadata, timeout=60)


@pytest.fixture
def idle():
    idle = Idle()
    yield idle
    idle.over.set()


def test_a_stranger_who_says_nothing_holds_no_thread(token, methods, idle):
    """Refused before the message: a thousand such streams, and the next call is answered."""
    with running(methods, threads=2) as server, server.client() as client:
        streams = [idle.open(client) for _ in range(1000)]
        codes = {stream.exception(30).code() for stream in streams}
        # The last: beyond MAX_STREAMS, which the client did not know yet when it opened them.
        assert codes <= {Code.UNAUTHENTICATED, Code.RESOURCE_EXHAUSTED, Code.UNAVAILABLE}
        client.token = token
        client.call("ListTaskSchedules")


def test_a_known_caller_who_says_nothing_is_cancelled_in_time(token, methods, monkeypatch, idle):
    monkeypatch.setattr(rpc_server, "MESSAGE_WITHIN", 0.5)
    with running(methods, threads=2) as server, server.client(token) as client:
        streams = [idle.open(client, token=token) for _ in range(6)]
        client.call("ListTaskSchedules")
        assert {stream.exception(10).code() for stream in streams} == {Code.CANCELLED}


@pytest.mark.parametrize(
    "method",
    [
        "grpc.health.v1.Health/Check",
        "grpc.health.v1.Health/Watch",
        "grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
    ],
)
def test_the_services_without_identity_hold_none_either(transactional_db, methods, monkeypatch, idle, method):
    monkeypatch.setattr(rpc_server, "MESSAGE_WITHIN", 0.5)
    monkeypatch.setattr(rpc_server, "PROBE_WITHIN", 0.5)
    with running(methods) as server, server.client() as client:
        streams = [idle.open(client, method) for _ in range(6)]
        assert {stream.exception(10).code() for stream in streams} == {Code.CANCELLED}
        call = client.channel.stream_stream(f"/{method}")(iter([b"\xff"]), timeout=10)
        with pytest.raises(grpc.RpcError) as refused:
            list(call)
        assert refused.value.code() == Code.INVALID_ARGUMENT


def test_a_call_without_a_message(token, methods):
    with running(methods) as server, server.client(token) as client:
        stub = client.channel.stream_unary("/v1.Flow/ListTaskSchedules")
        metadata = (("authorization", f"Bearer {token}"),)
        failure = stub.future(iter(()), metadata=metadata, timeout=10).exception()
        assert failure.code() == Code.INVALID_ARGUMENT
        assert "ListTaskSchedulesRequest" in failure.details()


def test_bytes_that_are_no_message(token, methods):
    with running(methods) as server, server.client(token) as client:
        for raw in (b"\xff", b"\x08", b"\x12\x05ab", b"\x0a\x04\x0a\x02\xff\xfe", b"\x0a\x02" * 60_000, b"\x0b" * 5000):
            failure = client.failed("ListTaskSchedules", raw=raw)
            assert failure.code == Code.INVALID_ARGUMENT, raw[:20]
            assert "ListTaskSchedulesRequest" in failure.message
        # Fields nobody knows are no fault: a newer client sends them.
        assert client.call("ListTaskSchedules", raw=b"\xfa\x3f\x03abc").total == 0


RAW = st.binary(max_size=300)


@settings(max_examples=300, deadline=None)
@given(raw=RAW)
@example(raw=b"")
def test_whatever_bytes_come_it_is_a_message_or_an_invalid_argument(raw):
    """Every method's parser."""
    for method in SERVICE.methods:
        request, fault = _parsed(method.name, raw)
        assert isinstance(fault, InvalidInput) if request is None else fault is None


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(raw=RAW)
def test_whatever_bytes_come_through_the_port(listing, raw):
    error = listing.start("ListTaskSchedules", raw=raw).exception(10)
    assert error is None or error.code() == Code.INVALID_ARGUMENT


@pytest.fixture
def listing(token, methods):
    with running(methods) as server, server.client(token) as client:
        yield client


@pytest.mark.parametrize(
    ("name", "request_", "path"),
    [
        ("ListTaskSchedules", flow_pb2.ListTaskSchedulesRequest(rack_id=flow_pb2.UUID(id=NUL)), "rack_id.id"),
        (
            "GetTasksByIDs",
            flow_pb2.GetTasksByIDsRequest(task_ids=[flow_pb2.UUID(id="a"), flow_pb2.UUID(id=NUL)]),
            "task_ids[1].id",
        ),
    ],
)
def test_a_nul_is_refused_by_name(token, methods, name, request_, path):
    """PostgreSQL stores none, so it would be a fault of ours in whatever query it reached."""
    with running(methods) as server, server.client(token) as client:
        failure = client.failed(name, request_)
        assert (failure.code, list(failure.violations)) == (Code.INVALID_ARGUMENT, [path])


def test_a_zero_byte_that_is_no_text_passes(token, methods):
    request = flow_pb2.ListTaskSchedulesRequest(rack_id=flow_pb2.UUID(), enabled_only=False)
    assert b"\x00" in request.SerializeToString()
    with running(methods) as server, server.client(token) as client:
        client.call("ListTaskSchedules", request)


def test_sessions_that_the_database_ended_do_not_fail_the_next_call(token, methods):
    """Connection hygiene: every thread had one, and each finds out before its next call."""
    with running(methods, threads=3) as server, server.client(token) as client:
        for _ in range(2):
            calls = [client.start("ListTaskSchedules") for _ in range(12)]
            assert [call.exception(10) for call in calls] == [None] * 12
            with connection.cursor() as cursor:
                cursor.execute(
                    "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = current_database()"
                    " AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
                )
                assert cursor.fetchone()[0] >= 1


@pytest.mark.parametrize(
    ("text", "limit", "result"), [("abc", 3, "abc"), ("abcd", 3, "…"), ("üüü", 5, "ü…"), ("a\ud800", 9, "a?")]
)
def test_a_text_is_cut_between_characters(text, limit, result):
    assert cut(text, limit) == result
