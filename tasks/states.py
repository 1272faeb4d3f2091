"""Task and run states and the legal moves between them (F-240, D-16, D-17). Terminal means terminal."""

from __future__ import annotations

from enum import StrEnum


class TaskStatus(StrEnum):
    """States of a task; the values are Flow's stored words."""

    WAITING = "waiting"
    PENDING = "pending"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    TERMINATED = "terminated"


class RunState(StrEnum):
    """States of a run. `unknown`: the effect may or may not have happened, a person must say."""

    RUNNING = "running"
    SUCCEEDED = "succeeded"
    NO_EFFECT = "no_effect"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    SKIPPED = "skipped"
    CANCELLED = "cancelled"
    UNKNOWN = "unknown"


FINISHED = frozenset({TaskStatus.COMPLETED, TaskStatus.FAILED, TaskStatus.TERMINATED})
ACTIVE = frozenset({TaskStatus.WAITING, TaskStatus.PENDING, TaskStatus.RUNNING})
HOLDS_RACK = frozenset({TaskStatus.PENDING, TaskStatus.RUNNING})
OPEN_RUN = frozenset({RunState.RUNNING, RunState.UNKNOWN})

MOVES: dict[TaskStatus, frozenset[TaskStatus]] = {
    TaskStatus.WAITING: frozenset({TaskStatus.PENDING, TaskStatus.TERMINATED}),
    TaskStatus.PENDING: frozenset({TaskStatus.RUNNING, TaskStatus.FAILED, TaskStatus.TERMINATED}),
    TaskStatus.RUNNING: frozenset({TaskStatus.COMPLETED, TaskStatus.FAILED, TaskStatus.TERMINATED}),
    TaskStatus.COMPLETED: frozenset(),
    TaskStatus.FAILED: frozenset(),
    TaskStatus.TERMINATED: frozenset(),
}

TASK_STATUS_OF_RUN: dict[RunState, TaskStatus] = {
    RunState.SUCCEEDED: TaskStatus.COMPLETED,
    RunState.NO_EFFECT: TaskStatus.COMPLETED,
    RunState.FAILED: TaskStatus.FAILED,
    RunState.TIMED_OUT: TaskStatus.FAILED,
    RunState.CANCELLED: TaskStatus.TERMINATED,
    RunState.SKIPPED: TaskStatus.TERMINATED,
    RunState.RUNNING: TaskStatus.RUNNING,
    RunState.UNKNOWN: TaskStatus.RUNNING,
}


def sources(to: TaskStatus) -> list[TaskStatus]:
    """The states from which `to` may be reached, sorted: what a guarded UPDATE names in its WHERE."""
    return sorted(state for state, targets in MOVES.items() if to in targets)
