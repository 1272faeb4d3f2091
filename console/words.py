"""The vocabulary of the pages: each state as a word, a colour and an icon, once.

Green is for what is done and for nothing else. The sentence why stands beside the badge and comes from the services;
the word says the state even where no colour or icon can be seen.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from tasks.operations import OperationType


@dataclass(frozen=True, slots=True)
class Word:
    """How a state looks: its word, its colour (a class of the style sheet) and its icon."""

    word: str
    tone: str
    icon: str


WORDS: Final[Mapping[str, Word]] = {
    # What became of a scope, or of its task once that has ended.
    "submitted": Word("Submitted", "info", "arrow-up-right"),
    "completed": Word("Completed", "ok", "circle-check"),
    "failed": Word("Failed", "bad", "circle-x"),
    "cancelled": Word("Cancelled", "mute", "circle-stop"),
    "expired": Word("Expired in queue", "warn", "timer-off"),
    "unknown": Word("Unknown", "lost", "circle-question-mark"),
    "skipped": Word("Skipped", "warn", "skip-forward"),
    "rejected": Word("Rejected", "warn", "ban"),
    "missed": Word("Missed", "lost", "calendar-x"),
    "unresolved": Word("Failed", "bad", "circle-alert"),
    # Tasks under way.
    "waiting": Word("Waiting", "info", "hourglass"),
    "pending": Word("Starting", "info", "circle-ellipsis"),
    "running": Word("Running", "info", "refresh-cw"),
    # How a run ended, where a task has no such word.
    "succeeded": Word("Succeeded", "ok", "circle-check"),
    "no_effect": Word("No effect", "mute", "circle-slash"),
    "timed_out": Word("Timed out", "bad", "timer-off"),
    # Schedules.
    "enabled": Word("Enabled", "ok", "clock"),
    "firing": Word("Firing", "info", "zap"),
    "overdue": Word("Overdue", "bad", "alarm-clock"),
    "paused": Word("Paused", "warn", "circle-pause"),
    "system": Word("Disabled by the system", "bad", "circle-minus"),
    "consumed": Word("Has run", "mute", "check-check"),
    "no_racks": Word("No racks", "warn", "server-off"),
    "streak": Word("in a row", "warn", "trending-down"),
    "streak_long": Word("in a row", "bad", "trending-down"),
    # Processes and power.
    "alive": Word("Alive", "ok", "activity"),
    "late": Word("Late", "warn", "activity"),
    "gone": Word("Gone", "bad", "activity"),
    "stopped": Word("Stopped", "mute", "activity"),
    "power_on": Word("On", "ok", "power"),
    "power_off": Word("Off", "mute", "power"),
    "power_mixed": Word("Partly on", "warn", "power"),
    "power_unknown": Word("Unknown", "lost", "power"),
}

# The worst first: what a badge for several racks says.
WORST_FIRST: Final = (
    *("failed", "unresolved", "unknown", "missed", "rejected", "skipped", "expired", "cancelled"),
    *("running", "pending", "waiting", "submitted", "completed"),
)

# What a person takes with more care: it switches off, resets or replaces what runs.
SIMULATED: Final = "Simulated hardware"


def worst(keys: Mapping[str, int]) -> str:
    """The worst of several outcomes; completed only if all are. Empty for none."""
    return next((key for key in WORST_FIRST if keys.get(key)), "")


def outcome(scope_state: str, task_status: str | None, *, run_unknown: bool = False, expired: bool = False) -> str:
    """The key of what became of a rack: the task's end once it has one, else the scope's outcome (D-5)."""
    if scope_state == "failed":
        return "unresolved"
    if scope_state != "submitted" or task_status is None:
        return scope_state
    if run_unknown:
        return "unknown"
    if task_status == "terminated":
        return "expired" if expired else "cancelled"
    return task_status


def reach(count: int, operation_type: str) -> str:
    """What a firing reaches: `38 racks`; of an HTTP call, which may be on none, how many calls it makes."""
    if operation_type == OperationType.HTTP:
        return f"{max(1, count)} {'call' if count <= 1 else 'calls'}"
    return f"{count} {'rack' if count == 1 else 'racks'}"


def type_of(template: Any) -> str:
    """The type of a stored operation; empty where it cannot be read."""
    return str(template.get("type", "")) if isinstance(template, dict) else ""


# Component types in a sentence: one, several.
PARTS: Final[Mapping[str, tuple[str, str]]] = {
    "Compute": ("compute tray", "compute trays"),
    "NVSwitch": ("NVLink switch", "NVLink switches"),
    "PowerShelf": ("power shelf", "power shelves"),
    "ToRSwitch": ("ToR switch", "ToR switches"),
    "UMS": ("UMS", "UMS"),
    "CDU": ("CDU", "CDUs"),
}


def parts(type_: str, count: int = 2) -> str:
    """A component type in words; one that nobody knows stands for itself."""
    return PARTS.get(type_, (type_, type_))[count != 1]
