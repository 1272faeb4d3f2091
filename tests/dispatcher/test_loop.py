"""The loop: when it scans, how long it sleeps, how it stops, and what it survives."""

from __future__ import annotations

import logging
import threading
import time
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from dispatcher.claim import claim
from dispatcher.loop import LEAST_PAUSE, Loop
from dispatcher.models import Firing
from dispatcher.selectors import peek
from flowsched import clock
from schedules.models import TaskSchedule
from schedules.services import schedule_pause
from tasks.models import Process, Task
from tests.dispatcher.helpers import (
    BY,
    NOW,
    due_schedule,
    holder,
    in_thread,
    outcomes,
    queries,
    racks,
    row_held,
    session,
)

pytestmark = pytest.mark.django_db


def loop(batch_size: int = 10, poll_interval: float = 10.0) -> Loop:
    return Loop(batch_size=batch_size, poll_interval=poll_interval)


def test_a_full_batch_is_followed_by_the_next_at_once():
    """F-228, F-293, D-7: one wake-up drains what is due, whatever the batch size."""
    on = racks(1)
    for number in range(7):
        due_schedule(f"s{number}", on)
    assert loop(batch_size=3).run_once(NOW) == 7
    assert Firing.objects.count() == 7


def test_nothing_due_claims_nothing_in_two_queries():
    """Budget: an idle poll, the sleep's reckoning included."""
    due_schedule("later", racks(1), late=timedelta(days=-3650))
    idle = loop()
    idle._slow_chores(clock.now())
    with CaptureQueriesContext(connection) as captured:
        assert idle.run_once() == 0
        pause = idle._pause(0)
    assert queries(captured) <= 2
    assert LEAST_PAUSE <= pause <= 10.1


def test_it_sleeps_no_longer_than_to_the_nearest_time():
    """D-7."""
    row = due_schedule("soon", racks(1))
    TaskSchedule.objects.filter(id=row.id).update(next_run_at=clock.now() + timedelta(seconds=3))
    assert 2.0 < loop()._pause(0) < 3.2


def test_a_due_row_that_cannot_be_claimed_does_not_spin():
    """D-7: at least 100 ms after a scan that claimed nothing."""
    due_schedule("held", racks(1))
    assert loop()._pause(0) >= LEAST_PAUSE


def test_orphans_are_finished_before_new_claims():
    """D-6: recover first in every wake-up."""
    row = due_schedule("nightly", racks(1))
    claim(NOW, 10, holder=holder())
    Firing.objects.update(lease_until=clock.now() - timedelta(seconds=1))
    TaskSchedule.objects.filter(id=row.id).update(enabled=False, disabled_kind="person", disabled_at=NOW)
    loop().run_once()
    assert outcomes(row) == [("submitted", "")]


def test_expired_waiting_tasks_are_noticed_within_a_poll():
    """F-307, D-15."""
    on = racks(1)
    now = clock.now()
    due_schedule("first", on, late=timedelta(minutes=1), now=now)
    second = due_schedule("second", on, overlap="queue", now=now)
    loop().run_once()
    Task.objects.filter(schedule_id=second.id).update(queue_expires_at=clock.now() - timedelta(seconds=1))
    loop().run_once()
    assert Task.objects.get(schedule_id=second.id).status == "terminated"


def test_a_draining_loop_claims_nothing():
    """D-6, X-33: SIGTERM."""
    due_schedule("nightly", racks(1))
    stopping = loop()
    stopping.drain()
    assert stopping.run_once(NOW) == 0
    assert not Firing.objects.exists()


def test_an_infinite_time_does_not_stop_the_scan(caplog):
    """D-8, X-25: the peek clamps what Python cannot hold."""
    caplog.set_level(logging.CRITICAL, "dispatcher")
    row = due_schedule("bad", racks(1))
    with connection.cursor() as cursor:
        cursor.execute("UPDATE task_schedule SET next_run_at = '-infinity' WHERE id = %s", [row.id])
    seen = peek()
    assert seen.due(seen.now)
    assert loop().run_once() == 1
    assert not TaskSchedule.objects.filter(id=row.id, enabled=True).exists()


