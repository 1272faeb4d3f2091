"""Process rows, the status list, history, chores, stopping."""

from __future__ import annotations

import io
import json
from datetime import timedelta

import pytest
from django.core.management import call_command
from django.db import OperationalError

from flowsched import clock
from flowsched.errors import PreconditionFailed
from tasks import chores
from tasks.control import Control
from tasks.executors.base import get_executor
from tasks.heart import Heart, every
from tasks.models import Process, Run, Task
from tasks.processes import process_beat, process_register, process_stop, processes_alive
from tasks.retention import history_prune
from tasks.stopping import Stop
from tasks.worker import Worker
from tests.tasks_runs.helpers import begin, make_rack, make_task

pytestmark = pytest.mark.django_db


def test_a_process_is_alive_while_it_beats():
    """D-31: kind, host, pid, version, last beat."""
    now = clock.now()
    one = process_register(kind="worker", now=now)
    other = process_register(kind="dispatcher", now=now)
    row = Process.objects.get(id=one)
    assert row.host
    assert row.pid > 0
    assert row.version
    later = now + timedelta(minutes=1)
    assert processes_alive(kind="worker", now=later) == []
    assert process_beat(process_id=one, now=later, detail={"runs": 2})
    assert [p.id for p in processes_alive(kind="worker", now=later)] == [one]
    process_stop(process_id=one, now=later)
    assert processes_alive(kind="worker", now=later) == []
    process_register(kind="worker", now=now + timedelta(days=2))
    assert not Process.objects.filter(id__in=[one, other]).exists()
    assert not process_beat(process_id=one, now=later, detail={})


def test_status_lists_workers_and_says_by_its_code_whether_one_is_up():
    def status(*options):
        out = io.StringIO()
        code = 0
        try:
            call_command("run_worker", "--status", *options, stdout=out)
        except SystemExit as stop:
            code = stop.code
        return code, out.getvalue()

    code, text = status()
    assert code == 1
    assert "no worker has run yet" in text
    now = clock.now()
    process_register(kind="worker", now=now, detail={"executor": "simulated", "runs": 0})
    process_register(kind="worker", now=now - timedelta(minutes=10))
    code, text = status()
    assert code == 0
    assert "running" in text
    assert "simulated" in text
    assert "silent for 60" in text
    code, text = status("--json")
    assert [row["alive"] for row in json.loads(text)] == [True, False]


@pytest.mark.parametrize("number", ["0", "-1", "100000"])
def test_concurrency_is_bounded(number):
    with pytest.raises(SystemExit) as stop:
        call_command("run_worker", "--concurrency", number, stderr=io.StringIO())
    assert stop.value.code == 2


def test_without_an_executor_nothing_runs(settings):
    """D-28: refused until it is named; an unknown one is refused with the known ones listed."""
    settings.FLOWSCHED_EXECUTOR = ""
    with pytest.raises(PreconditionFailed, match="simulated"):
        Worker(concurrency=1)
    settings.FLOWSCHED_EXECUTOR = "redfsh"
    with pytest.raises(PreconditionFailed, match=r"redfsh.*simulated"):
        get_executor()


def test_history_is_forgotten_after_its_days_and_active_work_never(settings):
    """D-30: at least seven days."""
    settings.FLOWSCHED_HISTORY_DAYS = 30
    now = clock.now()
    old, older = now - timedelta(days=29), now - timedelta(days=31)
    rack = make_rack(1)
    finished = {"status": "completed", "job": False}
    kept = [
        make_task(rack, finished_at=old, created_at=older, **finished),
        make_task(rack, created_at=older, updated_at=older, job=False),
        make_task(rack, created_at=older, updated_at=older, status="waiting"),
    ]
    doubtful = make_task(make_rack(1), created_at=older)
    begin(doubtful)
    Run.objects.update(state="unknown", started_at=older)
    gone = [make_task(rack, finished_at=older, **finished) for _ in range(3)]
    Run.objects.create(task=gone[0], state="succeeded", executor="x", queued_at=older, started_at=older)
    assert history_prune(now=now, limit=2) == 2
    assert history_prune(now=now, limit=2) == 1
    assert set(Task.objects.values_list("id", flat=True)) == {t.id for t in [*kept, doubtful]}
    assert Run.objects.count() == 1
    settings.FLOWSCHED_HISTORY_DAYS = 1
    assert history_prune(now=old + timedelta(days=6)) == 0


def test_every_chore_runs():
    rack = make_rack(1)
    make_task(rack, status="waiting", queue_expires_at=clock.now() - timedelta(seconds=1))
    done = {name: chore() for name, _seconds, chore in chores.schedule()}
    assert done == {"rescue": 0, "expire": 1, "sweep": 0, "tidy": 0, "prune": 0}


def test_the_heart_renews_and_tells():
    heart = Heart()
    handles = [begin(make_task(make_rack(1))) for _ in range(3)]
    controls = [Control() for _ in handles]
    for handle, control in zip(handles, controls, strict=True):
        heart.add(handle.token, control)
    Run.objects.filter(id=handles[0].run_id).update(lease_token=None)
    Run.objects.filter(id=handles[1].run_id).update(cancel_requested_at=clock.now())
    before = [control.confirmed for control in controls]
    assert heart.beat() == 2
    assert [(c.lost, c.cancel) for c in controls] == [(True, False), (False, True), (False, False)]
    assert controls[0].confirmed == before[0]
    assert controls[2].confirmed > before[2]
    for handle in handles:
        heart.remove(handle.token)
    assert heart.beat() == 0


def test_a_thread_outlives_the_database(caplog):
    """A database that goes away is a state: told once, and once that it is back."""
    stop = Stop()
    calls = []

    def chore():
        calls.append(1)
        if len(calls) == 5:
            stop.request()
        if len(calls) < 4:
            raise OperationalError("gone")

    every(0.001, chore, stop=stop.requested)
    assert len(calls) == 5
    assert caplog.text.count("waiting for the database") == 1
    assert caplog.text.count("the database is back") == 1


def test_stopping_takes_each_step_once_and_tells_late_comers():
    stop = Stop()
    told = []
    stop.subscribe(request=lambda: told.append("request"), release=lambda: told.append("release"))
    stop.request()
    stop.request()
    stop.subscribe(request=lambda: told.append("late"))
    stop.let_go()
    assert told == ["request", "late", "release"]
