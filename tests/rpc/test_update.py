"""UpdateTaskSchedule: masks, their order, and what each path does. F-137…F-146, D-2, D-12."""

from __future__ import annotations

import uuid
from datetime import timedelta

import grpc
import pytest
from google.protobuf.field_mask_pb2 import FieldMask

from flowsched.errors import AlreadyExists, InvalidInput, NotFound, PreconditionFailed
from rpc.convert_out import instant_out
from rpc.proto import flow_pb2 as pb
from rpc.schedules import METHODS
from schedules.services import schedule_pause
from tests.rpc.calls import NOW, ZERO, config, cron, new_call, one_time, run, uid
from tests.schedules.helpers import ALICE, columns, consumed, make_schedule

pytestmark = pytest.mark.django_db
LATER = NOW + timedelta(days=1)
NAME, OVERLAP, SPEC, ZONE = "schedule.name", "schedule.overlap_policy", "schedule.spec", "schedule.spec.timezone"


def update(schedule, *paths, **fields):
    request = pb.UpdateTaskScheduleRequest(
        id=uid(getattr(schedule, "pk", schedule)),
        schedule=pb.ScheduleConfig(**fields),
        update_mask=FieldMask(paths=paths),
    )
    return run("UpdateTaskSchedule", request, new_call(now=LATER))


def refused(schedule, *paths, kind=InvalidInput, **fields):
    """What this is refused for; the row stays as it was."""
    before = columns(schedule)
    with pytest.raises(kind) as error:
        update(schedule, *paths, **fields)
    assert columns(schedule) == before
    return error.value


def changed(schedule, *paths, **fields):
    """The columns that this changes."""
    before = columns(schedule)
    answer = update(schedule, *paths, **fields)
    after = columns(schedule)
    assert answer == run("GetTaskSchedule", pb.GetTaskScheduleRequest(id=uid(schedule.pk)))
    return {
        name: after[name] for name in after if after[name] != before[name] and name not in ("version", "updated_at")
    }


def test_f137_only_what_the_mask_names_changes():
    """F-137, F-146."""
    everything = {"name": "new", "overlap_policy": pb.OVERLAP_POLICY_QUEUE, "spec": cron("0 3 * * *")}
    assert changed(make_schedule(), NAME, **everything) == {"name": "new"}
    assert changed(make_schedule(), OVERLAP, **everything) == {"overlap_policy": "queue"}
    assert set(changed(make_schedule(), SPEC, **everything)) == {"spec_type", "spec", "next_run_at"}
    everything["name"] = "newer"
    both = changed(make_schedule(), OVERLAP, NAME, OVERLAP, NAME, **everything)
    assert both == {"name": "newer", "overlap_policy": "queue"}


@pytest.mark.parametrize(
    "path",
    [
        "", "*", "schedule", "name", "spec", "schedule.", "schedule.spec.", "schedule.spec.type", "schedule.spec.spec",
        "schedule.name ", "Schedule.name", "schedule.overlapPolicy", "id", "operation", "enabled", "next_run_at",
        "schedule.enabled", "schedule.spec.timezone.x", "a\x01b", "x" * 5000,
    ],
)  # fmt: skip
def test_f137_any_other_path_is_refused(path):
    """F-137, TH-3: named, with the four that may be."""
    error = refused(make_schedule(), NAME, path, name="new")
    assert list(error.fields) == ["update_mask"]
    assert all(allowed in error.message for allowed in (NAME, OVERLAP, SPEC, ZONE))
    assert repr(path[:30])[1:-1] in error.message
    assert len(error.message) < 400


def test_th11_a_mask_of_more_paths_than_read():
    """TH-11."""
    schedule = make_schedule()
    assert "17 paths" in refused(schedule, *[NAME] * 17, name="new").message
    assert changed(schedule, *[NAME] * 16, name="new") == {"name": "new"}


def test_f138_the_order_without_timing():
    """F-138: id, mask, schedule, paths, and only then whether there is such a schedule."""
    bad_id = pb.UpdateTaskScheduleRequest(id=pb.UUID(id=ZERO))
    with pytest.raises(InvalidInput, match=r"^id: "):
        run("UpdateTaskSchedule", bad_id)
    absent = uid(uuid.uuid4())
    for request, field in (
        (pb.UpdateTaskScheduleRequest(), "id"),
        (pb.UpdateTaskScheduleRequest(id=absent), "update_mask"),
        (pb.UpdateTaskScheduleRequest(id=absent, schedule=config(), update_mask=FieldMask()), "update_mask"),
        (pb.UpdateTaskScheduleRequest(id=absent, update_mask=FieldMask(paths=[NAME])), "schedule"),
        (pb.UpdateTaskScheduleRequest(id=absent, schedule={}, update_mask=FieldMask(paths=[NAME])), NAME),
    ):
        with pytest.raises(InvalidInput) as error:
            run("UpdateTaskSchedule", request)
        assert list(error.value.fields) == [field]
    with pytest.raises(NotFound):
        update(absent.id, NAME, name="new")


@pytest.mark.parametrize("path", [SPEC, ZONE])
def test_f138_with_timing_an_unknown_schedule_comes_first(path):
    """F-138: before whatever else is wrong."""
    absent = uid(uuid.uuid4())
    for request in (
        pb.UpdateTaskScheduleRequest(id=absent, update_mask=FieldMask(paths=[path])),
        pb.UpdateTaskScheduleRequest(id=absent, schedule={}, update_mask=FieldMask(paths=["*", path])),
        pb.UpdateTaskScheduleRequest(id=absent, schedule=config(), update_mask=FieldMask(paths=[path])),
    ):
        with pytest.raises(NotFound):
            run("UpdateTaskSchedule", request)


