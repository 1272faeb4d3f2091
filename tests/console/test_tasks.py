"""Tasks: the list, one task, cancelling, deciding about an outcome in doubt (admin.md 2.5)."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.urls import reverse

from audit.models import AuditEntry
from flowsched import clock
from schedules.models import TaskSchedule
from schedules.services import schedule_pause
from scopes.models import TaskScheduleScope
from tasks.models import Run, Task
from tests.console.helpers import BUDGET, hidden, queries_of, stored, text_of
from tests.console.people import browse
from tests.schedules.helpers import ALICE, make_schedule, whole
from tests.tasks_runs.helpers import begin, make_rack, make_task

pytestmark = pytest.mark.django_db
MARKUP = '<img src=x onerror="alert(1)">'


def url(task: Task, page: str = "task") -> str:
    return reverse(f"admin:{page}", args=[task.pk])


def in_doubt() -> Task:
    """A running task whose run stopped at an unknown outcome."""
    task = make_task(make_rack(name="r07"), "restart")
    run = begin(task).run_id
    Run.objects.filter(pk=run).update(state="unknown", lease_token=None, lease_until=None)
    Task.objects.filter(pk=task.pk).update(message="outcome unknown")
    task.refresh_from_db()
    return task


def test_nothing_running_says_so(signed_in):
    client = signed_in("viewer")
    assert "Nothing is running." in text_of(client.get("/admin/tasks/"))
    assert "No outcome is in doubt." in text_of(client.get("/admin/tasks/?view=unknown"))
    assert "Nothing failed in the last 24 hours." in text_of(client.get("/admin/tasks/?view=failed"))
    assert "No task matches Rack: r99." in text_of(client.get("/admin/tasks/?rack=r99"))


def test_views_and_what_a_waiting_task_stands_behind(signed_in):
    rack = make_rack(name="r02")
    first = make_task(rack, "restart")
    make_task(rack, "power_off", status="waiting")
    make_task(make_rack(name="r03"), status="failed", finished_at=clock.now(), message="BMC timed out", job=False)
    client = signed_in("viewer")
    active = text_of(client.get("/admin/tasks/"))
    assert f"Waiting behind power reset ({str(first.pk)[:8]})" in active
    assert "Active 2" in active
    failed = text_of(client.get("/admin/tasks/?view=failed"))
    assert "Failed BMC timed out" in failed
    assert "r02" not in failed
    assert "r03" in text_of(client.get("/admin/tasks/?view=all&rack=r03&operation=power_on&after=2020-01-01"))
    for query in ("after=nonsense", "status=%00", "operation=x", "page=9"):
        assert client.get(f"/admin/tasks/?view=all&{query}").status_code == 200


def test_terminated_tasks_are_told_apart(signed_in):
    rack = make_rack()
    for message in ("Terminated: its time in the rack's queue ran out", "Cancelled by alice"):
        make_task(rack, status="terminated", finished_at=clock.now(), message=message, job=False)
    said = text_of(signed_in("viewer").get("/admin/tasks/?view=all"))
    assert "Expired in queue" in said
    assert "Cancelled Cancelled by alice" in said


def test_one_task_with_its_run(signed_in):
    task = make_task(make_rack(name="r07"), "restart")
    begin(task)
    client = signed_in("operator")
    said = text_of(client.get(url(task)))
    assert "Power reset on r07" in said
    assert "Running" in said
    assert "3 Compute" in said
    assert "Run 1 · running" in said
    assert "Stop task…" in said
    assert client.get("/admin/tasks/nonsense/").status_code == 404


def test_cancelling_a_waiting_task(signed_in):
    task = make_task(make_rack(name="r02"), status="waiting")
    client = signed_in("operator")
    before = stored()
    shown = client.get(url(task, "task_cancel"))
    assert stored() == before
    assert 'Remove "power on" from the queue of r02. Nothing has been sent to the rack.' in text_of(shown)
    done = client.post(url(task, "task_cancel"), hidden(shown), follow=True)
    assert "The task is cancelled." in text_of(done)
    task.refresh_from_db()
    assert task.status == "terminated"
    assert AuditEntry.objects.filter(verb="task.cancel", door="admin", actor="operator").exists()


def test_the_way_back_says_what_it_keeps(signed_in):
    """Beside a verb that ends something, "Cancel" may be read as either."""
    rack = make_rack(name="r02")
    client = signed_in("operator")
    running, waiting = make_task(rack, "restart", status="running"), make_task(rack, status="waiting")
    for task, back, verb in ((running, "Keep it running", "Stop task"), (waiting, "Keep it waiting", "Remove from")):
        body = client.get(url(task, "task_cancel")).content.decode()
        assert "<h1>Stop this task?" in body
        assert f"autofocus data-cancel>{back}</a>" in body
        assert f">{verb}" in body[body.index("data-cancel") :]
        assert ">Cancel<" not in body


def test_stopping_says_what_starts_it_again_and_who_waits_behind_it(signed_in):
    rack = make_rack(name="r02")
    row = make_schedule("Nightly reset", targets=whole(rack), now=clock.now())
    TaskSchedule.objects.filter(pk=row.pk).update(next_run_at=clock.now() + timedelta(seconds=40, milliseconds=600))
    task = make_task(rack, "restart", status="running", schedule_id=row.pk, schedule_name=row.name)
    client = signed_in("planner")
    assert "behind it" not in text_of(client.get(url(task, "task_cancel")))
    for _ in range(2):
        make_task(rack, status="waiting")
    shown = client.get(url(task, "task_cancel"))
    assert re.search(r'"Nightly reset" starts this again on r02 at its next run, .*, in [34]\d s', text_of(shown))
    assert "2 tasks wait behind it and may begin once it has ended." in text_of(shown)
    pause = reverse("admin:schedule_verb", args=[row.pk, "pause"])
    assert f'<a href="{pause}">' in shown.content.decode()
    assert queries_of(client, url(task, "task_cancel")) <= BUDGET
    schedule_pause(schedule_id=row.pk, reason="chiller", by=ALICE, now=clock.now())
    shown = client.get(url(task, "task_cancel"))
    assert '"Nightly reset" does not start this again (no next run: paused).' in text_of(shown)
    assert pause not in shown.content.decode()
    TaskScheduleScope.objects.filter(schedule=row).delete()
    assert '"Nightly reset" reaches r02 no longer' in text_of(client.get(url(task, "task_cancel")))


def test_who_may_not_pause_is_not_led_there(signed_in):
    rack = make_rack(name="r02")
    row = make_schedule("Nightly reset", targets=whole(rack), now=clock.now())
    task = make_task(rack, "restart", schedule_id=row.pk, schedule_name=row.name)
    body = browse("viewer", verbs=["task.cancel"]).get(url(task, "task_cancel")).content.decode()
    assert "starts this again" in body
    assert "/do/pause/" not in body


def test_a_task_that_moved_meanwhile_is_not_cancelled(signed_in):
    task = make_task(make_rack(), "restart")
    client = signed_in()
    sent = hidden(client.get(url(task, "task_cancel")))
    Task.objects.filter(pk=task.pk).update(status="completed", finished_at=clock.now())
    answer = client.post(url(task, "task_cancel"), sent)
    assert answer.status_code == 409
    assert "The task is completed now." in text_of(answer)


def test_a_task_that_never_began_says_so_and_waits_for_nobody(signed_in):
    task = make_task(make_rack(name="r02"), status="waiting")
    client = signed_in("operator")
    assert "Waits until" in text_of(client.get(url(task)))
    done = text_of(client.post(url(task, "task_cancel"), hidden(client.get(url(task, "task_cancel"))), follow=True))
    assert done.count("It never began.") == 2
    for words in ("waiting for the executor", "not started", "not begun yet", "Waits until"):
        assert words not in done, words


def test_stopping_what_runs_is_asked_for_once(signed_in):
    task = make_task(make_rack(name="r02"), "restart")
    begin(task)
    client = signed_in("operator")
    done = text_of(client.post(url(task, "task_cancel"), hidden(client.get(url(task, "task_cancel"))), follow=True))
    assert done.count("waiting for the executor") == 1


def test_attempts_are_words_and_times(signed_in):
    task = make_task(make_rack(name="r02"), "restart")
    attempts = [
        {
            "attempt": 1, "started_at": "2026-03-01T07:30:04.5+00:00", "ended_at": "2026-03-01T07:32:09+00:00",
            "state": "timed_out", "message": "BMC timed out",
        },
        {"attempt": 2, "started_at": "nonsense", "of_old": {"x": [1]}},
    ]  # fmt: skip
    Run.objects.filter(pk=begin(task).run_id).update(attempts=[*attempts, "x"])
    response = signed_in("viewer").get(url(task))
    said = text_of(response)
    assert "1 Sun 1 Mar 07:30:04 UTC 2 min 4 s Timed out BMC timed out" in said
    assert "2 not known not known Not known none · of old: {'x': [1]}" in said
    assert "started_at" not in said
    assert '<time datetime="2026-03-01T07:30:04Z">' in response.content.decode()


def test_deciding_about_an_outcome_in_doubt(signed_in):
    """D-16."""
    task = in_doubt()
    client = signed_in("operator")
    assert "Unknown 1" in text_of(client.get("/admin/tasks/"))
    assert "Until then r07 counts as busy." in text_of(client.get(url(task)))
    for sent in ({}, {"answer": "perhaps", "note": "x"}, {"answer": "completed"}):
        assert client.post(url(task, "task_decide"), sent).status_code == 400
    task.refresh_from_db()
    assert task.status == "running"
    done = client.post(url(task, "task_decide"), {"answer": "failed", "note": "looked at it"}, follow=True)
    assert "Recorded. The rack is free for the next task." in text_of(done)
    task.refresh_from_db()
    assert task.status == "failed"


def test_who_may_not_decide_is_told_whom_to_ask(signed_in):
    task = in_doubt()
    client = signed_in("viewer")
    for path in ("/admin/tasks/", url(task)):
        assert "Ask someone who may decide." in text_of(client.get(path))
    for page in ("task_decide", "task_cancel"):
        assert client.get(url(task, page)).status_code == 403
        assert client.post(url(task, page), {"answer": "failed", "note": "x"}).status_code == 403
    task.refresh_from_db()
    assert task.status == "running"
    assert AuditEntry.objects.filter(actor="viewer").exclude(refused="").count() == 4


def test_markup_is_text_and_queries_are_constant(signed_in):
    client = signed_in("viewer")
    task = make_task(make_rack(name=MARKUP), message=MARKUP, description=MARKUP, schedule_name=MARKUP)
    begin(task)
    first = queries_of(client, "/admin/tasks/")
    rack = make_rack()
    for _ in range(30):
        make_task(rack, status="waiting")
    assert queries_of(client, "/admin/tasks/") <= first + 1 <= BUDGET
    assert queries_of(client, url(task)) <= BUDGET
    for path in ("/admin/tasks/", url(task)):
        assert "<img src=x" not in client.get(path).content.decode()
