"""What was written through one door reads alike through both: the same rows, order, totals and words."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tests.doors import calls
from tests.doors.test_parity import start, through_grpc

pytestmark = pytest.mark.process
SPECS = {number: word for word, number in calls.SPECS.items()}
POLICIES = {number: word for word, number in calls.POLICIES.items()}
TYPES = {number: word for word, number in calls.TYPES.items()}
STATUSES = ["unknown", "pending", "running", "completed", "failed", "terminated", "waiting"]
PAGE = {"pagination": {"offset": 1, "limit": 3}}


@pytest.fixture
def both(doors, people):
    """A client of each door; behind them schedules of every kind, tasks, and refusals."""
    start(doors, people)
    make = through_grpc(doors, people)
    for call in calls.FIRING[:11]:
        make(call)
    make(calls.create("parts", ("cron", "0 3 4 5 *", "Asia/Tokyo"), calls.FIRMWARE, calls.parts(2, 1, 0)))
    make(calls.verb("parts", "pause"))
    return doors.rest(people["viewer"]), doors.grpc(people["viewer"])


def when(value):
    """An instant of either door; None where it is absent."""
    if value is None or isinstance(value, str):
        return value and datetime.fromisoformat(value)
    return value.ToDatetime(tzinfo=UTC)


def absent(message, field):
    return getattr(message, field) if message.HasField(field) else None


def schedule(row):
    """A schedule of the wire in the words of REST."""
    spec = {"type": SPECS[row.spec.type], "spec": row.spec.spec, "timezone": row.spec.timezone}
    found = {"id": row.id.id, "name": row.name, "spec": spec, "overlap_policy": POLICIES[row.overlap_policy]}
    found |= {"enabled": row.enabled, "operation_type": row.operation_type.lower(), "description": row.description}
    times = {name: when(absent(row, name)) for name in ("next_run_at", "last_run_at", "created_at", "updated_at")}
    return found | times


def scope(row):
    kind = row.WhichOneof("component_filter")
    chosen = {
        None: None,
        "types": {"types": [TYPES[number] for number in row.types.types]},
        "components": {"components": [target.id.id for target in row.components.targets]},
    }[kind]
    last = absent(row, "last_task_id")
    found = {"id": row.id.id, "schedule_id": row.schedule_id.id, "rack_id": row.rack_id.id, "component_filter": chosen}
    return found | {"last_task_id": last.id if last else None, "created_at": when(row.created_at)}


def task(row):
    found = {"id": row.id.id, "operation": row.operation, "rack_id": row.rack_id.id, "description": row.description}
    found |= {"status": STATUSES[row.status], "message": row.message, "execution_id": row.execution_id or None}
    found |= {"component_ids": sorted(part.id for part in row.component_uuids)}
    names = ("created_at", "updated_at", "started_at", "finished_at", "queue_expires_at")
    return found | {name: when(absent(row, name)) for name in names}


def alike(body, read):
    """`body`, cut to what the wire says too; `read` is that."""
    cut = {
        name: when(value) if name.endswith("_at") or name == "queue_expires_at" else value
        for name, value in body.items()
    }
    if "component_ids" in cut:
        cut["component_ids"] = sorted(cut["component_ids"])
    return {name: cut[name] for name in read}


def same(bodies, rows, read):
    assert rows
    wire = [read(row) for row in rows]
    assert [alike(body, one) for body, one in zip(bodies, wire, strict=True)] == wire


def test_schedules_read_alike(both):
    """F-134, F-135: all, a page, the enabled ones; each in full."""
    rest, flow = both
    bodies, rows = rest.ok("GET", "schedules/?ordering=created_at"), flow.ListTaskSchedules()
    same(bodies["task_schedules"], rows.task_schedules, schedule)
    assert bodies["total"] == rows.total == 5
    page = rest.ok("GET", "schedules/?ordering=created_at&offset=1&limit=3")
    wire = flow.ListTaskSchedules(**PAGE)
    same(page["task_schedules"], wire.task_schedules, schedule)
    assert page["total"] == wire.total == 5
    enabled = rest.ok("GET", "schedules/?ordering=created_at&enabled=true")
    same(enabled["task_schedules"], flow.ListTaskSchedules(enabled_only=True).task_schedules, schedule)
    for body in bodies["task_schedules"]:
        same([rest.ok("GET", f"schedules/{body['id']}/")], [flow.GetTaskSchedule(id={"id": body["id"]})], schedule)
        found = rest.ok("GET", f"schedules/{body['id']}/scopes/")["scopes"]
        same(found, flow.ListTaskScheduleScopes(schedule_id={"id": body["id"]}).scopes, scope)


def test_tasks_read_alike(both):
    """F-170: newest first, with the total before paging; of a rack; active ones."""
    rest, flow = both
    bodies, rows = rest.ok("GET", "tasks/"), flow.ListTasks()
    same(bodies["tasks"], rows.tasks, task)
    assert bodies["total"] == rows.total == 4
    page, wire = rest.ok("GET", "tasks/?offset=1&limit=3"), flow.ListTasks(**PAGE)
    same(page["tasks"], wire.tasks, task)
    rack = bodies["tasks"][0]["rack_id"]
    of_rack = rest.ok("GET", f"tasks/?rack_id={rack}&active=true")
    same(of_rack["tasks"], flow.ListTasks(rack_id={"id": rack}, active_only=True).tasks, task)
    one = bodies["tasks"][0]["id"]
    same([rest.ok("GET", f"tasks/{one}/")], flow.GetTasksByIDs(task_ids=[{"id": one}]).tasks, task)


def test_racks_and_components_read_alike(both):
    """F-175, F-179: by name, with what they are."""
    rest, flow = both

    def info(row):
        names = ("name", "manufacturer", "serial_number")
        return {"id": row.info.id.id} | {name: getattr(row.info, name) for name in names}

    def bodies(path, key):
        return [body["info"] for body in rest.ok("GET", f"{path}?limit=200")[key]]

    same(bodies("racks/", "racks"), flow.GetListOfRacks().racks, info)
    same(bodies("components/", "components"), flow.GetComponents().components, info)
    [domain] = rest.ok("GET", "nvl-domains/")["nvl_domains"]
    [row] = flow.GetListOfNVLDomains(info={}).nvl_domains
    assert (domain["id"], domain["name"]) == (row.identifier.id.id, row.identifier.name)
