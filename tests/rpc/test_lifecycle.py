"""PauseTaskSchedule, ResumeTaskSchedule, DeleteTaskSchedule and TriggerTaskSchedule."""

from __future__ import annotations

import uuid
from datetime import timedelta

import pytest
from google.rpc.error_details_pb2 import ErrorInfo
from google.rpc.status_pb2 import Status

from audit.models import AuditEntry
from dispatcher.models import Firing
from flowsched.errors import InvalidInput, NotFound, PreconditionFailed, QueueFull
from rpc.convert_out import instant_out
from rpc.proto import flow_pb2 as pb
from rpc.refusals import KEY
from schedules.models import TaskSchedule
from scopes.models import TaskScheduleScope
from tasks.models import Task
from tests.dispatcher.helpers import finish_tasks
from tests.factories import RackFactory
from tests.rpc.calls import NOW, ZERO, create, new_call, one_time, run, uid
from tests.schedules.helpers import columns, consumed, make_racks

pytestmark = pytest.mark.django_db
VERBS = {
    "PauseTaskSchedule": pb.PauseTaskScheduleRequest,
    "ResumeTaskSchedule": pb.ResumeTaskScheduleRequest,
    "DeleteTaskSchedule": pb.DeleteTaskScheduleRequest,
    "TriggerTaskSchedule": pb.TriggerTaskScheduleRequest,
}
LATER = NOW + timedelta(minutes=20)


def do(verb, schedule, call=None):
    return run(verb, VERBS[verb](id=uid(getattr(schedule, "pk", schedule))), call or new_call(now=LATER))


def racks(count):
    return [RackFactory(components=2) for _ in range(count)]


@pytest.mark.parametrize("verb", VERBS)
def test_f121_each_needs_the_id_of_a_schedule(verb):
    """F-121, F-147…F-150: required, sound, known."""
    with pytest.raises(InvalidInput, match=r"^id is required$"):
        run(verb, VERBS[verb]())
    with pytest.raises(InvalidInput, match=r"^id: "):
        do(verb, ZERO)
    with pytest.raises(NotFound):
        do(verb, uuid.uuid4())


@pytest.mark.parametrize("verb", ["PauseTaskSchedule", "ResumeTaskSchedule", "TriggerTaskSchedule"])
def test_f147_a_consumed_schedule_is_over(verb):
    """F-147, F-148, F-150."""
    schedule = consumed()
    with pytest.raises(PreconditionFailed):
        do(verb, schedule)
    assert not columns(schedule)["enabled"]


def test_f147_pause_and_f148_resume():
    """F-147, F-148: twice is once; next_run_at stays while paused and counts anew from the resume."""
    made = create(*make_racks(1))
    paused = do("PauseTaskSchedule", made.id.id)
    assert (paused.enabled, paused.next_run_at) == (False, made.next_run_at)
    assert do("PauseTaskSchedule", made.id.id) == paused
    resumed = do("ResumeTaskSchedule", made.id.id)
    assert (resumed.enabled, resumed.next_run_at) == (True, instant_out(LATER + timedelta(hours=1)))
    assert do("ResumeTaskSchedule", made.id.id, new_call(now=LATER + timedelta(hours=5))) == resumed
    verbs = AuditEntry.objects.filter(door="grpc").order_by("id").values_list("verb", flat=True)
    assert list(verbs) == ["schedule.create", "schedule.pause", "schedule.resume"]


def test_f148_a_one_time_schedule_keeps_its_instant():
    """F-148."""
    made = create(*make_racks(1), spec=one_time("2026-03-01T12:10:00Z"))
    do("PauseTaskSchedule", made.id.id)
    assert do("ResumeTaskSchedule", made.id.id).next_run_at == made.next_run_at


def test_f149_delete():
    """F-149: the scopes go with it, and a second time there is nothing."""
    made = create(*make_racks(2))
    assert do("DeleteTaskSchedule", made.id.id).ByteSize() == 0
    assert not TaskSchedule.objects.exists()
    assert not TaskScheduleScope.objects.exists()
    with pytest.raises(NotFound):
        do("DeleteTaskSchedule", made.id.id)


