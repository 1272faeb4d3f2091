"""CreateTaskSchedule, GetTaskSchedule and ListTaskSchedules on PostgreSQL."""

from __future__ import annotations

import uuid
from datetime import timedelta

import pytest
from google.protobuf.timestamp_pb2 import Timestamp

from audit.models import AuditEntry
from flowsched.errors import AlreadyExists, InvalidInput, NotFound
from rpc.convert_out import instant_out
from rpc.proto import flow_pb2 as pb
from schedules.models import TaskSchedule
from scopes.models import TaskScheduleScope
from tests.rpc.calls import NOW, config, create, cron, new_call, on_components, on_racks, one_time, power_on, run, uid
from tests.schedules.helpers import make_component, make_racks, make_schedule, statements, whole

pytestmark = pytest.mark.django_db
ABSENT = on_racks(type("Nobody", (), {"pk": uuid.uuid4()}))


def creating(operation=None, **fields):
    return pb.CreateTaskScheduleRequest(schedule=config(**fields), operation=operation)


def refused(request, kind=InvalidInput):
    """What creating this is refused for; nothing is left behind."""
    with pytest.raises(kind) as error:
        run("CreateTaskSchedule", request)
    assert not TaskSchedule.objects.exists()
    return error.value


def test_f127_a_schedule_with_its_scopes():
    """F-127, F-62: enabled, due from now, one scope a rack, the row as stored is the answer."""
    one, two = make_racks(2)
    found = run("CreateTaskSchedule", creating(power_on(one, two, description="x"), name="nightly"))
    row = TaskSchedule.objects.get()
    assert found == pb.TaskSchedule(
        id=uid(row.pk),
        name="nightly",
        spec=pb.ScheduleSpec(type=pb.SCHEDULE_SPEC_TYPE_INTERVAL, spec="1h", timezone="UTC"),
        overlap_policy=pb.OVERLAP_POLICY_SKIP,
        enabled=True,
        next_run_at=instant_out(NOW + timedelta(hours=1)),
        created_at=instant_out(NOW),
        updated_at=instant_out(NOW),
        operation_type="POWER_ON",
        description="Power On",
    )
    assert found == run("GetTaskSchedule", pb.GetTaskScheduleRequest(id=found.id))
    scopes = TaskScheduleScope.objects.order_by("position").values_list("rack_id", "component_filter")
    assert list(scopes) == [(one.pk, None), (two.pk, None)]
    entry = AuditEntry.objects.get()
    assert (entry.actor, entry.door, entry.verb, entry.request_id) == ("alice", "grpc", "schedule.create", "req-1")


@pytest.mark.parametrize(("number", "stored"), [(0, "skip"), (1, "skip"), (2, "queue"), (7, "skip"), (-1, "skip")])
def test_f114_overlap_policies(number, stored):
    """F-114: never reported as 0."""
    found = create(*make_racks(1), overlap_policy=number)
    assert TaskSchedule.objects.get().overlap_policy == stored
    assert found.overlap_policy == {"skip": pb.OVERLAP_POLICY_SKIP, "queue": pb.OVERLAP_POLICY_QUEUE}[stored]


def test_f128_the_queue_timeout_is_stored_whatever_the_policy():
    """F-128, F-317: and no conflict strategy with it."""
    options = pb.QueueOptions(conflict_strategy=pb.CONFLICT_STRATEGY_QUEUE, queue_timeout_seconds=90)
    run("CreateTaskSchedule", creating(power_on(*make_racks(1), queue_options=options)))
    template = TaskSchedule.objects.get().operation_template
    information = {"operation": 1, "forced": False}
    assert template == {
        "type": "power_control", "code": "power_on", "information": information, "queue_timeout_secs": 90
    }  # fmt: skip


def test_f128_a_queue_timeout_of_more_than_a_year_names_its_field():
    """F-128."""
    options = pb.QueueOptions(queue_timeout_seconds=2**31 - 1)
    error = refused(creating(power_on(*make_racks(1), queue_options=options)))
    assert list(error.fields) == ["operation.power_on.queue_options.queue_timeout_seconds"]


@pytest.mark.parametrize("spec", [cron(), one_time(), pb.ScheduleSpec(type=1, spec="1h")])
def test_f129_an_empty_timezone_is_utc_for_every_type(spec):
    """F-129 as D-12 has it."""
    assert create(*make_racks(1), spec=spec).spec.timezone == "UTC"


def test_f129_a_timezone_is_kept_and_always_checked():
    """F-129 as D-12 has it."""
    spec = pb.ScheduleSpec(type=1, spec="1h", timezone="Europe/Oslo")
    rack = make_racks(1)[0]
    assert create(rack, spec=spec).spec.timezone == "Europe/Oslo"
    spec.timezone = "Mars/Base"
    TaskSchedule.objects.all().delete()
    assert list(refused(creating(power_on(rack), spec=spec)).fields) == ["schedule.spec.timezone"]


