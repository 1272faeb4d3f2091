"""D-29 with real dispatchers and a real worker: held, made due, looked at again and again, released."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from dispatcher.models import Firing
from flowsched import clock
from schedules.models import TaskSchedule
from tasks.models import Process, Task
from tests.dispatcher.helpers import due_schedule, racks
from tests.faults.harness import ROOT, query, wait_for
from tests.faults.invariants import at_rest, check_invariants
from tests.faults.test_firing import make_due, release
from tests.tasks_runs.helpers import make_task

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.process]
SCANS = 4
PATIENCE = 120  # seconds until a test gives up; nothing is asserted about time


def manage(product, *words: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, str(ROOT / "manage.py"), *words],
        cwd=ROOT, env=product.environment(), capture_output=True, check=False, timeout=PATIENCE,
    )  # fmt: skip
    return done.returncode, (done.stdout + done.stderr).decode()


class Scans:
    """The moments at which dispatchers' sessions last looked for work, as the database saw them."""

    def __init__(self) -> None:
        self.seen: set[tuple[object, ...]] = set()

    def enough(self) -> bool:
        """Whether each of two dispatchers has looked SCANS times."""
        self.seen |= set(
            query(
                "SELECT pid, query_start FROM pg_stat_activity"
                " WHERE datname = current_database() AND query LIKE '%%clock AS MATERIALIZED%%'"
                " AND pid <> pg_backend_pid()"
            )
        )
        counts = [sum(pid == other for other, _ in self.seen) for pid in {pid for pid, _ in self.seen}]
        return len(counts) == 2 and min(counts) >= SCANS


def test_held_made_due_nothing_happens_released_everything_fires_once(product):
    make_due(20, per_schedule=2)
    kept = make_task(racks(1)[0])  # pending, its job in the queue
    product.dispatcher()
    product.dispatcher()
    wait_for(lambda: Process.objects.filter(kind="dispatcher").count() == 2, PATIENCE, "two dispatchers beat")
    code, said = manage(product, "dispatch", "hold", "--reason", "chiller work")
    assert code == 0, said
    product.worker()
    wait_for(lambda: Process.objects.filter(kind="worker").exists(), PATIENCE, "the worker beats")
    wait_for(
        lambda: not query("SELECT 1 FROM procrastinate_jobs WHERE status IN ('todo', 'doing')"),
        PATIENCE,
        "the job is dropped",
    )
    release()  # every schedule is due
    scans = Scans()
    wait_for(scans.enough, PATIENCE, f"{SCANS} scans of each dispatcher")
    assert TaskSchedule.objects.filter(next_run_at__lte=clock.now()).count() == 20
    assert (Firing.objects.count(), product.effects()) == (0, [])
    assert Task.objects.get().status == "pending"
    code, said = manage(product, "schedule", "trigger", "s0", "--json")
    assert (code, json.loads(said)["error"]["reason"]) == (1, "HELD")
    code, said = manage(product, "run_dispatcher", "--status", "--json")
    assert (json.loads(said)["held"]["reason"], json.loads(said)["due"]) == ("chiller work", 20)

    code, said = manage(product, "dispatch", "release")
    assert code == 0, said
    wait_for(
        lambda: Firing.objects.filter(state="done").count() == 20 and at_rest(), PATIENCE, "all fired and finished"
    )
    assert Firing.objects.filter(takeovers=0, submitted_count=2).count() == 20
    assert Task.objects.filter(status="completed").count() == 41
    kept.refresh_from_db()
    assert kept.status == "completed"
    check_invariants(product)


def test_a_dispatcher_held_between_claim_and_submission_finishes_at_the_release(product):
    """It lives: no takeover, whoever goes on."""
    row = due_schedule("nightly", racks(2), now=clock.now())
    product.dispatcher(faults="fire.after_claim:sleep4")
    wait_for(lambda: Firing.objects.filter(state="open").exists(), PATIENCE, "claimed")
    assert manage(product, "dispatch", "hold", "--reason", "chiller work")[0] == 0
    wait_for(lambda: query("SELECT 1 FROM firing WHERE lease_token IS NULL AND state = 'open'"), PATIENCE, "put down")
    assert not Task.objects.exists()
    assert manage(product, "dispatch", "release")[0] == 0
    wait_for(lambda: Firing.objects.filter(state="done").exists(), PATIENCE, "finished")
    firing = Firing.objects.get(schedule_id=row.id)
    assert (firing.takeovers, firing.submitted_count) == (0, 2)
    check_invariants(product)
