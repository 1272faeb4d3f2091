"""Tasks over gRPC: list, look up, cancel (F-170…F-172, D-16)."""

from __future__ import annotations

import threading
import time
import uuid
from datetime import timedelta

import grpc
import pytest
from django.db import connection

from audit.models import AuditEntry
from flowsched import clock
from flowsched.errors import InvalidInput, NotFound, PreconditionFailed
from rpc import tasks as rpc_tasks
from rpc.methods import METHODS
from rpc.proto import flow_pb2 as pb
from tasks.models import Run, Task
from tasks.runs import run_finish
from tasks.states import RunState
from tests.faults.harness import wait_for
from tests.rpc.calls import ZERO, new_call, run, uid
from tests.rpc.harness import make_token, running
from tests.tasks_runs.helpers import begin, expire_lease, make_rack, make_task

pytestmark = pytest.mark.django_db


def listed(**fields):
    return run("ListTasks", pb.ListTasksRequest(**fields))


def ids_of(answer):
    return [uuid.UUID(task.id.id) for task in answer.tasks]


def tasks_on(rack, count, **columns):
    """Tasks that ended, the oldest first."""
    now = clock.now()
    made = [make_task(rack, status="completed", finished_at=now, job=False, **columns) for _ in range(count)]
    for place, task in enumerate(made):
        Task.objects.filter(id=task.id).update(created_at=now - timedelta(hours=1) + timedelta(seconds=place))
    return made


def test_f170_a_hundred_unless_asked_for_a_page_the_newest_first():
    made = tasks_on(make_rack(1), 103)
    newest = [task.id for task in reversed(made)]
    answer = listed()
    assert (ids_of(answer), answer.total) == (newest[:100], 103)
    answer = listed(pagination=pb.Pagination(offset=100, limit=2))
    assert (ids_of(answer), answer.total) == (newest[100:102], 103)
    assert len(listed(pagination=pb.Pagination(limit=1000)).tasks) == 103
    assert len(listed(pagination=pb.Pagination(offset=2**31 - 1, limit=1)).tasks) == 0


@pytest.mark.parametrize(
    ("offset", "limit", "field"), [(0, 0, "limit"), (0, -1, "limit"), (0, 1001, "limit"), (-1, 10, "offset")]
)
def test_f170_what_is_no_page(offset, limit, field):
    with pytest.raises(InvalidInput) as refused:
        listed(pagination=pb.Pagination(offset=offset, limit=limit))
    assert refused.value.fields.keys() == {f"pagination.{field}"}


def test_f170_ties_are_broken_by_id():
    made = tasks_on(make_rack(1), 5)
    Task.objects.update(created_at=clock.now())
    assert ids_of(listed()) == sorted((task.id for task in made), reverse=True)


def test_f170_by_rack_by_component_and_only_those_that_have_not_ended():
    one, two = make_rack(2), make_rack(1)
    [ended], [other] = tasks_on(one, 1), tasks_on(two, 1)
    active = [make_task(one, status=status, job=False) for status in ("pending", "running", "waiting")]
    part = one.components.first()
    assert set(ids_of(listed(rack_id=uid(one.id)))) == {ended.id, *(task.id for task in active)}
    assert set(ids_of(listed(rack_id=uid(one.id), active_only=True))) == {task.id for task in active}
    assert set(ids_of(listed(component_id=uid(part.id)))) == {ended.id, *(task.id for task in active)}
    assert ids_of(listed(rack_id=uid(two.id), component_id=uid(part.id))) == []
    assert ids_of(listed(rack_id=uid(uuid.uuid4()))) == []
    assert ids_of(listed(rack_id=uid(two.id))) == [other.id]
    assert {task.report for task in listed(with_report=True).tasks} == {""}


@pytest.mark.parametrize("field", ["rack_id", "component_id"])
@pytest.mark.parametrize("text", ["", "x", ZERO])
def test_f121_a_filter_that_is_no_id_is_refused(field, text):
    """F-121: never taken for no filter."""
    with pytest.raises(InvalidInput) as refused:
        listed(**{field: pb.UUID(id=text)})
    assert refused.value.field == field


def test_f171_in_the_order_of_the_request_repeated_without_the_unknown():
    one, two, _ = tasks_on(make_rack(1), 3)
    asked = [two.id, uuid.uuid4(), one.id, two.id]
    answer = run("GetTasksByIDs", pb.GetTasksByIDsRequest(task_ids=[uid(one) for one in asked]))
    assert ids_of(answer) == [two.id, one.id, two.id]
    assert not run("GetTasksByIDs", pb.GetTasksByIDsRequest()).tasks


def test_f171_what_is_no_id_is_named_and_a_thousand_are_enough():
    asked = [uid(uuid.uuid4()) for _ in range(1001)]
    with pytest.raises(InvalidInput, match="1001 ids are more than the 1000"):
        run("GetTasksByIDs", pb.GetTasksByIDsRequest(task_ids=asked))
    run("GetTasksByIDs", pb.GetTasksByIDsRequest(task_ids=asked[:1000]))
    asked[7] = uid("x")
    with pytest.raises(InvalidInput) as refused:
        run("GetTasksByIDs", pb.GetTasksByIDsRequest(task_ids=asked[:9]))
    assert refused.value.field == "task_ids[7]"


def test_lists_take_two_queries_whatever_their_length(django_assert_num_queries):
    made = tasks_on(make_rack(1), 60)
    with django_assert_num_queries(2):
        listed()
    with django_assert_num_queries(1):
        run("GetTasksByIDs", pb.GetTasksByIDsRequest(task_ids=[uid(task.id) for task in made]))


# Cancel ---------------------------------------------------------------------------------------------------------


