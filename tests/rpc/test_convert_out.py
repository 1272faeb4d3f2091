"""Rows as messages of the wire. No database: what is stored is made up here, the unreadable included."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta, timezone

import pytest

from rpc.convert_out import instant_out, schedule_out, scope_out, task_out
from rpc.proto import flow_pb2 as pb
from schedules.models import TaskSchedule
from scopes.models import TaskScheduleScope
from tasks.models import Task
from tests.rpc.calls import uid

AT = datetime(2026, 3, 1, 12, 0, 0, 123456, tzinfo=UTC)
POWER_OFF = {"type": "power_control", "code": "power_off", "information": {"operation": 3, "forced": False}}
A, B, C, D = (uuid.UUID(int=n) for n in range(1, 5))


def schedule(**fields):
    values = {"name": "nightly", "spec_type": "cron", "spec": "0 2 * * *", "operation_template": POWER_OFF}
    return TaskSchedule(**{**values, "created_at": AT, "updated_at": AT, "next_run_at": AT, **fields})


def scope(component_filter=None, **fields):
    return TaskScheduleScope(schedule_id=A, component_filter=component_filter, created_at=AT, **fields)


def task(**fields):
    values = {"type": "power_control", "code": "power_off", "information": {"operation": 3, "forced": False}}
    return Task(
        **{**values, "lane": A, "rack_id": A, "status": "pending", "created_at": AT, "updated_at": AT, **fields}
    )


def test_an_instant_keeps_its_microseconds():
    found = instant_out(AT.astimezone(timezone(timedelta(hours=5))))
    assert (found.seconds, found.nanos) == (int(AT.timestamp()), 123_456_000)
    assert instant_out(None) is None
    assert instant_out(datetime(9998, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)).nanos == 999_999_000


def test_f62_every_field_of_a_schedule():
    """F-62, F-116, F-193, F-129 with D-12."""
    row = schedule(overlap_policy="queue", timezone="Europe/Oslo", last_run_at=AT - timedelta(days=1), enabled=False)
    assert schedule_out(row) == pb.TaskSchedule(
        id=uid(row.pk),
        name="nightly",
        spec=pb.ScheduleSpec(type=pb.SCHEDULE_SPEC_TYPE_CRON, spec="0 2 * * *", timezone="Europe/Oslo"),
        overlap_policy=pb.OVERLAP_POLICY_QUEUE,
        enabled=False,
        next_run_at=instant_out(AT),
        last_run_at=instant_out(AT - timedelta(days=1)),
        created_at=instant_out(AT),
        updated_at=instant_out(AT),
        operation_type="POWER_OFF",
        description="Power Off",
    )


@pytest.mark.parametrize(
    ("stored", "number"),
    [
        ("interval", pb.SCHEDULE_SPEC_TYPE_INTERVAL),
        ("cron", pb.SCHEDULE_SPEC_TYPE_CRON),
        ("one-time", pb.SCHEDULE_SPEC_TYPE_ONE_TIME),
    ],
)
def test_f6_spec_types(stored, number):
    """F-6."""
    assert schedule_out(schedule(spec_type=stored)).spec.type == number


def test_f115_next_run_is_absent_only_where_there_is_none():
    """F-115: a paused schedule keeps it."""
    assert schedule_out(schedule(enabled=False)).HasField("next_run_at")
    consumed = schedule_out(schedule(enabled=False, next_run_at=None))
    assert not consumed.HasField("next_run_at")
    assert not consumed.HasField("last_run_at")


@pytest.mark.parametrize("stored", [None, [], "x", {}, {"type": 3}, {"type": "power_control", "information": [1]}])
def test_f136_a_template_nobody_can_read_leaves_the_words_empty(stored):
    """F-136, F-316: and fails nothing."""
    found = schedule_out(schedule(operation_template=stored))
    assert (found.operation_type, found.description, found.name) == ("", "", "nightly")


def test_f73_every_field_of_a_scope():
    """F-73, F-117: no member of the oneof is the whole rack."""
    row = scope(rack_id=B, last_task_id=C)
    expected = pb.TaskScheduleScope(
        id=uid(row.pk), schedule_id=uid(A), rack_id=uid(B), last_task_id=uid(C), created_at=instant_out(AT)
    )
    assert scope_out(row) == expected
    assert scope_out(row).WhichOneof("component_filter") is None


def test_d1_the_scope_without_a_rack_has_no_rack_id():
    """D-1, F-113."""
    found = scope_out(scope())
    assert not found.HasField("rack_id")
    assert not found.HasField("last_task_id")


def test_f117_filters():
    """F-117, F-205, D-20: components as ids; the old spelling of a type is read."""
    types = scope_out(scope({"kind": "types", "types": ["NVLSwitch", "compute", "CDU"]}))
    assert list(types.types.types) == [pb.COMPONENT_TYPE_NVSWITCH, pb.COMPONENT_TYPE_COMPUTE, pb.COMPONENT_TYPE_CDU]
    components = scope_out(scope({"kind": "components", "components": [str(C).upper(), str(B)]}))
    assert [target.id for target in components.components.targets] == [uid(C), uid(B)]


@pytest.mark.parametrize(
    ("stored", "shown"),
    [
        ({"kind": "types", "types": ["Compute", "Toaster", 7]}, [1, 0, 0]),
        ({"kind": "types", "types": []}, [0]),
        ({"kind": "types"}, [0]),
        ({"kind": "components", "components": ["x"]}, [0]),
        ({"kind": "components", "components": []}, [0]),
        ({"kind": "racks"}, [0]),
        ({}, [0]),
        ([], [0]),
        (7, [0]),
        ("Compute", [0]),
        ({"types": ["Compute"]}, [0]),
    ],
)
def test_f204_a_filter_nobody_can_read_never_looks_like_the_whole_rack(stored, shown):
    """F-204, F-316."""
    assert list(scope_out(scope(stored)).types.types) == shown


def test_f47_every_field_of_a_task():
    """F-47, F-119, F-246, D-18."""
    row = task(
        attributes={"components_by_type": {"CDU": [str(D)], "NVSwitch": [str(C), str(B)], "Compute": [str(A)]}},
        description="nightly",
        execution_id="run-7",
        executor_type="simulated",
        status="failed",
        message="it broke",
        started_at=AT,
        finished_at=AT,
    )
    expected = pb.Task(
        id=uid(row.pk),
        operation="PowerOff, forced false",
        rack_id=uid(A),
        component_uuids=[uid(A), uid(C), uid(B), uid(D)],
        description="nightly",
        executor_type=pb.TASK_EXECUTOR_TYPE_UNKNOWN,
        execution_id="run-7",
        status=pb.TASK_STATUS_FAILED,
        message="it broke",
        created_at=instant_out(AT),
        finished_at=instant_out(AT),
        updated_at=instant_out(AT),
        started_at=instant_out(AT),
    )
    found = task_out(row)
    assert found == expected
    assert not any(found.HasField(field) for field in ("queue_expires_at", "applied_rule_id"))


def test_f47_a_task_without_a_rack():
    """F-47, D-1."""
    found = task_out(task(rack_id=None))
    assert not any(found.HasField(field) for field in ("rack_id", "started_at", "finished_at"))
    assert (list(found.component_uuids), found.execution_id) == ([], "")


def test_f9_every_status_has_its_number():
    """F-9."""
    statuses = ("pending", "running", "completed", "failed", "terminated", "waiting")
    assert [task_out(task(status=status)).status for status in statuses] == [1, 2, 3, 4, 5, 6]


def test_f307_the_queue_deadline_shows_only_while_the_task_waits():
    """F-47, F-307."""
    assert task_out(task(status="waiting", queue_expires_at=AT)).queue_expires_at == instant_out(AT)
    assert not task_out(task(status="running", queue_expires_at=AT)).HasField("queue_expires_at")


@pytest.mark.parametrize(
    "attributes",
    [None, [], {}, {"components_by_type": []}, {"components_by_type": {"Compute": "x", "CDU": ["x", 3, None]}}],
)
def test_f316_attributes_nobody_can_read_show_no_components(attributes):
    """F-316."""
    assert list(task_out(task(attributes=attributes, information=[])).component_uuids) == []


def test_f246_components_of_unknown_types_come_last_and_each_once():
    """F-246: a stable order."""
    by_type = {"Zeta": [str(D)], "Alpha": [str(C), str(A)], "Compute": [str(A)]}
    assert list(task_out(task(attributes={"components_by_type": by_type})).component_uuids) == [uid(A), uid(C), uid(D)]
