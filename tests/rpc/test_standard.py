"""Health and reflection, as probes and grpcurl use them: without a name (issue 4, 3)."""

from __future__ import annotations

import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import grpc
import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase

from rpc import server as rpc_server
from rpc.call import Method
from rpc.methods import METHODS
from rpc.proto import flow_pb2
from tests.faults.harness import wait_for
from tests.rpc.harness import make_token, running

SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING


def check(client, service="", timeout=10):
    stub = health_pb2_grpc.HealthStub(client.channel)
    return stub.Check(health_pb2.HealthCheckRequest(service=service), timeout=timeout).status


def test_health_of_the_server_and_of_the_service():
    with running(METHODS) as server, server.client() as client:
        assert check(client) == check(client, "v1.Flow") == SERVING
        with pytest.raises(grpc.RpcError) as unknown:
            check(client, "v2.Flow")
        assert unknown.value.code() == grpc.StatusCode.NOT_FOUND
        with pytest.raises(grpc.RpcError) as unknown:
            health_pb2_grpc.HealthStub(client.channel).List(health_pb2.HealthListRequest(), timeout=10)
        assert unknown.value.code() == grpc.StatusCode.UNIMPLEMENTED


def test_health_is_answered_while_every_thread_works(transactional_db):
    gate, inside = threading.Event(), threading.Semaphore(0)

    def hold(call, request):
        inside.release()
        assert gate.wait(30)
        return flow_pb2.TaskSchedule()

    methods, token = {"GetTaskSchedule": Method("", hold)}, make_token("viewer")
    with running(methods, threads=2) as server, server.client(token) as client:
        calls = [client.start("GetTaskSchedule") for _ in range(5)]
        assert all(inside.acquire(timeout=10) for _ in range(2))
        assert check(client) == SERVING
        gate.set()
        assert all(call.exception(10) is None for call in calls)


def test_who_watches_hears_of_the_end_and_keeps_no_thread():
    with running(METHODS) as server, server.client() as client:
        stub = health_pb2_grpc.HealthStub(client.channel)
        watches = [stub.Watch(health_pb2.HealthCheckRequest(service="v1.Flow"), timeout=30) for _ in range(20)]
        assert {next(watch).status for watch in watches} == {SERVING}
        assert check(client) == SERVING
        with ThreadPoolExecutor(1) as other:
            stopped = other.submit(server.server.stop, 60)
            assert {next(watch).status for watch in watches} == {NOT_SERVING}
            assert [list(watch) for watch in watches] == [[]] * 20  # and they have ended in order
            stopped.result(20)


def test_reflection_lists_the_service_and_describes_it_in_full():
    """What grpcurl does for `list` and `describe`, with the library's own client."""
    with running(METHODS) as server, server.client() as client:
        database = ProtoReflectionDescriptorDatabase(client.channel)
        assert set(database.get_services()) >= {"v1.Flow", "grpc.health.v1.Health"}
        described = DescriptorPool(database).FindServiceByName("v1.Flow")
        assert {method.name for method in described.methods} >= set(METHODS)
        create = described.methods_by_name["CreateTaskSchedule"]
        assert create.input_type.full_name == "v1.CreateTaskScheduleRequest"
        own = FileDescriptorProto()
        flow_pb2.DESCRIPTOR.CopyToProto(own)
        theirs = FileDescriptorProto()
        described.file.CopyToProto(theirs)
        assert theirs == own


def test_reflection_can_be_switched_off():
    with running(METHODS, reflection=False) as server, server.client() as client:
        stub = reflection_pb2_grpc.ServerReflectionStub(client.channel)
        with pytest.raises(grpc.RpcError) as refused:
            list(
                stub.ServerReflectionInfo(iter([reflection_pb2.ServerReflectionRequest(list_services="")]), timeout=10)
            )
        assert refused.value.code() == grpc.StatusCode.UNIMPLEMENTED
        assert check(client) == SERVING


def test_a_stop_lets_calls_in_hand_end_and_takes_no_more(transactional_db):
    """F-238, without a process around it: nothing is cut off within the grace, and nothing new is begun."""
    gate, inside = threading.Event(), threading.Event()

    def hold(call, request):
        inside.set()
        assert gate.wait(30)
        return flow_pb2.TaskSchedule(name="done")

    methods, token = {"GetTaskSchedule": Method("", hold)}, make_token("viewer")
    with running(methods) as server, server.client(token) as client, server.client(token) as late:
        call = client.start("GetTaskSchedule")
        assert inside.wait(10)
        other = ThreadPoolExecutor(1)
        stopping = other.submit(server.server.stop, 20)
        wait_for(lambda: _refused(late), 10, "new calls are refused")
        assert not stopping.done()
        gate.set()
        assert call.result(10).name == "done"
        stopping.result(20)
        other.shutdown()


def _refused(client) -> bool:
    error = client.start("GetTaskSchedule", timeout=1).exception(5)
    return error is not None and error.code() == grpc.StatusCode.UNAVAILABLE


def test_after_the_grace_calls_are_cancelled(transactional_db):
    inside = threading.Event()

    def hold(call, request):
        inside.set()
        while call.context.is_active():
            time.sleep(0.05)
        return flow_pb2.TaskSchedule()

    methods, token = {"GetTaskSchedule": Method("", hold)}, make_token("viewer")
    with running(methods) as server, server.client(token) as client:
        call = client.start("GetTaskSchedule")
        assert inside.wait(10)
        server.server.stop(0.2)
        assert call.exception(10).code() in {grpc.StatusCode.CANCELLED, grpc.StatusCode.UNAVAILABLE}


def test_a_watcher_that_takes_no_answer_keeps_nobody_waiting(monkeypatch):
    """A connection that grants no window: what is sent to it never arrives, and probes need the same lock."""
    monkeypatch.setattr(rpc_server, "PROBE_WITHIN", 0.5)
    with running(METHODS) as server:
        host, _, port = server.address.rpartition(":")
        with socket.create_connection((host, int(port)), timeout=10) as raw, server.client() as client:
            raw.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0, b"\x00\x04\x00\x00\x00\x00"))
            raw.sendall(frame(1, 4, 1, headers("/grpc.health.v1.Health/Watch")) + frame(0, 1, 1, b"\x00" * 5))
            time.sleep(0.3)
            assert check(client, timeout=5) == SERVING
            server.server.stop(5)


def frame(kind: int, flags: int, stream: int, data: bytes) -> bytes:
    return len(data).to_bytes(3) + bytes([kind, flags]) + stream.to_bytes(4) + data


def headers(path: str) -> bytes:
    """A gRPC request's header block, nothing compressed."""
    fields = {":method": "POST", ":scheme": "http", ":path": path, ":authority": "x", "te": "trailers"}
    fields["content-type"] = "application/grpc"
    texts = [(name.encode(), value.encode()) for name, value in fields.items()]
    return b"".join(bytes([0, len(name)]) + name + bytes([len(value)]) + value for name, value in texts)
