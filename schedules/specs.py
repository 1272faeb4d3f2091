"""Specs read under this installation's settings, so that every caller reads the same text the same way."""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings

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
