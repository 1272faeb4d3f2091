"""Limits on what a person may write into a schedule. Pure; each refusal names its field and says what is allowed."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final

from flowsched.errors import InvalidInput
from schedules.durations import format_duration, to_nanoseconds
from schedules.quoting import quote

MAX_GRACE: Final = timedelta(days=366)
OVERLAP_POLICIES: Final = ("skip", "queue")


def check_spec_given(spec_type: str, spec: str) -> None:
    """Refuse a spec whose type or text is missing; whether it can be read is for the parser."""
    if not spec_type:
        raise InvalidInput("a schedule needs a spec type: interval, cron or one-time", field="spec_type")
    if not spec:
        raise InvalidInput("a schedule needs a spec: when shall it run?", field="spec")


def check_overlap_policy(policy: str) -> None:
    """Refuse an unknown overlap policy."""
    if policy not in OVERLAP_POLICIES:
        raise InvalidInput(
            f"unknown overlap policy {quote(policy)}: use {' or '.join(OVERLAP_POLICIES)}", field="overlap_policy"
        )


def check_grace(grace: timedelta | None, *, poll_interval: timedelta) -> None:
    """Refuse a misfire grace below two poll intervals: a healthy dispatcher would call its own ticks too late.

    None is no limit: fire however late.
    """
    if grace is None:
        return
    minimum = 2 * poll_interval
    if grace < minimum:
        raise InvalidInput(
            f"a misfire grace of {_said(grace)} is too short: it must be at least {_said(minimum)}, two poll intervals",
            reason="GRACE_TOO_SHORT",
            field="misfire_grace",
        )
    if grace > MAX_GRACE:
        raise InvalidInput(
            f"a misfire grace must be at most {MAX_GRACE.days} days; leave it out to fire however late",
            field="misfire_grace",
        )


def check_scope_count(count: int, *, limit: int) -> None:
    """Refuse more scopes than one schedule may have."""
    if count > limit:
        raise InvalidInput(
            f"a schedule may have at most {limit} racks, and this makes {count}: split it into several schedules",
            reason="TOO_MANY_SCOPES",
            field="target_spec",
        )


def check_window(information: Mapping[str, Any], *, spec_type: str) -> None:
    """Refuse a firmware window (start_time, end_time: fixed instants) that ends early, or on a schedule that recurs.

    On a recurring schedule it would be in the past from its second run on.
    """
    start, end = information.get("start_time"), information.get("end_time")
    if start is None and end is None:
        return
    if spec_type != "one-time":
        raise InvalidInput(
            f"start_time and end_time are fixed instants and make no sense on a schedule of type {spec_type}: "
            "leave them out, or use a one-time schedule",
            reason="WINDOW_ON_RECURRING",
            field="operation",
        )
    if isinstance(start, int) and isinstance(end, int) and end <= start:
        raise InvalidInput("end_time must be after start_time", field="operation")


def _said(value: timedelta) -> str:
    return format_duration(to_nanoseconds(value))
