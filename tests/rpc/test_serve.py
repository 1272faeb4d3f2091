"""`manage.py serve_grpc` as a process: what it prints, what it refuses, how it ends (F-1, F-238; issue 4, 3)."""

from __future__ import annotations

import re
import signal
import socket
from contextlib import contextmanager

import grpc
import pytest
from django.core.management import call_command
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase

from flowsched.db import separate_session
from rpc.proto import flow_pb2 as pb
from schedules.models import TaskSchedule
from tasks.models import Process
from tests.faults.harness import Product, terminate, wait_for
from tests.rpc.certificates import Authority
from tests.rpc.harness import Client, make_token
from tests.schedules.helpers import make_schedule

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.process]

LISTENING = re.compile(r"^listening on (\S+), (.*)$", re.MULTILINE)
SERVING = health_pb2.HealthCheckResponse.SERVING


class Servers:
    """Starts servers on ports of their own."""

    def __init__(self, folder):
        self.product = Product(folder)

    def start(self, *words, **extra):
        """A server that listens, and where."""
        extra.setdefault("FLOWSCHED_GRPC_BIND", "127.0.0.1:0")
        process = self.product.start("serve_grpc", *words, **extra)
        wait_for(lambda: LISTENING.search(self.said(process)) or process.poll() is not None, 40, "it listens")
        found = LISTENING.search(self.said(process))
        assert found, self.said(process)
        return process, found[1]

    def refused(self, *words, **extra):
        """The exit code and the words of a server that does not start."""
        process = self.product.start("serve_grpc", *words, **extra)
        return process.wait(40), self.said(process)

    def said(self, process):
        return self.product.said(process)


@pytest.fixture
def servers(engine_tables, tmp_path):
    servers = Servers(tmp_path)
    yield servers
    servers.product.stop()


@contextmanager
def client_of(address, token=""):
    with grpc.insecure_channel(address, [("grpc.use_local_subchannel_pool", 1)]) as channel:
        yield Client(channel, token)


def health(client):
    return health_pb2_grpc.HealthStub(client.channel).Check(health_pb2.HealthCheckRequest(), timeout=10).status


def test_it_listens_answers_is_listed_and_ends(servers):
    process, address = servers.start()
    assert address.startswith("127.0.0.1:")
    with client_of(address, make_token("viewer")) as client:
        assert health(client) == SERVING
        assert "v1.Flow" in ProtoReflectionDescriptorDatabase(client.channel).get_services()
        assert client.call("ListTaskSchedules").total == 0
        own = Process.objects.filter(kind="grpc", detail={"address": address, "threads": 10})
        wait_for(lambda: own.filter(state="running").exists(), 20, "it is listed")
        assert terminate(process) == 0
        assert client.failed("ListTaskSchedules", timeout=2).code == grpc.StatusCode.UNAVAILABLE
    assert servers.said(process).splitlines()[-1] == "stopped"
    assert own.get().state == "stopped"
    assert "without TLS" in servers.said(process)


@contextmanager
def held_schedule():
    """A schedule whose row another session holds, so that a pause of it waits."""
    schedule = make_schedule()
    with separate_session() as other, other.transaction():
        other.execute("SELECT 1 FROM task_schedule WHERE id = %s FOR UPDATE", [schedule.pk])
        yield schedule


def pausing(client, schedule):
    """A pause under way: its statement waits for the row."""
    call = client.start("PauseTaskSchedule", pb.PauseTaskScheduleRequest(id=pb.UUID(id=str(schedule.pk))))
    with separate_session() as session:
        waiting = (
            "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
            " AND query LIKE '%task_schedule%'"
        )
        wait_for(lambda: session.execute(waiting).fetchone(), 20, "the pause waits for the row")
    return call


def test_a_signal_lets_the_call_in_hand_end_and_takes_no_more(servers):
    """F-238: the answer arrives, health says so meanwhile, and the exit code is that of an orderly end."""
    process, address = servers.start(FLOWSCHED_LOCK_TIMEOUT="30", FLOWSCHED_DRAIN_TIMEOUT="30")
    token = make_token("planner")
    with client_of(address, token) as client, client_of(address) as probe, client_of(address, token) as late:
        watch = health_pb2_grpc.HealthStub(probe.channel).Watch(health_pb2.HealthCheckRequest(), timeout=60)
        assert next(watch).status == SERVING
        with held_schedule() as schedule:
            call = pausing(client, schedule)
            process.send_signal(signal.SIGTERM)
            assert next(watch).status == health_pb2.HealthCheckResponse.NOT_SERVING
            wait_for(lambda: _refused(late), 20, "new calls are refused")
            assert process.poll() is None
            assert not call.done()
        assert call.result(20).enabled is False
    assert process.wait(20) == 0
    assert "draining for at most 30 s" in servers.said(process)


def _refused(client):
    error = client.start("ListTaskSchedules", timeout=1).exception(5)
    return error is not None and error.code() == grpc.StatusCode.UNAVAILABLE