def test_f150_trigger():
    """F-150, F-151: ids in scope order; the next interval counts from the trigger; paused stays paused."""
    on = racks(3)
    made = create(*reversed(on))
    do("PauseTaskSchedule", made.id.id)
    call = new_call(now=LATER)
    answer = do("TriggerTaskSchedule", made.id.id, call)
    tasks = {str(task.pk): task.rack_id for task in Task.objects.all()}
    assert [tasks[task.id] for task in answer.task_ids] == [rack.pk for rack in reversed(on)]
    assert call.context.trailer == ()
    found = run("GetTaskSchedule", pb.GetTaskScheduleRequest(id=made.id))
    assert (found.enabled, found.next_run_at, found.last_run_at) == (
        False,
        instant_out(LATER + timedelta(hours=1)),
        instant_out(LATER),
    )
    scopes = run("ListTaskScheduleScopes", pb.ListTaskScheduleScopesRequest(schedule_id=made.id)).scopes
    assert [scope.last_task_id for scope in scopes] == list(answer.task_ids)
    assert Firing.objects.get().actor == "alice"


def test_f153_without_scopes_the_state_advances_and_no_task_is_made():
    """F-153."""
    made = create(*make_racks(1))
    TaskScheduleScope.objects.all().delete()
    assert list(do("TriggerTaskSchedule", made.id.id).task_ids) == []
    assert TaskSchedule.objects.get().last_run_at == LATER


def test_d13_some_refused_is_a_success_that_names_them_in_the_trailer():
    """D-13, F-155, F-315: beside what the server put there already."""
    on = racks(3)
    do("TriggerTaskSchedule", create(on[1]).id.id)
    made, call = create(*on), new_call(now=LATER)
    call.context.set_trailing_metadata((("x-request-id", "req-1"),))
    answer = do("TriggerTaskSchedule", made.id.id, call)
    assert len(answer.task_ids) == 2
    request_id, (key, data) = call.context.trailer
    assert (request_id, key) == (("x-request-id", "req-1"), KEY)
    status = Status.FromString(data)
    [detail], info = status.details, ErrorInfo()
    assert detail.Unpack(info)
    assert (info.reason, info.domain) == ("RACK_BUSY", "flowsched")
    reason = info.metadata.pop("reason")
    assert dict(info.metadata) == {"rack_id": str(on[1].pk), "rack_name": on[1].name, "outcome": "rejected"}
    assert f"rack {on[1].name} is busy" in reason


def test_f154_all_refused_is_an_error_that_carries_each():
    """F-154, F-152, D-13: the firing stays recorded and the state has advanced."""
    on = racks(2)
    made = create(*on)
    do("TriggerTaskSchedule", made.id.id)
    call = new_call(now=LATER + timedelta(minutes=1))
    with pytest.raises(PreconditionFailed) as error:
        do("TriggerTaskSchedule", made.id.id, call)
    assert [(r.rack_id, r.rack_name, r.code) for r in error.value.refusals] == [
        (rack.pk, rack.name, "rack_busy") for rack in on
    ]
    assert call.context.trailer == ()
    assert Firing.objects.count() == 2
    assert TaskSchedule.objects.get().last_run_at == LATER + timedelta(minutes=1)


def test_f154_full_queues_are_the_shared_code(settings):
    """F-154, F-152: under queue the queues decide."""
    settings.FLOWSCHED_MAX_WAITING_PER_RACK = 1
    made = create(*racks(1), overlap_policy=pb.OVERLAP_POLICY_QUEUE)
    do("TriggerTaskSchedule", made.id.id)
    do("TriggerTaskSchedule", made.id.id)
    with pytest.raises(QueueFull) as error:
        do("TriggerTaskSchedule", made.id.id)
    assert [refusal.code for refusal in error.value.refusals] == ["queue_full"]


def test_f150_a_triggered_schedule_runs_again_once_the_rack_is_free():
    """F-150: the overlap policy is not asked."""
    made = create(*racks(1))
    first = do("TriggerTaskSchedule", made.id.id)
    finish_tasks()
    assert do("TriggerTaskSchedule", made.id.id).task_ids != first.task_ids
