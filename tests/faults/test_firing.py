"""Real dispatchers and workers on real PostgreSQL, killed at the boundaries of the three phases."""

from __future__ import annotations

import signal

import pytest

from dispatcher.models import Firing, FiringScope
from flowsched import clock
from inventory.models import Component
from tasks.models import Process, Task
from tests.dispatcher.helpers import due_schedule, racks, session
from tests.faults.harness import killed, query, stopped, terminate, wait_for
from tests.faults.invariants import at_rest, check_invariants
from tests.faults.schedules import make_due, release

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.process]


@pytest.mark.parametrize(
    "fault",
    [
        "claim.after_lock",
        "claim.before_commit",
        "fire.after_claim",
        "submit.before_outcome",
        "submit.before_commit",
        "submit.between_chunks",
        "writeback.before",
    ],
)
def test_a_dispatcher_killed_in_any_phase_loses_and_doubles_nothing(product, fault):
    """X-1, X-2, X-3, F-287: kill -9, then another dispatcher and a worker finish it; counted by the effect log."""
    rows = make_due(3, per_schedule=2)
    release()
    assert killed(product.dispatcher(faults=f"{fault}:kill9")), "the fault point was not reached"
    product.worker()
    product.dispatcher()
    wait_for(lambda: Firing.objects.filter(state="done").count() == 3 and at_rest(), 30, "all fired and finished")
    components = Component.objects.count()
    assert Task.objects.filter(status="completed").count() == 6
    assert len({(e["key"], e["component"]) for e in product.effects() if e["applied"]}) == components
    assert {row.id for row in rows} == set(Firing.objects.values_list("schedule_id", flat=True))
    check_invariants(product)


def test_a_row_held_by_psql_is_skipped_and_fires_when_it_is_free(product):
    """F-230, D-7: a real dispatcher fires the other one at once and does not wait for the held one."""
    held, free = make_due(2)
    product.dispatcher()
    wait_for(Process.objects.exists, 20, "the dispatcher beats")
    with session() as psql:
        psql.execute("UPDATE task_schedule SET next_run_at = clock_timestamp() WHERE id = %s", [held.id])
        psql.commit()
        psql.execute("SELECT 1 FROM task_schedule WHERE id = %s FOR UPDATE", [held.id])
        query("UPDATE task_schedule SET next_run_at = clock_timestamp() WHERE id = %s RETURNING id", free.id)
        query("SELECT pg_notify('flowsched_schedules', '')")
        wait_for(lambda: Firing.objects.filter(schedule_id=free.id, state="done").exists(), 20, "the free one fired")
        held_fired_early = Firing.objects.filter(schedule_id=held.id).exists()
    wait_for(lambda: Firing.objects.filter(schedule_id=held.id, state="done").exists(), 20, "the held one fired")
    assert not held_fired_early
    check_invariants(product)


def test_a_worker_killed_in_the_middle_is_rescued(product):
    """X-16, D-16: power-on is idempotent: the same key, nothing applied twice, the task completes."""
    make_due(2)
    release()
    product.dispatcher()
    assert killed(product.worker(faults="run.after_effect:kill9"))
    product.worker()
    wait_for(lambda: Firing.objects.filter(state="done").count() == 2 and at_rest(), 40, "rescued and finished")
    assert Task.objects.filter(status="completed").count() == 2
    check_invariants(product)


def test_a_power_reset_whose_worker_died_is_unknown_and_not_repeated(product):
    """D-16: what is not idempotent stops at unknown, holds its rack, and waits for a person."""
    [row] = [due_schedule("reset", racks(1), kind="power_reset", now=clock.now())]
    product.dispatcher()
    assert killed(product.worker(faults="run.after_effect:kill9"))
    product.worker()
    wait_for(lambda: query("SELECT 1 FROM run WHERE state = 'unknown'"), 30, "the run is unknown")
    task = Task.objects.get(schedule_id=row.id)
    assert task.status == "running"
    assert "unknown" in task.message
    check_invariants(product)


def test_sigterm_finishes_the_batch_in_hand_and_claims_nothing_more(product):
    """F-238, X-33: the batch in hand, then sign off: exit 0, nothing left open, the rest still due."""
    make_due(6, per_schedule=2)
    release()
    process = product.dispatcher(faults="fire.after_claim:sleep2", FLOWSCHED_BATCH_SIZE="2")
    wait_for(lambda: Firing.objects.filter(state="open").count() == 2, 20, "the first batch is claimed")
    assert terminate(process) == 0
    assert Firing.objects.filter(state="done").count() == Firing.objects.count() == 2
    assert FiringScope.objects.filter(state="submitted").count() == 4
    assert Process.objects.get(kind="dispatcher").state == "stopped"
    product.dispatcher()
    wait_for(lambda: Firing.objects.filter(state="done").count() == 6, 20, "the next one fires the rest")
    check_invariants(product)


