"""The fields of an HTTP call as the form shows them: endpoints to choose from, and what the chosen one takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from access.callers import Caller
from access.permissions import ENDPOINT_USE
from console.schedule_form.call_reading import DELEGATED, NO_IDENTITY, SERVICE_ACCOUNT, identities_of
from console.schedule_form.call_typed import PREFIX, CallTyped
from console.schedule_form.form import Form
from schedules.services import default_grace
from tasks.http.call import BACKOFFS, MAX_INSTANCES, MAX_RETRIES, MAX_TIMEOUT
from tasks.http.endpoints import Endpoint, endpoints
from tasks.operations import Operation, OperationType

KINDS: Final = {"api": "API", "gateway": "gateway"}
IDENTITIES: Final = {
    NO_IDENTITY: ("Nobody", "the request carries no credentials: this endpoint has none."),
    SERVICE_ACCOUNT: ("The endpoint's service account", "with a token that is fetched when the call is made."),
    DELEGATED: ("A user", "on whose behalf the service account acts, by a consent the user gave."),
}
BACKOFF_WORDS: Final = {
    "none": "none: again at once",
    "linear": "linear: 1 s, 2 s, 3 s and so on",
    "exponential": "exponential: 1 s, 2 s, 4 s and so on",
}
PLACEHOLDERS: Final = (
    ("now", "when it fires, in UTC"),
    ("last_run", "when it was called before, or nothing"),
    ("run.id", "this call's id"),
    ("task.schedule_name", "this schedule's name"),
    ("rack.name", "the rack, if it has racks"),
    ("components[0].name", "the first component it reaches there"),
    ('now | date("%Y-%m-%d")', "the day alone"),
)
_USUAL: Final = tuple(
    (name, getattr(CallTyped(), name)) for name in ("timeout", "retries", "retry_backoff", "max_running", "key")
)


@dataclass(frozen=True, slots=True)
class Offered:
    """An endpoint to choose. `closed`: the form names it, and whoever fills it in may not use it."""

    name: str
    words: str
    chosen: bool
    closed: bool = False


@dataclass(frozen=True, slots=True)
class Identity:
    """As whom the call can be made."""

    key: str
    label: str
    words: str
    chosen: bool


def usable_endpoints(caller: Caller) -> dict[str, Endpoint]:
    """The configured endpoints that the caller may use, by name (I-88)."""
    return {name: each for name, each in sorted(endpoints().items()) if caller.may(f"{ENDPOINT_USE}{name}")}


def call_context(form: Form, errors: Mapping[str, str]) -> dict[str, Any]:
    """What the templates of the call's fields read."""
    chosen = form.usable.get(form.call.endpoint)
    grace = default_grace(Operation(OperationType.HTTP.value, "api"))
    return {
        "call": form.call,
        "offered": _offered(form),
        "endpoint": chosen,
        "endpoint_kind": KINDS.get(chosen.kind, chosen.kind) if chosen else "",
        "methods": _methods(form, chosen),
        "prefixes": [prefix for prefix in chosen.path_prefixes if prefix != "/"] if chosen else [],
        "identities": _identities(form, chosen),
        "backoffs": [(key, BACKOFF_WORDS[key]) for key in BACKOFFS],
        "call_limits": {"timeout": MAX_TIMEOUT, "retries": MAX_RETRIES, "running": MAX_INSTANCES},
        "call_grace": grace,
        "placeholders": PLACEHOLDERS,
        "policy_open": any(f"{PREFIX}{name}" in errors or getattr(form.call, name) != usual for name, usual in _USUAL),
        "kept_apart": kept_apart(form, chosen),
    }


def kept_apart(form: Form, chosen: Endpoint | None) -> Mapping[str, str]:
    """What was typed for the other kind of endpoint: it is there again if that is chosen again."""
    api, gateway = ("method", "path", "query", "body", "identity", "subject", "consent_id"), ("webhook_id", "payload")
    hidden = (*api, *gateway, "headers") if chosen is None else gateway if chosen.kind == "api" else api
    return {name: text for name in hidden if (text := getattr(form.call, name))}


def _offered(form: Form) -> list[Offered]:
    rows = [
        Offered(name, f"{name} ({KINDS.get(each.kind, each.kind)}, {each.base_url})", name == form.call.endpoint)
        for name, each in form.usable.items()
    ]
    if form.call.endpoint and form.call.endpoint not in form.usable:
        name = form.call.endpoint
        words = "you may not use it" if name in endpoints() else "not configured"
        rows.append(Offered(name, f"{name[:64]} ({words})", chosen=True, closed=True))
    return rows


def _methods(form: Form, chosen: Endpoint | None) -> list[tuple[str, bool]]:
    """Those it allows; one that it does not stays chosen, and is refused in words."""
    if chosen is None or chosen.kind != "api":
        return []
    allowed = list(chosen.methods)
    if form.call.method and form.call.method not in allowed:
        allowed.append(form.call.method[:16])
    return [(name, name == form.call.method) for name in allowed]


def _identities(form: Form, chosen: Endpoint | None) -> list[Identity]:
    if chosen is None:
        return []
    possible = identities_of(chosen)
    key = form.call.identity if form.call.identity in possible else possible[0]
    return [Identity(each, *IDENTITIES[each], chosen=each == key) for each in possible]