def test_beyond_the_drain_time_a_call_is_cancelled_and_what_it_began_is_whole(servers):
    process, address = servers.start(FLOWSCHED_LOCK_TIMEOUT="30", FLOWSCHED_DRAIN_TIMEOUT="0.3")
    with client_of(address, make_token("planner")) as client:
        with held_schedule() as schedule:
            call = pausing(client, schedule)
            process.send_signal(signal.SIGTERM)
            assert call.exception(20).code() in {grpc.StatusCode.CANCELLED, grpc.StatusCode.UNAVAILABLE}
            assert process.poll() is None
        assert process.wait(20) == 0
    assert TaskSchedule.objects.get().enabled is False  # it had begun, so it was carried to its end


def test_a_second_signal_ends_it_at_once(servers):
    process, address = servers.start(FLOWSCHED_LOCK_TIMEOUT="30", FLOWSCHED_DRAIN_TIMEOUT="60")
    with client_of(address, make_token("planner")) as client, held_schedule() as schedule:
        call = pausing(client, schedule)
        process.send_signal(signal.SIGTERM)
        wait_for(lambda: "draining" in servers.said(process), 20, "it drains")
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 128 + signal.SIGINT
        assert call.exception(20).code() == grpc.StatusCode.UNAVAILABLE
    assert "stopping at once" in servers.said(process)
    assert TaskSchedule.objects.get().enabled is True


def test_where_it_listens_is_a_setting(servers):
    process, address = servers.start(FLOWSCHED_GRPC_BIND="127.0.0.2:0")
    assert address.startswith("127.0.0.2:")
    assert terminate(process) == 0


def test_what_cannot_be_served_is_refused_in_words(servers, tmp_path):
    code, said = servers.refused("--bind", "0.0.0.0:50051")
    assert (code, "FLOWSCHED_GRPC_CERT" in said) == (2, True)
    code, said = servers.refused("--bind", "nonsense")
    assert (code, "host:port" in said) == (2, True)
    missing = str(tmp_path / "none.pem")
    code, said = servers.refused(FLOWSCHED_GRPC_CERT=missing, FLOWSCHED_GRPC_KEY=missing)
    assert (code, f"FLOWSCHED_GRPC_CERT: {missing} cannot be read" in said) == (2, True)
    code, said = servers.refused("--bind", "127.0.0.1:0", PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION="python")
    assert (code, "PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION" in said) == (1, True)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        code, said = servers.refused("--bind", address)
    assert (code, f"cannot listen on {address}" in said) == (1, True)
    assert "Traceback" not in said


def test_tls_and_users_come_from_the_environment(servers, tmp_path):
    """F-1, D-22: mutual TLS, and a production server keeps reflection to itself."""
    authority = Authority(tmp_path)
    tls = authority.server(client_ca=authority.pem)
    make_token("viewer", username="robot")
    process, address = servers.start(
        FLOWSCHED_GRPC_CERT=str(tls.certificate),
        FLOWSCHED_GRPC_KEY=str(tls.key),
        FLOWSCHED_GRPC_CLIENT_CA=str(tls.client_ca),
        FLOWSCHED_GRPC_USERS="spiffe://site/robot=robot, other=vera",
        DJANGO_SETTINGS_MODULE="flowsched.settings",  # not those of the tests
        FLOWSCHED_TESTING="0",
        FLOWSCHED_SECRET_KEY="k" * 50,
        FLOWSCHED_EXECUTOR="simulated",
    )
    assert "TLS, clients show certificates" in servers.said(process)
    credentials = authority.client(authority.issue("robot", "URI:spiffe://site/robot"))
    with grpc.secure_channel(address, credentials) as channel:
        client = Client(channel)
        assert client.call("ListTaskSchedules").total == 0
        assert health(client) == SERVING
        stub = reflection_pb2_grpc.ServerReflectionStub(channel)
        with pytest.raises(grpc.RpcError) as off:
            list(stub.ServerReflectionInfo(iter([reflection_pb2.ServerReflectionRequest()]), timeout=10))
        assert off.value.code() == grpc.StatusCode.UNIMPLEMENTED
    assert terminate(process) == 0


def test_without_a_database_it_serves_and_says_what_is_missing(servers):
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        port = nobody.getsockname()[1]
    process, address = servers.start(DATABASE_URL=f"postgres://x@127.0.0.1:{port}/x")
    with client_of(address, "fs_" + "x" * 60) as client:
        assert health(client) == SERVING
        failure = client.failed("ListTaskSchedules")
    assert failure.code == grpc.StatusCode.UNAVAILABLE
    assert "out of reach" in failure.message
    assert terminate(process) == 0
    assert "Traceback" not in servers.said(process)


def test_bytes_that_are_no_http2_hurt_nobody(servers):
    process, address = servers.start()
    host, _, port = address.rpartition(":")
    for junk in (b"GET / HTTP/1.1\r\n\r\n", b"\x00" * 4096, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\xff" * 4096, b""):
        with socket.create_connection((host, int(port)), timeout=5) as raw:
            raw.sendall(junk)
    with client_of(address, make_token("viewer")) as client:
        assert client.call("ListTaskSchedules").total == 0
    assert process.poll() is None


def test_its_help_names_what_it_takes(capsys):
    with pytest.raises(SystemExit):
        call_command("serve_grpc", "--help")
    assert "--bind" in capsys.readouterr().out
