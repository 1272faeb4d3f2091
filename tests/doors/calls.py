"""One table of calls, each with a REST form and a gRPC form, and what both doors have to make of it.

A text that begins with `$` is looked up when the call is made: `$schedule NAME`, `$scope SCHEDULE/RACK`, `$task N`
(the N-th task ever made, in the order of time and rack).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from schedules.models import TaskSchedule
from scopes.models import TaskScheduleScope
from tasks.models import Task
from tests.doors.world import component_id, rack_id

# kind of error -> HTTP status, gRPC code: design.md's table
KINDS = {
    "": (0, "OK"),
    "invalid_input": (400, "INVALID_ARGUMENT"),
    "unauthenticated": (401, "UNAUTHENTICATED"),
    "permission_denied": (403, "PERMISSION_DENIED"),
    "not_found": (404, "NOT_FOUND"),
    "already_exists": (409, "ALREADY_EXISTS"),
    "name_taken": (409, "UNKNOWN"),  # D-2: a rename on the wire
    "precondition_failed": (409, "FAILED_PRECONDITION"),
    "too_large": (413, "RESOURCE_EXHAUSTED"),
    "queue_full": (429, "RESOURCE_EXHAUSTED"),
    "too_many": (429, "RESOURCE_EXHAUSTED"),
    "internal": (500, "INTERNAL"),
    "busy": (503, "ABORTED"),
    "unavailable": (503, "UNAVAILABLE"),
}
TYPES = {"compute": 1, "nvswitch": 2, "powershelf": 3, "torswitch": 4, "ums": 5, "cdu": 6}
SPECS = {"interval": 1, "cron": 2, "one-time": 3}
POLICIES = {"skip": 1, "queue": 2}
NOBODY = "99999999-0000-4000-8000-000000000000"


@dataclass(frozen=True)
class Call:
    """One call. `kind` is the error it has to end in, empty for none; `by` the role of the caller."""

    name: str
    rest: tuple[str, str, Any]
    grpc: tuple[str, dict[str, Any]]
    kind: str = ""
    by: str = "superuser"


def filled(value: Any) -> Any:
    """`value` with what begins with `$` looked up."""
    if isinstance(value, dict):
        return {key: filled(part) for key, part in value.items()}
    if isinstance(value, list):
        return [filled(part) for part in value]
    return _found(value[1:]) if isinstance(value, str) and value.startswith("$") else value


def path_of(path: str) -> str:
    """A path with its `{$…}` looked up."""
    before, opened, rest = path.partition("{$")
    if not opened:
        return path
    what, _, after = rest.partition("}")
    return f"{before}{_found(what)}{after}"


def _found(text: str) -> str:
    kind, _, which = text.partition(" ")
    if kind == "schedule":
        return str(TaskSchedule.objects.get(name=which).pk)
    if kind == "scope":
        schedule, _, rack = which.partition("/")
        return str(TaskScheduleScope.objects.get(schedule__name=schedule, rack__name=rack).pk)
    return str(Task.objects.order_by("created_at", "rack_name", "code")[int(which)].pk)


def uid(text: str) -> dict[str, str]:
    return {"id": text}


def on_wire(spec: dict[str, Any]) -> dict[str, Any]:
    """A target_spec of REST as the wire has it."""
    [(kind, targets)] = spec.items()
    return {kind: {"targets": [_target(target) for target in targets]}}


def _target(target: dict[str, Any]) -> dict[str, Any]:
    found = dict(target)
    if "id" in found:
        found["id"] = uid(found["id"])
    if "component_types" in found:
        found["component_types"] = [TYPES[word] for word in found["component_types"]]
    if "external" in found:
        found["external"] = {"type": TYPES[found["external"]["type"]], "id": found["external"]["id"]}
    return found


def racks(*numbers: int, types: list[str] | None = None) -> dict[str, Any]:
    more = {"component_types": types} if types else {}
    return {"racks": [{"name": f"rack-{number}", **more} for number in numbers]}


def parts(rack: int, *numbers: int) -> dict[str, Any]:
    return {"components": [{"id": component_id(rack, number)} for number in numbers]}


def create(  # a neutral form of what both doors take
    name: str, timing: tuple[str, ...], operation: dict[str, Any], target: dict[str, Any], *, policy: str = "",
    timeout: int = 0, kind: str = "", by: str = "superuser",
) -> Call:  # fmt: skip
    spec = dict(zip(("type", "spec", "timezone"), timing, strict=False))
    body = {"name": name, "spec": spec, "operation": operation, "target_spec": target}
    body |= {"overlap_policy": policy} if policy else {}
    body |= {"queue_options": {"queue_timeout_seconds": timeout}} if timeout else {}
    words = {key: value for key, value in operation.items() if key != "type"}
    message = {"target_spec": on_wire(target), **words}
    message |= {"queue_options": {"queue_timeout_seconds": timeout}} if timeout else {}
    config = {"name": name, "spec": spec | {"type": SPECS[spec["type"]]}, "overlap_policy": POLICIES.get(policy, 0)}
    request = {"schedule": config, "operation": {operation["type"]: message}}
    return Call(f"create {name}", ("POST", "schedules/", body), ("CreateTaskSchedule", request), kind, by)


def change(name: str, body: dict[str, Any], kind: str = "", by: str = "superuser") -> Call:
    spec = dict(body.get("spec", {}))
    paths = [f"schedule.{key}" for key in body if key != "spec"]
    paths += ["schedule.spec"] if "spec" in spec else []
    paths += ["schedule.spec.timezone"] if "timezone" in spec else []
    config = {key: POLICIES[value] if key == "overlap_policy" else value for key, value in body.items()}
    if spec:
        config["spec"] = spec | ({"type": SPECS[spec["type"]]} if "type" in spec else {})
    request = {"id": uid(f"$schedule {name}"), "schedule": config, "update_mask": {"paths": paths}}
    what = ("PATCH", f"schedules/{{$schedule {name}}}/", body)
    return Call(f"change {name} {body}", what, ("UpdateTaskSchedule", request), kind, by)


def verb(name: str, word: str, kind: str = "", by: str = "superuser") -> Call:
    """pause, resume or trigger."""
    path = f"schedules/{{$schedule {name}}}/{word}/"
    rpc = f"{word.capitalize()}TaskSchedule"
    return Call(f"{word} {name}", ("POST", path, None), (rpc, {"id": uid(f"$schedule {name}")}), kind, by)


def delete(name: str, kind: str = "", by: str = "superuser") -> Call:
    rest = ("DELETE", f"schedules/{{$schedule {name}}}/", None)
    return Call(f"delete {name}", rest, ("DeleteTaskSchedule", {"id": uid(f"$schedule {name}")}), kind, by)


def add(name: str, target: dict[str, Any], kind: str = "", by: str = "superuser") -> Call:
    rest = ("POST", f"schedules/{{$schedule {name}}}/scopes/", {"target_spec": target})
    request = {"schedule_id": uid(f"$schedule {name}"), "target_spec": on_wire(target)}
    return Call(f"add to {name}", rest, ("AddTaskScheduleScope", request), kind, by)


def reconcile(name: str, target: dict[str, Any], kind: str = "", by: str = "superuser") -> Call:
    rest = ("PUT", f"schedules/{{$schedule {name}}}/scopes/", {"target_spec": target})
    request = {"schedule_id": uid(f"$schedule {name}"), "desired_scope": on_wire(target)}
    return Call(f"reconcile {name}", rest, ("UpdateTaskScheduleScope", request), kind, by)


def remove(name: str, rack: str, kind: str = "", by: str = "superuser") -> Call:
    scope = f"$scope {name}/{rack}"
    rest = ("DELETE", f"scopes/{{{scope}}}/", None)
    return Call(f"remove {rack} of {name}", rest, ("RemoveTaskScheduleScope", {"scope_id": uid(scope)}), kind, by)


def run(
    rpc: str,
    operation: dict[str, Any],
    target: dict[str, Any],
    *,
    queue: int = 0,
    kind: str = "",
    by: str = "superuser",
) -> Call:
    """A direct operation; `queue` seconds in the rack's queue, none if 0."""
    body = {"operation": operation, "target_spec": target, "description": "by hand"}
    words = {key: value for key, value in operation.items() if key != "type"}
    request = {"target_spec": on_wire(target), "description": "by hand", **words}
    if queue:
        body["queue_options"] = {"conflict_strategy": "queue", "queue_timeout_seconds": queue}
        request["queue_options"] = {"conflict_strategy": 1, "queue_timeout_seconds": queue}
    return Call(f"{rpc} {target}", ("POST", "tasks/", body), (rpc, request), kind, by)


