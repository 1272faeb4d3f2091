"""Carrying out a run: steps, attempts, cancellation, the time budget, letting go.

Order of a step, never changed: record what was done and announce what comes (one statement that compares the lease),
effect, then the next step's statement records the result. Killed anywhere, at most the announced step is in doubt.
"""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any, TypeVar
from uuid import UUID

from flowsched import db
from flowsched.errors import Busy, Unavailable
from flowsched.faults import fault
from tasks.control import Control, Released, mend_connection
from tasks.executors.base import Executor, Interrupted, Step, StepResult, StepState
from tasks.operations import budget
from tasks.outcomes import DONE, clip, conclude
from tasks.runs import (
    LeaseLost,
    RunHandle,
    run_finish,
    run_intent,
    run_release,
    runs_renew,
)
from tasks.states import RunState

logger = logging.getLogger(__name__)

SHORT_SECONDS = 0.2  # a step that waits longer for somebody else gives its database connection back meanwhile
OUTAGE_SECONDS = (0.1, 0.5, 1.0, 2.0)  # between tries while the database is away

T = TypeVar("T")


class Seat:
    """A run's place at the database; this one is the thread's own and kept."""

    @contextmanager
    def left(self) -> Iterator[None]:
        """Give it back for as long as the block lasts."""
        yield