def test_f131_a_one_time_instant_in_the_past_is_due_at_once():
    """F-131."""
    found = create(*make_racks(1), spec=one_time("2020-01-01T00:00:00Z"))
    assert (found.enabled, found.next_run_at.ToJsonString()) == (True, "2020-01-01T00:00:00Z")


GOOD_SPEC = pb.ScheduleSpec(type=1, spec="1h")
NO_VARIANT = pb.ScheduledOperation()
NO_SPEC = pb.ScheduledOperation(power_on=pb.PowerOnRackRequest())
UNKNOWN_RACK = pb.ScheduledOperation(power_on=pb.PowerOnRackRequest(target_spec=ABSENT))
BAD_RULE = pb.ScheduledOperation(power_on=pb.PowerOnRackRequest(target_spec=ABSENT, rule_id=pb.UUID(id="x")))

# Each request is wrong in this and in all that follows.
ORDER = [
    (pb.CreateTaskScheduleRequest(), InvalidInput, "schedule"),
    (pb.CreateTaskScheduleRequest(schedule=pb.ScheduleConfig()), InvalidInput, "schedule.name"),
    (creating(spec=None), InvalidInput, "schedule.spec"),
    (creating(spec=pb.ScheduleSpec()), InvalidInput, "schedule.spec.type"),
    (creating(spec=pb.ScheduleSpec(type=9)), InvalidInput, "schedule.spec.spec"),
    (creating(spec=cron("nonsense")), InvalidInput, "operation"),
    (creating(NO_VARIANT, spec=cron("nonsense")), InvalidInput, "operation"),
    (creating(NO_SPEC, spec=cron("nonsense")), InvalidInput, "operation.power_on.target_spec"),
    (creating(BAD_RULE, spec=cron("nonsense")), InvalidInput, "operation.power_on.rule_id"),
    (creating(UNKNOWN_RACK, spec=cron("nonsense")), NotFound, "operation.power_on.target_spec"),
]


@pytest.mark.parametrize(("request_", "kind", "field"), ORDER)
def test_f124_what_is_wrong_is_said_in_this_order(request_, kind, field):
    """F-124, F-125: a bad cron string only after all targets resolve."""
    assert refused(request_, kind).field == field


def test_f126_an_unknown_spec_type_is_found_after_the_targets():
    """F-126."""
    spec = pb.ScheduleSpec(type=9, spec="1h")
    assert refused(creating(UNKNOWN_RACK, spec=spec), NotFound)
    error = refused(creating(power_on(*make_racks(1)), spec=spec))
    assert "unknown spec type '9'" in error.message
    assert list(error.fields) == ["schedule.spec.type"]


def test_f125_a_spec_that_cannot_be_read_names_its_field():
    """F-125."""
    rack = make_racks(1)[0]
    for spec in (cron("61 * * * *"), one_time("tomorrow"), pb.ScheduleSpec(type=1, spec="1 fortnight"), cron("\x00")):
        assert list(refused(creating(power_on(rack), spec=spec)).fields) == ["schedule.spec.spec"]


@pytest.mark.parametrize("name", ["", " x", "x\x00", "x" * 256, "a\nb"])
def test_f125_a_bad_name(name):
    """F-125, D-30."""
    error = refused(creating(power_on(*make_racks(1)), name=name))
    assert list(error.fields) == ["schedule.name"]


def test_f125_a_taken_name_exists_already():
    """F-125."""
    make_schedule("nightly")
    with pytest.raises(AlreadyExists) as error:
        create(*make_racks(1), name="nightly")
    assert (error.value.reason, error.value.field) == ("NAME_TAKEN", "schedule.name")
    assert TaskSchedule.objects.count() == 1


def test_f200_a_rack_named_twice():
    """F-200."""
    [rack] = make_racks(1)
    error = refused(creating(power_on(rack, rack)))
    assert list(error.fields) == ["operation.power_on.target_spec"]


def test_f314_a_firmware_window_needs_a_one_time_schedule():
    """F-314."""
    window = {"start_time": Timestamp(seconds=100), "end_time": Timestamp(seconds=200)}
    [rack] = make_racks(1)
    firmware = pb.ScheduledOperation(
        upgrade_firmware=pb.UpgradeFirmwareRequest(target_spec=on_racks(rack), target_version="1.2", **window)
    )
    assert list(refused(creating(firmware)).fields) == ["operation.upgrade_firmware"]
    found = run("CreateTaskSchedule", creating(firmware, spec=one_time()))
    assert (found.operation_type, found.description) == ("UPGRADE_FIRMWARE", "Upgrade Firmware to 1.2")
    information = {"operation": 1, "target_version": "1.2", "start_time": 100, "end_time": 200}
    assert TaskSchedule.objects.get().operation_template["information"] == information


