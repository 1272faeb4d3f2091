"""The compiled proto against the facts of the wire, both ways: F-1…F-112."""

from __future__ import annotations

import json
import re
from importlib import import_module
from pathlib import Path

import grpc
import pytest
from google.protobuf import descriptor_pb2
from packaging.requirements import Requirement
from packaging.version import Version

from access.permissions import PERMISSIONS
from rpc import schedules, scopes
from rpc.proto import flow_pb2

ROOT = Path(__file__).resolve().parent.parent.parent
FACTS = json.loads((ROOT / "tests" / "data" / "wire.json").read_text())
FILE = descriptor_pb2.FileDescriptorProto()
flow_pb2.DESCRIPTOR.CopyToProto(FILE)
MESSAGES = {message.name: message for message in FILE.message_type}
ENUMS = {enum.name: enum for enum in FILE.enum_type}
Field = descriptor_pb2.FieldDescriptorProto


def described(message: descriptor_pb2.DescriptorProto) -> list[dict]:
    """The fields of a compiled message in the shape of the facts."""
    found = []
    for field in message.field:
        entry = {"name": field.name, "number": field.number, "type": type_of(field)}
        if field.label == Field.LABEL_REPEATED:
            entry["label"] = "repeated"
        elif field.proto3_optional:
            entry["label"] = "optional"
        elif field.HasField("oneof_index"):
            entry["oneof"] = message.oneof_decl[field.oneof_index].name
        found.append(entry)
    return found


def type_of(field: Field) -> str:
    if field.type_name:
        return field.type_name.removeprefix(".v1.").removeprefix(".google.protobuf.")
    return Field.Type.Name(field.type).removeprefix("TYPE_").lower()


def by_number(fields: list[dict]) -> list[dict]:
    return sorted(fields, key=lambda field: field["number"])


def test_the_package_and_its_one_service():
    """F-1: clients call /v1.Flow/…"""
    assert (FILE.syntax, FILE.package) == ("proto3", FACTS["package"])
    assert [service.full_name for service in flow_pb2.DESCRIPTOR.services_by_name.values()] == ["v1.Flow"]
    assert FACTS["service"] == "Flow"


def test_the_methods_are_those_of_the_wire_and_no_others():
    """F-2…F-5: what is not declared answers UNIMPLEMENTED by itself."""
    [service] = FILE.service
    names = {method.name: (method.input_type, method.output_type) for method in service.method}
    types = {"google.protobuf.Empty": ".google.protobuf.Empty"}
    assert names == {
        name: tuple(types.get(method[side], f".v1.{method[side]}") for side in ("request", "response"))
        for name, method in FACTS["methods"].items()
    }
    assert not any(method.client_streaming or method.server_streaming for method in service.method)
    assert not names.keys() & set(FACTS["unimplemented"])


def test_the_messages_and_enums_are_those_of_the_wire_and_no_others():
    """F-6…F-112."""
    assert MESSAGES.keys() == FACTS["messages"].keys()
    assert ENUMS.keys() == FACTS["enums"].keys()
    assert not any(message.nested_type or message.enum_type or message.extension for message in MESSAGES.values())
    assert not FILE.extension


@pytest.mark.parametrize("name", sorted(MESSAGES.keys() | FACTS["messages"].keys()))
def test_a_message_has_the_fields_of_the_wire(name):
    """F-22…F-112: name, number, type, label and oneof of each."""
    assert by_number(described(MESSAGES[name])) == by_number(FACTS["messages"][name])


@pytest.mark.parametrize("name", sorted(ENUMS.keys() | FACTS["enums"].keys()))
def test_an_enum_has_the_values_of_the_wire(name):
    """F-6…F-21."""
    assert {value.name: value.number for value in ENUMS[name].value} == FACTS["enums"][name]


def test_the_stubs_call_the_paths_of_the_wire():
    """F-1: generated from the repository's root, the modules import each other and the wire name stays."""
    stub = import_module("rpc.proto.flow_pb2_grpc").FlowStub
    channel = grpc.insecure_channel("127.0.0.1:1")
    try:
        paths = {name: vars(stub(channel))[name]._method for name in FACTS["methods"]}
    finally:
        channel.close()
    assert {name: path.decode() if isinstance(path, bytes) else path for name, path in paths.items()} == {
        name: f"/v1.Flow/{name}" for name in FACTS["methods"]
    }


def test_the_generated_code_runs_with_the_oldest_packages_we_ask_for():
    """The floors of requirements.in are not below what the code was generated for."""
    lines = (line.partition("  #")[0] for line in (ROOT / "requirements.in").read_text().splitlines())
    wanted = [Requirement(line) for line in lines if line and not line.startswith("#")]
    floors = {
        requirement.name: Version(specifier.version)
        for requirement in wanted
        for specifier in requirement.specifier
        if specifier.operator == ">="
    }
    messages = (ROOT / "rpc" / "proto" / "flow_pb2.py").read_text()
    service = (ROOT / "rpc" / "proto" / "flow_pb2_grpc.py").read_text()
    assert floors["protobuf"] >= Version(re.search(r"Protobuf Python Version: (\S+)", messages)[1])
    assert floors["grpcio"] >= Version(re.search(r"GRPC_GENERATED_VERSION = '(\S+)'", service)[1])


@pytest.mark.parametrize("module", [schedules, scopes])
def test_every_method_is_of_the_wire_and_takes_a_known_permission(module):
    """D-22: a verb that is not in the table would be closed to everybody but superusers."""
    for name, method in module.METHODS.items():
        assert name in FACTS["methods"]
        assert method.verb in PERMISSIONS


def test_every_method_of_schedules_and_scopes_is_there():
    """F-2."""
    assert {*schedules.METHODS, *scopes.METHODS} == set(list(FACTS["methods"])[:13])
    assert schedules.METHODS["UpdateTaskSchedule"].statuses == {"NAME_TAKEN": grpc.StatusCode.UNKNOWN}
