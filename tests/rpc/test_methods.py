"""Every method of the service is somebody's: with a verb of the permission table, or left out on purpose (TH-1)."""

from __future__ import annotations

import grpc
import pytest
from django.conf import settings as django_settings

from access.permissions import PERMISSIONS, ROLES
from audit.models import AuditEntry
from flowsched import __version__
from rpc.methods import METHODS, UNIMPLEMENTED
from rpc.proto import flow_pb2 as pb
from tests.rpc.calls import run
from tests.rpc.harness import SERVICE, make_token, running

Code = grpc.StatusCode
ANYBODY = {"Version"}  # any caller who is known


def test_every_method_is_listed_and_nothing_else():
    names = {method.name for method in SERVICE.methods}
    assert METHODS.keys() | UNIMPLEMENTED == names
    assert not METHODS.keys() & UNIMPLEMENTED
    assert len(METHODS) == 37


def test_every_verb_is_in_the_table_of_permissions():
    assert {name for name, method in METHODS.items() if not method.verb} == ANYBODY
    assert {method.verb for method in METHODS.values()} - {""} <= PERMISSIONS.keys()


def test_only_the_rename_has_a_status_of_its_own():
    """D-2."""
    assert {name: dict(method.statuses) for name, method in METHODS.items() if method.statuses} == {
        "UpdateTaskSchedule": {"NAME_TAKEN": Code.UNKNOWN}
    }


def test_the_matrix_of_methods_and_roles(transactional_db):
    """TH-1: every method with every role and with none; who may not does nothing and is on record."""
    tokens = {role: make_token(role, username=role) for role in ROLES} | {"": make_token(username="nobody")}
    with running(METHODS) as server, server.client() as client:
        for name, method in METHODS.items():
            client.token = ""
            assert client.failed(name).code == Code.UNAUTHENTICATED, name
            for role, token in tokens.items():
                client.token = token
                error = client.start(name).exception(20)
                may = name in ANYBODY or PERMISSIONS[method.verb] in ROLES.get(role, ())
                denied = error is not None and error.code() == Code.PERMISSION_DENIED
                assert denied is not may, (name, role)
                assert error is None or error.code() not in {Code.INTERNAL, Code.UNKNOWN}, (name, role)
    refused = set(AuditEntry.objects.filter(door="grpc", actor="nobody").values_list("verb", flat=True))
    assert refused == {method.verb for method in METHODS.values()} - {""}


def test_f183_version(settings):
    """F-183: what the build says, and unknown where it says nothing."""
    assert (django_settings.FLOWSCHED_BUILD_TIME, django_settings.FLOWSCHED_GIT_COMMIT) == ("unknown", "unknown")
    assert run("Version", pb.VersionRequest()) == pb.BuildInfo(
        version=__version__, build_time="unknown", git_commit="unknown"
    )
    settings.FLOWSCHED_BUILD_TIME, settings.FLOWSCHED_GIT_COMMIT = "2026-12-01T00:00:00Z", "abc123"
    assert run("Version", pb.VersionRequest()).git_commit == "abc123"


@pytest.mark.parametrize("method", ["Nonsense", *sorted(UNIMPLEMENTED)])
def test_f167_the_rest_is_unimplemented(method):
    """F-5, F-167: to anybody, without a database."""
    with running(METHODS) as server, server.client() as client:
        assert client.failed(method, raw=b"\xff").code == Code.UNIMPLEMENTED