class Execution:
    """One run in one thread."""

    def __init__(self, handle: RunHandle, executor: Executor, control: Control, seat: Seat | None = None) -> None:
        self.handle = handle
        self.seat = seat or Seat()
        self.executor = executor
        self.control = control
        self.results = dict(handle.results)
        self.unsaved: dict[str, dict[str, Any]] = {}  # results the row does not hold yet
        self.steps: list[Step] = []
        self.repeating = handle.in_flight
        self.facts = executor.facts(handle.task)  # what the row is to hold of a call
        self.ended: tuple[RunState, str] | None = None
        self.asked: str | None = None  # how long the target asked to be left alone
        limit = budget(handle.task.type)
        spent = (handle.begun_at - handle.started_at).total_seconds()
        self.deadline = handle.begun + limit.total_seconds() - spent if limit else None
        self.attempt_began = handle.begun_at
        if handle.cancel_requested:
            control.tell(cancel=True)

    def run(self) -> str:
        """Carry the run to its end; returns in one word how it ended, for the log."""
        try:
            state, message = self._to_the_end()
        except Released:
            self._patiently(
                lambda: run_release(
                    self.handle,
                    results=self.unsaved,
                    in_doubt=self.repeating,
                    done=self.done(),
                    total=len(self.steps),
                    facts=self.facts,
                )
            )
            return "released"
        fault("run.before_finish")
        self.ended = state, message
        self._note_attempt(state, message)
        self._patiently(
            lambda: run_finish(
                self.handle,
                state=state,
                message=message,
                now=self.handle.now(),
                results=self.unsaved,
                done=self.done(),
                total=len(self.steps),
                facts=self.facts,
            )
        )
        return state.value

    def done(self) -> int:
        """Components that need nothing more."""
        return sum(result["state"] in DONE for result in self.results.values())

    def _to_the_end(self) -> tuple[RunState, str]:
        try:
            self._plan()
            while True:
                state, message = self._attempt()
                if not self._try_again(state):
                    return state, message
                self._note_attempt(state, message)
                self.handle.attempt += 1
                self._intent("")
                self._sleep(self.executor.pause(self.handle.task, self.handle.attempt - 1, self.asked))
                self.attempt_began = self.handle.now()
        except Interrupted:
            return self._interrupted()

    def _plan(self) -> None:
        """The steps; the one in doubt comes first, since the next announcement takes its place in the row."""
        steps = self._patiently(lambda: self.executor.plan(self.handle.task))
        self.steps = sorted(steps, key=lambda step: str(step.component_id) != self.repeating)

    def _attempt(self) -> tuple[RunState, str]:
        for step in self.steps:
            if self._wanted(step) and self._take(step) is StepState.UNKNOWN:
                break  # a person has to look before anything else is done to this rack
        return conclude(self.results)

    def _wanted(self, step: Step) -> bool:
        """Done steps are not repeated; a failed one is, once an attempt, if it may get better."""
        result = self.results.get(str(step.component_id))
        if result is None:
            return True
        return result["state"] not in DONE and result["retryable"] and result["attempt"] < self.handle.attempt

    def _take(self, step: Step) -> StepState:
        key = str(step.component_id)
        self._intent(key)
        fault("run.before_effect")
        in_doubt = self.repeating == key
        began = self.handle.now()
        result = self._apply(step, Context(self, step, repeated=in_doubt or key in self.results))
        fault("run.after_effect")
        if result.state is StepState.UNKNOWN and self._may_repeat():
            result = StepResult(StepState.FAILED, f"{result.message}: it may have happened", retryable=True)
        self.facts |= result.facts
        self.asked = result.pause
        self.unsaved[key] = self.results[key] = self._record(step, result, began, repeated=in_doubt)
        if in_doubt:
            self.repeating = ""
        return result.state

    def _apply(self, step: Step, context: Context) -> StepResult:
        """Apply a step, again while only the database is away: the key makes the repetition harmless.

        An executor that fails in a way it did not foresee leaves its effect in doubt.
        """
        try:
            return self._patiently(lambda: self._apply_once(step, context))
        except (Interrupted, Released, LeaseLost):
            raise
        except Exception as error:
            logger.exception("run %s: executor %s failed on %s", self.handle.run_id, self.executor.name, step.name)
            return StepResult(StepState.UNKNOWN, clip(f"{type(error).__name__}: {error}"))

    def _apply_once(self, step: Step, context: Context) -> StepResult:
        try:
            with db.translate():
                return self.executor.apply(step, context)
        except (Busy, Unavailable):
            context.repeated = True
            raise

    def _may_repeat(self) -> bool:
        return self.executor.harmless(self.handle.task)

    def _record(self, step: Step, result: StepResult, began: datetime, *, repeated: bool) -> dict[str, Any]:
        record = {
            "name": step.name,
            "action": step.action,
            "state": result.state.value,
            "message": clip(result.message),
            "retryable": result.state in {StepState.FAILED, StepState.TIMED_OUT} and result.retryable,
            "attempt": self.handle.attempt,
            "started_at": began.isoformat(),
            "ended_at": self.handle.now().isoformat(),
        }
        if result.facts:
            record["call"] = True
        return record | {"repeated": True} if repeated else record

    def _try_again(self, state: RunState) -> bool:
        return (
            state in {RunState.FAILED, RunState.TIMED_OUT}
            and self.handle.attempt < self.executor.attempts(self.handle.task)
            and any(result["retryable"] for result in self.results.values())
        )

    def _intent(self, next_step: str) -> None:
        """Compare the lease, record results, announce `next_step`; then stop here if there is a reason to."""
        sent = time.monotonic()
        cancel = self._patiently(
            lambda: run_intent(
                self.handle,
                results=self.unsaved,
                next_step=next_step,
                done=self.done(),
                total=len(self.steps),
                facts=self.facts,
            )
        )
        self.control.confirm(sent)
        self.unsaved, self.facts = {}, {}
        if cancel:
            self.control.tell(cancel=True)
        self.check(step=False)

    def check(self, *, step: bool) -> None:
        """Raise what should end the run here. Inside a step only an executor that can give it up is asked to."""
        if self.control.lost:
            raise LeaseLost
        if step and not self.executor.capabilities.cancellable:
            return
        if self.control.cancel or self.out_of_time():
            raise Interrupted
        if self.control.release:
            raise Released

    def out_of_time(self) -> bool:
        """Whether the operation's budget is used up (F-195)."""
        return self.deadline is not None and time.monotonic() >= self.deadline

    def _sleep(self, seconds: float, *, step: bool = False) -> None:
        """Sleep, but wake for everything `check` raises."""
        until = time.monotonic() + seconds
        while True:
            with self.control.changed:
                self.check(step=step)
                now = time.monotonic()
                if now >= until:
                    return
                ends = [until, self.deadline or until, now + 1.0]
                self.control.changed.wait(min(end - now for end in ends if end > now))

    def wait_until(self, done: Callable[[], bool]) -> None:
        """See `StepContext.wait_until`."""
        if self._watch(done, SHORT_SECONDS):
            return
        with self.seat.left():
            self._watch(done, None)

    def _watch(self, done: Callable[[], bool], seconds: float | None) -> bool:
        until = None if seconds is None else time.monotonic() + seconds
        with self.control.changed:
            while not done():
                self.check(step=True)
                left = 1.0 if until is None else until - time.monotonic()
                if left <= 0:
                    return False
                self.control.changed.wait(left)
        return True

    def _interrupted(self) -> tuple[RunState, str]:
        done, total = self.done(), len(self.steps)
        doubt = next(
            (f"; {s.name} may have been done before" for s in self.steps if str(s.component_id) == self.repeating), ""
        )
        if self.control.cancel:
            return RunState.CANCELLED, f"Terminated: cancelled after {done} of {total} components{doubt}"
        return RunState.TIMED_OUT, f"time budget used up after {done} of {total} components{doubt}"

    def _note_attempt(self, state: RunState, message: str) -> None:
        self.handle.attempts.append(
            {
                "attempt": self.handle.attempt,
                "started_at": self.attempt_began.isoformat(),
                "ended_at": self.handle.now().isoformat(),
                "state": state.value,
                "message": clip(message),
            }
        )

    def _patiently(self, call: Callable[[], T]) -> T:
        """Do `call`, again while the database is away: an outage is a state. Gives up when the worker must go."""
        failures = 0
        while True:
            try:
                with db.translate():
                    return call()
            except (Busy, Unavailable) as error:
                mend_connection()
                if self.control.release and failures:
                    raise LeaseLost from error  # nothing can be released now; a rescue takes it
                if not failures:
                    logger.warning("run %s: waiting for the database: %s", self.handle.run_id, error)
                wait = OUTAGE_SECONDS[min(failures, len(OUTAGE_SECONDS) - 1)]
                time.sleep(wait * random.uniform(0.5, 1.0))  # noqa: S311 - jitter
                failures += 1


