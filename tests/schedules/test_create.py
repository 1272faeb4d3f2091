"""Creating schedules: F-124 to F-132."""

import uuid
from datetime import UTC, datetime, timedelta

import pytest
from django.db import IntegrityError

from audit.models import AuditEntry
from flowsched.errors import AlreadyExists, FlowschedError, InvalidInput, NotFound
from inventory.targets import ComponentTarget, RackTarget
from schedules.models import TaskSchedule
from schedules.ports import Ports, ports
from schedules.rows import refuse_taken_name
from schedules.services import schedule_create
from scopes.models import TaskScheduleScope
from tasks.operations import Operation, operation
from tests.schedules.helpers import (
    ALICE,
    NOW,
    POWER_ON,
    columns,
    last_audit,
    make_component,
    make_racks,
    make_schedule,
    of_types,
    statements,
    whole,
)

pytestmark = pytest.mark.django_db


def test_f127_the_schedule_is_enabled_due_at_its_first_run_and_has_its_scopes(notified):
    """F-127."""
    racks = make_racks(3)
    schedule = make_schedule("nightly", targets=whole(*racks))
    row = columns(schedule)
    assert row["enabled"]
    assert row["disabled_kind"] == ""
    assert row["next_run_at"] == NOW + timedelta(hours=1)
    assert row["last_run_at"] is None
    assert row["version"] == 1
    assert row["created_at"] == row["updated_at"] == NOW
    assert {name: getattr(schedule, name) for name in row} == row, "what is returned is what is stored"
    assert notified == ["flowsched_schedules"]


def test_f311_scopes_have_positions_in_request_order():
    """F-311."""
    racks = make_racks(5)
    racks = [racks[3], racks[0], racks[4], racks[2], racks[1]]
    schedule = make_schedule(targets=whole(*racks))
    rows = TaskScheduleScope.objects.filter(schedule=schedule).order_by("position", "id")
    assert [(row.rack_id, row.position) for row in rows] == [(rack.pk, i) for i, rack in enumerate(racks)]
    assert {row.last_task_id for row in rows} == {None}


def test_scopes_carry_their_filters():
    rack, other = make_racks(2)
    schedule = make_schedule(targets=[*of_types(rack, "compute", "nvlswitch", "COMPUTE"), RackTarget(name=other.name)])
    filters = [row.component_filter for row in TaskScheduleScope.objects.filter(schedule=schedule).order_by("position")]
    assert filters == [{"kind": "types", "types": ["Compute", "NVSwitch"]}, None]


@pytest.mark.parametrize(
    ("spec_type", "spec", "timezone", "first_run"),
    [
        ("interval", "90s", "", NOW + timedelta(seconds=90)),
        ("cron", "0 2 * * *", "Europe/Berlin", datetime(2026, 3, 2, 1, tzinfo=UTC)),
        ("one-time", "2026-06-01T04:00:00+02:00", "", datetime(2026, 6, 1, 2, tzinfo=UTC)),
    ],
)
def test_f224_first_run(spec_type, spec, timezone, first_run):
    """F-224."""
    schedule = make_schedule(spec_type=spec_type, spec=spec, timezone=timezone)
    assert columns(schedule)["next_run_at"] == first_run
    assert columns(schedule)["spec"] == spec


def test_f131_a_one_time_instant_in_the_past_is_accepted_and_due():
    """F-131."""
    schedule = make_schedule(spec_type="one-time", spec="2020-01-01T00:00:00Z")
    assert columns(schedule)["next_run_at"] == datetime(2020, 1, 1, tzinfo=UTC)
    assert columns(schedule)["enabled"]


# What is wrong is reported in one order: each case is wrong in this and in everything after it.
WRONG_FROM_HERE = [
    ("name", {"name": ""}, "name"),
    ("spec type", {"spec_type": ""}, "spec_type"),
    ("spec", {"spec": ""}, "spec"),
    ("operation", {"operation": None}, "operation"),
    ("rule", {"rule_id": "x"}, "rule_id"),
    ("targets", {"targets": []}, "target_spec"),
    ("timezone", {"timezone": "Mars/Olympus"}, "timezone"),
]


