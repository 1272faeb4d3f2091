"""What a task engine must offer; which one runs is a setting.

An engine only carries a task's id to a worker: whose turn it is, what may run beside what, and what happened is kept
in our own tables. A job that is lost or delivered twice does no harm: the run's lease decides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import cache
from typing import Protocol
from uuid import UUID

from django.conf import settings
from django.utils.module_loading import import_string

from tasks.stopping import Stop


class Engine(Protocol):
    """Carries jobs from the transaction that makes them to a worker's thread."""

    def enqueue(self, task_ids: Sequence[UUID]) -> None:
        """Add one job a task, in the caller's transaction, in one query.

        A task that has a waiting job already breaks the caller's transaction: who may enqueue again asks `missing`
        first, under a lock on the task or run.
        """

    def missing(self, task_ids: Sequence[UUID]) -> list[UUID]:
        """Those of `task_ids` that no job waits for."""

    def work(self, handle: Callable[[UUID], None], *, concurrency: int, once: bool, stop: Stop) -> None:
        """Call `handle` for each job in one of `concurrency` threads until `stop` is requested and all have returned.

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
