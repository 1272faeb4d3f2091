"""D-27: every finished run is put into the outbox by the statement that ends it, and stays until it is exported."""

from __future__ import annotations

import json
import logging
from datetime import timedelta

import pytest
from django.db import IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext

from flowsched import clock
from flowsched.actor import SYSTEM
from tasks import chores
from tasks.history import outbox
from tasks.history.outbox import Exporter, outbox_fill, outbox_state
from tasks.models import Run, RunExport, Task
from tasks.rescue import runs_rescue
from tasks.retention import history_prune, history_sweep
from tasks.runs import LeaseLost, run_finish
from tasks.services import task_acknowledge, task_cancel
from tasks.states import OPEN_RUN, RunState
from tests.history.conftest import PASSWORD
from tests.history.helpers import stored
from tests.tasks_runs.helpers import begin, expire_lease, make_rack, make_task, statements

pytestmark = pytest.mark.django_db
ENDED = sorted(set(RunState) - OPEN_RUN)


def exported() -> list[object]:
    return list(RunExport.objects.order_by("id").values_list("run_id", flat=True))


@pytest.mark.parametrize("state", ENDED)
def test_a_run_that_ends_is_in_the_outbox_of_any_state(away, state):
    handle = begin(make_task(make_rack()))
    run_finish(handle, state=RunState(state), message="", now=clock.now())
    assert exported() == [handle.run_id]


def test_without_clickhouse_nothing_is_written():
    for state in ENDED:
        run_finish(begin(make_task(make_rack())), state=RunState(state), message="", now=clock.now())
    doubtful = make_task(make_rack(), "restart")
    run_finish(begin(doubtful), state=RunState.UNKNOWN, message="", now=clock.now())
    task_acknowledge(task_id=doubtful.id, as_="failed", by=SYSTEM, now=clock.now())
    assert exported() == []
    assert "export" not in {name for name, _seconds, _chore in chores.schedule()}


def test_the_outbox_costs_no_statement(settings, away):
    """The budget of a task's end is the same; only so is it one with the end."""

    def end() -> int:
        handle = begin(make_task(make_rack()))
        with CaptureQueriesContext(connection) as queries:
            run_finish(handle, state=RunState.SUCCEEDED, message="", now=clock.now())
        return len(statements(queries))

    with_it = end()
    settings.FLOWSCHED_CLICKHOUSE_URL = None
    assert end() == with_it
    assert len(exported()) == 1


def test_what_is_unknown_is_exported_when_a_person_has_decided(away):
    """D-16"""
    task = make_task(make_rack(), "restart")
    handle = begin(task)
    run_finish(handle, state=RunState.UNKNOWN, message="", now=clock.now())
    assert exported() == []
    task_acknowledge(task_id=task.id, as_="completed", by=SYSTEM, now=clock.now())
    assert exported() == [handle.run_id]
    assert Run.objects.get().state == "succeeded"


def test_runs_that_others_end_are_exported_too(away):
    """Cancelled without a worker, and rescued for the last time."""
    cancelled, lost = make_task(make_rack()), make_task(make_rack())
    handles = [begin(cancelled), begin(lost)]
    Run.objects.filter(task=lost).update(attempt=3)
    now = expire_lease()
    task_cancel(task_id=cancelled.id, by=SYSTEM, now=now)
    runs_rescue(now=now)
    assert exported() == [handle.run_id for handle in handles]
    assert set(Run.objects.values_list("state", flat=True)) == {"cancelled", "failed"}


def test_a_run_that_is_not_ours_to_end_is_not_exported(away):
    handle = begin(make_task(make_rack()))
    Run.objects.update(lease_token=None)
    with pytest.raises(LeaseLost), transaction.atomic():
        run_finish(handle, state=RunState.SUCCEEDED, message="", now=clock.now())
    assert exported() == []


# Retention --------------------------------------------------------------------------------------------------------


def test_retention_leaves_what_waits_to_be_exported(settings, away):
    settings.FLOWSCHED_HISTORY_DAYS = 30
    now = clock.now()
    old = [stored(now - timedelta(days=40, minutes=n)) for n in range(4)]
    RunExport.objects.create(run=old[1], written_at=now)
    assert history_prune(now=now) == 3
    assert list(Run.objects.values_list("id", flat=True)) == [old[1].id]
    RunExport.objects.all().delete()
    assert history_prune(now=now) == 1


def test_the_database_itself_refuses_to_lose_what_waits(away):
    run = stored(clock.now())
    RunExport.objects.create(run=run, written_at=clock.now())
    with pytest.raises(IntegrityError, match="run_export_run"), transaction.atomic():
        Task.objects.all().delete()


def test_a_sweep_goes_on_until_nothing_is_due_and_is_bounded(monkeypatch):
    now = clock.now()
    for minutes in range(7):
        stored(now - timedelta(days=400, minutes=minutes))
    monkeypatch.setattr("tasks.retention.ROUNDS", 2)
    assert history_sweep(now=now, limit=2) == 4
    monkeypatch.setattr("tasks.retention.ROUNDS", 100)
    assert history_sweep(now=now, limit=2) == 3


# The exporter without a server -------------------------------------------------------------------------------------


def test_an_outage_is_told_once_and_asked_about_ever_less_often(away, caplog, monkeypatch):
    monkeypatch.setattr(outbox.random, "uniform", lambda _low, high: high)
    caplog.set_level(logging.INFO)
    RunExport.objects.create(run=stored(clock.now()), written_at=clock.now())
    seconds = [0.0]
    exporter = Exporter(clock=lambda: seconds[0])
    tried = []
    send = exporter.send
    monkeypatch.setattr(exporter, "send", lambda: tried.append(seconds[0]) or send())
    for second in range(1000):
        seconds[0] = float(second)
        assert exporter.run_once() == 0
    assert tried == [0, 5, 15, 35, 75, 155, 315, 615, 915]
    [line] = [record.getMessage() for record in caplog.records]
    assert line.startswith("history: ClickHouse at http://127.0.0.1:1/flows: ")
    assert line.endswith("1 runs wait in PostgreSQL, nothing is lost; trying again")
    assert PASSWORD not in caplog.text
    assert len(exported()) == 1


def test_an_empty_outbox_asks_nobody(away):
    """No lock, no connection: the cheapest round there is."""
    with CaptureQueriesContext(connection) as queries:
        assert Exporter().run_once() == 0
    assert len(queries) == 1


def test_the_runs_of_before_are_put_into_the_outbox_page_by_page(away, monkeypatch):
    monkeypatch.setattr(outbox, "FILL", 3)
    now = clock.now()
    runs = [stored(now - timedelta(hours=n)) for n in range(7)]
    stored(now, state="running")
    stored(now, state="unknown")
    assert outbox_fill() == 7
    assert sorted(exported()) == sorted(run.id for run in runs)
    assert outbox_state()[0] == 7


def test_nothing_of_a_record_can_be_too_much_for_a_row(away):
    """A row that the table cannot take would hold up all behind it."""
    from tasks.history.records import record_of, row_of  # noqa: PLC0415

    run = stored(clock.now(), call={"http_status": None, "identity_kind": None, "trace_id": 7}, attempt=2**31 - 1)
    run.task.attributes = {"fired_at": "yesterday"}
    record = record_of(run)
    assert (record.fired_at, record.http_status, record.identity_kind, record.trace_id) == (
        run.queued_at,
        0,
        "none",
        "7",
    )
    assert json.loads(row_of(record)[17]) == run.attempts
