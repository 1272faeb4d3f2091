"""procrastinate as the engine, on real tables."""

from __future__ import annotations

import uuid
from datetime import timedelta

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from procrastinate.contrib.django import app

from flowsched import clock
from tasks.engine import get_engine
from tasks.engines.procrastinate import ProcrastinateEngine
from tests.tasks_runs.helpers import clear_jobs, statements, waiting_jobs

pytestmark = pytest.mark.django_db


def ids(count: int) -> list[uuid.UUID]:
    return [uuid.uuid4() for _ in range(count)]


def test_the_setting_names_the_engine():
    assert isinstance(get_engine(), ProcrastinateEngine)


def test_any_number_of_jobs_is_one_statement_of_the_caller_s_transaction():
    wanted = ids(50)
    with CaptureQueriesContext(connection) as queries:
        get_engine().enqueue(wanted)
    assert len(statements(queries)) == 1
    assert waiting_jobs() == [str(i) for i in wanted]
    with transaction.atomic():
        get_engine().enqueue(ids(1))
        assert len(waiting_jobs()) == 51
        transaction.set_rollback(True)
    assert len(waiting_jobs()) == 50
    with CaptureQueriesContext(connection) as queries:
        get_engine().enqueue([])
        get_engine().missing([])
    assert statements(queries) == []


def test_a_job_carries_its_task_and_no_lock():
    (task,) = ids(1)
    get_engine().enqueue([task])
    with connection.cursor() as cursor:
        cursor.execute("SELECT queue_name, task_name, lock, queueing_lock, args FROM procrastinate_jobs")
        row = cursor.fetchone()
    assert row[:4] == ("tasks", "tasks.run", None, str(task))
    assert str(task) in str(row[4])


def test_enqueueing_uses_django_s_connection_even_while_a_worker_runs_in_this_process():
    """A worker replaces the app's connector; the job must still commit with the caller's rows."""
    with app.replace_connector(None):
        get_engine().enqueue(ids(1))
    assert len(waiting_jobs()) == 1


def test_missing_are_those_without_a_waiting_job():
    waiting, started, none = ids(3)
    get_engine().enqueue([waiting, started])
    with connection.cursor() as cursor:
        cursor.execute("UPDATE procrastinate_jobs SET status = 'doing' WHERE queueing_lock = %s", [str(started)])
    with CaptureQueriesContext(connection) as queries:
        assert set(get_engine().missing([waiting, started, none])) == {started, none}
    assert len(statements(queries)) == 1


def test_tidying_deletes_what_ended_long_ago_and_what_lost_its_worker():
    kept, failed, orphan, running = ids(4)
    clear_jobs()
    get_engine().enqueue([kept, failed, orphan, running])
    with connection.cursor() as cursor:
        cursor.execute("SELECT procrastinate_register_worker_v1()")
        cursor.execute("SELECT max(id) FROM procrastinate_workers")
        worker = cursor.fetchone()[0]
        for task, status, owner in ((failed, "failed", None), (orphan, "doing", None), (running, "doing", worker)):
            cursor.execute(
                "UPDATE procrastinate_jobs SET status = %s, worker_id = %s WHERE queueing_lock = %s",
                [status, owner, str(task)],
            )
    assert get_engine().tidy(now=clock.now()) == 0
    assert get_engine().tidy(now=clock.now() + timedelta(hours=2)) == 2
    with connection.cursor() as cursor:
        cursor.execute("SELECT queueing_lock FROM procrastinate_jobs")
        assert {row[0] for row in cursor.fetchall()} == {str(kept), str(running)}
        cursor.execute(
            "SELECT count(*) FROM procrastinate_events e LEFT JOIN procrastinate_jobs j ON j.id = e.job_id"
            " WHERE j.id IS NULL"
        )
        assert cursor.fetchone()[0] == 0