def test_a_second_sigterm_stops_at_once_and_loses_nothing(product):
    """X-34: the firing in hand is taken over when its lease has run out."""
    make_due(1, per_schedule=2)
    release()
    process = product.dispatcher(faults="fire.after_claim:sleep30")
    wait_for(lambda: Firing.objects.filter(state="open").exists(), 20, "claimed")
    process.send_signal(signal.SIGTERM)
    wait_for(lambda: "finishing the batch" in product.logs(), 10, "the first SIGTERM is heard")
    assert terminate(process, 10) == 1
    product.dispatcher()
    wait_for(lambda: Firing.objects.filter(state="done").exists(), 20, "taken over")
    assert Firing.objects.get().takeovers == 1
    assert Task.objects.count() == 2
    check_invariants(product)


@pytest.mark.parametrize("point", ["claim.before_commit", "fire.after_claim", "submit.before_commit"])
def test_a_dispatcher_stopped_beyond_its_lease_writes_nothing_when_it_wakes(product, point):
    """X-14, X-15: SIGSTOP, with and without a transaction open; another finishes; SIGCONT: no row changes any more."""
    make_due(1, per_schedule=3)
    release()
    sleeper = product.dispatcher(faults=f"{point}:stop", FLOWSCHED_IDLE_IN_TRANSACTION_TIMEOUT="1")
    wait_for(lambda: stopped(sleeper), 40, "it has stopped")
    other = product.dispatcher()
    wait_for(lambda: Firing.objects.filter(state="done").exists(), 40, "the other finished it")
    assert terminate(other) == 0
    before = row_versions()
    sleeper.send_signal(signal.SIGCONT)
    assert terminate(sleeper) == 0, product.said(sleeper)
    assert row_versions() == before
    assert Task.objects.count() == 3
    assert Firing.objects.get().takeovers == (0 if point == "claim.before_commit" else 1)
    check_invariants(product)


def row_versions() -> dict[str, list[tuple[object, ...]]]:
    """The transaction that last wrote each row of all that a firing writes."""
    tables = ("task_schedule", "task_schedule_scope", "firing", "firing_scope", "task", "run", "audit_entry")
    return {table: query(f"SELECT id, xmin::text FROM {table} ORDER BY id") for table in tables}


@pytest.mark.parametrize("fault", ["submit.between_chunks", "submit.before_outcome@2", "submit.before_commit@2"])
def test_killed_between_and_inside_chunks_every_rack_gets_its_one_task(product, fault):
    """X-2: 260 racks are two chunks; the first is done when the dispatcher dies, the second is not."""
    name, _, nth = fault.partition("@")
    make_due(1, per_schedule=260, components=1)
    release()
    assert killed(product.dispatcher(faults=f"{name}:kill9@{nth or 1}"), 40), "the fault point was not reached"
    assert FiringScope.objects.filter(state="submitted").count() == Task.objects.count() == 250
    first = set(Task.objects.values_list("id", flat=True))
    product.dispatcher()
    wait_for(lambda: Firing.objects.filter(state="done").exists(), 40, "taken over and finished")
    assert FiringScope.objects.filter(state="submitted").count() == Task.objects.count() == 260
    assert first < set(Task.objects.values_list("id", flat=True))
    check_invariants(product)


def test_a_trigger_killed_after_its_claim_is_finished_by_a_dispatcher(product):
    """X-2, X-24: the command line dies; the same request id later answers what the dispatcher did."""
    [row] = make_due(1, per_schedule=2)
    words = ("schedule", "trigger", row.name, "--request-id", "8f1f6a3c-53a5-4f6e-9d0a-3f5f9a1c7b11")
    assert killed(product.start(*words, faults="trigger.after_claim:kill9"), 40)
    assert FiringScope.objects.filter(state="pending").count() == 2
    product.dispatcher()
    wait_for(lambda: Firing.objects.filter(state="done").exists(), 40, "the dispatcher finished it")
    again = product.start(*words)
    assert again.wait(40) == 0, product.said(again)
    assert "2 tasks submitted" in product.said(again)
    assert Firing.objects.count() == 1
    check_invariants(product)
