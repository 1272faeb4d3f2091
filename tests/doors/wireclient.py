"""A gRPC client that knows nothing of our own flow.proto: its messages are built at run time from the wire's facts.

`tests/data/wire.json` says what NVIDIA's clients send and read. If this client works, they do.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, empty_pb2, field_mask_pb2, message_factory, timestamp_pb2

FACTS = json.loads((Path(__file__).resolve().parent.parent / "data" / "wire.json").read_text())
WELL_KNOWN = (empty_pb2, field_mask_pb2, timestamp_pb2)
PREFIX = "google.protobuf."
TIMEOUT = 30.0

_Field = descriptor_pb2.FieldDescriptorProto
SCALARS = {
    "string": _Field.TYPE_STRING,
    "bool": _Field.TYPE_BOOL,
    "int32": _Field.TYPE_INT32,
    "uint32": _Field.TYPE_UINT32,
}


def file_descriptor(facts: dict[str, Any]) -> descriptor_pb2.FileDescriptorProto:
    """The facts as a proto3 file."""
    file = descriptor_pb2.FileDescriptorProto(name="wire_facts.proto", package=facts["package"], syntax="proto3")
    file.dependency.extend(module.DESCRIPTOR.name for module in WELL_KNOWN)
    for name, values in facts["enums"].items():
        enum = file.enum_type.add(name=name)
        for value, number in values.items():
            enum.value.add(name=value, number=number)
    for name, fields in facts["messages"].items():
        _fill(file.message_type.add(name=name), fields, facts)
    return file


def _fill(message: descriptor_pb2.DescriptorProto, fields: list[dict[str, Any]], facts: dict[str, Any]) -> None:
    oneofs = list(dict.fromkeys(field["oneof"] for field in fields if "oneof" in field))
    for oneof in oneofs:
        message.oneof_decl.add(name=oneof)
    for field in fields:
        label = field.get("label")
        one = message.field.add(name=field["name"], number=field["number"])
        one.label = _Field.LABEL_REPEATED if label == "repeated" else _Field.LABEL_OPTIONAL
        kind = field["type"]
        if kind in SCALARS:
            one.type = SCALARS[kind]
        else:
            one.type = _Field.TYPE_ENUM if kind in facts["enums"] else _Field.TYPE_MESSAGE
            ours = kind in facts["enums"] or kind in facts["messages"]
            one.type_name = f".{facts['package']}.{kind}" if ours else f".{PREFIX}{kind}"
        if "oneof" in field:
            one.oneof_index = oneofs.index(field["oneof"])
        if label == "optional":  # what protoc makes of `optional` in proto3: a oneof of its own, after the real ones
            one.proto3_optional = True
            one.oneof_index = len(message.oneof_decl)
            message.oneof_decl.add(name=f"_{field['name']}")


class Wire:
    """The messages and enum numbers of the facts: `wire.UUID(id=…)`, `wire.number("OVERLAP_POLICY_QUEUE")`."""

    def __init__(self, facts: dict[str, Any] = FACTS) -> None:
        self.facts = facts
        pool = descriptor_pool.DescriptorPool()
        for module in WELL_KNOWN:
            pool.AddSerializedFile(module.DESCRIPTOR.serialized_pb)
        pool.Add(file_descriptor(facts))
        self._pool = pool
        self._numbers = {name: number for values in facts["enums"].values() for name, number in values.items()}

    def message(self, name: str) -> type[Any]:
        """The class of a message, ours or `google.protobuf.…`."""
        full = name if name.startswith(PREFIX) else f"{self.facts['package']}.{name}"
        return message_factory.GetMessageClass(self._pool.FindMessageTypeByName(full))

    def __getattr__(self, name: str) -> type[Any]:
        if name.startswith("_"):
            raise AttributeError(name)
        return self.message(name)

    def number(self, name: str) -> int:
        """The number of an enum value."""
        return self._numbers[name]

    def id(self, text: object) -> Any:
        """A UUID message."""
        return self.message("UUID")(id=str(text))

    def request(self, rpc: str, **fields: Any) -> Any:
        """The request message of an RPC, filled."""
        return self.message(self.facts["methods"][rpc]["request"])(**fields)


class Client:
    """A caller with a token: `client.GetTaskSchedule(id=…)` sends and returns the answer, raising grpc.RpcError."""

    def __init__(self, channel: grpc.Channel, token: str | None, wire: Wire) -> None:
        self.channel, self.wire, self.token = channel, wire, token

    @property
    def metadata(self) -> list[tuple[str, str]]:
        return [("authorization", f"Bearer {self.token}")] if self.token else []

    def call(self, rpc: str, request: Any = None, *, timeout: float = TIMEOUT, **fields: Any) -> Any:
        """One call; `request` may be bytes, sent as they are."""
        return self.with_call(rpc, request, timeout=timeout, **fields)[0]

    def with_call(self, rpc: str, request: Any = None, *, timeout: float = TIMEOUT, **fields: Any) -> Any:
        """The answer and the call, which has the trailing metadata."""
        method = self.wire.facts["methods"][rpc]
        message = self.wire.request(rpc, **fields) if request is None else request
        stub = self.channel.unary_unary(
            f"/{self.wire.facts['package']}.{self.wire.facts['service']}/{rpc}",
            request_serializer=lambda sent: sent if isinstance(sent, bytes) else sent.SerializeToString(),
            response_deserializer=self.wire.message(method["response"]).FromString,
        )
        return stub.with_call(message, timeout=timeout, metadata=self.metadata)

    def error(self, rpc: str, request: Any = None, **fields: Any) -> Any:
        """What a call fails with; None if it goes well."""
        try:
            self.call(rpc, request, **fields)
        except grpc.RpcError as error:
            return error
        return None

    def code(self, rpc: str, request: Any = None, **fields: Any) -> grpc.StatusCode:
        """The status that a call ends with."""
        error = self.error(rpc, request, **fields)
        return error.code() if error else grpc.StatusCode.OK

    def __getattr__(self, rpc: str) -> Any:
        if rpc.startswith("_"):
            raise AttributeError(rpc)
        return lambda request=None, **fields: self.call(rpc, request, **fields)