class Context:
    """See `tasks.executors.base.StepContext`."""

    def __init__(self, execution: Execution, step: Step, *, repeated: bool) -> None:
        task = execution.handle.task
        self.key = f"{task.idempotency_key or task.id}:{step.component_id}"
        self.task_id: UUID = task.id
        self.repeated = repeated
        self._execution = execution
        self._step = step
        self._percent = 0

    def seconds_left(self) -> float | None:
        """Seconds until the run's budget is used up; None where it has none."""
        deadline = self._execution.deadline
        return None if deadline is None else max(0.0, deadline - time.monotonic())

    def cancelled(self) -> bool:
        """Whether somebody asked for the run to be cancelled."""
        return self._execution.control.cancel

    def wait(self, seconds: float) -> None:
        """Sleep; raises as soon as the step should be given up."""
        self._execution._sleep(seconds, step=True)  # noqa: SLF001 - one thing in two classes

    def wait_until(self, done: Callable[[], bool]) -> None:
        """Wait for `done`, or raise as soon as the step should be given up."""
        self._execution.wait_until(done)

    def stir(self) -> None:
        """Look at `done` again."""
        with self._execution.control.changed:
            self._execution.control.changed.notify_all()

    def in_doubt(self) -> None:
        """Whoever goes on with the run repeats this step, or asks a person."""
        self._execution.repeating = str(self._step.component_id)

    def guard(self) -> None:
        """Raise unless the effect may happen now. A lease that may have run out is renewed first, or is lost."""
        execution = self._execution
        execution.check(step=True)
        if execution.control.lease_may_have_run_out():
            sent = time.monotonic()
            token = execution.handle.token
            if token not in execution._patiently(lambda: runs_renew([token], {})):  # noqa: SLF001
                raise LeaseLost
            execution.control.confirm(sent)

    def progress(self, percent: int) -> None:
        """Report how far the step is; never goes back."""
        self._percent = max(self._percent, min(100, percent))
        self._execution.control.note = f"{self._step.name}: {self._percent} %"
