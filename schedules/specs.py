"""Specs read under this installation's settings, so that every caller reads the same text the same way."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime, timedelta

from django.conf import settings

from flowsched.errors import InvalidInput
from schedules.models import TaskSchedule
from schedules.timing import Spec


def spec_parse(spec_type: str, spec: str, timezone: str) -> Spec:
    """Read a spec with the configured minimum interval and policy for clock changes. Raises InvalidInput."""
    return Spec.parse(
        spec_type, spec, timezone, dst=settings.FLOWSCHED_CRON_DST, min_interval=settings.FLOWSCHED_MIN_INTERVAL
    )


def spec_of(schedule: TaskSchedule) -> Spec:
    """Read the spec of a stored schedule. Raises InvalidInput if it cannot be read any more.

    The minimum interval is for people who type one: raising it must not stop what runs.
    """
    return Spec.parse(
        schedule.spec_type,
        schedule.spec,
        schedule.timezone,
        dst=settings.FLOWSCHED_CRON_DST,
        min_interval=timedelta(microseconds=1),
    )


def runs_of(schedule: TaskSchedule, count: int, now: datetime) -> tuple[list[datetime], str]:
    """The next `count` times a schedule runs, or would run if it were resumed now, and why there are not more.

    The reason is empty unless its spec cannot be read or leads beyond the years that can be stored. Never raises.
    """
    runs: list[datetime] = []
    try:
        spec = spec_of(schedule)
        if spec.spec_type == "one-time":
            return ([schedule.next_run_at] if schedule.next_run_at else []), ""
        first = schedule.next_run_at if schedule.enabled else spec.first_run(now)
        _follow(runs, spec, first, count, now)
    except InvalidInput as error:
        return runs, error.message
    return runs, ""


def runs_of_spec(spec: Spec, count: int, now: datetime) -> list[datetime]:
    """The first `count` times that a schedule created at `now` with this spec runs. Raises InvalidInput if never."""
    runs: list[datetime] = []
    first = spec.first_run(now)
    if spec.spec_type == "one-time":
        return [first]
    with suppress(InvalidInput):  # an interval that leads beyond the years that can be stored
        _follow(runs, spec, first, count, now)
    return runs


def _follow(runs: list[datetime], spec: Spec, run: datetime | None, count: int, now: datetime) -> None:
    """Add `run` and those after it, `count` in all; one that is late already is followed from now."""
    while run is not None and len(runs) < count:
        runs.append(run)
        run = spec.next_after(max(run, now))
