"""A stored call in a few words, whatever it holds: one row that cannot be read must not empty a list. Pure."""

from __future__ import annotations

from typing import Any, Final

MAX_WORDS: Final = 200


def call_words(information: Any) -> str:
    """`POST /v1/racks/{{ rack.name }}`, as it is written; empty where nothing can be said."""
    target = information.get("target") if isinstance(information, dict) else None
    if not isinstance(target, dict):
        return ""
    webhook, method, path = target.get("webhook_id"), target.get("method"), target.get("path")
    words = f"POST /notifications/{webhook}" if isinstance(webhook, str) else f"{method} {path}"
    if not isinstance(webhook, str) and not (isinstance(method, str) and isinstance(path, str)):
        return ""
    return words if len(words) <= MAX_WORDS else f"{words[:MAX_WORDS]}…"


def endpoint_words(information: Any) -> str:
    """The name of the endpoint it goes to."""
    target = information.get("target") if isinstance(information, dict) else None
    name = target.get("endpoint") if isinstance(target, dict) else None
    return name if isinstance(name, str) else ""
