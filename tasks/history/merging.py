"""A page of two lists as if they were one, without reading either from its beginning."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar


class _Ordered(Protocol):
    def __lt__(self, other: Any, /) -> bool: ...


K = TypeVar("K", bound=_Ordered)


def merged_page(
    near: Sequence[K], far: Callable[[int, int], Sequence[K]], far_count: int, *, offset: int, limit: int
) -> list[K]:
    """Places `offset` to `offset + limit` of both lists merged, greatest first.

    `near` is whole, and short; `far(offset, limit)` reads a part of the other, which has `far_count`. Before place
    `offset` stand at most all of `near`, so that far's part that matters begins at most so much earlier.
    """
    start = max(0, min(offset - len(near), far_count - 1))
    part = far(start, limit + len(near)) if far_count else []
    doubles = set(near).intersection(part)
    part = [key for key in part if key not in doubles]
    newer = sum(1 for key in near if part and part[0] < key) if start else 0
    both = sorted([*near[newer:], *part], reverse=True)
    begin = offset - (start + newer)
    return both[begin : begin + limit]
