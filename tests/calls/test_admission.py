"""How many calls of a schedule may be under way, whatever worker has them (I-27, D-15): refused, or waiting."""

from __future__ import annotations

import threading
import uuid
from collections import Counter
from datetime import timedelta

import pytest
from django.db import connection

from dispatcher.firing import fire_due
from dispatcher.models import FiringScope
from dispatcher.records import new_holder
from flowsched import clock
from tasks.models import Run, Task
from tasks.services import lanes_sweep, task_acknowledge, task_cancel, tasks_expire
from tests.calls.helpers import call, came_due, fired, scheduled, tasks_of
from tests.dispatcher.helpers import BY
from tests.tasks_runs.helpers import begin, make_rack

pytestmark = pytest.mark.django_db
LEASE = timedelta(seconds=30)


def outcomes(scopes):
    return [(scope.state, scope.reason_code) for scope in scopes]


def statuses(schedule):
    return [task.status for task in tasks_of(schedule)]


def test_one_call_is_under_way_unless_said_otherwise(site):
    schedule = scheduled(call())
    assert outcomes(fired(schedule)) == [("submitted", "")]
    again = fired(schedule)
    assert outcomes(again) == [("rejected", "instance_limit")]
    assert str(tasks_of(schedule)[0].id) in again[0].reason
    assert statuses(schedule) == ["pending"]


@pytest.mark.parametrize("most", [1, 2, 3])
def test_as_many_as_the_limit_says_and_no_more(site, most):
    schedule = scheduled(call(max_running_instances=most))
    states = [outcomes(fired(schedule))[0] for _ in range(most + 1)]
    assert states == [("submitted", "")] * most + [("rejected", "instance_limit")]


def test_a_tick_is_refused_by_the_limit_and_not_by_the_overlap_policy(site):
    """What is under way is the calls' own question: with room for two, a tick beside a running call is no overlap."""
    schedule = scheduled(call(max_running_instances=2))
    for expected in (("submitted", ""), ("submitted", ""), ("rejected", "instance_limit")):
        came_due(schedule)
        fire_due(clock.now(), 10, holder=new_holder(LEASE))
        assert outcomes(FiringScope.objects.order_by("-id")[:1]) == [expected]


def test_an_unknown_outcome_counts_until_a_person_has_decided(site):
    schedule = scheduled(call(method="POST"))
    fired(schedule)
    task = tasks_of(schedule)[0]
    run = begin(task, executor="http").run_id
    Run.objects.filter(pk=run).update(state="unknown", lease_token=None, lease_until=None)
    refused = fired(schedule)
    assert outcomes(refused) == [("rejected", "instance_limit")]
    assert "unknown" in refused[0].reason
    task_acknowledge(task_id=task.id, as_="completed", by=BY, now=clock.now())
    assert outcomes(fired(schedule)) == [("submitted", "")]


def test_under_policy_queue_it_waits_and_leaves_the_queue_in_order(site, settings):
    settings.FLOWSCHED_MAX_WAITING_PER_RACK = 2
    schedule = scheduled(call(max_running_instances=1), policy="queue")
    for _ in range(3):
        assert outcomes(fired(schedule)) == [("submitted", "")]
    assert outcomes(fired(schedule)) == [("rejected", "queue_full")]
    assert statuses(schedule) == ["pending", "waiting", "waiting"]
    first, second, _ = tasks_of(schedule)
    task_cancel(task_id=first.id, by=BY, now=clock.now())
    assert statuses(schedule) == ["terminated", "pending", "waiting"]
    second.refresh_from_db()
    assert second.queue_expires_at is None


def test_who_waits_too_long_ends_and_nobody_overtakes_meanwhile(site):
    schedule = scheduled(call(max_running_instances=1), policy="queue")
    fired(schedule)
    fired(schedule)
    waiting = tasks_of(schedule)[1]
    Task.objects.filter(pk=waiting.pk).update(queue_expires_at=clock.now() - timedelta(seconds=1))
    assert tasks_expire(now=clock.now()) == 1
    assert statuses(schedule) == ["pending", "terminated"]


def test_the_sweep_lets_in_whom_nobody_let_in(site):
    """F-261: whatever was lost before."""
    schedule = scheduled(call(max_running_instances=1), policy="queue")
    fired(schedule)
    fired(schedule)
    Task.objects.filter(pk=tasks_of(schedule)[0].pk).update(status="completed", finished_at=clock.now())
    assert lanes_sweep(now=clock.now()) == 1
    assert statuses(schedule) == ["completed", "pending"]


def test_with_racks_one_call_a_rack(site):
    racks = [make_rack(2) for _ in range(3)]
    schedule = scheduled(call(), racks)
    assert outcomes(fired(schedule)) == [("submitted", "")] * 3
    assert {task.rack_id for task in tasks_of(schedule)} == {rack.id for rack in racks}
    assert {task.lane for task in tasks_of(schedule)} == {schedule.id}
    Task.objects.filter(rack_id=racks[0].id).update(status="completed", finished_at=clock.now())
    again = fired(schedule)
    assert outcomes(again) == [("submitted", ""), *[("rejected", "instance_limit")] * 2]
    assert racks[1].name in again[1].reason


def test_with_racks_a_number_counts_them_all(site):
    schedule = scheduled(call(max_running_instances=2), [make_rack(1) for _ in range(4)])
    assert Counter(outcomes(fired(schedule))) == {("submitted", ""): 2, ("rejected", "instance_limit"): 2}


def test_a_call_meets_no_operation_on_its_rack(site):
    rack = make_rack(2)
    schedule = scheduled(call(), [rack])
    task = Task.objects.create(
        type="bring_up", code="bring_up", rack_id=rack.id, rack_name=rack.name, lane=rack.id, status="running",
        idempotency_key=uuid.uuid4(),
    )  # fmt: skip
    assert outcomes(fired(schedule)) == [("submitted", "")]
    assert task.lane != tasks_of(schedule)[0].lane


def test_a_rack_that_is_gone_fails_alone(site):
    racks = [make_rack(1) for _ in range(2)]
    schedule = scheduled(call(), racks)
    type(racks[0]).objects.filter(pk=racks[0].pk).update(deleted_at=clock.now())
    assert outcomes(fired(schedule)) == [("failed", "rack_gone"), ("submitted", "")]


@pytest.mark.django_db(transaction=True)
def test_two_sessions_at_once_let_one_call_in(site):
    """The limit holds across all workers and dispatchers: what decides is locked."""
    schedule = scheduled(call())
    start, seen = threading.Barrier(2), []

    def one() -> None:
        try:
            start.wait(10)
            seen.extend(outcomes(fired(schedule)))
        finally:
            connection.close()

    threads = [threading.Thread(target=one) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(tasks_of(schedule)) == 1
    assert FiringScope.objects.filter(state="submitted").count() == 1
    assert FiringScope.objects.filter(state="rejected", reason_code="instance_limit").count() == 1