def test_f202_components_become_one_scope_a_rack():
    """F-202, F-199."""
    one, two = make_racks(2)
    parts = [make_component(two), make_component(one), make_component(two)]
    bring_up = pb.ScheduledOperation(bring_up=pb.BringUpRackRequest(target_spec=on_components(*parts)))
    run("CreateTaskSchedule", creating(bring_up))
    scopes = TaskScheduleScope.objects.order_by("position").values_list("rack_id", "component_filter")
    assert list(scopes) == [
        (two.pk, {"kind": "components", "components": [str(parts[0].pk), str(parts[2].pk)]}),
        (one.pk, {"kind": "components", "components": [str(parts[1].pk)]}),
    ]


def test_f133_get():
    """F-133, F-121."""
    with pytest.raises(InvalidInput, match="id is required"):
        run("GetTaskSchedule", pb.GetTaskScheduleRequest())
    with pytest.raises(NotFound, match="there is no schedule"):
        run("GetTaskSchedule", pb.GetTaskScheduleRequest(id=uid(uuid.uuid4())))


def listed(**fields):
    found = run("ListTaskSchedules", pb.ListTaskSchedulesRequest(**fields))
    return [schedule.name for schedule in found.task_schedules], found.total


def test_f134_filters_and_order():
    """F-134: both filters at once, oldest first, total before paging."""
    one, two = make_racks(2)
    make_schedule("c", targets=whole(one), now=NOW)
    make_schedule("b", targets=whole(one, two), now=NOW + timedelta(seconds=1))
    off = make_schedule("a", targets=whole(two), now=NOW + timedelta(seconds=2))
    run("PauseTaskSchedule", pb.PauseTaskScheduleRequest(id=uid(off.pk)))
    assert listed() == (["c", "b", "a"], 3)
    assert listed(rack_id=uid(two.pk)) == (["b", "a"], 2)
    assert listed(rack_id=uid(two.pk), enabled_only=True) == (["b"], 1)
    assert listed(enabled_only=True, pagination=pb.Pagination(limit=1)) == (["c"], 2)
    assert listed(rack_id=uid(uuid.uuid4())) == ([], 0)
    assert listed(enabled_only=False) == (["c", "b", "a"], 3)


def test_f135_paging():
    """F-135."""
    for number in range(5):
        make_schedule(f"s{number}", now=NOW + timedelta(seconds=number))
    assert listed(pagination=pb.Pagination(offset=1, limit=2)) == (["s1", "s2"], 5)
    assert listed(pagination=pb.Pagination(offset=3)) == (["s3", "s4"], 5)
    assert listed(pagination=pb.Pagination(limit=2**31 - 1, offset=4)) == (["s4"], 5)
    assert listed(pagination=pb.Pagination(offset=2**31 - 1)) == ([], 5)
    for page in (pb.Pagination(limit=-1), pb.Pagination(offset=-1)):
        with pytest.raises(InvalidInput, match="must not be negative"):
            listed(pagination=page)


def test_f135_without_pagination_there_is_no_limit():
    """F-135, TH-11: nothing is cut off."""
    template = make_schedule()
    TaskSchedule.objects.bulk_create(
        TaskSchedule(name=f"many-{n}", spec_type="interval", spec="1h", next_run_at=NOW,
                     operation_template=template.operation_template)
        for n in range(300)
    )  # fmt: skip
    names, total = listed()
    assert (len(names), total) == (301, 301)


def test_f136_one_unreadable_template_fails_neither_list_nor_get():
    """F-136, F-316."""
    broken = make_schedule()
    make_schedule(now=NOW + timedelta(seconds=1))
    TaskSchedule.objects.filter(pk=broken.pk).update(operation_template=["?"])
    found = run("ListTaskSchedules", pb.ListTaskSchedulesRequest()).task_schedules
    assert [schedule.operation_type for schedule in found] == ["", "POWER_ON"]
    assert run("GetTaskSchedule", pb.GetTaskScheduleRequest(id=uid(broken.pk))).description == ""


@pytest.mark.parametrize("page", [None, pb.Pagination(limit=100)])
def test_budget_of_a_list(page):
    """A hundred schedules take at most two statements."""
    for _ in range(100):
        make_schedule()
    with statements() as found:
        answer = run("ListTaskSchedules", pb.ListTaskSchedulesRequest(pagination=page))
    assert len(answer.task_schedules) == 100
    assert len(found) <= 2, found


def test_what_a_caller_reads_is_not_audited():
    create(*make_racks(1))
    before = AuditEntry.objects.count()
    run("ListTaskSchedules", pb.ListTaskSchedulesRequest(), new_call("bob"))
    assert AuditEntry.objects.count() == before
