"""Who may call what: nobody unidentified, nobody without the permission, and the refusal is on record (D-22, TH-13)."""

from __future__ import annotations

from datetime import timedelta

import grpc
import pytest
from django.contrib.auth.models import User

from access.models import Token
from access.permissions import PERMISSIONS
from access.services import token_revoke
from audit.models import AuditEntry
from flowsched import clock
from flowsched.actor import SYSTEM, Door
from rpc.call import Method
from rpc.proto import flow_pb2
from tests.rpc.harness import make_token, running

Code = grpc.StatusCode
ID = "0b5e7f60-0000-4000-8000-000000000001"
REQUEST = flow_pb2.GetTaskScheduleRequest(id=flow_pb2.UUID(id=ID))


class Recorder:
    """A method that notes who called it."""

    def __init__(self):
        self.calls = []

    def __call__(self, call, request):
        self.calls.append((call, request))
        return flow_pb2.TaskSchedule(name=call.caller.name)


@pytest.fixture
def recorder():
    return Recorder()


@pytest.fixture
def client(transactional_db, recorder):
    methods = {
        "GetTaskSchedule": Method("schedule.read", recorder),
        "PauseTaskSchedule": Method("schedule.pause", recorder),
        "Version": Method("", lambda call, request: recorder(call, request) and flow_pb2.BuildInfo()),
    }
    with running(methods) as server, server.client() as client:
        yield client


def test_a_token_makes_a_caller(client, recorder):
    client.token = make_token("viewer", username="vera")
    before = clock.now()
    assert client.call("GetTaskSchedule", REQUEST, metadata=(("x-request-id", "abc-1"),)).name == "vera"
    assert client.trailing["x-request-id"] == "abc-1"
    [(call, request)] = recorder.calls
    assert request == REQUEST
    assert (call.by.name, call.by.door, call.by.request_id) == ("vera", Door.GRPC, "abc-1")
    assert before <= call.now <= clock.now()
    assert Token.objects.get().last_used_at is not None


@pytest.mark.parametrize("given", ["", " ", "a b", "x" * 65, "<b>"])
def test_an_id_that_is_none_is_replaced_by_one_of_ours(client, given):
    client.token = make_token("viewer")
    client.call("GetTaskSchedule", REQUEST, metadata=(("x-request-id", given),))
    assert client.trailing["x-request-id"] != given
    assert len(client.trailing["x-request-id"]) == 32


def forget(token):
    token_revoke(key=token[:15], by=SYSTEM, now=clock.now())


def expire(_token):
    Token.objects.update(expiry=clock.now())


def switch_off(_token):
    User.objects.update(is_active=False)


@pytest.mark.parametrize("spoil", [forget, expire, switch_off])
def test_a_token_that_is_no_longer_good(client, recorder, spoil):
    client.token = make_token("viewer", life=timedelta(days=1))
    assert client.call("GetTaskSchedule", REQUEST)
    spoil(client.token)
    failure = client.failed("GetTaskSchedule", REQUEST)
    assert (failure.code, failure.reasons) == (Code.UNAUTHENTICATED, ["TOKEN_UNKNOWN"])
    assert len(recorder.calls) == 1


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (None, "NO_CREDENTIALS"),
        ("", "SCHEME"),
        ("Bearer", "TOKEN_UNKNOWN"),
        ("Bearer " + "x" * 300, "TOKEN_UNKNOWN"),
        ("Bearer fs_0123456789012345678901234567890123456789", "TOKEN_UNKNOWN"),
        ("Basic dXNlcjpwYXNz", "SCHEME"),
        ("Token {}", "SCHEME"),
        ("{}", "SCHEME"),
        ("Bearer {}, Bearer {}", "TOKEN_UNKNOWN"),
    ],
)
def test_what_is_no_token(client, recorder, value, reason):
    token = make_token("viewer")
    metadata = () if value is None else (("authorization", value.replace("{}", token)),)
    failure = client.failed("GetTaskSchedule", REQUEST, metadata=metadata)
    assert (failure.code, failure.reasons) == (Code.UNAUTHENTICATED, [reason])
    assert "manage.py token create" in failure.message or "authorization: Bearer" in failure.message
    assert token not in failure.message
    assert not recorder.calls
    assert not AuditEntry.objects.filter(door=Door.GRPC).exists()


def test_two_tokens_are_none(client):
    """Whose call would it be?"""
    tokens = [("authorization", f"Bearer {make_token('viewer', username=name)}") for name in ("vera", "viktor")]
    failure = client.failed("GetTaskSchedule", REQUEST, metadata=tuple(tokens))
    assert (failure.code, failure.reasons) == (Code.UNAUTHENTICATED, ["SCHEME"])


def test_without_the_permission_nothing_is_done_and_it_is_on_record(client, recorder):
    client.token = make_token("viewer", username="vera")
    pause = flow_pb2.PauseTaskScheduleRequest(id=flow_pb2.UUID(id=ID))
    failure = client.failed("PauseTaskSchedule", pause, metadata=(("x-request-id", "r-7"),))
    assert failure.code == Code.PERMISSION_DENIED
    assert failure.reasons == ["PERMISSION_DENIED"]
    assert failure.infos[0].metadata == {"permission": PERMISSIONS["schedule.pause"]}
    assert PERMISSIONS["schedule.pause"] in failure.message
    assert not recorder.calls
    entry = AuditEntry.objects.get(door=Door.GRPC)
    assert (entry.actor, entry.verb, entry.object_kind) == ("vera", "schedule.pause", "schedule")
    assert (entry.object_id, entry.request_id) == (ID, "r-7")
    assert entry.refused == failure.message


def test_permission_comes_before_what_is_wrong_with_the_message(client, recorder):
    client.token = make_token(username="nobody")
    assert client.failed("GetTaskSchedule", raw=b"\xff\xff").code == Code.PERMISSION_DENIED
    assert AuditEntry.objects.get(door=Door.GRPC).object_id == ""
    assert client.failed("Version", raw=b"\xff\xff").code == Code.INVALID_ARGUMENT
    assert not recorder.calls


def test_a_verb_of_no_permission_takes_any_known_caller_but_one(client, recorder):
    assert client.failed("Version").code == Code.UNAUTHENTICATED
    client.token = make_token(username="nobody")
    client.call("Version")
    [(call, _)] = recorder.calls
    assert call.caller.name == "nobody"


def test_a_superuser_may_do_everything(client):
    client.token = make_token(username="root")
    User.objects.update(is_superuser=True)
    pause = flow_pb2.PauseTaskScheduleRequest(id=flow_pb2.UUID(id=ID))
    assert client.call("PauseTaskSchedule", pause).name == "root"


def test_what_is_not_there_is_unimplemented_without_any_work(client, django_assert_num_queries):
    """F-5, F-167."""
    for name in ("DecommissionRack", "PatchRack", "Nonsense", "x" * 4000):
        failure = client.failed(name, raw=b"")
        assert failure.code == Code.UNIMPLEMENTED
        assert name[:90] in failure.message
        assert len(failure.message) < 250
    call = client.channel.unary_unary("/v2.Flow/GetTaskSchedule").future(b"")
    assert call.exception(5).code() == Code.UNIMPLEMENTED
