"""What a call would send, rendered as a run renders it; nothing is sent, and no token is fetched (I-73, I-89)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from flowsched.errors import InvalidInput, NotFound
from tasks.http.call import HttpCall, call_parse
from tasks.http.context import context_of
from tasks.http.endpoints import Endpoint, call_check, endpoint_of, request_check
from tasks.http.identity import known_secrets, problem_of
from tasks.http.request import Request, request_render
from tasks.http.scrub import scrub
from tasks.models import Task

REDACTED: Final = "(redacted)"


@dataclass(frozen=True, slots=True)
class DryRun:
    """The request of a call, with everything secret left out. `reason` says why it would not be made, if so."""

    would_run: bool
    reason: str = ""
    method: str = ""
    url: str = ""
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str | None = None
    identity_kind: str = ""
    principal_name: str = ""
    actor_name: str = ""
    fields: Mapping[str, str] = field(default_factory=dict)  # what is at fault, where a field is

    @property
    def bearer_resolved(self) -> bool:
        """No token is fetched for a dry run, so that looking at a schedule never acts as somebody (I-89)."""
        return False


def dry_run(task: Task) -> DryRun:
    """What this task, which need not be stored, would send if it ran now. Raises nothing for what it holds."""
    try:
        call = call_parse(task.code, task.information)
        endpoint = endpoint_of(call.target.endpoint)
        call_check(call, endpoint)
        request = request_render(call, context_of(task))
        request_check(request, endpoint)
    except NotFound as error:
        return DryRun(would_run=False, reason=error.message, fields={error.field: error.message})
    except InvalidInput as error:
        return DryRun(would_run=False, reason=error.message, fields=error.fields)
    why = problem_of(endpoint, call.identity) if call.identity.kind != "none" else ""
    return _shown(call, endpoint, request, why)


def _shown(call: HttpCall, endpoint: Endpoint, request: Request, why: str) -> DryRun:
    known = known_secrets(endpoint)

    def clean(items: Mapping[str, Any]) -> dict[str, str]:
        return {name: scrub(str(value), known) for name, value in items.items()}

    headers = clean(request.headers)
    if request.key is not None:
        headers["Idempotency-Key"] = scrub(request.key, known)
    elif endpoint.honours_idempotency_key:
        headers["Idempotency-Key"] = "(the task's own)"
    if call.identity.kind != "none":
        headers["Authorization"] = f"Bearer {REDACTED}"
    return DryRun(
        would_run=not why,
        reason=why,
        method=request.method,
        url=f"{endpoint.base_url}{scrub(request.path, known)}",
        query=clean(request.query),
        headers=headers,
        body=None if request.body is None else scrub(request.body.decode(), known),
        identity_kind=call.identity.kind,
        principal_name=call.principal_name,
    )
