"""What an executor is: it plans a task as one step a component and applies a step.

An executor owns no run and writes no task. It promises that nothing happens before `StepContext.guard` returned, that
the key goes with the effect, and that what it raises as `Interrupted` had no effect. Every executor passes
`tests/executors/conformance.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from typing import Any, Protocol
from uuid import UUID

from django.conf import settings
from django.utils.module_loading import import_string

from flowsched.errors import PreconditionFailed
from inventory.components import ComponentType
from tasks.models import Task
from tasks.operations import idempotent

EXECUTORS = {"simulated": "tasks.executors.simulated.SimulatedExecutor"}
CALLS = "http"  # the executor of HTTP calls; no setting, since hardware and calls are executed side by side
_ALL = EXECUTORS | {CALLS: "tasks.executors.http.HttpExecutor"}
MAX_ATTEMPTS = 3

# What must be powered before what: shelves feed everything, cooling runs before there is heat, the management and
# fabric switches answer before the trays that look for them at boot.
POWER_ORDER = [
    ComponentType.POWERSHELF,
    ComponentType.CDU,
    ComponentType.TORSWITCH,
    ComponentType.UMS,
    ComponentType.NVSWITCH,
    ComponentType.COMPUTE,
]


class Interrupted(Exception):
    """The step was given up before its effect: cancelled, out of time, or the worker lets go. Nothing was done."""


class StepState(StrEnum):
    """How a step ended. `unknown`: it may have happened; only an executor that lost an answer says so.

    `skipped`: not tried, for a reason that is nobody's failure; `cancelled`: given up in the middle, on request.
    """

    CHANGED = "changed"
    NO_EFFECT = "no_effect"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    SKIPPED = "skipped"
    CANCELLED = "cancelled"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What the worker may count on.

    `progress`: reports within a step. `cancellable`: a step under way can be given up. `honours_idempotency_key`: the
    target itself drops a repeated key, so that even a restart may be sent again after a crash.
    """

    progress: bool
    cancellable: bool
    honours_idempotency_key: bool


@dataclass(frozen=True, slots=True)
class Step:
    """One action on one component. `gone` says why there is nothing to act on any more."""

    component_id: UUID
    name: str
    type: str
    action: str
    rack_id: UUID | None = None
    rack_name: str = ""
    parameters: dict[str, Any] = field(default_factory=dict)
    gone: str = ""


@dataclass(frozen=True, slots=True)
class StepResult:
    """How a step ended, with a sentence for the operator.

    `retryable` counts for a failure or a timeout only; `pause` is the target's own word for how long to leave it alone;
    `facts` are what the run records of a call.
    """

    state: StepState
    message: str = ""
    retryable: bool = False
    pause: str | None = None
    facts: dict[str, Any] = field(default_factory=dict)


class StepContext(Protocol):
    """What a step has of its run. `repeated`: an earlier process may have applied this very key already."""

    key: str
    task_id: UUID
    repeated: bool

    def seconds_left(self) -> float | None:
        """Seconds until the run's budget is used up; None where it has none."""

    def cancelled(self) -> bool:
        """Whether somebody asked for the run to be cancelled."""

    def wait(self, seconds: float) -> None:
        """Sleep; raises Interrupted as soon as the step should be given up."""

    def wait_until(self, done: Callable[[], bool]) -> None:
        """Wait for `done`, without a database connection if it takes long; raises as `wait` does.

        Whoever makes `done` true calls `stir`.
        """

    def stir(self) -> None:
        """Look at `done` again; from any thread."""

    def in_doubt(self) -> None:
        """What is under way cannot be undone: whoever goes on with the run must treat this step as possibly done."""

    def guard(self) -> None:
        """Call right before the effect; raises Interrupted, or LeaseLost when the run is no longer ours."""

    def progress(self, percent: int) -> None:
        """Report how far the step is; never goes back."""


class Executor(Protocol):
    """See the module."""

    name: str
    capabilities: Capabilities

    def attempts(self, task: Task) -> int:
        """How often the task may be tried in all."""

    def pause(self, task: Task, attempt: int, asked: str | None) -> float:
        """Seconds between attempt `attempt` and the next, given what the target asked for."""

    def harmless(self, task: Task) -> bool:
        """Whether a step whose effect is in doubt may be applied again with the same key (D-16)."""

    def facts(self, task: Task) -> dict[str, Any]:
        """What the run records before anything happens; empty for hardware."""

    def plan(self, task: Task) -> list[Step]:
        """One step for each of the task's components, in the order in which they must happen."""

    def apply(self, step: Step, context: StepContext) -> StepResult:
        """Carry out one step."""


class HardwareExecutor:
    """What executors of hardware have in common: three attempts, with the installation's pauses."""

    capabilities: Capabilities

    def attempts(self, task: Task) -> int:
        """Three."""
        del task
        return MAX_ATTEMPTS

    def pause(self, task: Task, attempt: int, asked: str | None) -> float:
        """FLOWSCHED_RUN_BACKOFF."""
        del task, asked
        seconds: float = settings.FLOWSCHED_RUN_BACKOFF[attempt - 1].total_seconds()
        return seconds

    def harmless(self, task: Task) -> bool:
        """Where the operation is idempotent, or the target drops a repeated key."""
        return idempotent(task.type, task.code) or self.capabilities.honours_idempotency_key

    def facts(self, task: Task) -> dict[str, Any]:
        """None."""
        del task
        return {}


def power_rank(type_: str) -> int:
    """A component type's place in the order of powering on; unknown types come last."""
    return POWER_ORDER.index(ComponentType(type_)) if type_ in POWER_ORDER else len(POWER_ORDER)


def ordered(steps: Sequence[Step], *, code: str) -> list[Step]:
    """Steps in physical order: on from the shelf to the trays, off the other way round.

    A tray that loses its shelf or its fabric before it was told to stop does not shut down, it crashes.
    """
    off = code in {"power_off", "force_power_off"}
    return sorted(
        steps, key=lambda s: (-power_rank(s.type) if off else power_rank(s.type), s.name, str(s.component_id))
    )


@cache
def _executor(path: str) -> Executor:
    executor: Executor = import_string(path)()
    return executor


def get_executor(name: str | None = None) -> Executor:
    """The executor `name`, or the one that FLOWSCHED_EXECUTOR names. Raises PreconditionFailed, listing the known."""
    wanted = settings.FLOWSCHED_EXECUTOR if name is None else name
    known = ", ".join(sorted(EXECUTORS))
    if not wanted:
        raise PreconditionFailed(
            f"FLOWSCHED_EXECUTOR is not set, so nothing may be executed: set it to one of {known}",
            reason="EXECUTOR_UNSET",
        )
    if wanted not in (EXECUTORS if name is None else _ALL):
        raise PreconditionFailed(
            f"there is no executor '{wanted}': set FLOWSCHED_EXECUTOR to one of {known}", reason="EXECUTOR_UNKNOWN"
        )
    return _executor(_ALL[wanted])
