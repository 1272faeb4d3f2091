"""Outcomes of firings as badges: each count under its word, the worst first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from console.words import WORST_FIRST, outcome
from dispatcher.tallies import Group


@dataclass(frozen=True, slots=True)
class Count:
    """So many racks under one word of the vocabulary."""

    key: str
    racks: int


def counts(groups: Iterable[Group]) -> list[Count]:
    """The racks of a firing by what became of them, the worst first."""
    found: Counter[str] = Counter()
    for group in groups:
        key = outcome(group.state, group.task, run_unknown=group.unknown, expired=group.expired)
        found["waiting" if key == "pending" and group.task is None else key] += group.racks
    return [Count(key, found[key]) for key in WORST_FIRST if found[key]]