def cancel(task):
    return run("CancelTask", pb.CancelTaskRequest(task_id=uid(task.id)), new_call(now=clock.now())).task


@pytest.mark.parametrize("status", ["waiting", "pending"])
def test_f172_one_that_has_not_begun_ends_at_once(status):
    task = make_task(make_rack(1), status=status, job=False)
    assert cancel(task).status == pb.TASK_STATUS_TERMINATED
    assert cancel(task).status == pb.TASK_STATUS_TERMINATED  # and is as it is
    assert Task.objects.get().status == "terminated"
    assert AuditEntry.objects.filter(verb="task.cancel", door="grpc", actor="alice").count() == 1


def test_f172_one_that_has_ended_otherwise_is_refused():
    [task] = tasks_on(make_rack(1), 1)
    with pytest.raises(PreconditionFailed, match="completed already"):
        cancel(task)


def test_f172_what_is_no_task():
    with pytest.raises(NotFound):
        run("CancelTask", pb.CancelTaskRequest(task_id=uid(uuid.uuid4())))
    for request in (pb.CancelTaskRequest(), pb.CancelTaskRequest(task_id=uid(ZERO))):
        with pytest.raises(InvalidInput) as refused:
            run("CancelTask", request)
        assert refused.value.field == "task_id"


def test_d16_one_whose_outcome_is_unknown_is_terminated():
    """D-16: on this door a cancellation is the operator's decision."""
    task = make_task(make_rack(1), "restart")
    begin(task)
    Run.objects.update(state="unknown", lease_token=None, lease_until=None)
    assert cancel(task).status == pb.TASK_STATUS_TERMINATED
    assert Run.objects.get().state == "cancelled"


def test_one_whose_worker_is_gone_ends_at_once():
    task = make_task(make_rack(1))
    begin(task)
    expire_lease()
    assert cancel(task).status == pb.TASK_STATUS_TERMINATED


def test_one_that_runs_is_answered_as_it_is_when_time_is_up():
    """The request stands: its worker hears of it."""
    task = make_task(make_rack(1))
    begin(task)
    answer = cancel(task)
    assert answer.status == pb.TASK_STATUS_RUNNING
    assert answer.message == "Running; cancellation requested by alice, stops before its next step"
    assert Run.objects.get().cancel_requested_at is not None


@pytest.fixture
def client(engine_tables):
    with running(METHODS, threads=4) as server, server.client(make_token("operator", username="olga")) as client:
        yield client


def requested() -> bool:
    return Run.objects.filter(cancel_requested_at__isnull=False).exists()


def idle_in_transaction() -> int:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
            " AND state LIKE 'idle in transaction%'"
        )
        return cursor.fetchone()[0]


@pytest.mark.django_db(transaction=True)
def test_f172_one_that_runs_is_waited_for(client):
    """F-172, D-16: the answer is the task after its worker ended it; nothing is held meanwhile."""
    task = make_task(make_rack(1))
    handle = begin(task)
    call = client.start("CancelTask", pb.CancelTaskRequest(task_id=uid(task.id)))
    wait_for(requested, 10, "the worker is asked")
    time.sleep(0.3)
    assert not call.done()
    assert idle_in_transaction() == 0
    run_finish(handle, state=RunState.CANCELLED, message="Cancelled", now=clock.now())
    answer = call.result(10).task
    assert (answer.status, answer.message) == (pb.TASK_STATUS_TERMINATED, "Cancelled")


@pytest.mark.django_db(transaction=True)
def test_the_clients_deadline_ends_the_wait(client):
    task = make_task(make_rack(1))
    begin(task)
    answer = client.call("CancelTask", pb.CancelTaskRequest(task_id=uid(task.id)), timeout=1.5).task
    assert answer.status == pb.TASK_STATUS_RUNNING
    assert requested()


@pytest.mark.django_db(transaction=True)
def test_the_servers_deadline_ends_it_for_a_client_without_one(client, settings):
    settings.FLOWSCHED_GRPC_DEADLINE = timedelta(seconds=1)
    task = make_task(make_rack(1))
    begin(task)
    answer = client.call("CancelTask", pb.CancelTaskRequest(task_id=uid(task.id)), timeout=None).task
    assert answer.status == pb.TASK_STATUS_RUNNING


@pytest.mark.django_db(transaction=True)
def test_whoever_waits_leaves_threads_to_the_others(client, monkeypatch):
    monkeypatch.setattr(rpc_tasks, "_waiting", threading.BoundedSemaphore(2))
    task = make_task(make_rack(1))
    handle = begin(task)
    calls = [client.start("CancelTask", pb.CancelTaskRequest(task_id=uid(task.id))) for _ in range(6)]
    wait_for(lambda: sum(call.done() for call in calls) == 4, 10, "four are answered at once")
    assert {call.result().task.status for call in calls if call.done()} == {pb.TASK_STATUS_RUNNING}
    client.call("Version")
    run_finish(handle, state=RunState.CANCELLED, message="Cancelled", now=clock.now())
    assert {call.result(10).task.status for call in calls} == {pb.TASK_STATUS_RUNNING, pb.TASK_STATUS_TERMINATED}


@pytest.mark.django_db(transaction=True)
def test_a_client_that_goes_away_frees_the_thread(client, monkeypatch):
    slots = threading.BoundedSemaphore(1)
    monkeypatch.setattr(rpc_tasks, "_waiting", slots)
    task = make_task(make_rack(1))
    begin(task)
    call = client.start("CancelTask", pb.CancelTaskRequest(task_id=uid(task.id)), timeout=60)
    wait_for(requested, 10, "the worker is asked")
    call.cancel()

    def free() -> bool:
        return slots.acquire(blocking=False)

    wait_for(free, 10, "nobody waits any more")
    assert call.code() == grpc.StatusCode.CANCELLED
