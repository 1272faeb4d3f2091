"""What every executor must hold to. A test class mixes this in and says how its target is read.

class TestMine(ExecutorConformance):
    executor = fixture(...)            # an instance
    def effects(self): ...             # keys applied at the target so far, in order
    def make_fail(self, names): ...    # these components refuse until further notice
    def make_hang(self, names): ...    # these components never answer
"""

from __future__ import annotations

import threading
import time
from collections import Counter

import pytest

from flowsched import clock
from inventory.models import Component, Rack
from tasks.control import Control
from tasks.execution import Execution
from tasks.executors.base import Interrupted, StepState, get_executor, power_rank
from tasks.models import Run, Task
from tests.tasks_runs.helpers import begin, make_rack, make_task

CODES = ["power_on", "power_off", "restart", "upgrade", "bring_up", "ingest"]


class Probe:
    """A step's context that a test holds in its hands."""

    def __init__(self, task: Task, key: str, *, repeated: bool = False, stop_at_guard: bool = False) -> None:
        self.key, self.task_id, self.repeated = key, task.id, repeated
        self.stop_at_guard = stop_at_guard
        self.guards = 0
        self.percents: list[int] = []
        self.asked = threading.Event()
        self.at_guard = lambda: None

    def seconds_left(self):
        return None

    def cancelled(self):
        return self.asked.is_set()

    def wait(self, seconds):
        if self.asked.wait(seconds):
            raise Interrupted

    def guard(self):
        self.guards += 1
        self.at_guard()
        if self.stop_at_guard:
            raise Interrupted

    def progress(self, percent):
        self.percents.append(percent)


