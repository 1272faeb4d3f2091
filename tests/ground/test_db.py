"""Typed errors and retries, on real sessions of a real server."""

import threading
import time

import psycopg
import pytest
from django.core.management import call_command
from django.db import DataError, OperationalError, connection, transaction
from django.test.utils import CaptureQueriesContext

from flowsched import clock, db
from flowsched.errors import Busy, Unavailable

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def session(transactional_db):
    """A session of its own: the limits a test sets must not meet the clean-up after it."""
    yield
    connection.close()


@pytest.fixture
def table():
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE IF EXISTS ground_row")
        cursor.execute("CREATE TABLE ground_row (id int PRIMARY KEY, n int NOT NULL DEFAULT 0)")
        cursor.execute("INSERT INTO ground_row VALUES (1), (2)")
    yield
    with connection.cursor() as cursor:
        cursor.execute("ROLLBACK")
        cursor.execute("DROP TABLE ground_row")


@pytest.fixture
def other():
    params = connection.get_connection_params()
    params.pop("cursor_factory")
    params.pop("context")
    session = psycopg.connect(**params)
    yield session
    session.close()


def add(row):
    with connection.cursor() as cursor:
        cursor.execute("UPDATE ground_row SET n = n + 1 WHERE id = %s", [row])


def limit(**limits):
    with connection.cursor() as cursor:
        for name, value in limits.items():
            cursor.execute(f"SET {name} = '{value}'")


def counts():
    with connection.cursor() as cursor:
        cursor.execute("SELECT n FROM ground_row ORDER BY id")
        return [row[0] for row in cursor.fetchall()]


def test_now_is_the_databases():
    assert clock.now().tzinfo is not None


def test_notify_arrives_with_the_commit_and_not_without(other):
    other.autocommit = True
    other.execute("LISTEN ground")
    with transaction.atomic():
        db.notify("ground")
        transaction.set_rollback(True)
    with transaction.atomic():
        db.notify("ground")
        assert list(other.notifies(timeout=0.1)) == []
    assert [n.channel for n in other.notifies(timeout=2, stop_after=1)] == ["ground"]


def test_lock_timeout_is_busy(table, other):
    other.execute("UPDATE ground_row SET n = 9 WHERE id = 1")
    limit(lock_timeout="50ms")
    with pytest.raises(Busy), db.translate():
        add(1)


def test_statement_timeout_is_unavailable_and_names_the_setting():
    limit(statement_timeout="50ms")
    with (
        pytest.raises(Unavailable, match=r"FLOWSCHED_STATEMENT_TIMEOUT"),
        db.translate(),
        connection.cursor() as cursor,
    ):
        cursor.execute("SELECT pg_sleep(5)")


def test_lost_connection_is_unavailable(other):
    other.autocommit = True
    connection.ensure_connection()
    other.execute("SELECT pg_terminate_backend(%s)", [connection.connection.info.backend_pid])
    with pytest.raises(Unavailable), db.translate():
        clock.now()


def test_stall_inside_a_transaction_is_unavailable():
    limit(idle_in_transaction_session_timeout="50ms")

    def stall():
        with db.translate(), transaction.atomic():
            clock.now()
            time.sleep(0.3)
            clock.now()

    with pytest.raises(Unavailable):
        stall()


def test_other_database_errors_pass_through():
    with pytest.raises(Exception, match=r"no_such_table") as caught, db.translate(), connection.cursor() as cursor:
        cursor.execute("SELECT * FROM no_such_table")
    assert not isinstance(caught.value, Busy | Unavailable)


def test_retried_gives_up_as_busy_after_three_attempts(table, other):
    other.execute("UPDATE ground_row SET n = 9 WHERE id = 1")
    limit(lock_timeout="30ms")
    attempts = []

    @db.retried
    def change():
        attempts.append(1)
        add(1)

    with pytest.raises(Busy):
        change()
    assert len(attempts) == 3
    attempts.clear()
    with pytest.raises(Busy), transaction.atomic():
        change()
    assert len(attempts) == 1


