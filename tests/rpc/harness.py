"""A real server on a real port, real clients, and what a client learns from a failed call."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import grpc
from google.rpc.error_details_pb2 import BadRequest, ErrorInfo
from google.rpc.status_pb2 import Status
from grpc_status import rpc_status

from access.services import token_create, user_create
from flowsched import clock
from flowsched.actor import SYSTEM
from rpc.call import Method
from rpc.proto import flow_pb2
from rpc.server import Config, Server
from rpc.tls import Files

SERVICE = flow_pb2.DESCRIPTOR.services_by_name["Flow"]
PATIENCE = 20  # seconds until a call of a test gives up


@dataclass(frozen=True)
class Failure:
    """How a call failed."""

    code: grpc.StatusCode
    message: str
    violations: dict[str, str] = field(default_factory=dict)
    reasons: list[str] = field(default_factory=list)
    infos: list[ErrorInfo] = field(default_factory=list)
    trailing: dict[str, Any] = field(default_factory=dict)


def failure_of(error: grpc.RpcError) -> Failure:
    status = rpc_status.from_call(error) or Status()
    violations, infos = {}, []
    for detail in status.details:
        bad, info = BadRequest(), ErrorInfo()
        if detail.Unpack(bad):
            violations |= {v.field: v.description for v in bad.field_violations}
        elif detail.Unpack(info):
            infos.append(info)
    trailing = dict(error.trailing_metadata() or ())
    return Failure(error.code(), error.details(), violations, [info.reason for info in infos], infos, trailing)


class Client:
    """Calls methods of v1.Flow by name, with a token unless told otherwise."""

    def __init__(self, channel: grpc.Channel, token: str = "") -> None:
        self.channel = channel
        self.token = token
        self.trailing: dict[str, Any] = {}

    def start(
        self, name: str, request: Any = None, *, metadata: tuple = (), timeout: float | None = PATIENCE, raw=None
    ):
        """The call under way."""
        described = SERVICE.methods_by_name.get(name)
        answer = described.output_type._concrete_class.FromString if described else None
        stub = self.channel.unary_unary(f"/v1.Flow/{name}", lambda data: data, answer)
        if request is None and described:
            request = described.input_type._concrete_class()
        given = (("authorization", f"Bearer {self.token}"),) if self.token else ()
        data = raw if raw is not None else request.SerializeToString()
        return stub.future(data, metadata=(*given, *metadata), timeout=timeout)

    def call(self, name: str, request: Any = None, **options: Any) -> Any:
        call = self.start(name, request, **options)
        answer = call.result()
        self.trailing = dict(call.trailing_metadata())
        return answer

    def failed(self, name: str, request: Any = None, **options: Any) -> Failure:
        """The failure of a call that must not succeed."""
        call = self.start(name, request, **options)
        try:
            answer = call.result()
        except grpc.RpcError:
            return failure_of(call)
        raise AssertionError(f"{name} succeeded: {answer}")


@dataclass
class Running:
    server: Server
    address: str

    @contextmanager
    def client(self, token: str = "", credentials: grpc.ChannelCredentials | None = None, *options) -> Iterator[Client]:
        everything = [("grpc.use_local_subchannel_pool", 1), *options]
        if credentials is None:
            channel = grpc.insecure_channel(self.address, everything)
        else:
            channel = grpc.secure_channel(self.address, credentials, everything)
        with channel:
            yield Client(channel, token)


@contextmanager
def running(methods: Mapping[str, Method], grace: float = 5, **changes: Any) -> Iterator[Running]:
    """A server of `methods` in this process, on a port of its own."""
    config = {"threads": 4, "deadline": 30.0, "users": {}, "reflection": True, "tls": Files(), "bind": "127.0.0.1:0"}
    config |= changes
    bind = config.pop("bind")
    server = Server(methods, Config(**config))
    address = server.bind(bind)
    server.start()
    try:
        yield Running(server, address)
    finally:
        server.stop(grace)


def make_token(*roles: str, username: str = "", life=None) -> str:
    """A new user of these roles, and the text of its token."""
    now = clock.now()
    name = username or f"user-{'-'.join(roles) or 'nobody'}"
    user_create(username=name, roles=roles, by=SYSTEM, now=now)
    return token_create(username=name, life=life, by=SYSTEM, now=now)[1]
