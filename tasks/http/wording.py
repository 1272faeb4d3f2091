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


def call_facts(information: Any) -> list[tuple[str, str]]:
    """Where a call goes, as whom and by which policy, in words; what cannot be read is left out."""
    parts = information if isinstance(information, dict) else {}
    identity, policy = (found if isinstance(found := parts.get(key), dict) else {} for key in ("identity", "policy"))
    facts = [("endpoint", endpoint_words(information)), ("called as", _identity_words(identity))]
    return [*facts, ("policy", _policy_words(policy))]


def _identity_words(identity: dict[str, Any]) -> str:
    if identity.get("kind") == "delegated_user":
        return f"user {identity.get('subject')}, by consent {identity.get('consent_id')}"
    return {"service_account": "the endpoint's service account", "none": "nobody"}.get(str(identity.get("kind")), "")


def _policy_words(policy: dict[str, Any]) -> str:
    retries, instances, key = (policy.get(word) for word in ("retries", "max_running_instances", "idempotency_key"))
    words = [f"{policy['timeout']} s an attempt"] if "timeout" in policy else []
    if retries:
        words.append(f"{retries} {'retry' if retries == 1 else 'retries'}, {policy.get('retry_backoff')} back-off")
    elif retries is not None:
        words.append("no retries")
    words += [f"at most {instances} at a time"] if instances else []
    words += [f"idempotency key {key}"] if key else []
    return "; ".join(words)