@pytest.mark.parametrize("first", range(len(WRONG_FROM_HERE)))
def test_f124_f125_what_is_wrong_first_is_reported_first(first):
    """F-124, F-125; the bad cron string comes last, after all targets are resolved."""
    fields = {
        "name": "n", "spec_type": "cron", "spec": "not cron", "operation": POWER_ON, "targets": whole(*make_racks(1)),
        "by": ALICE, "now": NOW,
    }  # fmt: skip
    for _, wrong, _ in WRONG_FROM_HERE[first:]:
        fields |= wrong
    if first > 1:
        fields["spec_type"] = "cron"
    with pytest.raises(InvalidInput) as refused:
        schedule_create(**fields)
    assert refused.value.field == WRONG_FROM_HERE[first][2]
    assert not TaskSchedule.objects.exists()


def test_f124_a_bad_spec_is_reported_after_a_target_that_is_not_there():
    """F-124."""
    with pytest.raises(NotFound):
        make_schedule(spec_type="cron", spec="bad", targets=[RackTarget(id=uuid.uuid4())])
    with pytest.raises(InvalidInput, match="invalid cron spec 'bad'"):
        make_schedule(spec_type="cron", spec="bad")


def test_f126_an_unknown_spec_type_is_found_by_the_parser():
    """F-126."""
    with pytest.raises(InvalidInput, match="unknown spec type 'weekly'") as refused:
        make_schedule(spec_type="weekly", spec="x")
    assert refused.value.field == "spec_type"


@pytest.mark.parametrize(
    "name",
    ["", " padded", "padded ", "a\nb", "a\x00b", "a\x7fb", "a\u2028b", "\u00a0", "x" * 256, "lone \ud800"],
)
def test_d30_bad_names_are_refused(name):
    """D-30."""
    with pytest.raises(InvalidInput) as refused:
        make_schedule_named(name)
    assert refused.value.field == "name"
    assert last_audit().refused
    assert not TaskSchedule.objects.exists()


def make_schedule_named(name):
    return schedule_create(
        name=name, spec_type="interval", spec="1h", operation=POWER_ON, targets=whole(*make_racks(1)), by=ALICE, now=NOW
    )


@pytest.mark.parametrize("name", ["x", "ü" * 255, "two words", "日本 - ok"])
def test_d30_good_names_are_stored_as_given(name):
    """D-30."""
    assert columns(make_schedule_named(name))["name"] == name


def test_f125_a_taken_name_is_refused_by_the_constraint_and_nothing_is_left():
    """F-125."""
    make_schedule("taken")
    with pytest.raises(AlreadyExists) as refused:
        make_schedule("taken")
    assert refused.value.reason == "NAME_TAKEN"
    assert refused.value.field == "name"
    assert "'taken'" in refused.value.message
    assert TaskSchedule.objects.count() == 1
    assert TaskScheduleScope.objects.count() == 1


def test_f298_a_refusal_holds_no_sql():
    """F-298."""
    make_schedule("taken")
    with pytest.raises(FlowschedError) as refused:
        make_schedule("taken")
    for word in ("constraint", "duplicate key", "task_schedule", "INSERT"):
        assert word not in refused.value.message


def test_another_broken_constraint_is_no_taken_name():
    schedule = make_schedule()
    with pytest.raises(IntegrityError), refuse_taken_name("x"):
        TaskSchedule.objects.filter(pk=schedule.pk).update(enabled=False)


@pytest.mark.parametrize("policy", ["skip", "queue"])
def test_f128_the_overlap_policy_is_a_column_and_the_queue_timeout_is_stored_whatever_it_is(policy):
    """F-128."""
    schedule = make_schedule(overlap_policy=policy, queue_timeout=timedelta(seconds=90))
    row = columns(schedule)
    assert row["overlap_policy"] == policy
    assert row["operation_template"]["queue_timeout_secs"] == 90
    assert "conflict_strategy" not in row["operation_template"]


def test_an_unknown_overlap_policy_is_refused():
    with pytest.raises(InvalidInput, match="skip or queue"):
        make_schedule(overlap_policy="wait")


