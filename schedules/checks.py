"""Limits on what a person may write into a schedule. Pure; each refusal names its field and says what is allowed."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final

from flowsched.errors import InvalidInput
from schedules.durations import format_duration, to_nanoseconds
from schedules.quoting import quote

MAX_NAME: Final = 255
MAX_REASON: Final = 1000
MAX_GRACE: Final = timedelta(days=366)
OVERLAP_POLICIES: Final = ("skip", "queue")

# Control characters, lone surrogates, line and paragraph separators.
_NOT_TEXT: Final = frozenset({"Cc", "Cs", "Zl", "Zp"})
# They turn text around on the screen: a name could read as another one in a list and in a log.
_BIDI: Final = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def check_name(name: str) -> None:
    """Refuse a name that is empty, too long, padded with blanks, or holds characters that cannot be seen."""
    if not name:
        raise InvalidInput("a schedule needs a name", field="name")
    if len(name) > MAX_NAME:
        raise InvalidInput(f"a name must have at most {MAX_NAME} characters, this one has {len(name)}", field="name")
    if _unprintable(name):
        raise InvalidInput(f"the name {quote(name)} holds control characters", field="name")
    if name != name.strip():
        raise InvalidInput(f"the name {quote(name)} begins or ends with a blank", field="name")


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


def check_reason(reason: str) -> None:
    """Refuse a reason that is too long or cannot be stored. Line breaks and tabs are fine."""
    if len(reason) > MAX_REASON:
        raise InvalidInput(f"a reason must have at most {MAX_REASON} characters", field="reason")
    if _unprintable(reason.replace("\n", "").replace("\t", "")):
        raise InvalidInput("the reason holds control characters", field="reason")


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


def _unprintable(text: str) -> bool:
    return any(character in _BIDI or unicodedata.category(character) in _NOT_TEXT for character in text)


def _said(value: timedelta) -> str:
    return format_duration(to_nanoseconds(value))
