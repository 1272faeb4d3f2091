"""From what the steps of a run said to how the run ended, and to the sentence that says so (D-17, F-242). Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tasks.states import RunState

MESSAGE_BYTES = 512
NAMED = 5  # components named in a sentence; the rest are counted
DONE = frozenset({"changed", "no_effect"})

Results = Mapping[str, Mapping[str, Any]]


def clip(text: str) -> str:
    """The first line of `text`, at most 512 bytes of UTF-8, without control characters."""
    line = text.strip().splitlines()[0] if text.strip() else ""
    line = "".join(c for c in line if c.isprintable())
    return line.encode()[:MESSAGE_BYTES].decode(errors="ignore")


def names(labels: list[str]) -> str:
    """`a, b, c and 4 more`."""
    shown = ", ".join(labels[:NAMED])
    return f"{shown} and {len(labels) - NAMED} more" if len(labels) > NAMED else shown


def conclude(results: Results) -> tuple[RunState, str]:
    """How a run whose steps have all been tried ended: one failure fails it, one change makes it a success."""
    unsure = [str(r["name"]) for r in results.values() if r["state"] == "unknown"]
    if unsure:
        calls = [str(r["message"]) for r in results.values() if r.get("call")]
        return RunState.UNKNOWN, clip(calls[0] if calls else f"no answer from {names(unsure)}: it may have happened")
    for state in (RunState.CANCELLED, RunState.SKIPPED, RunState.TIMED_OUT):
        said = next((str(r["message"]) for r in results.values() if r["state"] == state), None)
        if said is not None:
            return state, clip(said)
    failed = [r for r in results.values() if r["state"] not in DONE]
    if failed:
        first = failed[0]
        if first.get("call"):
            return RunState.FAILED, clip(str(first["message"]))
        rest = f" ({len(failed)} of {len(results)} components failed)" if len(failed) > 1 else ""
        return RunState.FAILED, clip(f"{first['name']}: {first['message']}{rest}")
    changed = sum(r["state"] == "changed" for r in results.values())
    if changed:
        return RunState.SUCCEEDED, "Succeeded"
    return RunState.NO_EFFECT, clip(_nothing_to_do(results))


def _nothing_to_do(results: Results) -> str:
    if not results:
        return "Succeeded: no component to act on"
    said = {str(r["message"]) for r in results.values()}
    return f"Succeeded: nothing had to change ({said.pop() if len(said) == 1 else f'{len(results)} components'})"