class ExecutorConformance:
    def opposite(self, code: str) -> str:
        return "on" if code == "power_off" else "off"

    def task(self, code: str, trays: int = 3) -> Task:
        return make_task(make_rack(trays, power=self.opposite(code)), code)

    def test_it_has_a_name_that_the_registry_gives(self, executor):
        assert type(get_executor(executor.name)) is type(executor)

    @pytest.mark.parametrize("code", CODES)
    def test_the_plan_covers_each_component_once(self, executor, code):
        task = self.task(code)
        wanted = [i for ids in task.attributes["components_by_type"].values() for i in ids]
        assert Counter(str(s.component_id) for s in executor.plan(task)) == Counter(wanted)

    @pytest.mark.parametrize("code", ["power_on", "power_off", "bring_up"])
    def test_the_plan_has_physical_order(self, executor, code):
        task = self.task(code)
        rack_id = task.rack_id
        for kind in ("PowerShelf", "NVSwitch", "ToRSwitch"):
            Component.objects.create(rack_id=rack_id, type=kind, name=f"a-{kind}", serial_number=f"{rack_id}{kind}")
        task.attributes = make_task(Rack.objects.get(id=rack_id), code).attributes
        ranks = [power_rank(step.type) for step in executor.plan(task)]
        assert ranks == sorted(ranks, reverse=code == "power_off")

    @pytest.mark.parametrize("code", CODES)
    def test_a_step_is_guarded_then_applied_with_its_key(self, executor, code):
        task = self.task(code)
        step = executor.plan(task)[0]
        probe = Probe(task, "key-1")
        seen = []
        probe.at_guard = lambda: seen.append(list(self.effects()))
        assert executor.apply(step, probe).state is StepState.CHANGED
        assert seen == [[]]
        assert self.effects() == ["key-1"]

    def test_a_step_given_up_at_the_guard_had_no_effect(self, executor):
        task = self.task("power_on")
        step = executor.plan(task)[0]
        with pytest.raises(Interrupted):
            executor.apply(step, Probe(task, "key-1", stop_at_guard=True))
        assert self.effects() == []
        assert executor.apply(step, Probe(task, "key-1")).state is StepState.CHANGED

    @pytest.mark.parametrize("code", CODES)
    def test_the_same_key_repeated_is_applied_once(self, executor, code):
        task = self.task(code)
        step = executor.plan(task)[0]
        executor.apply(step, Probe(task, "key-1"))
        again = executor.apply(step, Probe(task, "key-1", repeated=True))
        assert again.state in {StepState.CHANGED, StepState.NO_EFFECT}
        assert self.effects() == ["key-1"]

    @pytest.mark.parametrize("code", ["power_on", "power_off"])
    def test_what_is_so_already_needs_no_effect(self, executor, code):
        task = self.task(code)
        step = executor.plan(task)[0]
        executor.apply(step, Probe(task, "key-1"))
        result = executor.apply(step, Probe(task, "key-2"))
        assert result.state is StepState.NO_EFFECT
        assert result.message
        assert self.effects() == ["key-1"]

    def test_a_failure_says_so_may_be_tried_again_and_had_no_effect(self, executor):
        task = self.task("power_on")
        step = executor.plan(task)[0]
        self.make_fail([step.name])
        result = executor.apply(step, Probe(task, "key-1"))
        assert (result.state, result.retryable) == (StepState.FAILED, True)
        assert result.message
        assert self.effects() == []

    def test_a_component_that_left_the_inventory_is_no_effect_with_a_reason(self, executor):
        task = self.task("power_on")
        steps = executor.plan(task)
        Component.objects.filter(rack_id=task.rack_id).update(deleted_at=clock.now())
        for step in (steps[0], executor.plan(task)[0]):
            result = executor.apply(step, Probe(task, "key-1"))
            assert result.state is StepState.NO_EFFECT
            assert "no longer in the inventory" in result.message
        assert self.effects() == []

    def test_a_component_that_moved_to_another_rack_is_left_alone(self, executor):
        task = self.task("power_on", 1)
        Component.objects.filter(rack_id=task.rack_id).update(rack=make_rack(0))
        result = executor.apply(executor.plan(task)[0], Probe(task, "key-1"))
        assert result.state is StepState.NO_EFFECT
        assert task.rack_name in result.message
        assert self.effects() == []

    def test_a_component_that_moves_after_the_plan_is_left_alone(self, executor):
        task = self.task("power_on", 1)
        step = executor.plan(task)[0]
        Component.objects.filter(rack_id=task.rack_id).update(rack=make_rack(0))
        assert executor.apply(step, Probe(task, "key-1")).state is StepState.NO_EFFECT
        assert self.effects() == []

    def test_progress_goes_forward_only(self, executor):
        task = self.task("power_on")
        probe = Probe(task, "key-1")
        executor.apply(executor.plan(task)[0], probe)
        assert probe.percents == sorted(probe.percents)
        assert all(0 <= p <= 100 for p in probe.percents)
        assert bool(probe.percents) is executor.capabilities.progress

    def test_a_hang_is_given_up_when_asked(self, executor):
        if not executor.capabilities.cancellable:
            pytest.skip("a step of this executor cannot be given up")
        task = self.task("power_on")
        step = executor.plan(task)[0]
        self.make_hang([step.name])
        probe = Probe(task, "key-1")
        threading.Timer(0.05, probe.asked.set).start()
        with pytest.raises(Interrupted):
            executor.apply(step, probe)
        assert self.effects() == []

    def test_a_cancel_stops_before_the_next_effect(self, executor):
        task = self.task("power_on")
        control = Control()
        steps = executor.plan(task)
        self.make_hang([steps[1].name])
        handle = begin(task)
        execution = Execution(handle, executor, control)
        threading.Thread(target=_cancel_when, args=(control, execution), daemon=True).start()
        assert execution.run() == "cancelled"
        assert len(self.effects()) == 1

    @pytest.mark.parametrize("code", CODES)
    def test_a_whole_run(self, executor, code):
        task = self.task(code)
        assert Execution(begin(task), executor, Control()).run() == "succeeded"
        expected = [f"{task.idempotency_key}:{s.component_id}" for s in executor.plan(task)]
        assert sorted(self.effects()) == sorted(expected)
        run = Run.objects.get(task=task)
        assert run.progress_done == run.progress_total == 3


def _cancel_when(control: Control, execution: Execution) -> None:
    while execution.done() < 1:
        time.sleep(0.01)
    control.tell(cancel=True)
