"""Stopping a whole rack: one confirmation, then each task and each schedule through its own service."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.urls import reverse

from audit.models import AuditEntry
from flowsched import clock
from scopes.models import TaskScheduleScope
from tasks.models import Run, Task
from tests.console.helpers import BUDGET, hidden, queries_of, stored, text_of
from tests.console.people import browse
from tests.schedules.helpers import make_schedule, whole
from tests.tasks_runs.helpers import begin, make_rack, make_task

pytestmark = pytest.mark.django_db
TICK = {"take_out": "1"}


def stop(rack) -> str:
    return reverse("admin:rack_stop", args=[rack.pk])


@pytest.fixture
def rack():
    """r12: a task that runs, one that waits, one schedule of two racks and one of r12 alone."""
    made = make_rack(name="r12")
    both = make_schedule("Nightly reset", targets=whole(made, make_rack(name="r13")), now=clock.now())
    make_schedule("Only here", targets=whole(made), now=clock.now())
    begin(make_task(made, "restart", schedule_id=both.pk, schedule_name=both.name))
    make_task(made, "power_off", status="waiting", created_at=clock.now() + timedelta(seconds=1))
    make_task(make_rack(name="r14"), "restart")
    return made


def test_the_confirmation_lists_tasks_and_schedules_and_changes_nothing(signed_in, rack):
    client = signed_in("planner")
    assert stop(rack) in browse("operator").get(reverse("admin:rack", args=[rack.pk])).content.decode()
    client = browse()
    before = stored()
    shown = client.get(stop(rack))
    assert stored() == before
    said = text_of(shown)
    assert "Stop r12? Its 2 tasks are cancelled." in said
    assert "Power reset Running" in said
    assert "Power off Waiting" in said
    assert re.search(r"Nightly reset ?: Power On, next run ", said), said
    assert "Its only rack: it stays in. Pause that schedule…" in said
    body = shown.content.decode()
    assert '<input type="checkbox" name="take_out" value="1" checked>' in body
    assert "autofocus data-cancel>Go back</a>" in body
    assert queries_of(client, stop(rack)) <= BUDGET


def test_each_task_and_each_schedule_is_answered_in_a_row(rack):
    client = browse(name="root")
    done = client.post(stop(rack), hidden(client.get(stop(rack))) | TICK)
    said = text_of(done)
    assert "3 of 4 done." in said
    assert "Nightly reset taken out" in said
    assert "Only here still in it It is its only rack: pause the schedule instead. Pause that schedule…" in said
    assert "Power reset stop requested Waiting for the executor." in said
    assert "Power off cancelled" in said
    kept = TaskScheduleScope.objects.filter(rack=rack).values_list("schedule__name", flat=True)
    assert list(kept) == ["Only here"]
    assert Run.objects.get().cancel_requested_at
    assert Task.objects.get(rack_name="r12", code="power_off").status == "terminated"
    assert Task.objects.get(rack_name="r14").status == "pending"
    found = AuditEntry.objects.filter(actor="root", door="admin", refused="", verb__in=["scope.remove", "task.cancel"])
    verbs = found.values_list("verb", flat=True)
    assert sorted(verbs) == ["scope.remove", "task.cancel", "task.cancel"]


def test_without_the_tick_the_rack_stays_in_its_schedules(rack):
    client = browse()
    said = text_of(client.post(stop(rack), hidden(client.get(stop(rack)))))
    assert "2 of 2 done." in said
    assert TaskScheduleScope.objects.filter(rack=rack).count() == 2


def test_what_moved_meanwhile_is_shown_again_and_nothing_done(rack):
    client = browse()
    sent = hidden(client.get(stop(rack)))
    make_task(rack, "power_off", status="waiting")
    before = stored()
    again = client.post(stop(rack), sent | TICK)
    assert again.status_code == 409
    assert "Its 3 tasks are cancelled." in text_of(again)
    assert stored() == before
    assert client.post(stop(rack), {}).status_code == 409


def test_who_may_cancel_alone_is_not_offered_the_schedules(rack):
    client = browse("viewer", verbs=["task.cancel"])
    shown = client.get(stop(rack))
    assert 'name="take_out"' not in shown.content.decode()
    assert "ask someone who may take racks out of schedules" in text_of(shown)
    before = stored().split()[:-1]
    assert client.post(stop(rack), hidden(shown) | TICK).status_code == 403
    assert stored().split()[:-1] == before
    assert AuditEntry.objects.filter(verb="scope.remove").exclude(refused="").count() == 1
    assert "2 of 2 done." in text_of(client.post(stop(rack), hidden(shown)))


def test_a_task_in_doubt_is_not_ended_by_stopping_its_rack():
    """D-16: only a person's word on what happened ends it."""
    rack = make_rack(name="r12")
    task = make_task(rack, "restart")
    Run.objects.filter(pk=begin(task).run_id).update(state="unknown", lease_token=None, lease_until=None)
    client = browse()
    said = text_of(client.post(stop(rack), hidden(client.get(stop(rack)))))
    assert "Power reset not stopped Its outcome is unknown: say how it ended." in said
    task.refresh_from_db()
    assert task.status == "running"


def test_an_idle_rack_that_nothing_reaches_offers_no_stop():
    rack = make_rack(name="r12")
    client = browse()
    assert stop(rack) not in client.get(reverse("admin:rack", args=[rack.pk])).content.decode()
    said = text_of(client.get(stop(rack)))
    assert "No task is active or waits here." in said
    assert "No schedule reaches it." in said
    assert client.get("/admin/racks/nonsense/stop/").status_code == 404