def run_in_background(running: Loop) -> threading.Thread:
    return in_thread(running.run_forever)


def wait_for(condition, seconds: float = 10.0) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.02)
    return False


@pytest.fixture
def running():
    """A loop that runs in a thread of its own with a poll of a minute, so that only a NOTIFY wakes it."""
    one = loop(poll_interval=60.0)
    thread = run_in_background(one)
    assert wait_for(lambda: Process.objects.filter(kind="dispatcher", state="running").exists())
    yield one
    one.drain()
    thread.join(10)
    assert not thread.is_alive()
    assert Process.objects.filter(state="stopped").exists()


@pytest.mark.django_db(transaction=True)
def test_the_first_scan_is_immediate(running):
    """F-318, D-7: no waiting for the first poll."""
    assert wait_for(lambda: running.scans >= 1, 2.0)


@pytest.mark.django_db(transaction=True)
def test_a_change_wakes_the_loop(running):
    """D-7: created due now, fired by NOTIFY long before the poll."""
    on = racks(1)
    seen = running.scans
    row = due_schedule("new", on, at="2026-01-01T00:00:00Z")
    assert wait_for(lambda: outcomes(row) == [("submitted", "")])
    assert running.scans > seen


@pytest.mark.django_db(transaction=True)
def test_a_cut_listener_costs_latency_only(running, caplog):
    """X-20: the listening backend is terminated; the loop listens again and still fires."""
    caplog.set_level(logging.CRITICAL, "dispatcher")
    with session() as other:
        other.autocommit = True
        cut = other.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE query LIKE 'LISTEN%' AND datname = current_database()"
        ).fetchall()
    assert cut == [(True,)]
    row = due_schedule("after", racks(1), at="2026-01-01T00:00:00Z")
    assert wait_for(lambda: outcomes(row) == [("submitted", "")], 20.0)


@pytest.mark.django_db(transaction=True)
def test_a_held_due_row_is_not_scanned_for_more_than_ten_times_a_second(running):
    """D-7: 3,384 scans a second were seen without the least pause."""
    row = due_schedule("held", racks(1), now=clock.now(), late=timedelta(days=-1))
    with row_held("SELECT 1 FROM task_schedule WHERE id = %s", row.id) as other:
        other.execute("UPDATE task_schedule SET next_run_at = clock_timestamp() WHERE id = %s", [row.id])
        other.commit()
        other.execute("SELECT 1 FROM task_schedule WHERE id = %s FOR UPDATE", [row.id])
        schedule = due_schedule("wake", racks(1), at="2026-01-01T00:00:00Z")
        assert wait_for(lambda: outcomes(schedule) == [("submitted", "")])
        before, started = running.scans, time.monotonic()
        time.sleep(1.0)
        scans, seconds = running.scans - before, time.monotonic() - started
    assert 2 <= scans <= 10 * seconds + 1
    assert wait_for(lambda: outcomes(row) == [("submitted", "")])


@pytest.mark.django_db(transaction=True)
def test_a_storm_of_notifications_is_one_scan_each_hundred_milliseconds(running):
    """X-21."""
    row = due_schedule("quiet", racks(1))
    schedule_pause(schedule_id=row.id, reason="", by=BY, now=NOW)
    time.sleep(0.3)
    before, started = running.scans, time.monotonic()
    with session() as other:
        other.autocommit = True
        for _ in range(500):
            other.execute("NOTIFY flowsched_schedules")
    time.sleep(0.3)
    assert 1 <= running.scans - before <= 10 * (time.monotonic() - started) + 2


@pytest.mark.django_db(transaction=True)
def test_lost_connections_are_a_state_not_a_crash(running, caplog):
    """X-4, X-6, D-7: every backend is terminated; the loop goes on."""
    caplog.set_level(logging.CRITICAL, "dispatcher")
    with session() as other:
        other.autocommit = True
        other.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE pid <> pg_backend_pid() AND datname = current_database()"
        )
    connection.close()
    row = due_schedule("after", racks(1), at="2026-01-01T00:00:00Z")
    assert wait_for(lambda: outcomes(row) == [("submitted", "")], 20.0)