def test_overlap_policy_is_skip_unless_said():
    assert columns(make_schedule())["overlap_policy"] == "skip"


@pytest.mark.parametrize(
    ("spec_type", "spec"), [("interval", "1h"), ("cron", "0 2 * * *"), ("one-time", "2026-06-01T04:00:00Z")]
)
def test_f129_d12_a_timezone_is_validated_and_stored_for_every_type_and_empty_is_utc(spec_type, spec):
    """F-129 as D-12 corrects it; F-295: never unvalidated."""
    assert columns(make_schedule(spec_type=spec_type, spec=spec))["timezone"] == "UTC"
    assert columns(make_schedule(spec_type=spec_type, spec=spec, timezone="Asia/Tokyo"))["timezone"] == "Asia/Tokyo"
    for bad in ("Local", "localtime", "Nowhere", "utc"):
        with pytest.raises(InvalidInput) as refused:
            make_schedule(spec_type=spec_type, spec=spec, timezone=bad)
        assert refused.value.field == "timezone"


def test_f296_a_zone_inside_the_cron_string_is_refused():
    """F-296."""
    with pytest.raises(InvalidInput):
        make_schedule(spec_type="cron", spec="TZ=Asia/Tokyo 0 2 * * *")


def test_f282_a_cron_that_never_comes_is_refused():
    """F-282."""
    with pytest.raises(InvalidInput, match="never occurs"):
        make_schedule(spec_type="cron", spec="0 0 30 2 *")


def test_f283_f132_the_shortest_interval_is_a_setting(settings):
    """F-283, F-132."""
    with pytest.raises(InvalidInput, match="at least 1s"):
        make_schedule(spec="1ns")
    settings.FLOWSCHED_MIN_INTERVAL = timedelta(minutes=1)
    with pytest.raises(InvalidInput, match="at least 1m"):
        make_schedule(spec="30s")


def test_the_dst_policy_is_the_setting(settings):
    settings.FLOWSCHED_CRON_DST = "wall"
    before_gap = datetime(2026, 3, 28, 12, tzinfo=UTC)
    schedule = make_schedule(spec_type="cron", spec="30 2 * * *", timezone="Europe/Berlin", now=before_gap)
    assert schedule.next_run_at == datetime(2026, 3, 30, 0, 30, tzinfo=UTC)


def test_f130_f285_d18_a_rule_is_refused_when_created():
    """F-130, F-285, D-18."""
    with pytest.raises(InvalidInput, match="rules are not supported"):
        make_schedule(rule_id=str(uuid.uuid4()))


def test_f132_d30_scopes_are_limited(settings):
    """F-132, D-30."""
    settings.FLOWSCHED_MAX_SCOPES_PER_SCHEDULE = 2
    assert make_schedule(racks=2).pk
    with pytest.raises(InvalidInput) as refused:
        make_schedule(racks=3)
    assert refused.value.field == "target_spec"
    assert "2" in refused.value.message


def test_d19_at_least_one_scope():
    """D-19."""
    with pytest.raises(InvalidInput) as refused:
        make_schedule(targets=[])
    assert refused.value.field == "target_spec"


def test_f132_two_schedules_may_clash():
    """F-132."""
    racks = make_racks(1)
    make_schedule(targets=whole(*racks))
    make_schedule(targets=whole(*racks))
    assert TaskScheduleScope.objects.filter(rack=racks[0]).count() == 2


@pytest.mark.parametrize("grace", [timedelta(seconds=-1), timedelta(0), timedelta(seconds=19.999)])
def test_d9_a_grace_below_two_polls_is_refused_naming_the_minimum(grace):
    """D-9."""
    with pytest.raises(InvalidInput, match="at least 20s") as refused:
        make_schedule(misfire_grace=grace)
    assert refused.value.field == "misfire_grace"


