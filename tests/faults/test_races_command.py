"""The same races through the command line: real `manage.py schedule …` processes beside a real dispatcher.

The dispatcher stops itself (SIGSTOP) at a fault point with one schedule a verb in hand. Where it holds no lock, every
command returns while it stands, and what they took back is never submitted. Where it holds the schedules' locks, every
command waits for it, and all of them race it when it goes on.
"""

from __future__ import annotations

import signal
import subprocess
from datetime import timedelta

import pytest

from dispatcher.models import Firing, FiringScope
from schedules.models import TaskSchedule
from scopes.models import TaskScheduleScope
from tasks.models import Task
from tests.dispatcher.helpers import racks
from tests.faults.harness import Product, query, stopped, terminate, wait_for
from tests.faults.invariants import check_invariants
from tests.faults.schedules import make_due, release

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.process]

PATIENT = {
    "FLOWSCHED_LOCK_TIMEOUT": "60",
    "FLOWSCHED_IDLE_IN_TRANSACTION_TIMEOUT": "120",
    "FLOWSCHED_STATEMENT_TIMEOUT": "120",
    "FLOWSCHED_FIRING_LEASE": "120",
}
REQUEST = "0d2f7f5e-4b7e-4c55-9a53-6f0f6f3c2a10"
WITHDRAWN = {"pause": 2, "delete": 2, "scope remove": 1, "scope set": 1}  # racks whose task is taken back


class Case:
    """A schedule of two racks, and the command that meets its firing."""

    def __init__(self, row: TaskSchedule, verb: str) -> None:
        self.row, self.verb = row, verb
        scopes = TaskScheduleScope.objects.filter(schedule=row).select_related("rack").order_by("position")
        self.first, self.second = (scope.rack for scope in scopes)
        self.process: subprocess.Popen[bytes] | None = None

    def words(self, extra_rack: str) -> list[str]:
        name = str(self.row.id)
        return {
            "pause": ["pause", name, "--reason", "chiller work"],
            "delete": ["delete", name],
            "scope remove": ["scope", "remove", name, "--rack", self.first.name],
            "scope set": ["scope", "set", name, "--rack", f"{self.first.name}=compute", "--rack", self.second.name],
            "scope add": ["scope", "add", name, "--rack", extra_rack],
            "update": ["update", name, "--every", "3h", "--name", f"new {name}", "--overlap", "queue"],
            "trigger": ["trigger", name, "--request-id", REQUEST],
        }[self.verb]

    def tasks(self) -> set[object]:
        return set(Task.objects.filter(schedule_id=self.row.id).values_list("id", flat=True))


def start_all(product: Product, cases: list[Case]) -> None:
    [extra] = racks(1)
    for case in cases:
        case.process = product.start("schedule", *case.words(extra.name), **PATIENT)


def waiting_for_locks() -> int:
    [(count,)] = query(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    )
    return int(count)


def ended(product: Product, case: Case) -> None:
    assert case.process is not None
    refused = {1} if case.verb == "trigger" else set()  # the tick may have the racks: then it says so
    assert case.process.wait(60) in {0} | refused, f"{case.verb}: {product.said(case.process)}"


@pytest.mark.parametrize("point", ["submit.after_read", "claim.before_commit"])
def test_commands_that_meet_a_firing_lose_nothing_and_no_older_task_appears(product, point):
    """X-36, X-37, X-38, F-310: pause, delete, scopes, edit and a trigger sent twice, all in separate processes."""
    verbs = ["pause", "delete", "scope remove", "scope set", "scope add", "update", "trigger", "trigger"]
    rows = dict(zip(dict.fromkeys(verbs), make_due(len(set(verbs)), per_schedule=2), strict=True))
    cases = [Case(rows[verb], verb) for verb in verbs]
    release()
    dispatcher = product.dispatcher(faults=f"{point}:stop", FLOWSCHED_BATCH_SIZE="20", **PATIENT)
    wait_for(lambda: stopped(dispatcher), 60, "the dispatcher stands at the fault point")
    start_all(product, cases)
    seen: dict[str, set[object]] = {}
    if point == "claim.before_commit":
        wait_for(lambda: waiting_for_locks() == len(cases), 60, "every command waits for the dispatcher")
    else:
        for case in cases:
            ended(product, case)
            seen[case.verb] = case.tasks()
    dispatcher.send_signal(signal.SIGCONT)
    for case in cases:
        ended(product, case)
    expected = len(rows) + 1  # a tick each, and one by hand
    wait_for(lambda: Firing.objects.filter(state="done").count() == expected, 60, "every firing is done")
    assert terminate(dispatcher) == 0
    triggers = [case.process.returncode for case in cases if case.verb == "trigger" and case.process]
    assert len(set(triggers)) == 1, "one request, two answers"
    for case in cases:
        judge(case, seen.get(case.verb))
    check_invariants(product)


def judge(case: Case, seen: set[object] | None) -> None:
    """What became of one schedule."""
    automatic = Firing.objects.get(schedule_id=case.row.id, cause="automatic")
    states = list(FiringScope.objects.filter(firing=automatic).values_list("state", flat=True))
    assert len(states) == 2
    now = TaskSchedule.objects.filter(id=case.row.id).first()
    withdrawn = WITHDRAWN.get(case.verb, 0)
    if seen is not None and case.verb != "trigger":
        assert seen == set(), case.verb  # the dispatcher stood still
        assert states.count("skipped") == withdrawn, case.verb
        assert len(case.tasks()) == 2 - withdrawn, case.verb
    elif case.verb != "trigger":
        assert states.count("skipped") <= withdrawn, case.verb
        assert states.count("skipped") + len(case.tasks()) == 2, case.verb
    if case.verb == "delete":
        assert now is None
        return
    assert now is not None
    assert now.enabled is (case.verb != "pause")
    assert now.next_run_at is not None
    assert now.next_run_at - automatic.fired_at > timedelta(minutes=59)
    names = set(TaskScheduleScope.objects.filter(schedule=now).values_list("rack__name", flat=True))
    match case.verb:
        case "scope remove":
            assert names == {case.second.name}
        case "scope add":
            assert len(names) == 3
        case "update":
            assert (now.name, now.spec, now.overlap_policy) == (f"new {now.id}", "3h", "queue")
            assert now.version == case.row.version + 1
            assert now.next_run_at - automatic.fired_at > timedelta(hours=2, minutes=59)
        case "trigger":
            assert Firing.objects.filter(schedule_id=now.id, cause="manual").count() == 1
            assert len(case.tasks()) == 2
