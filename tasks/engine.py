"""What a task engine must offer; which one runs is a setting.

An engine only carries a task's id to a worker: whose turn it is, what may run beside what, and what happened is kept
in our own tables. A job that is lost or delivered twice does no harm: the run's lease decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Final, Protocol
from uuid import UUID

from django.conf import settings
from django.utils.module_loading import import_string

from tasks.operations import OperationType
from tasks.stopping import Stop

TASKS: Final = "tasks"
CALLS: Final = "calls"


def queue_of(operation_type: str) -> str:
    """The queue of an operation's jobs. Calls have one of their own: they wait for others most of the time."""
    return CALLS if operation_type == OperationType.HTTP else TASKS


class Engine(Protocol):
    """Carries jobs from the transaction that makes them to a worker's thread."""

    def enqueue(self, task_ids: Sequence[UUID], *, queue: str = TASKS) -> None:
        """Add one job a task to `queue`, in the caller's transaction, in one query.

        A task that has a waiting job already breaks the caller's transaction: who may enqueue again asks `missing`
        first, under a lock on the task or run.
        """

    def missing(self, task_ids: Sequence[UUID]) -> list[UUID]:
        """Those of `task_ids` that no job waits for."""

    def work(
        self, handle: Callable[[UUID, str], None], *, concurrency: Mapping[str, int], once: bool, stop: Stop
    ) -> None:
        """Call `handle(task, queue)` for each job, each in a thread, until `stop` is requested and all have returned.

        `concurrency` names the queues to serve and how many jobs of each at a time; one that is full delays no other.
        With `once`, return when nothing waits any more.
        """

    def tidy(self, *, now: datetime) -> int:
        """Delete what finished jobs left behind; returns how many."""


@cache
def _engine(path: str) -> Engine:
    engine: Engine = import_string(path)()
    return engine


def get_engine() -> Engine:
    """The engine that FLOWSCHED_ENGINE names."""
    return _engine(settings.FLOWSCHED_ENGINE)


def enqueue_missing(tasks: Iterable[tuple[UUID, str]]) -> int:
    """Give each task (id, operation type) that no job waits for one, in the queue of its type; how many were given."""
    engine, types = get_engine(), dict(tasks)
    missing = engine.missing(list(types))
    for queue in (TASKS, CALLS):
        engine.enqueue([task_id for task_id in missing if queue_of(types[task_id]) == queue], queue=queue)
    return len(missing)