def test_d9_a_grace_of_two_polls_is_stored_and_none_is_the_default(settings):
    """D-9."""
    assert columns(make_schedule(misfire_grace=timedelta(seconds=20)))["misfire_grace"] == timedelta(seconds=20)
    assert columns(make_schedule())["misfire_grace"] is None
    settings.FLOWSCHED_POLL_INTERVAL = timedelta(seconds=30)
    with pytest.raises(InvalidInput, match="at least 1m"):
        make_schedule(misfire_grace=timedelta(seconds=20))
    with pytest.raises(InvalidInput, match="366 days"):
        make_schedule(misfire_grace=timedelta(days=1000))


def test_f314_a_firmware_window_is_for_one_time_schedules_and_ends_after_it_starts():
    """F-314."""
    window = operation("upgrade_firmware", start_time=100, end_time=200)
    assert make_schedule(operation=window, spec_type="one-time", spec="2026-06-01T04:00:00Z").pk
    for spec_type, spec in (("interval", "1h"), ("cron", "0 2 * * *")):
        with pytest.raises(InvalidInput, match="make no sense"):
            make_schedule(operation=window, spec_type=spec_type, spec=spec)
        only_start = operation("upgrade_firmware", start_time=100)
        with pytest.raises(InvalidInput, match="make no sense"):
            make_schedule(operation=only_start, spec_type=spec_type, spec=spec)
    backwards = Operation("firmware_control", "upgrade", {"operation": 1, "start_time": 200, "end_time": 100})
    with pytest.raises(InvalidInput, match="after"):
        make_schedule(operation=backwards, spec_type="one-time", spec="2026-06-01T04:00:00Z")


def test_f319_d22_one_audit_row_says_who_did_what_through_which_door():
    """F-319, D-22."""
    racks = make_racks(2)
    schedule = make_schedule("nightly", targets=[*of_types(racks[0], "compute"), *whole(racks[1])])
    entry = AuditEntry.objects.get()
    assert (entry.actor, entry.door, entry.verb, entry.request_id) == ("alice", "rest", "schedule.create", "req-1")
    assert (entry.object_kind, entry.object_id, entry.object_name) == ("schedule", str(schedule.pk), "nightly")
    assert entry.at == NOW
    assert entry.before is None
    assert entry.after["spec"] == "1h"
    assert entry.after["operation"] == "Power On"
    assert entry.after["next_run_at"] == "2026-03-01T13:00:00.123456Z"
    assert entry.after["racks"] == {racks[0].name: ["Compute"], racks[1].name: None}
    assert entry.refused == ""


def test_f319_d22_a_refusal_is_recorded_too():
    """F-319, D-22."""
    with pytest.raises(InvalidInput) as refused:
        make_schedule("nightly", spec="soon")
    entry = AuditEntry.objects.get()
    assert (entry.verb, entry.object_name, entry.refused) == ("schedule.create", "nightly", refused.value.message)
    assert entry.after is None


def test_components_make_a_scope_per_rack():
    rack = make_racks(1)[0]
    parts = [make_component(rack), make_component(rack)]
    schedule = make_schedule(targets=[ComponentTarget(id=part.pk) for part in parts])
    scope = TaskScheduleScope.objects.get(schedule=schedule)
    assert scope.component_filter == {"kind": "components", "components": [str(part.pk) for part in parts]}
    assert last_audit().after["racks"] == {rack.name: [str(part.pk) for part in parts]}


@pytest.mark.parametrize("count", [1, 5000])
def test_budget_the_number_of_statements_does_not_depend_on_the_number_of_racks(count):
    targets = whole(*make_racks(count))
    with statements() as found:
        schedule = make_schedule(targets=targets)
    assert len(found) <= 5, found  # resolve, schedule, scopes, notify, audit
    assert TaskScheduleScope.objects.filter(schedule=schedule).count() == count


def test_an_unplugged_port_is_loud_and_withdraw_is_not(monkeypatch):
    fresh = Ports()
    assert fresh.withdraw(uuid.uuid4(), None, "paused", "x", NOW) == 0
    monkeypatch.setattr(ports, "create_scopes", fresh.create_scopes)
    with pytest.raises(RuntimeError, match="plugged in"):
        make_schedule()
    assert not TaskSchedule.objects.exists()
