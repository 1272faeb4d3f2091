"""D-29 under way: a hold against claims and chunks in flight, and loops in full swing, on connections of their own."""

from __future__ import annotations

import logging
import threading

import pytest
from django.db import connection

from dispatcher import claim as claim_module
from dispatcher import firing
from dispatcher import loop as loop_module
from dispatcher import submit as submit_module
from dispatcher.loop import Loop
from dispatcher.models import Firing
from flowsched import clock
from tasks.models import Hold, Task
from tests.dispatcher.helpers import due_schedule, holder, in_thread, outcomes, racks
from tests.dispatcher.test_hold import hold, release
from tests.dispatcher.test_loop import running, wait_for  # noqa: F401  a fixture

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _quiet(caplog):
    caplog.set_level(logging.CRITICAL, "dispatcher")


@pytest.mark.parametrize(
    ("module", "place"), [(claim_module, "claim.before_commit"), (submit_module, "submit.before_commit")]
)
def test_a_hold_returns_only_when_what_passed_the_gate_has_committed(monkeypatch, module, place):
    """A claim, a chunk in flight: the hold waits for it, and what follows it is stopped."""
    now = clock.now()
    row = due_schedule("nightly", racks(1), now=now)
    reached, go_on, order = threading.Event(), threading.Event(), []

    def stop_here(name: str) -> None:
        if name == place:
            reached.set()
            assert go_on.wait(20)
            order.append("committing")

    monkeypatch.setattr(module, "fault", stop_here)
    firing_thread = in_thread(lambda: firing.fire_due(clock.now(), 10, holder=holder()))
    assert reached.wait(20)
    holding = in_thread(lambda: (hold(now=clock.now()), order.append("held")))
    assert wait_for(Hold.objects.exists)
    assert wait_for(lambda: waits_for_advisory_lock(holding))
    assert order == []
    go_on.set()
    holding.join(20)
    firing_thread.join(20)
    assert order == ["committing", "held"]
    assert outcomes(row) == [("pending", "") if module is claim_module else ("submitted", "")]


def waits_for_advisory_lock(thread: threading.Thread) -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")
        return thread.is_alive() and cursor.fetchone()[0] > 0


def test_after_hold_returned_nothing_appears_and_at_the_release_everything_fires_once():
    """Two dispatchers in full swing, held in the middle, five times."""
    rows = [due_schedule(f"s{n}", racks(1, components=1), now=clock.now()) for n in range(60)]
    stop = threading.Event()

    def dispatch() -> None:
        one = Loop(batch_size=1, poll_interval=1)
        while not stop.is_set():
            one.run_once()

    threads = [in_thread(dispatch) for _ in range(2)]
    try:
        for share in (5, 15, 25, 35, 45):
            assert wait_for(lambda share=share: Firing.objects.count() >= share)
            hold(now=clock.now())
            counts = Firing.objects.count(), Task.objects.count()
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_sleep(0.1)")
            assert (Firing.objects.count(), Task.objects.count()) == counts
            release(clock.now())
        assert wait_for(lambda: Firing.objects.filter(state="done").count() == 60)
    finally:
        stop.set()
        for thread in threads:
            thread.join(20)
    assert [outcomes(row) for row in rows] == [[("submitted", "")]] * 60
    assert not Firing.objects.filter(takeovers__gt=0).exists()


@pytest.fixture
def slow_beat(monkeypatch):
    """The loop wakes for its heartbeat too: not in these tests."""
    monkeypatch.setattr(loop_module, "BEAT_EVERY", 60.0)


def test_a_hold_and_a_release_wake_the_loop_at_once(slow_beat, running):  # noqa: F811  the fixture
    """Its poll is a minute: only the NOTIFY can wake it. Scans are seen while it is held."""
    hold(now=clock.now())
    assert wait_for(lambda: running.on_hold)
    seen = running.scans
    row = due_schedule("new", racks(1), at="2026-01-01T00:00:00Z")
    assert wait_for(lambda: running.scans > seen)
    assert outcomes(row) == []
    release(clock.now())
    assert wait_for(lambda: outcomes(row) == [("submitted", "")], 3.0)
