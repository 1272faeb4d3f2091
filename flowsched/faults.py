"""Fault points for the crash tests: inert unless settings.TESTING is on and FLOWSCHED_FAULTS names the point."""

from __future__ import annotations

import os
import signal
import time
from collections import Counter

from django.conf import settings

_seen: Counter[str] = Counter()


def fault(name: str) -> None:
    """Do what FLOWSCHED_FAULTS="name:action@n" asks at this point's n-th passing: kill9, stop, raise, exit, sleep."""
    if not settings.TESTING or not os.environ.get("FLOWSCHED_FAULTS"):
        return
    _seen[name] += 1
    for rule in os.environ["FLOWSCHED_FAULTS"].split(","):
        point, _, what = rule.partition(":")
        action, _, nth = what.partition("@")
        if point == name and _seen[name] == int(nth or 1):
            _act(name, action)


def _act(name: str, action: str) -> None:
    if action == "kill9":
        os.kill(os.getpid(), signal.SIGKILL)
    elif action == "stop":
        os.kill(os.getpid(), signal.SIGSTOP)
    elif action == "raise":
        raise RuntimeError(f"fault point {name}")
    elif action == "exit":
        os._exit(3)
    elif action.startswith("sleep"):
        time.sleep(float(action[5:] or 1))
