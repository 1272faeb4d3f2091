"""Who may do what, at every URL with every method and at every RPC: one table (TH-1, D-22).

A route or an RPC that the table does not know fails here, so that nobody opens a door by forgetting it. A refusal
happens before any work: it leaves one row in the audit trail and nothing else.
"""

from __future__ import annotations

import grpc
import pytest

from access.services import token_revoke
from audit.models import AuditEntry
from flowsched import clock
from flowsched.actor import SYSTEM
from tests.doors.routes import METHODS, elsewhere, methods_of, path_to, routes
from tests.doors.statuses import details_of
from tests.doors.wireclient import FACTS
from tests.doors.world import fingerprint, rack_id

pytestmark = pytest.mark.process
CALLERS = ("anonymous", "viewer", "operator", "planner", "inventory", "superuser")
KNOWN = frozenset(CALLERS) - {"anonymous"}
OPEN = frozenset(CALLERS)
READ = KNOWN
OPERATE = frozenset({"operator", "planner", "superuser"})
PLAN = frozenset({"planner", "superuser"})
STOCK = frozenset({"inventory", "superuser"})

# Route below /api/v1/ -> method -> who may. What is not named is 405 to whoever is known, 401 to the others.
REST = {
    "schema/": {"GET": OPEN},  # whoever has no token yet reads here how to get one
    "docs/": {"GET": OPEN},
    "me/": {"GET": KNOWN},
    "schedules/": {"GET": READ, "POST": PLAN},
    "schedules/check-conflicts/": {"POST": READ},
    "schedules/dry-run/": {"POST": PLAN},  # and the endpoint's own permission, see tests/rest/test_calls.py
    "schedules/<str:id>/dry-run/": {"POST": OPERATE},
    "schedules/<str:id>/": {"GET": READ, "PATCH": OPERATE, "DELETE": PLAN},
    "schedules/<str:id>/pause/": {"POST": OPERATE},
    "schedules/<str:id>/resume/": {"POST": OPERATE},
    "schedules/<str:id>/trigger/": {"POST": OPERATE},
    "schedules/<str:id>/preview/": {"GET": READ},
    "schedules/<str:id>/firings/": {"GET": READ},
    "schedules/<str:id>/scopes/": {"GET": READ, "POST": PLAN, "PUT": PLAN},
    "schedules/preview/": {"POST": READ},
    "scopes/<str:id>/": {"GET": READ, "DELETE": PLAN},
    "firings/": {"GET": READ},
    "firings/<int:id>/": {"GET": READ},
    "tasks/": {"GET": READ, "POST": OPERATE},
    "tasks/<str:id>/": {"GET": READ},
    "tasks/<str:id>/cancel/": {"POST": OPERATE},
    "tasks/<str:id>/acknowledge/": {"POST": OPERATE},
    "runs/": {"GET": READ},
    "runs/<str:id>/": {"GET": READ},
    "runs/<str:id>/cancel/": {"POST": OPERATE},
    "racks/": {"GET": READ, "POST": STOCK},
    "racks/<str:id>/": {"GET": READ},
    "components/": {"GET": READ, "POST": STOCK},
    "components/<str:id>/": {"GET": READ},
    "nvl-domains/": {"GET": READ, "POST": STOCK},
    "nvl-domains/<str:id>/": {"GET": READ},
    "nvl-domains/<str:id>/attach/": {"POST": STOCK},
    "nvl-domains/<str:id>/detach/": {"POST": STOCK},
}
# 404 to everybody; the way to the pages; and the feeds, to whoever has an address (tests/console/test_feeds.py).
ELSEWHERE = {r"^api(/.*)?$", "", "calendar/<str:token>.ics"}

RPCS = {
    "CreateTaskSchedule": PLAN,
    "GetTaskSchedule": READ,
    "ListTaskSchedules": READ,
    "UpdateTaskSchedule": OPERATE,
    "PauseTaskSchedule": OPERATE,
    "ResumeTaskSchedule": OPERATE,
    "DeleteTaskSchedule": PLAN,
    "TriggerTaskSchedule": OPERATE,
    "AddTaskScheduleScope": PLAN,
    "RemoveTaskScheduleScope": PLAN,
    "UpdateTaskScheduleScope": PLAN,
    "ListTaskScheduleScopes": READ,
    "CheckScheduleConflicts": READ,
    "Version": KNOWN,
    "PowerOnRack": OPERATE,
    "PowerOffRack": OPERATE,
    "PowerResetRack": OPERATE,
    "BringUpRack": OPERATE,
    "IngestRack": OPERATE,
    "ACPowerCycleRack": OPERATE,
    "UpgradeFirmware": OPERATE,
    "ListTasks": READ,
    "GetTasksByIDs": READ,
    "CancelTask": OPERATE,
    "CreateExpectedRack": STOCK,
    "GetRackInfoByID": READ,
    "GetRackInfoBySerial": READ,
    "GetListOfRacks": READ,
    "AddComponent": STOCK,
    "GetComponentInfoByID": READ,
    "GetComponentInfoBySerial": READ,
    "GetComponents": READ,
    "CreateNVLDomain": STOCK,
    "AttachRacksToNVLDomain": STOCK,
    "DetachRacksFromNVLDomain": STOCK,
    "GetListOfNVLDomains": READ,
    "GetRacksForNVLDomain": READ,
}
UNIMPLEMENTED = {"DecommissionRack"}
NOBODY = rack_id(404)


