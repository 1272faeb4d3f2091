"""Why a rack got no task: a code for programs, a sentence for people. Pure; each sentence is written once, here."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from enum import StrEnum
from uuid import UUID

NAMED = 3  # components a sentence names before it counts


class ReasonCode(StrEnum):
    """Stable codes; at most 32 characters, which is what history stores."""

    RACK_BUSY = "rack_busy"
    QUEUE_FULL = "queue_full"
    RACK_LOCKED = "rack_locked"
    RACK_GONE = "rack_gone"
    COMPONENT_MOVED = "component_moved"
    NO_COMPONENTS = "no_components"
    UNKNOWN_TYPE = "unknown_type"
    KEY_TAKEN = "key_taken"
    INVENTORY_CHANGED = "inventory_changed"
    SUBMISSION_ERROR = "submission_error"
    HELD = "held"
    INSTANCE_LIMIT = "instance_limit"
    CALLS_LOCKED = "calls_locked"


def rack_locked(rack: str) -> str:
    """Another transaction holds the rack."""
    return f"rack {rack} is held by another submission or a task that is just ending; submit again in a moment"


def rack_gone(rack: str) -> str:
    """The rack was removed."""
    return f"rack {rack} is no longer in the inventory: import it again or take it out of the target"


def component_moved(rack: str, missing: Sequence[UUID]) -> str:
    """Named components are elsewhere, or removed."""
    rest = len(missing) - NAMED
    names = ", ".join(str(i) for i in missing[:NAMED]) + (f" and {rest} more" if rest > 0 else "")
    what = "component" if len(missing) == 1 else f"{len(missing)} components"
    return f"{what} no longer in rack {rack}: {names}. Nothing was done on this rack; correct the target"


def no_components(rack: str, types: Sequence[str] | None) -> str:
    """Nothing in the rack matches."""
    if types:
        return f"rack {rack} has no component of type {', '.join(types)}"
    return f"rack {rack} has no components to act on"


def key_taken(rack: str, task_id: UUID) -> str:
    """The idempotency key belongs to a task on another rack."""
    return f"the idempotency key for rack {rack} already belongs to task {task_id} on another rack: use a new key"


def inventory_changed(rack: str) -> str:
    """The rack's components changed between two statements."""
    return f"the components of rack {rack} changed during the submission; submit again"


def submission_error(rack: str) -> str:
    """The database refused the row; the log has it under the key."""
    return f"the submission for rack {rack} failed inside the system; the log says why"


def queue_full(rack: str, limit: int) -> str:
    """As many tasks wait as may."""
    noun = "task is" if limit == 1 else "tasks are"
    return f"the queue of rack {rack} is full: {limit} {noun} waiting already. Cancel one or try again later"


def instance_limit(where: str, limit: int, names: Sequence[str]) -> str:
    """As many calls of the schedule are under way as may."""
    what = "call is" if limit == 1 else "calls are"
    shown = ", ".join(names[:NAMED]) + (f" and {len(names) - NAMED} more" if len(names) > NAMED else "")
    return f"{limit} {what} under way{where}, as many as its limit allows: {shown}"


def calls_locked(schedule: str) -> str:
    """Another transaction decides about the schedule's calls."""
    return f"the calls of schedule {schedule} are being decided about by another submission; submit again in a moment"


def calls_full(where: str, limit: int) -> str:
    """As many calls wait as may."""
    noun = "call is" if limit == 1 else "calls are"
    return f"{limit} {noun} waiting{where} already. Cancel one or try again later"


def unknown_note(task_ids: Sequence[UUID]) -> str:
    """Appended to every refusal on a rack where a person's decision is due."""
    ids = ", ".join(str(i) for i in task_ids)
    return f". Outcome unknown of task {ids} on this rack: acknowledge it as completed or failed" if ids else ""


def cut(message: str, limit: int = 512) -> str:
    """The first line, at most `limit` bytes of UTF-8: what a status line shows."""
    lines = message.strip().splitlines()
    return lines[0].encode()[:limit].decode(errors="ignore") if lines else ""


def span(value: timedelta) -> str:
    """A duration for a sentence: "1h30m", "45s"."""
    seconds = int(value.total_seconds())
    hours, rest = divmod(seconds, 3600)
    minutes, seconds = divmod(rest, 60)
    parts = [f"{n}{unit}" for n, unit in ((hours, "h"), (minutes, "m"), (seconds, "s")) if n]
    return "".join(parts) or "0s"
