"""Idempotency keys of create and trigger: the same key answers the same, and nothing is done twice."""

from __future__ import annotations

import threading

import pytest
from django.db import connection

from access.models import IdempotencyKey
from dispatcher.models import Firing
from schedules.models import TaskSchedule
from scopes.models import TaskScheduleScope
from tasks.models import Task
from tests.dispatcher.helpers import finish_tasks, racks
from tests.rest.calls import call, ok, refused, schedule_body, trail
from tests.rest.helpers import Rest, rest

pytestmark = pytest.mark.django_db
HEADERS = ("Location", "ETag")


def test_a_repeated_create_answers_the_first_and_makes_nothing(planner):
    body = schedule_body(*racks(2))
    first = call(planner, "POST", "schedules/", body, idempotency_key="k-1")
    ok(planner, "PATCH", f"schedules/{first.json()['id']}/", {"overlap_policy": "queue"})
    again = call(planner, "POST", "schedules/", dict(reversed(body.items())), idempotency_key="k-1")
    assert (again.status_code, again.json()) == (201, first.json())
    assert [again[name] for name in HEADERS] == [first[name] for name in HEADERS]
    assert ("Idempotency-Replayed" in first, again["Idempotency-Replayed"]) == (False, "true")
    assert (TaskSchedule.objects.count(), TaskScheduleScope.objects.count()) == (1, 2)
    assert [verb for verb, *_ in trail()] == ["schedule.create", "schedule.update"]


def test_another_body_or_another_verb_under_the_key_is_422(planner):
    body = schedule_body(*racks(1))
    made = ok(planner, "POST", "schedules/", body, idempotency_key="k-1")
    refused(call(planner, "POST", "schedules/", {**body, "name": "b"}, idempotency_key="k-1"), 422, "Idempotency-Key")
    path = f"schedules/{made['id']}/trigger/"
    refused(call(planner, "POST", path, idempotency_key="k-1"), 422, "Idempotency-Key")
    assert (TaskSchedule.objects.count(), Firing.objects.count()) == (1, 0)


def test_the_key_is_the_users_own(planner):
    [rack] = racks(1)
    ok(planner, "POST", "schedules/", schedule_body(rack, name="mine"), idempotency_key="k-1")
    other = rest("planner")
    assert (
        ok(other, "POST", "schedules/", schedule_body(rack, name="theirs"), idempotency_key="k-1")["name"] == "theirs"
    )


def test_what_was_refused_is_tried_again(planner):
    body = schedule_body(*racks(1), name="taken")
    other = ok(planner, "POST", "schedules/", {**body})
    assert call(planner, "POST", "schedules/", body, idempotency_key="k-1").status_code == 409
    ok(planner, "DELETE", f"schedules/{other['id']}/")
    assert call(planner, "POST", "schedules/", body, idempotency_key="k-1").status_code == 201


def test_an_answer_that_was_lost_comes_from_the_service(planner):
    """The process died between the work and noting its answer."""
    body = schedule_body(*racks(1))
    first = call(planner, "POST", "schedules/", body, idempotency_key="k-1")
    path = f"schedules/{first.json()['id']}/trigger/"
    fired = ok(planner, "POST", path, idempotency_key="k-2")
    IdempotencyKey.objects.update(status=None, body=None)
    again = call(planner, "POST", "schedules/", body, idempotency_key="k-1")
    assert (again.status_code, again.json()["id"]) == (201, first.json()["id"])
    assert ok(planner, "POST", path, idempotency_key="k-2") == fired
    assert (TaskSchedule.objects.count(), Firing.objects.count(), Task.objects.count()) == (1, 1, 1)


def test_a_repeated_trigger_answers_the_first_and_fires_nothing(planner):
    """F-150, D-13; also after its tasks have ended, when another key fires again."""
    made = ok(planner, "POST", "schedules/", schedule_body(*racks(2)))
    path = f"schedules/{made['id']}/trigger/"
    first = ok(planner, "POST", path, idempotency_key="k-1")
    finish_tasks()
    again = call(planner, "POST", path, {}, idempotency_key="k-1")
    assert (again.json(), again["Idempotency-Replayed"]) == (first, "true")
    assert (Firing.objects.count(), Task.objects.count()) == (1, 2)
    other = ok(planner, "POST", path, idempotency_key="k-2")
    assert other["firing_id"] != first["firing_id"]
    assert (Firing.objects.count(), Task.objects.count()) == (2, 4)


def test_a_trigger_that_all_refused_is_refused_the_same_again(planner):
    made = ok(planner, "POST", "schedules/", schedule_body(*racks(1)))
    path = f"schedules/{made['id']}/trigger/"
    ok(planner, "POST", path)
    first, again = (call(planner, "POST", path, idempotency_key="k-1") for _ in range(2))
    assert (first.status_code, again.status_code) == (409, 409)
    assert first.json()["refusals"] == again.json()["refusals"]
    assert first.json()["detail"] == again.json()["detail"]
    assert Firing.objects.count() == 2


@pytest.mark.parametrize("key", ["", "x" * 256, "käse", "a\x7fb"])
def test_what_is_no_key_is_refused(planner, key):
    refused(call(planner, "POST", "schedules/", schedule_body(*racks(1)), idempotency_key=key), 400, "Idempotency-Key")
    assert not TaskSchedule.objects.exists()


def at_once(client: Rest, count: int, *request) -> list:
    """The answers to the same request, sent `count` times at the same moment, each from a thread of its own."""
    barrier, answers = threading.Barrier(count), []

    def send() -> None:
        own = Rest(client.token)
        try:
            barrier.wait(10)
            answers.append(call(own, *request, idempotency_key="at-once"))
        finally:
            connection.close()

    threads = [threading.Thread(target=send) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(answers) == count
    return answers


@pytest.mark.django_db(transaction=True)
def test_creates_at_once_under_one_key_make_one_schedule(planner):
    answers = at_once(planner, 4, "POST", "schedules/", schedule_body(*racks(3)))
    assert {answer.status_code for answer in answers} == {201}
    assert len({str(answer.json()) for answer in answers if "Idempotency-Replayed" not in answer}) == 1
    assert {answer.json()["id"] for answer in answers} == {str(TaskSchedule.objects.get().pk)}
    assert TaskScheduleScope.objects.count() == 3
    assert [verb for verb, *_ in trail()] == ["schedule.create"]


@pytest.mark.django_db(transaction=True)
def test_triggers_at_once_under_one_key_make_one_firing(planner):
    made = ok(planner, "POST", "schedules/", schedule_body(*racks(3)))
    answers = at_once(planner, 4, "POST", f"schedules/{made['id']}/trigger/")
    assert {answer.status_code for answer in answers} == {200}
    firing = Firing.objects.get()
    assert {answer.json()["firing_id"] for answer in answers} == {str(firing.pk)}
    ids = [str(pk) for pk in Task.objects.values_list("pk", flat=True)]
    assert all(sorted(answer.json()["task_ids"]) == sorted(ids) for answer in answers)
    assert len(ids) == 3