def test_f138_paths_are_read_in_the_order_of_the_mask():
    """F-138."""
    schedule = make_schedule()
    assert refused(schedule, SPEC, NAME).field == SPEC
    assert refused(schedule, NAME, SPEC).field == NAME
    assert refused(schedule, ZONE, NAME).field == SPEC  # a timezone needs its spec message


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        (None, SPEC),
        (pb.ScheduleSpec(), "schedule.spec.type"),
        (pb.ScheduleSpec(type=1), "schedule.spec.spec"),
        (pb.ScheduleSpec(type=1, spec="1d"), "schedule.spec.spec"),
        (pb.ScheduleSpec(type=9, spec="1h"), "schedule.spec.type"),
        (pb.ScheduleSpec(type=1, spec="1h", timezone="Local"), ZONE),
    ],
)
def test_f138_a_spec_that_is_not_given_or_cannot_be_read(spec, field):
    """F-138, F-126, T-6."""
    assert list(refused(make_schedule(), SPEC, spec=spec).fields) == [field]


def test_f140_spec_alone_keeps_the_timezone_and_counts_from_now():
    """F-140."""
    schedule = make_schedule(spec_type="cron", spec="0 2 * * *", timezone="Asia/Tokyo")
    changes = changed(schedule, SPEC, spec=cron("0 3 * * *"))
    assert changes.pop("next_run_at").isoformat() == "2026-03-02T18:00:00+00:00"  # 03:00 in Tokyo
    assert changes == {"spec": "0 3 * * *"}
    assert update(schedule, SPEC, spec=pb.ScheduleSpec(type=1, spec="2h")).next_run_at == instant_out(
        LATER + timedelta(hours=2)
    )


def test_d12_spec_alone_honours_a_timezone_sent_with_it():
    """D-12, F-294."""
    schedule = make_schedule(spec_type="cron", spec="0 2 * * *", timezone="Asia/Tokyo")
    found = update(schedule, SPEC, spec=cron("0 3 * * *", "Europe/Oslo"))
    assert (found.spec.timezone, found.next_run_at.ToJsonString()) == ("Europe/Oslo", "2026-03-03T02:00:00Z")


def test_f141_timezone_alone():
    """F-141: of a cron schedule; empty is UTC."""
    schedule = make_schedule(spec_type="cron", spec="0 2 * * *", timezone="Asia/Tokyo")
    changes = changed(schedule, ZONE, spec=pb.ScheduleSpec(timezone="Europe/Oslo", spec="ignored", type=1))
    assert changes.pop("next_run_at").isoformat() == "2026-03-03T01:00:00+00:00"
    assert changes == {"timezone": "Europe/Oslo"}
    assert update(schedule, ZONE, spec=pb.ScheduleSpec()).spec.timezone == "UTC"


def test_d12_timezone_alone_on_another_type_is_refused():
    """D-12, F-141, F-294: no silent nothing."""
    error = refused(make_schedule(), ZONE, spec=pb.ScheduleSpec(timezone="Europe/Oslo"))
    assert (error.reason, list(error.fields)) == ("TIMEZONE_UNUSED", [ZONE])


@pytest.mark.parametrize("paths", [(SPEC, ZONE), (ZONE, SPEC)])
def test_f142_both(paths):
    """F-142, D-12: an empty timezone that is named means UTC, not as it was."""
    schedule = make_schedule(spec_type="cron", spec="0 2 * * *", timezone="Asia/Tokyo")
    found = update(schedule, *paths, spec=cron("0 3 * * *", "Europe/Oslo"))
    assert (found.spec.spec, found.spec.timezone) == ("0 3 * * *", "Europe/Oslo")
    assert update(schedule, *paths, spec=cron("0 3 * * *")).spec.timezone == "UTC"
    found = update(schedule, *paths, spec=pb.ScheduleSpec(type=1, spec="1h", timezone="Asia/Tokyo"))
    assert (found.spec.type, found.spec.timezone) == (pb.SCHEDULE_SPEC_TYPE_INTERVAL, "Asia/Tokyo")


def test_f143_a_consumed_schedule_can_be_renamed_and_not_timed():
    """F-143."""
    schedule = consumed()
    assert changed(schedule, NAME, OVERLAP, name="old", overlap_policy=2) == {"name": "old", "overlap_policy": "queue"}
    assert refused(schedule, SPEC, spec=one_time("2030-01-01T00:00:00Z"), kind=PreconditionFailed).reason == "CONSUMED"


def test_f114_an_unknown_policy_is_skip():
    """F-114, F-144: the stored operation stays as it is."""
    schedule = make_schedule(overlap_policy="queue")
    assert changed(schedule, OVERLAP, overlap_policy=5) == {"overlap_policy": "skip"}


def test_f145_a_paused_schedule_stays_paused():
    """F-145."""
    schedule = make_schedule()
    schedule_pause(schedule_id=schedule.pk, by=ALICE, now=NOW)
    found = update(schedule, SPEC, spec=pb.ScheduleSpec(type=1, spec="2h"))
    assert (found.enabled, found.next_run_at) == (False, instant_out(LATER + timedelta(hours=2)))


def test_d2_a_taken_name_has_its_own_status_and_nothing_else_is_applied():
    """D-2, F-123: UNKNOWN, told apart by its reason."""
    make_schedule("taken")
    error = refused(
        make_schedule(), NAME, OVERLAP, SPEC, name="taken", overlap_policy=2, spec=cron(), kind=AlreadyExists
    )
    assert (error.reason, error.field) == ("NAME_TAKEN", NAME)
    assert METHODS["UpdateTaskSchedule"].statuses[error.reason] is grpc.StatusCode.UNKNOWN
    assert not METHODS["CreateTaskSchedule"].statuses
