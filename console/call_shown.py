"""An HTTP call as pages show it: what would be sent, and what came of one that was made."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlencode

from flowsched.errors import InvalidInput
from tasks.http.call import call_parse
from tasks.http.dry_run import DryRun
from tasks.http.wording import call_facts
from tasks.models import Run
from tasks.operations import OperationType
from tasks.states import RunState

PEOPLE: Final[Mapping[str, str]] = {
    "none": "nobody",
    "service_account": "the endpoint's service account",
    "delegated_user": "a user",
}
_NEVER_SENT: Final = frozenset({"configuration", "render", "refused", "skipped"})
_MOST: Final = 64 * 1024  # characters of a body


@dataclass(frozen=True, slots=True)
class Sending:
    """A request that would be sent. `why` says that it would not be made, `rack` for which rack it was rendered."""

    would_run: bool
    why: str
    line: str
    headers: list[tuple[str, str]]
    body: str
    people: str
    rack: str


def sending(found: DryRun, rack: str = "") -> Sending:
    """What a dry run found, for a page."""
    query = f"?{urlencode(found.query)}" if found.query else ""
    return Sending(
        found.would_run,
        found.reason,
        f"{found.method} {found.url}{query}" if found.method else "",
        list(found.headers.items()),
        _pretty(found.body),
        _people(found.identity_kind, found.principal_name),
        rack,
    )


@dataclass(frozen=True, slots=True)
class CallRun:
    """What the record of one run of a call says (I-54); empty where nothing is known."""

    endpoint: str
    request: str
    people: str
    actor: str
    consent: str
    status: str
    error_type: str
    excerpt: str
    trace: str
    sent: str


def call_run(run: Run) -> CallRun | None:
    """The call of a run; None for hardware, and for a record that is none."""
    facts = run.call if isinstance(run.call, dict) else {}
    if not facts:
        return None

    def said(name: str) -> str:
        value = facts.get(name)
        return str(value) if value else ""

    return CallRun(
        endpoint=said("endpoint"),
        request=said("target_summary"),
        people=_people(said("identity_kind"), said("principal_name")),
        actor=said("actor_name"),
        consent=said("consent_id"),
        status=said("http_status"),
        error_type=said("error_type"),
        excerpt=said("response_excerpt"),
        trace=said("trace_id"),
        sent=sent_words(run),
    )


def facts_of(code: str, information: Any) -> list[tuple[str, str]]:
    """Where a stored call goes, as whom and by which policy, in words, defaults written out."""
    with suppress(InvalidInput):  # then it is said as far as it can be read
        information = call_parse(code, information).information()
    return [fact for fact in call_facts(information) if fact[1]]


def sent_words(run: Run) -> str:
    """Whether the request may have left: what a person has to know before doing it again by hand (D-16)."""
    facts = run.call if isinstance(run.call, dict) else {}
    if run.state == RunState.RUNNING:
        return "It may be on its way." if run.in_flight else "Not yet."
    if facts.get("http_status"):
        return "Yes, and it was answered."
    if run.state == RunState.UNKNOWN:
        return "Yes, and nobody knows what came of it."
    if _earlier(run.attempts) or facts.get("error_type") not in _NEVER_SENT:
        return "It may have been."
    return "No."


def is_call(stored_type: str) -> bool:
    """Whether an operation of this type is an HTTP call."""
    return stored_type == OperationType.HTTP


def _earlier(attempts: Any) -> bool:
    """Whether there were attempts before the last, whose requests left."""
    return isinstance(attempts, list) and len(attempts) > 1


def _people(kind: str, name: str) -> str:
    if kind == "delegated_user" and name:
        return f"user {name}, by the service account"
    return PEOPLE.get(kind, kind)


def _pretty(body: str | None) -> str:
    if body is None:
        return ""
    try:
        return json.dumps(json.loads(body), ensure_ascii=False, indent=2)[:_MOST]
    except (ValueError, RecursionError):
        return body[:_MOST]
