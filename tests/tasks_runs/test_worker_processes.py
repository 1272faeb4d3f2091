"""Real worker processes on a real database, killed, stopped and drained; what counts is the effect log."""

from __future__ import annotations

import json
import signal
import subprocess
from collections import Counter
from datetime import timedelta
from pathlib import Path

import pytest
from django.conf import settings as django_settings
from django.db import connection

from flowsched import clock
from flowsched.actor import SYSTEM
from tasks.models import Process, Run, Task
from tasks.services import task_acknowledge, task_cancel
from tests.faults.harness import Product, wait_for
from tests.tasks_runs.helpers import clear_jobs, effects, make_rack, make_task, waiting_jobs

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.process]

REPOSITORY = Path(__file__).resolve().parents[2]
PATIENCE = 30  # seconds until a test gives up; nothing is asserted about time


class Workers:
    """Starts workers and kills what is left of them."""

    def __init__(self, folder: Path) -> None:
        self.product = Product(folder)
        self.log = self.product.effect_log
        self.manners = folder / "manners.json"
        self.behave({})

    def behave(self, components: dict[str, object], latency: float = 0.0) -> None:
        draft = self.manners.with_suffix(".draft")
        draft.write_text(json.dumps({"latency": latency, "components": components}))
        draft.replace(self.manners)

    def start(self, *options: str, faults: str = "", lease: float = 1.2, drain: float = 20) -> subprocess.Popen[bytes]:
        return self.product.start(
            "run_worker",
            *options,
            faults=faults,
            FLOWSCHED_RUN_LEASE=str(lease),
            FLOWSCHED_DRAIN_TIMEOUT=str(drain),
            FLOWSCHED_RUN_BACKOFF_FIRST="0.01",
            FLOWSCHED_RUN_BACKOFF_SECOND="0.01",
            FLOWSCHED_SIMULATED=str(self.manners),
        )

    def applied(self) -> Counter[str]:
        """How often each key was applied."""
        return Counter(line["key"] for line in effects(self.log))

    def said(self, number: int = -1) -> str:
        number %= len(self.product.processes)
        return (self.product.folder / f"run_worker-{number}.log").read_text()


@pytest.fixture
def workers(committed, tmp_path):
    fleet = Workers(tmp_path)
    yield fleet
    fleet.product.stop()


def _until(condition, what: str = "") -> None:
    wait_for(condition, PATIENCE, what or str(condition))


def finished(*tasks: Task) -> bool:
    return not Task.objects.filter(id__in=[t.id for t in tasks], finished_at=None).exists()


def ended(process: subprocess.Popen[bytes]) -> int:
    return process.wait(timeout=PATIENCE)


def test_waiting_work_is_done_once_and_the_jobs_are_gone(workers):
    """F-240…F-242; `--once` ends when nothing waits, promoted tasks included; the process row says it stopped."""
    racks = [make_rack(3) for _ in range(6)]
    tasks = [make_task(rack) for rack in racks]
    behind = make_task(racks[0], "power_off", status="waiting")
    assert ended(workers.start("--once", "--concurrency", "4")) == 0, workers.said()
    tasks.append(behind)
    assert finished(*tasks)
    assert set(Task.objects.values_list("status", "message")) == {("completed", "Succeeded")}
    assert sum(workers.applied().values()) == 21
    assert set(workers.applied().values()) == {1}
    with connection.cursor() as cursor:
        cursor.execute("SELECT (SELECT count(*) FROM procrastinate_jobs), (SELECT count(*) FROM procrastinate_events)")
        assert cursor.fetchone() == (0, 0)
    assert Process.objects.get(kind="worker").state == "stopped"
    assert workers.said().count(" begins") == workers.said().count(": succeeded") == 7


@pytest.mark.parametrize(
    "point", ["run.before_effect@2", "effect.after_log@2", "run.after_effect@2", "run.before_finish"]
)
def test_killed_an_idempotent_operation_is_finished_by_another(workers, point):
    """X-16, D-16: nothing lost, nothing applied twice, three attempts not used up."""
    name, _, nth = point.partition("@")
    task = make_task(make_rack(3))
    assert ended(workers.start(faults=f"{name}:kill9@{nth or 1}")) == -signal.SIGKILL
    assert Run.objects.get().state == "running"
    workers.start()
    _until(lambda: finished(task))
    task.refresh_from_db()
    run = Run.objects.get()
    assert (task.status, run.state, run.attempt) == ("completed", "succeeded", 2)
    assert [a["state"] for a in run.attempts] == ["interrupted", "succeeded"]
    assert len(workers.applied()) == 3
    assert set(workers.applied().values()) == {1}
    assert not waiting_jobs()


def test_killed_in_the_middle_of_a_restart_a_person_decides(workers):
    """X-16, D-16, D-17: the run is unknown, the task stays running, the next in line waits until acknowledged."""
    rack = make_rack(2, power="on")
    task = make_task(rack, "restart")
    behind = make_task(rack, "restart", status="waiting")
    assert ended(workers.start(faults="run.after_effect:kill9@1")) == -signal.SIGKILL
    workers.start()
    _until(lambda: Run.objects.filter(state="unknown").exists())
    task.refresh_from_db()
    assert task.status == "running"
    assert task.message.startswith("outcome unknown: its worker is gone; 'restart' may have happened on tray-")
    assert len(workers.applied()) == 1
    task_acknowledge(task_id=task.id, as_="completed", by=SYSTEM, now=clock.now())
    _until(lambda: finished(behind))
    assert set(workers.applied().values()) == {1}


def test_killed_before_it_began_the_task_gets_another_job(workers):
    task = make_task(make_rack(1), job=False, updated_at=clock.now() - timedelta(minutes=1))
    workers.start()
    _until(lambda: finished(task))
    assert set(workers.applied().values()) == {1}


