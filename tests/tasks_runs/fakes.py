"""An executor that does what a test says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

from tasks.control import Control
from tasks.execution import Execution
from tasks.executors.base import Capabilities, HardwareExecutor, Step, StepContext, StepResult, StepState
from tasks.models import Task
from tasks.runs import RunHandle

CHANGED = StepResult(StepState.CHANGED)
NO_EFFECT = StepResult(StepState.NO_EFFECT, "already on")
FAILS = StepResult(StepState.FAILED, "no answer", retryable=True)
REFUSES = StepResult(StepState.FAILED, "refused")
LOST = StepResult(StepState.UNKNOWN, "timed out after sending")


class FakeExecutor(HardwareExecutor):
    """`script` gives the results per component name, the last one again and again; `before` runs first."""

    name = "fake"

    def __init__(self, *, cancellable: bool = True, honours: bool = False, **script: list[StepResult]) -> None:
        self.capabilities = Capabilities(progress=True, cancellable=cancellable, honours_idempotency_key=honours)
        self.script = script
        self.applied: list[str] = []
        self.contexts: list[StepContext] = []
        self.before: Callable[[Step, StepContext], Any] = lambda step, context: None

    def plan(self, task: Task) -> list[Step]:
        ids = [i for values in task.attributes["components_by_type"].values() for i in values]
        return [Step(UUID(i), f"c{n}", "Compute", task.code) for n, i in enumerate(ids)]

    def apply(self, step: Step, context: StepContext) -> StepResult:
        self.contexts.append(context)
        self.before(step, context)
        context.guard()
        self.applied.append(step.name)
        results = self.script.get(step.name, [CHANGED])
        return results.pop(0) if len(results) > 1 else results[0]


def execute(handle: RunHandle, executor: FakeExecutor, control: Control | None = None) -> str:
    return Execution(handle, executor, control or Control()).run()
