"""A client of NVIDIA's flow.proto walks through everything that a schedule can live through, over a real port.

The client's messages come from the wire's facts at run time (wireclient.py): presence, oneofs, numbers and names are
theirs, not ours.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from tests.doors.statuses import refused
from tests.doors.walk import R01, create, external, moment, names, near, racks
from tests.doors.world import COMPUTE, SWITCH, make_racks, rack_id
from tests.faults.harness import database_clock

pytestmark = pytest.mark.process
TRAYS = ["f3a1c2d4-3001-4000-8000-000000000001", "f3a1c2d4-3001-4000-8000-000000000002"]
ONCE = "2031-05-06T07:08:09Z"


def test_created_by_rack_name_and_by_component_external_id(flow):
    """F-62, F-115, F-185…F-193, D-12: what comes back, and what is absent rather than zero."""
    one = create(flow, "nightly", ("INTERVAL", "1h30m"), racks({"name": "r01", "component_types": [1]}), forced=True)
    assert one.id.id == one.id.id.lower()
    assert (one.name, one.spec.spec, one.spec.timezone) == ("nightly", "1h30m", "UTC")
    assert (one.spec.type, one.overlap_policy, one.enabled) == (1, 1, True)
    assert (one.operation_type, one.description) == ("POWER_RESET", "Power Reset (forced)")
    assert one.HasField("next_run_at")
    assert not one.HasField("last_run_at")
    assert moment(one.next_run_at) == moment(one.created_at) + timedelta(minutes=90)
    assert one.created_at == one.updated_at
    two = create(
        flow, "firmware", ("ONE_TIME", ONCE), external(flow, COMPUTE), "upgrade_firmware",
        policy="OVERLAP_POLICY_QUEUE", target_version="1.2",
    )  # fmt: skip
    assert moment(two.next_run_at) == datetime(2031, 5, 6, 7, 8, 9, tzinfo=UTC)
    assert (two.overlap_policy, two.spec.type, two.spec.spec) == (2, 3, ONCE)
    assert (two.operation_type, two.description) == ("UPGRADE_FIRMWARE", "Upgrade Firmware to 1.2")
    assert flow.GetTaskSchedule(id=one.id) == one
    [scope] = flow.ListTaskScheduleScopes(schedule_id=one.id).scopes
    assert (scope.rack_id.id, scope.schedule_id, list(scope.types.types)) == (R01, one.id, [1])
    assert not scope.HasField("last_task_id")
    [scope] = flow.ListTaskScheduleScopes(schedule_id=two.id).scopes
    assert scope.WhichOneof("component_filter") == "components"
    assert [(c.WhichOneof("identifier"), c.id.id) for c in scope.components.targets] == [("id", TRAYS[0])]  # F-117


def test_every_id_spelling_finds_it(flow):
    """F-113: any form that google/uuid parses goes in, lower case with hyphens comes out."""
    one = create(flow, "spelled", ("INTERVAL", "1h"), racks({"id": flow.wire.id(R01.upper())}))
    text = one.id.id
    for spelling in (text.upper(), text.replace("-", ""), f"{{{text}}}", f"urn:uuid:{text}"):
        assert flow.GetTaskSchedule(id={"id": spelling}) == one, spelling


def test_listed_with_rack_filter_and_paging(flow):
    """F-134, F-135: filters, then the total, then the page, oldest first; without a page everything."""
    make_racks(1)
    for number in range(3):
        create(flow, f"r01-{number}", ("INTERVAL", "1h"), racks({"name": "r01"}))
        create(flow, f"rack-1-{number}", ("INTERVAL", "1h"), racks({"name": "rack-1"}))
    create(flow, "both", ("INTERVAL", "1h"), racks({"name": "rack-1"}, {"name": "r01"}))
    every = flow.ListTaskSchedules()
    assert (every.total, len(every.task_schedules)) == (7, 7)
    assert names(every.task_schedules)[:2] == ["r01-0", "rack-1-0"]
    page = flow.ListTaskSchedules(rack_id={"id": R01}, pagination={"offset": 1, "limit": 2})
    assert (page.total, names(page.task_schedules)) == (4, ["r01-1", "r01-2"])
    rest = flow.ListTaskSchedules(rack_id={"id": R01}, pagination={"offset": 1, "limit": 0})
    assert (rest.total, names(rest.task_schedules)) == (4, ["r01-1", "r01-2", "both"])
    flow.PauseTaskSchedule(id=every.task_schedules[0].id)
    enabled = flow.ListTaskSchedules(rack_id={"id": R01}, enabled_only=True, pagination={"limit": 1})
    assert (enabled.total, names(enabled.task_schedules)) == (3, ["r01-1"])
    assert flow.ListTaskSchedules(rack_id={"id": rack_id(9)}).total == 0
    for field in ("offset", "limit"):
        with refused("INVALID_ARGUMENT") as it:
            flow.ListTaskSchedules(pagination={field: -1})
        assert field in str(it.details.violations)


def update(flow, one, paths, **config):
    return flow.UpdateTaskSchedule(id=one.id, schedule=config, update_mask={"paths": paths})


def test_changed_by_each_path_of_the_mask(flow):
    """F-137…F-145, D-12: exactly what the mask names is changed; what the message holds besides is not."""
    one = create(flow, "a", ("CRON", "0 3 * * *", "Europe/Berlin"), racks({"name": "r01"}))
    noise = {"overlap_policy": 2, "spec": {"type": 1, "spec": "5m", "timezone": "Asia/Tokyo"}}
    after = update(flow, one, ["schedule.name"], name="b", **noise)
    assert (after.name, after.spec, after.overlap_policy) == ("b", one.spec, 1)
    assert after.next_run_at == one.next_run_at
    after = update(flow, one, ["schedule.overlap_policy", "schedule.overlap_policy"], name="c", overlap_policy=2)
    assert (after.name, after.overlap_policy) == ("b", 2)
    after = update(flow, one, ["schedule.spec.timezone"], spec={"timezone": "Asia/Tokyo"})
    assert (after.spec.type, after.spec.spec, after.spec.timezone) == (2, "0 3 * * *", "Asia/Tokyo")
    assert moment(after.next_run_at).hour == 18  # 03:00 in Tokyo
    after = update(flow, one, ["schedule.spec"], spec={"type": 2, "spec": "0 4 * * *"})
    assert (after.spec.spec, after.spec.timezone, moment(after.next_run_at).hour) == ("0 4 * * *", "Asia/Tokyo", 19)
    both = ["schedule.spec.timezone", "schedule.spec"]
    after = update(flow, one, both, spec={"type": 2, "spec": "0 5 * * *", "timezone": "UTC"})
    assert (after.spec.spec, after.spec.timezone, moment(after.next_run_at).hour) == ("0 5 * * *", "UTC", 5)
    after = update(flow, one, ["schedule.spec"], spec={"type": 1, "spec": "2h"})
    assert after.spec.type == 1
    assert near(after.next_run_at, database_clock() + timedelta(hours=2))
    assert flow.GetTaskSchedule(id=one.id) == after


def test_other_paths_are_refused_by_name(flow):
    """F-137: one bad path, and nothing of the request is done."""
    one = create(flow, "a", ("INTERVAL", "1h"), racks({"name": "r01"}))
    for path in ("schedule", "name", "*", "", "schedule.id", "schedule.spec.type", "Schedule.Name"):
        with refused("INVALID_ARGUMENT") as it:
            update(flow, one, ["schedule.name", path], name="b")
        assert f"'{path}'" in it.error.details()
    assert flow.GetTaskSchedule(id=one.id) == one


def test_a_taken_name_is_unknown_with_a_reason_and_changes_nothing(flow):
    """D-2, F-123: the documented status, a reason that a client can read, and all or nothing."""
    one = create(flow, "a", ("INTERVAL", "1h"), racks({"name": "r01"}))
    create(flow, "b", ("INTERVAL", "1h"), racks({"name": "r01"}))
    with refused("UNKNOWN") as it:
        update(flow, one, ["schedule.overlap_policy", "schedule.name"], name="b", overlap_policy=2)
    assert it.details.reasons == ["NAME_TAKEN"]
    assert "SQL" not in it.error.details()
    assert flow.GetTaskSchedule(id=one.id) == one
    with refused("ALREADY_EXISTS") as it:
        create(flow, "b", ("INTERVAL", "1h"), racks({"name": "r01"}))
    assert it.details.reasons == ["NAME_TAKEN"]


def test_paused_and_resumed(flow):
    """F-115, F-147, F-148: a pause keeps next_run_at, resuming counts from now, each twice is once."""
    one = create(flow, "a", ("INTERVAL", "1h"), racks({"name": "r01"}))
    paused = flow.PauseTaskSchedule(id=one.id)
    assert (paused.enabled, paused.next_run_at) == (False, one.next_run_at)
    assert flow.PauseTaskSchedule(id=one.id) == paused
    resumed = flow.ResumeTaskSchedule(id=one.id)
    assert resumed.enabled
    assert moment(resumed.next_run_at) > moment(one.next_run_at)
    assert near(resumed.next_run_at, database_clock() + timedelta(hours=1))
    assert flow.ResumeTaskSchedule(id=one.id) == resumed


def test_a_one_time_schedule_is_consumed_by_its_trigger(flow):
    """F-143, F-147, F-150: next_run_at becomes absent; it can be renamed, and nothing else."""
    one = create(flow, "once", ("ONE_TIME", ONCE), racks({"name": "r01"}))
    assert len(flow.TriggerTaskSchedule(id=one.id).task_ids) == 1
    after = flow.GetTaskSchedule(id=one.id)
    assert not after.enabled
    assert not after.HasField("next_run_at")
    assert near(after.last_run_at, database_clock())
    for rpc in ("PauseTaskSchedule", "ResumeTaskSchedule", "TriggerTaskSchedule"):
        with refused("FAILED_PRECONDITION") as it:
            flow.call(rpc, id=one.id)
        assert it.details.reasons == ["CONSUMED"]
    with refused("FAILED_PRECONDITION"):
        update(flow, one, ["schedule.spec"], spec={"type": 3, "spec": "2032-01-01T00:00:00Z"})
    assert update(flow, one, ["schedule.name"], name="was once").name == "was once"


def test_deleted_is_gone_and_its_tasks_stay(flow):
    """F-149, D-11."""
    one = create(flow, "a", ("INTERVAL", "1h"), racks({"name": "r01"}))
    [task] = flow.TriggerTaskSchedule(id=one.id).task_ids
    assert flow.DeleteTaskSchedule(id=one.id).ByteSize() == 0
    for rpc in ("GetTaskSchedule", "DeleteTaskSchedule", "PauseTaskSchedule", "TriggerTaskSchedule"):
        with refused("NOT_FOUND") as it:
            flow.call(rpc, id=one.id)
        assert one.id.id in it.error.details()
    with refused("NOT_FOUND"):
        flow.ListTaskScheduleScopes(schedule_id=one.id)
    assert [row.id for row in flow.GetTasksByIDs(task_ids=[task]).tasks] == [task]


def test_conflicts_are_every_enabled_schedule_that_shares_a_rack(flow):
    """F-164, F-264, D-21: oldest first, each once; paused ones and the excluded one left out."""
    make_racks(1)
    first = create(flow, "first", ("INTERVAL", "1h"), racks({"name": "r01"}, {"name": "rack-1"}))
    create(flow, "elsewhere", ("INTERVAL", "1h"), racks({"name": "rack-1"}))
    paused = create(flow, "paused", ("INTERVAL", "1h"), racks({"name": "r01"}))
    flow.PauseTaskSchedule(id=paused.id)
    create(flow, "last", ("INTERVAL", "1h"), external(flow, SWITCH, "NVSWITCH"), "power_on")

    def conflicts(target_spec, **more):
        operation = {"bring_up": {"target_spec": target_spec}}
        return names(flow.CheckScheduleConflicts(operation=operation, **more).conflicts)

    assert conflicts(racks({"name": "r01"})) == ["first", "last"]
    assert conflicts(racks({"name": "r01"}, {"name": "rack-1"})) == ["first", "elsewhere", "last"]
    assert conflicts(racks({"name": "r01"}), exclude_schedule_id=first.id) == ["last"]
    make_racks(2)
    assert conflicts(racks({"name": "rack-2"})) == []
    with refused("NOT_FOUND") as it:
        conflicts(racks({"name": "r99"}))
    assert "r99" in it.error.details()
