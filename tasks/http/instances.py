"""How many calls of one schedule may be under way at a time, in all workers: `max_running_instances` (I-27).

With a number it counts all calls of the schedule. Without one it is one call per rack, or one where there is none: a
schedule of forty racks would else have thirty-nine of its calls refused at every firing. Pure.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar
from uuid import UUID


class Instance(Protocol):
    """A call that waits or is under way, as decisions see it."""

    @property
    def rack_id(self) -> UUID | None:
        """Its rack, if it has one."""

    @property
    def information_json(self) -> str:
        """Its operation as stored."""

    @property
    def waiting(self) -> bool:
        """Whether it stands in the queue."""


T = TypeVar("T", bound=Instance)


@dataclass(frozen=True, slots=True)
class Limit:
    """At most `most` calls at a time; of one rack only, if `per_rack`."""

    most: int
    per_rack: bool

    def together(self, instances: Iterable[T], rack_id: UUID | None) -> list[T]:
        """The calls that count for one on this rack."""
        return [each for each in instances if not self.per_rack or each.rack_id == rack_id]


def limit_of(information: Any) -> Limit:
    """The limit that a stored call carries; one that cannot be read is the strictest."""
    policy = information.get("policy") if isinstance(information, dict) else None
    most = policy.get("max_running_instances") if isinstance(policy, dict) else None
    return Limit(most, per_rack=False) if type(most) is int and most > 0 else Limit(1, per_rack=True)


def calls_ready(instances: Sequence[T]) -> list[T]:
    """Those of a lane, given in its order, that may leave the queue now."""
    under_way = [each for each in instances if not each.waiting]
    ready: list[T] = []
    for each in instances:
        if not each.waiting:
            continue
        limit = limit_of(json.loads(each.information_json))
        if len(limit.together(under_way, each.rack_id)) < limit.most:
            under_way.append(each)
            ready.append(each)
        elif not limit.per_rack:
            break  # nobody overtakes whom the same limit holds back
    return ready
