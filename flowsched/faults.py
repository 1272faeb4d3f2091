"""Fault points: places where a test makes a process die, sleep, stop or raise.

`fault("claim.before_commit")` in the product costs one dictionary look-up and does nothing, unless this process was
started with FLOWSCHED_TESTING=1 (which refuses to run as a deployment, see settings) and FLOWSCHED_FAULTS names the
point: `FLOWSCHED_FAULTS="claim.before_commit:kill9@2,submit.sent:sleep1.5"`. `@n` is the n-th time the point is
passed, the first where it is left out; it happens at that passing only.
"""

from __future__ import annotations

import logging
import os
import re
import signal
import threading
import time
from dataclasses import dataclass

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

VARIABLE = "FLOWSCHED_FAULTS"
EXIT_CODE = 70
ENTRY = re.compile(
    r"(?P<name>[\w.-]+):(?:(?P<action>kill9|raise|stop|exit)|sleep(?P<seconds>\d+(\.\d+)?))(?:@(?P<nth>[1-9]\d*))?"
)

logger = logging.getLogger(__name__)


class FaultInjected(Exception):
    """Raised by a fault point whose action is `raise`; nothing in the product catches it by name."""


@dataclass(slots=True)
class Point:
    """One armed fault: what happens at which passing."""

    action: str
    seconds: float
    nth: int
    passed: int = 0


_lock = threading.Lock()
_armed: dict[str, list[Point]] | None = None  # None: not read yet


def fault(name: str) -> None:
    """Pass a fault point."""
    armed = _armed if _armed is not None else arm()
    if name in armed:
        _pass(name, armed[name])


def arm() -> dict[str, list[Point]]:
    """Read the variable (again); outside tests nothing is armed, whatever it says."""
    global _armed  # noqa: PLW0603 - read once a process, so that passing an unarmed point costs nothing
    text = os.environ.get(VARIABLE, "")
    if text and not settings.TESTING:
        logger.warning("%s is set and has no effect without FLOWSCHED_TESTING=1", VARIABLE)
        text = ""
    _armed = parse(text)
    return _armed


def parse(text: str) -> dict[str, list[Point]]:
    """The points that a value of the variable names."""
    points: dict[str, list[Point]] = {}
    for entry in filter(None, (part.strip() for part in text.split(","))):
        match = ENTRY.fullmatch(entry)
        if match is None:
            raise ImproperlyConfigured(
                f"{VARIABLE}: {entry!r} is not name:action@n; actions are kill9, sleep<seconds>, raise, stop, exit."
            )
        point = Point(match["action"] or "sleep", float(match["seconds"] or 0), int(match["nth"] or 1))
        points.setdefault(match["name"], []).append(point)
    return points


def _pass(name: str, points: list[Point]) -> None:
    due = []
    with _lock:
        for point in points:
            point.passed += 1
            if point.passed == point.nth:
                due.append(point)
    for point in due:
        _act(name, point)


def _act(name: str, point: Point) -> None:
    match point.action:
        case "kill9":
            os.kill(os.getpid(), signal.SIGKILL)
        case "stop":
            os.kill(os.getpid(), signal.SIGSTOP)
        case "exit":
            os._exit(EXIT_CODE)
        case "sleep":
            time.sleep(point.seconds)
        case _:
            raise FaultInjected(name)
