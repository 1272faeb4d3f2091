"""What the task queue must do for us, and how the configured one is found.

The job is enqueued on Django's connection inside the caller's transaction: it exists exactly if the task does.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Protocol
from uuid import UUID

from django.conf import settings
from django.utils.module_loading import import_string


class Engine(Protocol):
    """A queue of task ids in the same database."""

    def enqueue(self, task_ids: Sequence[UUID]) -> None:
        """Put one job per task into the queue, in one statement of the caller's transaction."""

    def missing(self, task_ids: Sequence[UUID]) -> list[UUID]:
        """Those of `task_ids` that no job is waiting for."""


def get_engine() -> Engine:
    """The engine that FLOWSCHED_ENGINE names."""
    return _engine(settings.FLOWSCHED_ENGINE)


@lru_cache(maxsize=4)
def _engine(path: str) -> Engine:
    engine: Engine = import_string(path)()
    return engine