def test_retried_succeeds_once_the_lock_is_free(table, other):
    other.execute("UPDATE ground_row SET n = 9 WHERE id = 1")
    limit(lock_timeout="100ms")
    attempts = []

    @db.retried
    def change():
        attempts.append(1)
        if len(attempts) == 2:
            other.rollback()
        add(1)
        return "changed"

    assert change() == "changed"
    assert counts() == [1, 0]


def test_serialization_failure_is_retried(table, other):
    attempts = []

    @db.retried
    def change():
        attempts.append(1)
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            cursor.execute("SELECT n FROM ground_row WHERE id = 1")
            if len(attempts) == 1:
                other.execute("UPDATE ground_row SET n = 5 WHERE id = 1")
                other.commit()
            add(1)

    change()
    assert len(attempts) == 2
    assert counts() == [6, 0]


def test_deadlocked_sessions_both_get_through(table):
    """Two threads lock two rows in opposite orders, at the same moment; the one the database picks tries again."""
    barrier = threading.Barrier(2)
    attempts = []
    failures = []

    @db.retried
    def change(first, second):
        attempts.append(1)
        with transaction.atomic():
            add(first)
            if len(attempts) <= 2:
                barrier.wait(timeout=10)
            add(second)

    def run(first, second):
        try:
            limit(lock_timeout="10s")
            change(first, second)
        except Exception as error:  # noqa: BLE001 - shown by the test
            failures.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=rows) for rows in ((1, 2), (2, 1))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
    assert failures == []
    assert len(attempts) == 3
    assert counts() == [2, 2]


def test_patience_lifts_the_statement_limit_and_puts_it_back():
    def show(name):
        with connection.cursor() as cursor:
            cursor.execute(f"SHOW {name}")
            return cursor.fetchone()[0]

    before = show("statement_timeout"), show("lock_timeout")
    with db.patient():
        assert (show("statement_timeout"), show("lock_timeout")) == ("0", before[1])
    assert (show("statement_timeout"), show("lock_timeout")) == before == ("30s", "2s")


def test_patience_survives_a_connection_that_dies_inside():
    with pytest.raises(OperationalError), db.patient(), connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(pg_backend_pid())")


def test_migrate_runs_without_a_statement_limit_and_one_at_a_time(other, monkeypatch):
    from django.core.management.commands import migrate  # noqa: PLC0415

    seen = []

    def handle(self, *args, **options):
        with connection.cursor() as cursor:
            cursor.execute("SHOW statement_timeout")
            seen.append(cursor.fetchone()[0])
        row = other.execute("SELECT pg_try_advisory_lock(7011001)").fetchone()
        seen.append(row[0])

    monkeypatch.setattr(migrate.Command, "handle", handle)
    call_command("migrate", verbosity=0)
    assert seen == ["0", False]
    assert other.execute("SELECT pg_try_advisory_lock(7011001)").fetchone() == (True,)


@pytest.mark.django_db
def test_a_bound_cursor_logs_its_statement_prepared_or_not():
    """Query budgets and the debug log see what was sent, also once it is sent by name."""
    sql = "SELECT n FROM unnest(%s::int[]) AS n ORDER BY n DESC"
    with CaptureQueriesContext(connection) as captured:
        for _ in range(8):  # prepared from the sixth on
            with db.bound_cursor() as cursor:
                cursor.execute(sql, [[1, 3, 2]])
                assert [row[0] for row in cursor.fetchall()] == [3, 2, 1]
    assert len(captured.captured_queries) == 8
    assert all("FROM unnest($1::int[])" in query["sql"] for query in captured.captured_queries)
    with pytest.raises(DataError), transaction.atomic(), db.bound_cursor() as cursor:
        cursor.execute("SELECT 1 / %s::int", [0])