def cancel(number: int, kind: str = "", by: str = "superuser") -> Call:
    rest = ("POST", f"tasks/{{$task {number}}}/cancel/", {})
    return Call(f"cancel {number}", rest, ("CancelTask", {"task_id": uid(f"$task {number}")}), kind, by)


RESET = {"type": "power_reset", "forced": True}
FIRMWARE = {
    "type": "upgrade_firmware",
    "target_version": "25.1",
    "sub_targets": ["bmc"],
    "override_readiness_check": True,
    "override_version_check": True,
}

SCHEDULES = [
    create("hourly", ("interval", "1h"), RESET, racks(1, types=["powershelf", "compute"])),
    create("yearly", ("cron", "0 3 4 5 *", "Europe/Berlin"), FIRMWARE, parts(2, 1, 0), policy="queue", timeout=1200),
    create("once", ("one-time", "2031-05-06T07:08:09Z"), {"type": "bring_up"}, {"nvl_domains": [{"name": "domain"}]}),
    create("ingest", ("interval", "2h", "Asia/Tokyo"), {"type": "ingest"}, {"racks": [{"id": rack_id(3)}]}),
    create("on", ("interval", "20m"), {"type": "power_on"}, racks(3, 2), policy="skip"),
    create(
        "off",
        ("interval", "10m"),
        {"type": "power_off"},
        {"components": [{"external": {"type": "nvswitch", "id": "ext-3-2"}}]},
    ),
    create("hourly", ("interval", "1h"), RESET, racks(1), kind="already_exists"),
    create("nowhere", ("interval", "1h"), RESET, racks(77), kind="not_found"),
    create("twice", ("interval", "1h"), RESET, racks(1, 1), kind="invalid_input"),
    create("bad", ("cron", "0 0 30 2 *"), RESET, racks(1), kind="invalid_input"),
    create("closed", ("interval", "1h"), RESET, racks(1), kind="permission_denied", by="operator"),
    change("hourly", {"overlap_policy": "queue", "name": "often"}),
    change("often", {"spec": {"type": "interval", "spec": "30m"}}),
    change("often", {"name": "once"}, kind="name_taken"),
    change("yearly", {"spec": {"timezone": "Asia/Tokyo"}}),
    change("yearly", {"spec": {"type": "cron", "spec": "0 4 4 5 *", "timezone": "UTC"}}),
    change("often", {"spec": {"timezone": "UTC"}}, kind="invalid_input"),
    change("yearly", {"spec": {"type": "cron", "spec": "never"}}, kind="invalid_input"),
    change("yearly", {"name": "mine"}, kind="permission_denied", by="viewer"),
    verb("often", "pause"),
    verb("often", "pause"),
    verb("often", "resume", by="operator"),
    verb("often", "resume"),
    verb("often", "pause", kind="permission_denied", by="viewer"),
]
SCOPES = [
    create("many", ("interval", "1h"), RESET, racks(1)),
    add("many", racks(2, types=["compute", "compute"])),
    add("many", racks(2, types=["nvswitch", "compute"])),
    add("many", racks(1, types=["compute"])),
    add("many", parts(3, 1)),
    add("many", parts(3, 0, 1), by="planner"),
    add("many", racks(3, types=["compute"]), kind="precondition_failed"),
    add("many", racks(9), kind="not_found"),
    add("many", racks(2), kind="permission_denied", by="operator"),
    reconcile("many", racks(3, 1, types=["compute"])),
    reconcile("many", racks(3, 1, types=["compute"])),
    reconcile("many", racks(1, 2)),
    remove("many", "rack-1"),
    remove("many", "rack-2", kind="permission_denied", by="operator"),
    remove("many", "rack-2", kind="precondition_failed"),
]
FIRING = [
    create("first", ("interval", "1h"), RESET, racks(1, 2)),
    create("next", ("interval", "1h"), RESET, racks(2, 3)),
    create("queued", ("interval", "1h"), RESET, racks(1), policy="queue"),
    create("once", ("one-time", "2031-05-06T07:08:09Z"), {"type": "power_on"}, parts(1, 0)),
    verb("first", "trigger", by="operator"),
    verb("next", "trigger"),
    verb("next", "trigger", kind="precondition_failed"),
    verb("queued", "trigger"),
    verb("queued", "trigger", kind="queue_full"),
    verb("queued", "trigger", kind="permission_denied", by="viewer"),
    cancel(3),
    cancel(0),
    verb("once", "trigger"),
    verb("once", "trigger", kind="precondition_failed"),
    verb("once", "pause", kind="precondition_failed"),
    delete("first", kind="permission_denied", by="operator"),
    delete("first", by="planner"),
    cancel(1),
    cancel(1),
    cancel(2, kind="permission_denied", by="viewer"),
]
DIRECT = [
    run("PowerOnRack", {"type": "power_on"}, racks(2, 1, types=["compute"]), by="operator"),
    run("PowerOnRack", {"type": "power_on"}, racks(1, types=["compute"]), kind="precondition_failed"),
    run("PowerOffRack", {"type": "power_off", "forced": True}, racks(1, types=["compute"]), queue=1200),
    run("PowerOffRack", {"type": "power_off"}, racks(1, types=["compute"]), queue=1200, kind="queue_full"),
    run("PowerResetRack", RESET, parts(3, 0)),
    run("UpgradeFirmware", FIRMWARE, parts(3, 1)),
    run("BringUpRack", {"type": "bring_up", "override_readiness_check": True}, racks(4)),
    run("IngestRack", {"type": "ingest"}, racks(4, 5)),
    run("PowerOnRack", {"type": "power_on"}, racks(1, 99), kind="not_found"),
    run("PowerOnRack", {"type": "power_on"}, racks(3), kind="permission_denied", by="viewer"),
    cancel(0, by="operator"),
]
