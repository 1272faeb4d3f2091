"""The tiles: one number each, what it is of, and the list behind it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from console import links
from console.dashboard.facts import Facts
from console.dashboard.ranges import Range
from console.moments import span
from console.viewer import Viewer

LATE: Final = timedelta(seconds=30)
VERY_LATE: Final = timedelta(minutes=5)
UNREAD: Final = "\u2013"  # a dash


@dataclass(frozen=True, slots=True)
class Tile:
    """One number. `tone` colours it where it is not as it should be; a number that cannot be read is a dash."""

    number: str
    words: str
    beside: str = ""
    url: str = ""
    tone: str = ""


def tiles(viewer: Viewer, found: Facts | None, day: Range, scopes: Any, ends: Any) -> list[Tile]:
    """The tiles that the viewer may see. `scopes` and `ends` have the last day's counts, None if not to be had."""
    may = viewer.caller.may
    shown = []
    if may("firing.read"):
        racks = f"{found.open_racks} rack{'' if found.open_racks == 1 else 's'}" if found else ""
        shown.append(
            Tile(_number(found.open_firings if found else None), "Firing now", racks, links.outcomes(outcome="pending"))
        )
    if may("task.read"):
        waiting = f"{found.waiting_tasks} waiting" if found else ""
        shown.append(Tile(_number(found.active_tasks if found else None), "Active tasks", waiting, links.tasks()))
        shown.append(_failed(ends.day if ends else None, day))
    if may("firing.read"):
        shown.append(_not_started(scopes.day if scopes else None, day))
    if may("schedule.read"):
        off = found.disabled_by_system if found else None
        address = links.schedules(state="system")
        shown.append(Tile(_number(off), "Off by the system", "schedules", address, "bad" if off else ""))
        shown.append(_overdue(viewer, found))
    return shown


def _failed(ends: Mapping[str, int] | None, day: Range) -> Tile:
    failed = ends.get("failed", 0) if ends is not None else None
    beside = f"of {sum(ends.values())} that ended" if ends is not None else ""
    address = links.tasks_ended("failed", day.since, day.until)
    return Tile(_number(failed), "Failed tasks, 24 h", beside, address, "bad" if failed else "")


def _not_started(scopes: Mapping[str, int] | None, day: Range) -> Tile:
    total = sum(scopes.values()) if scopes is not None else None
    without = total - scopes.get("submitted", 0) if scopes is not None and total is not None else None
    beside = f"of {total} racks due: skipped, rejected, missed" if scopes is not None else ""
    address = links.outcomes(outcome="not_submitted", since=day.since, until=day.until)
    return Tile(_number(without), "Without a task, 24 h", beside, address, "warn" if without else "")


def _overdue(viewer: Viewer, found: Facts | None) -> Tile:
    if found is None:
        return Tile(UNREAD, "Oldest due")
    if found.overdue_since is None:
        return Tile("0 s", "Oldest due", "nothing is overdue")
    late = max(timedelta(0), viewer.now - found.overdue_since)
    tone = "bad" if late > VERY_LATE else "warn" if late > LATE else ""
    others = (found.overdue_count or 1) - 1
    beside = (found.overdue_name or "") + (f" and {others} more" if others else "")
    return Tile(span(late), "Oldest due", beside, links.schedule(str(found.overdue_id)), tone)


def _number(value: int | None) -> str:
    return UNREAD if value is None else f"{value:,}".replace(",", "\u202f")
