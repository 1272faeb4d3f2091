"""The simulated executor: the conformance suite, its log, its manners."""

from __future__ import annotations

import json
import os

import pytest

from inventory.models import Component, Rack
from tasks.control import Control
from tasks.execution import Execution
from tasks.executors import simulated
from tasks.executors.base import StepState
from tasks.executors.effects import effect_append, effect_known
from tasks.executors.simulated import SimulatedExecutor
from tests.executors.conformance import ExecutorConformance, Probe
from tests.tasks_runs import helpers
from tests.tasks_runs.helpers import begin, make_rack, make_task

pytestmark = pytest.mark.django_db


@pytest.fixture
def executor():
    return SimulatedExecutor()


@pytest.fixture
def manners(settings, tmp_path):
    """Write the file that FLOWSCHED_SIMULATED names."""
    path = tmp_path / "manners.json"
    settings.FLOWSCHED_SIMULATED = path
    times = iter(range(1, 1000))

    def write(**components):
        path.write_text(json.dumps({"components": components}))
        os.utime(path, ns=(next(times) * 10**9,) * 2)

    write()
    return write


class TestSimulated(ExecutorConformance):
    @pytest.fixture(autouse=True)
    def _manners(self, manners):
        self.manners = manners

    def effects(self):
        return [line["key"] for line in helpers.effects()]

    def make_fail(self, names):
        self.manners(**{name: {"fail": "always"} for name in names})

    def make_hang(self, names):
        self.manners(**{name: {"hang": True} for name in names})


def test_the_log_is_on_disk_before_the_database_knows(executor, monkeypatch):
    """D-28: what the crash tests count is this log."""
    order = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: order.append("fsync"))
    real_store = simulated._store
    monkeypatch.setattr(simulated, "_store", lambda *args: order.append("database") or real_store(*args))
    task = make_task(make_rack(1))
    executor.apply(executor.plan(task)[0], Probe(task, "k"))
    assert order == ["fsync", "database"]


def test_killed_between_log_and_database_the_repetition_only_mends_the_inventory(executor, monkeypatch):
    """D-28: nothing is applied twice."""
    task = make_task(make_rack(1))
    step = executor.plan(task)[0]

    def die(*args):
        raise SystemExit

    with monkeypatch.context() as patched:
        patched.setattr(simulated, "_store", die)
        with pytest.raises(SystemExit):
            executor.apply(step, Probe(task, "k"))
    assert Component.objects.get().power_state == "off"
    result = SimulatedExecutor().apply(step, Probe(task, "k", repeated=True))
    assert result.state is StepState.CHANGED
    assert Component.objects.get().power_state == "on"
    assert len(helpers.effects()) == 1


def test_a_line_says_who_did_what(executor):
    task = make_task(make_rack(1, name="r1"))
    step = executor.plan(task)[0]
    executor.apply(step, Probe(task, "k"))
    (line,) = helpers.effects()
    assert line | {"at": "", "pid": 0} == {
        "key": "k",
        "task": str(task.id),
        "component": str(step.component_id),
        "name": "tray-0",
        "rack": "r1",
        "action": "power_on",
        "applied": True,
        "at": "",
        "pid": 0,
    }
    assert line["pid"] == os.getpid()


def test_a_torn_line_is_no_effect(tmp_path):
    path = tmp_path / "log"
    effect_append(path, {"key": "a"})
    with path.open("a") as log:
        log.write('{"key":"b"')
    assert effect_known(path, "a")
    assert not effect_known(path, "b")
    assert not effect_known(tmp_path / "none", "a")


@pytest.mark.parametrize(
    ("code", "information", "column", "change"),
    [
        ("power_on", {}, "power_state", ("off", "on")),
        ("power_off", {}, "power_state", ("on", "off")),
        ("restart", {}, "power_state", ("on", "on")),
        ("bring_up", {}, "power_state", ("off", "on")),
        ("upgrade", {"target_version": "2.0"}, "firmware_version", ("1.9", "2.0")),
        ("upgrade", {}, "firmware_version", ("1.9", "1.10")),
        ("upgrade", {}, "firmware_version", ("", "1")),
    ],
)
def test_what_an_operation_does_to_a_component(executor, code, information, column, change):
    task = make_task(make_rack(1), code, information=information)
    Component.objects.update(**{column: change[0]})
    assert executor.apply(executor.plan(task)[0], Probe(task, "k")).state is StepState.CHANGED
    assert getattr(Component.objects.get(), column) == change[1]


def test_firmware_already_there_needs_no_effect(executor):
    task = make_task(make_rack(1), "upgrade", information={"target_version": "2.0"})
    Component.objects.update(firmware_version="2.0")
    result = executor.apply(executor.plan(task)[0], Probe(task, "k"))
    assert (result.state, result.message) == (StepState.NO_EFFECT, "already at 2.0")


def test_a_rack_is_ingested_with_its_last_component(executor):
    task = make_task(make_rack(2), "ingest")
    first, second = executor.plan(task)
    executor.apply(first, Probe(task, "k1"))
    assert Rack.objects.get().status == "new"
    executor.apply(second, Probe(task, "k2"))
    rack = Rack.objects.get()
    assert rack.status == "ingested"
    assert rack.ingested_at


def test_failing_a_few_times_then_obeying(executor, manners):
    manners(**{"tray-1": {"fail": 2}})
    task = make_task(make_rack(3))
    assert Execution(begin(task), executor, Control()).run() == "succeeded"
    assert len(helpers.effects()) == 3


@pytest.mark.parametrize("pattern", ["rack-x", "rack-*", "rack-x/tray-0", "tray-?"])
def test_patterns_name_components_or_racks_and_changes_are_read(executor, manners, pattern):
    task = make_task(make_rack(1, name="rack-x"))
    step = executor.plan(task)[0]
    manners(**{pattern: {"fail": "always", "retryable": False}})
    result = executor.apply(step, Probe(task, "k"))
    assert (result.state, result.retryable) == (StepState.FAILED, False)
    manners(other={"fail": "always"})
    assert executor.apply(step, Probe(task, "k")).state is StepState.CHANGED


@pytest.mark.parametrize("text", ["{", "[1]", "null"])
def test_a_broken_file_is_reported_and_ignored(executor, settings, tmp_path, caplog, text):
    path = tmp_path / "manners.json"
    path.write_text(text)
    settings.FLOWSCHED_SIMULATED = path
    task = make_task(make_rack(1))
    assert executor.apply(executor.plan(task)[0], Probe(task, "k")).state is StepState.CHANGED
    assert "cannot be read" in caplog.text
