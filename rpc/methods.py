"""Every method of v1.Flow that does something, by name. What is missing here answers UNIMPLEMENTED."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from rpc import inventory, schedules, scopes, submissions, tasks, version
from rpc.call import Method

_PARTS: Final = (
    schedules.METHODS,
    scopes.METHODS,
    submissions.METHODS,
    tasks.METHODS,
    inventory.METHODS,
    version.METHODS,
)

METHODS: Final[Mapping[str, Method]] = {name: method for part in _PARTS for name, method in part.items()}

UNIMPLEMENTED: Final = frozenset({"DecommissionRack"})  # F-167; those of F-5 are not even in our flow.proto
