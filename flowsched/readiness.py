"""When `bin/up` may say ready: every process runs, and its `--status` finds it in the database."""

from __future__ import annotations

import subprocess
import sys
import time
from collections import deque

WRONG_USAGE = 2
STATUS_SECONDS = 20
LATE_SECONDS = 60


class Readiness:
    """Asks a little at each `step`, so that the loop that calls it is never held up."""

    def __init__(self, manage: str, commands: dict[str, str]) -> None:
        self._manage = manage
        self._commands = commands
        self._since = time.monotonic()
        self._to_ask: deque[str] = deque(commands.values())
        self._question: subprocess.Popen[bytes] | None = None
        self._asked_at = 0.0
        self._told_late = False
        self.done = False

    def step(self, running: set[str]) -> bool:
        """Go on asking; True at the one step that completes it."""
        if self.done:
            return False
        if self._question is not None:
            self._hear(self._question)
        elif not running >= set(self._commands):
            self._to_ask = deque(self._commands.values())
        elif self._to_ask:
            self._ask(self._to_ask[0])
        else:
            self.done = True
        return self.done

    def late(self) -> bool:
        """True once, when it takes suspiciously long."""
        if self.done or self._told_late or time.monotonic() - self._since < LATE_SECONDS:
            return False
        self._told_late = True
        return True

    def _ask(self, command: str) -> None:
        self._asked_at = time.monotonic()
        self._question = subprocess.Popen(  # noqa: S603
            [sys.executable, self._manage, command, "--status"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def _hear(self, question: subprocess.Popen[bytes]) -> None:
        if question.poll() is None:
            if time.monotonic() - self._asked_at > STATUS_SECONDS:
                question.kill()
            return
        self._question = None
        if question.returncode in {0, WRONG_USAGE}:  # a command without that option is taken at its running
            self._to_ask.popleft()
        else:
            self._to_ask = deque(self._commands.values())
