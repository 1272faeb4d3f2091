"""Rows that nobody can read, ticks that are recorded already, and firings that kill whoever touches them."""

from __future__ import annotations

from datetime import timedelta

import pytest

from dispatcher.models import Firing, FiringScope
from dispatcher.recover import MAX_TAKEOVERS
from flowsched import clock
from inventory.models import Rack
from schedules.models import TaskSchedule
from tasks.models import Task
from tests.dispatcher.helpers import due_schedule, firing_of, racks
from tests.dispatcher.test_poison_rows import POISON
from tests.faults.harness import killed, query, wait_for
from tests.faults.invariants import at_rest, check_invariants
from tests.faults.schedules import make_due, release

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.process]

# Longer than any test waits: whatever would be left for the next poll is not seen in time.
NO_SECOND_POLL = {"FLOWSCHED_POLL_INTERVAL": "3600"}
ONCE_A_BATCH = 10


def test_poison_rows_and_recorded_ticks_do_not_delay_a_hundred_good_ones(product):
    """X-25, D-4, D-8: a whole batch of poison, oldest first, then duplicates, then the good ones: one poll."""
    good = make_due(100)
    now = clock.now()
    bad = poison(now)
    twice = [due_schedule(f"twice {n}", racks(1), now=now, late=timedelta(hours=2)) for n in range(ONCE_A_BATCH)]
    for row in twice:
        record_tick(row)
    release_only(good)
    product.dispatcher(**NO_SECOND_POLL)
    wait_for(
        lambda: Firing.objects.filter(schedule_id__in=[row.id for row in good], state="done").count() == 100,
        60,
        "a hundred good ones fired",
    )
    assert Task.objects.filter(schedule_id__in=[row.id for row in good]).count() == 100
    for row in bad:
        record = firing_of(row)
        assert record.state == "failed", row.name
        assert record.reason, row.name
    disabled = TaskSchedule.objects.filter(id__in=[row.id for row in bad], enabled=False, disabled_kind="system")
    assert disabled.exclude(disabled_reason="").count() == len(bad)
    for row in twice:
        assert Firing.objects.filter(schedule_id=row.id).count() == 1
        row.refresh_from_db()
        assert row.enabled
        assert row.next_run_at > now
    assert not FiringScope.objects.filter(state="pending").exists()
    check_invariants(product)


def poison(now) -> list[TaskSchedule]:
    """More than a batch: each kind that decoding refuses, twice, and rows that the driver cannot even fetch."""
    rows = []
    for name, (sql, _) in sorted(POISON.items()) * 2:
        row = due_schedule(f"bad {name} {len(rows)}", racks(1), now=now, late=timedelta(days=1))
        query(f"{sql} RETURNING id", row.id)
        rows.append(row)
    row = due_schedule("bad moment", racks(1), now=now)
    query("UPDATE task_schedule SET next_run_at = '-infinity' WHERE id = %s RETURNING id", row.id)
    big = due_schedule("bad size", racks(1), now=now, late=timedelta(days=1))
    query(
        "UPDATE task_schedule SET operation_template = jsonb_build_object('type', repeat('x', 1000000))"
        " WHERE id = %s RETURNING id",
        big.id,
    )
    return [*rows, row, big]


def record_tick(row: TaskSchedule) -> None:
    """The tick that is due has been fired before, as after a restore of the schedule's row alone."""
    query(
        "INSERT INTO firing (key, schedule_id, schedule_name, cause, due_at, fired_at, actor, conflict_strategy, state,"
        " reason, submitted_count, skipped_count, rejected_count, missed_count, failed_count, takeovers, lease_owner,"
        " closed_at) SELECT gen_random_uuid(), id, name, 'automatic', next_run_at, next_run_at, 'system', 'reject',"
        " 'failed', 'its row cannot be read: recorded by the test', 0, 0, 0, 0, 0, 0, '', next_run_at"
        " FROM task_schedule WHERE id = %s RETURNING id",
        row.id,
    )


def release_only(rows: list[TaskSchedule]) -> None:
    ids = [row.id for row in rows]
    query("UPDATE task_schedule SET next_run_at = clock_timestamp() WHERE id = ANY(%s) RETURNING id", ids)


def test_a_firing_that_kills_its_dispatchers_is_given_up_and_the_others_of_its_batch_are_not(product):
    """X-26, D-6: three takeovers, then closed as failed and disabled; who was in hand with it fires, once."""
    rows = make_due(6, components=1)
    killer = rows[2]
    rack = Rack.objects.get(id=killer.scopes.get().rack_id)
    release()
    deaths = 0
    while not Firing.objects.filter(schedule_id=killer.id, state="failed").exists():
        one = product.dispatcher(faults=f"submit.rack.{rack.name}:exit")
        wait_for(
            lambda one=one: (
                one.poll() is not None or Firing.objects.filter(schedule_id=killer.id, state="failed").exists()
            ),
            60,
            "it dies, or gives up",
        )
        deaths += one.poll() is not None
        assert deaths <= MAX_TAKEOVERS + 1
    assert deaths == MAX_TAKEOVERS + 1
    wait_for(lambda: Firing.objects.filter(state="done").count() == 5, 40, "the others are finished")
    record = firing_of(killer)
    assert "taken over 3 times" in record.reason
    assert FiringScope.objects.get(firing=record).reason_code == "given_up"
    killer.refresh_from_db()
    assert (killer.enabled, killer.disabled_kind) == (False, "system")
    others = TaskSchedule.objects.exclude(id=killer.id)
    assert others.filter(enabled=True).count() == 5
    assert Task.objects.count() == 5
    check_invariants(product)


def test_an_operation_that_kills_its_workers_ends_as_failed_after_three(product):
    """X-16, D-16: three attempts, each ended by a death; the task fails with the reason and frees its rack."""
    make_due(1, components=1)
    release()
    product.dispatcher()
    for _ in range(3):
        assert killed(product.worker(faults="run.before_effect:kill9"), 60)
    product.worker()
    wait_for(at_rest, 60, "it is given up")
    task = Task.objects.get()
    assert task.status == "failed"
    assert "worker was lost in the last of 3 attempts" in task.message
    check_invariants(product)