def test_the_table_knows_every_route_and_method():
    assert {route: methods_of(view) for route, view in routes().items()} == {
        route: set(methods) for route, methods in REST.items()
    }
    assert elsewhere() == ELSEWHERE


def test_the_table_knows_every_rpc():
    assert set(RPCS) | UNIMPLEMENTED == set(FACTS["methods"])


def refusals():
    return AuditEntry.objects.exclude(refused="").count()


@pytest.mark.parametrize("caller", CALLERS)
def test_every_url_with_every_method(doors, people, caller):
    """401 to strangers, 403 to who may not, 405 where there is no such method, and never one where it is allowed."""
    client, before = doors.rest(people.get(caller)), fingerprint()
    for route, methods in REST.items():
        for method in METHODS:
            denied = refusals()
            status = client(method, path_to(route, NOBODY), {} if method in {"POST", "PUT", "PATCH"} else None).status
            who = methods.get(method)
            where = f"{method} {route} as {caller}: {status}"
            if caller == "anonymous" and OPEN not in methods.values():
                assert status == 401, where
            elif who is None:
                assert status == 405, where
            elif caller in who:
                assert status not in {401, 403, 405, 500, 503}, where
            else:
                assert status == 403, where
                assert refusals() == denied + 1, where
    assert fingerprint() == before


@pytest.mark.parametrize("caller", CALLERS)
def test_every_rpc(doors, people, caller):
    """UNAUTHENTICATED and PERMISSION_DENIED come before any work, and before what is wrong with the message."""
    client, before = doors.grpc(people.get(caller)), fingerprint()
    for rpc, who in RPCS.items():
        denied = refusals()
        try:
            client.call(rpc)
            code, reasons = grpc.StatusCode.OK, []
        except grpc.RpcError as error:
            code, reasons = error.code(), details_of(error).reasons
        where = f"{rpc} as {caller}: {code}"
        if caller == "anonymous":
            assert code is grpc.StatusCode.UNAUTHENTICATED, where
        elif caller in who:
            assert code in {grpc.StatusCode.OK, grpc.StatusCode.INVALID_ARGUMENT}, where
        else:
            assert code is grpc.StatusCode.PERMISSION_DENIED, where
            assert reasons, where
            assert refusals() == denied + 1, where
    assert fingerprint() == before


@pytest.mark.parametrize("caller", ["anonymous", "viewer", "superuser"])
def test_the_other_methods(doors, people, caller):
    """HEAD is GET without a body; OPTIONS and TRACE, and what is no method, say nothing."""
    client = doors.rest(people.get(caller))
    for route, methods in REST.items():
        path = path_to(route, NOBODY)
        head, found = (client(method, path).status for method in ("HEAD", "GET"))
        assert head == found, route
        stranger = caller == "anonymous" and OPEN not in methods.values()
        for method in ("OPTIONS", "TRACE", "CONNEKT"):
            assert client(method, path).status == (401 if stranger else 405), (method, route)


def test_a_refusal_says_who_was_refused_what(doors, people):
    """One row at each door, with the same words but for the door and the request id."""
    path, identity = f"schedules/{NOBODY}/pause/", {"id": {"id": NOBODY}}
    assert doors.rest(people["viewer"])("POST", path, headers={"X-Request-ID": "r-1"}).status == 403
    assert doors.grpc(people["viewer"]).code("PauseTaskSchedule", **identity) is grpc.StatusCode.PERMISSION_DENIED
    first, second = AuditEntry.objects.exclude(refused="").order_by("id")
    assert (first.door, first.request_id, second.door) == ("rest", "r-1", "grpc")
    assert second.request_id
    for row in (first, second):
        assert (row.actor, row.verb, row.object_kind, row.object_id) == ("viewer", "schedule.pause", "schedule", NOBODY)
        assert "schedules.change_taskschedule" in row.refused


def test_a_token_that_was_revoked_is_refused_at_once(doors, people):
    """TH-14: nothing is remembered of it; both doors ask the database."""
    token = people["viewer"]
    assert doors.rest(token)("GET", "me/").status == 200
    assert doors.grpc(token).code("Version") is grpc.StatusCode.OK
    token_revoke(key=token[:12], by=SYSTEM, now=clock.now())
    assert doors.rest(token)("GET", "me/").status == 401
    assert doors.grpc(token).code("Version") is grpc.StatusCode.UNAUTHENTICATED
    assert token not in doors.log.read_text()
