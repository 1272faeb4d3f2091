"""Addresses of lists with their filters set: what a number, a bar or a badge leads to.

In one place, because a link that forgets a filter opens a list with another count than the number that led there.
Times travel as UTC, to the microsecond where it matters.
"""

from __future__ import annotations

from datetime import UTC, datetime
from urllib.parse import urlencode
from uuid import UUID

from django.urls import reverse


def stamp(at: datetime) -> str:
    """A time in an address: `2026-03-01T12:00:00Z`."""
    return at.astimezone(UTC).isoformat(timespec="auto").replace("+00:00", "Z")


def schedule(schedule_id: UUID | str) -> str:
    """One schedule's page."""
    return reverse("admin:schedule", args=[schedule_id])


def firing(schedule_id: UUID | str, firing_id: int) -> str:
    """One firing, opened, on its schedule's page."""
    return f"{schedule(schedule_id)}?{urlencode({'tab': 'firings', 'firing': firing_id})}#firing-{firing_id}"


def task(task_id: UUID | str) -> str:
    """One task's page."""
    return reverse("admin:task", args=[task_id])


def decide(task_id: UUID | str) -> str:
    """Where somebody says how a task in doubt ended."""
    return reverse("admin:task_decide", args=[task_id])


def schedules(**filters: str) -> str:
    """The list of schedules."""
    return _with(reverse("admin:schedules"), filters)


def tasks(**filters: str) -> str:
    """The list of tasks."""
    return _with(reverse("admin:tasks"), filters)


def tasks_ended(end: str, since: datetime, until: datetime) -> str:
    """The tasks that ended so (empty: in whatever way) in a stretch of time; unknown ones by when they began."""
    return _with(reverse("admin:tasks"), {"view": "ended", "end": end} | _between(since, until))


def outcomes(
    *, outcome: str = "", since: datetime | None = None, until: datetime | None = None, schedule_id: object = ""
) -> str:
    """The list of what became of each rack of the firings due in a stretch of time."""
    filters = {"outcome": outcome, "schedule": str(schedule_id or "")}
    return _with(reverse("admin:outcomes"), filters | _between(since, until))


def calendar(**filters: str) -> str:
    """The calendar."""
    return _with(reverse("admin:calendar"), filters)


def calendar_feeds(**filters: str) -> str:
    """The page of calendar feeds, its form filled in."""
    return _with(reverse("admin:calendar_feeds"), filters)


def _between(since: datetime | None, until: datetime | None) -> dict[str, str]:
    return {"from": stamp(since) if since else "", "to": stamp(until) if until else ""}


def _with(path: str, filters: dict[str, str]) -> str:
    given = {name: value for name, value in filters.items() if value}
    return f"{path}?{urlencode(given)}" if given else path
