"""TLS and client certificates: who gets through, as whom, and which files and addresses are refused (D-22, TH-13)."""

from __future__ import annotations

import time
from pathlib import Path

import grpc
import pytest
from django.contrib.auth.models import User

from flowsched.errors import InvalidInput, PreconditionFailed
from rpc.call import Method
from rpc.proto import flow_pb2
from rpc.server import is_local
from rpc.tls import Files, credentials
from tests.rpc.certificates import Authority, openssl
from tests.rpc.harness import make_token, running

Code = grpc.StatusCode
ROBOT = "spiffe://site/robot"
METHODS = {"GetTaskSchedule": Method("schedule.read", lambda call, request: flow_pb2.TaskSchedule(name=call.by.name))}
USERS = {ROBOT: "robot", "gone.example": "gone", "off.example": "off", "one.example": "robot", "two.example": "vera"}


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("tls"))


@pytest.fixture
def users(transactional_db):
    tokens = {name: make_token("viewer", username=name) for name in ("robot", "vera", "off")}
    make_token(username="nobody")
    User.objects.filter(username="off").update(is_active=False)
    return tokens


@pytest.fixture
def mutual(authority, users):
    tls = authority.server(client_ca=authority.pem)
    with running(METHODS, tls=tls, users=USERS) as server:
        yield server


def test_a_token_over_tls(authority, users):
    with running(METHODS, tls=authority.server()) as server:
        with server.client(users["vera"], authority.client()) as client:
            assert client.call("GetTaskSchedule").name == "vera"
        with server.client(users["vera"]) as client:  # not TLS
            assert client.failed("GetTaskSchedule").code == Code.UNAVAILABLE
        with server.client("", authority.client()) as client:
            assert client.failed("GetTaskSchedule").reasons == ["NO_CREDENTIALS"]


def test_a_certificate_stands_for_a_user(authority, mutual):
    with mutual.client("", authority.client(authority.issue("robot", f"URI:{ROBOT}"))) as client:
        assert client.call("GetTaskSchedule").name == "robot"


def test_of_certificate_and_token_the_token_counts(authority, users, mutual):
    with mutual.client(users["vera"], authority.client(authority.issue("robot2", f"URI:{ROBOT}"))) as client:
        assert client.call("GetTaskSchedule").name == "vera"
        client.token = "fs_unknown"
        assert client.failed("GetTaskSchedule").reasons == ["TOKEN_UNKNOWN"]


@pytest.mark.parametrize(
    ("alternative", "reason"),
    [
        ("URI:spiffe://site/other", "CERTIFICATE_UNKNOWN"),
        ("DNS:robot", "CERTIFICATE_UNKNOWN"),  # the common name and user names are no SANs
        (f"URI:{ROBOT}/", "CERTIFICATE_UNKNOWN"),
        ("DNS:one.example,DNS:two.example", "CERTIFICATE_UNKNOWN"),
        ("DNS:gone.example", "USER_UNKNOWN"),
        ("DNS:off.example", "USER_UNKNOWN"),
        ("", "NO_CREDENTIALS"),
    ],
)
def test_a_certificate_that_stands_for_nobody(authority, mutual, alternative, reason):
    pair = authority.issue(f"robot-{time.monotonic_ns()}", alternative)
    with mutual.client("", authority.client(pair)) as client:
        failure = client.failed("GetTaskSchedule")
        assert (failure.code, failure.reasons) == (Code.UNAUTHENTICATED, [reason])


def test_two_names_of_one_user_are_one(authority, mutual):
    pair = authority.issue("both", f"URI:{ROBOT},DNS:one.example,DNS:unheard-of.example")
    with mutual.client("", authority.client(pair)) as client:
        assert client.call("GetTaskSchedule").name == "robot"


def test_with_a_client_ca_nobody_gets_through_without_a_certificate_of_it(authority, users, mutual, tmp_path):
    other = Authority(tmp_path, "other")
    over = authority.issue("over", f"URI:{ROBOT}", days=0)
    time.sleep(1.1)
    for pair in (None, other.issue("robot", f"URI:{ROBOT}"), over):
        with mutual.client(users["vera"], authority.client(pair)) as client:
            assert client.failed("GetTaskSchedule").code == Code.UNAVAILABLE, pair