@pytest.mark.parametrize(("code", "outcome", "applied"), [("power_on", "succeeded", 3), ("restart", "unknown", 1)])
def test_stopped_longer_than_its_lease_the_sleeper_does_no_more(workers, code, outcome, applied):
    """X-15: rescued once by another; the sleeper aborts before its next side effect, one terminal state."""
    make_task(make_rack(3, power="on" if code == "restart" else "off"), code)
    sleeper = workers.start(faults="run.before_effect:stop@2")
    _until(lambda: len(workers.applied()) == 1 and _stopped(sleeper))
    workers.start()
    _until(lambda: Run.objects.filter(state=outcome).exists())
    before = Task.objects.values().get(), Run.objects.values().get()
    sleeper.send_signal(signal.SIGCONT)
    _until(lambda: "lease lost, stopped" in workers.said(0), "the sleeper notices")
    assert (Task.objects.values().get(), Run.objects.values().get()) == before
    assert sorted(workers.applied().values()) == [1] * applied
    sleeper.send_signal(signal.SIGTERM)
    assert ended(sleeper) == 0


def _stopped(process: subprocess.Popen[bytes]) -> bool:
    return Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"


def test_told_to_stop_it_lets_runs_end(workers):
    """X-33: SIGTERM drains; exit code 0; what was not begun waits for another."""
    workers.behave({}, latency=0.2)
    first, second = make_task(make_rack(3)), make_task(make_rack(1), created_at=clock.now())
    worker = workers.start("--concurrency", "1")
    _until(lambda: len(workers.applied()) == 1)
    worker.send_signal(signal.SIGTERM)
    assert ended(worker) == 0, workers.said()
    states = dict(Task.objects.values_list("id", "status"))
    assert states == {first.id: "completed", second.id: "pending"}
    assert waiting_jobs() == [str(second.id)]
    assert Process.objects.get(kind="worker").state == "stopped"


def test_when_the_drain_time_is_over_runs_are_released_and_another_goes_on_at_once(workers):
    """X-33, D-16: stopped before the next side effect, not rescued: the lease is far from over."""
    workers.behave({"tray-1": {"hang": True}})
    task = make_task(make_rack(3))
    worker = workers.start(lease=600, drain=0.3)
    _until(lambda: len(workers.applied()) == 1)
    worker.send_signal(signal.SIGTERM)
    assert ended(worker) == 0, workers.said()
    assert ": released" in workers.said()
    run = Run.objects.get()
    assert (run.state, run.lease_token, run.in_flight, run.attempt) == ("running", None, "", 1)
    assert waiting_jobs() == [str(task.id)]
    workers.behave({})
    workers.start("--once", lease=600)
    _until(lambda: finished(task))
    assert len(workers.applied()) == 3
    assert set(workers.applied().values()) == {1}
    assert Run.objects.get().attempt == 1


def test_a_second_signal_stops_at_once(workers):
    workers.behave({"tray-*": {"hang": True}})
    task = make_task(make_rack(1))
    worker = workers.start()
    _until(lambda: Run.objects.exists() and Run.objects.get().in_flight)
    worker.send_signal(signal.SIGTERM)
    _until(lambda: "draining" in workers.said())
    worker.send_signal(signal.SIGTERM)
    assert ended(worker) == 128 + signal.SIGTERM
    workers.behave({})
    workers.start()
    _until(lambda: finished(task))


def test_a_cancel_reaches_a_hanging_run_at_once(workers):
    """D-16: by notification, long before the heart would see it; the next in line goes on."""
    workers.behave({"tray-1": {"hang": True}})
    rack = make_rack(2)
    task = make_task(rack)
    worker = workers.start(lease=600)
    _until(lambda: len(workers.applied()) == 1)
    _until(lambda: Run.objects.get().results)
    task_cancel(task_id=task.id, by=SYSTEM, now=clock.now())
    _until(lambda: finished(task))
    task.refresh_from_db()
    assert (task.status, Run.objects.get().state) == ("terminated", "cancelled")
    assert task.message == "Terminated: cancelled after 1 of 2 components"
    worker.send_signal(signal.SIGTERM)
    assert ended(worker) == 0


def test_a_worker_outlives_the_end_of_all_its_sessions(workers):
    """A database that goes away and comes back is a state: same process, next job, one effect each."""
    workers.behave({"tray-1": {"latency": 1.0}})
    first = make_task(make_rack(2))
    worker = workers.start()
    _until(lambda: len(workers.applied()) == 1)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        assert cursor.fetchone()[0] > 3
    second = make_task(make_rack(1))
    _until(lambda: finished(first, second))
    clear_jobs()  # as another worker does with the row of one that was stopped for long: it registers anew
    third = make_task(make_rack(1))
    _until(lambda: finished(third))
    assert worker.poll() is None
    assert set(workers.applied().values()) == {1}
    assert set(Task.objects.values_list("status", flat=True)) == {"completed"}
    worker.send_signal(signal.SIGTERM)
    assert ended(worker) == 0, workers.said()


def test_two_workers_share_the_work(workers):
    """X-16: same host name, no task twice."""
    workers.behave({}, latency=0.02)
    tasks = [make_task(make_rack(2)) for _ in range(20)]
    both = [workers.start("--concurrency", "2"), workers.start("--concurrency", "2")]
    _until(lambda: finished(*tasks))
    assert len(workers.applied()) == 40
    assert set(workers.applied().values()) == {1}
    assert len(set(Run.objects.values_list("lease_owner", flat=True))) == 2
    assert django_settings.TESTING
    for worker in both:
        worker.send_signal(signal.SIGTERM)
    assert [ended(worker) for worker in both] == [0, 0]