# Files ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def files(authority, tmp_path):
    """Good and bad files."""
    certificate, key = authority.issue("server", "DNS:localhost")
    text, locked = tmp_path / "text.pem", tmp_path / "locked.key"
    text.write_text("no certificate")
    openssl("ec", "-in", key, "-aes256", "-passout", "pass:secret", "-out", locked)
    other = authority.issue("other")[1]
    return {"cert": certificate, "key": key, "text": text, "locked": locked, "other": other, "none": tmp_path / "none"}


@pytest.mark.parametrize(
    ("names", "variable", "words"),
    [
        (("cert", None, None), "FLOWSCHED_GRPC_KEY", "is not set"),
        ((None, "key", None), "FLOWSCHED_GRPC_CERT", "is not set"),
        ((None, None, "cert"), "FLOWSCHED_GRPC_CLIENT_CA", "without FLOWSCHED_GRPC_CERT"),
        (("none", "key", None), "FLOWSCHED_GRPC_CERT", "No such file"),
        (("cert", "none", None), "FLOWSCHED_GRPC_KEY", "No such file"),
        (("cert", "key", "none"), "FLOWSCHED_GRPC_CLIENT_CA", "No such file"),
        (("text", "key", None), "FLOWSCHED_GRPC_CERT", "no certificate"),
        (("cert", "text", None), "FLOWSCHED_GRPC_CERT", "no certificate"),
        (("cert", "other", None), "FLOWSCHED_GRPC_CERT", "mismatch"),
        (("cert", "locked", None), "FLOWSCHED_GRPC_CERT", "unencrypted"),
        (("cert", "key", "text"), "FLOWSCHED_GRPC_CLIENT_CA", "no certificate"),
    ],
)
def test_files_that_will_not_do_are_named(files, names, variable, words):
    given = Files(*(files[name] if name else None for name in names))
    with pytest.raises(InvalidInput, match=words) as refused:
        credentials(given)
    assert refused.value.field == variable
    assert variable in refused.value.message


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(InvalidInput, match=r"FLOWSCHED_GRPC_CERT.*directory"):
        credentials(Files(tmp_path, Path("/dev/null")))


# Addresses ------------------------------------------------------------------------------------------------------

LOCAL = ["127.0.0.1:0", "127.9.9.9:50051", "localhost:50051", "[::1]:50051", "unix:some/socket", "unix:/run/socket"]
ELSEWHERE = ["0.0.0.0:1", "[::]:1", "10.0.0.1:50051", "example.com:50051", "localhost.example:1", "[::ffff:10.0.0.1]:1"]
NONE = ["", "50051", ":50051", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:65536", "127.0.0.1:-1", "[::1]"]


@pytest.mark.parametrize(("addresses", "local"), [(LOCAL, True), (ELSEWHERE, False)])
def test_which_addresses_only_this_machine_reaches(addresses, local):
    assert {address: is_local(address) for address in addresses} == dict.fromkeys(addresses, local)


@pytest.mark.parametrize("address", NONE)
def test_what_is_no_address(address):
    with pytest.raises(InvalidInput, match="host:port"):
        is_local(address)


@pytest.mark.parametrize("address", ELSEWHERE)
def test_without_tls_nothing_but_this_machine(address):
    with pytest.raises(InvalidInput, match="FLOWSCHED_GRPC_CERT") as refused, running(METHODS, bind=address):
        pass
    assert refused.value.field == "bind"


def test_with_tls_any_address(authority):
    with running(METHODS, bind="0.0.0.0:0", tls=authority.server()) as server:
        assert server.address.startswith("0.0.0.0:")
        assert not server.address.endswith(":0")


def test_a_port_is_not_shared(transactional_db):
    with running(METHODS) as server, pytest.raises(PreconditionFailed, match=server.address):
        running(METHODS, bind=server.address).__enter__()


def test_a_socket_in_the_file_system(users, tmp_path):
    with running(METHODS, bind=f"unix:{tmp_path}/s") as server, server.client(users["vera"]) as client:
        assert client.call("GetTaskSchedule").name == "vera"
