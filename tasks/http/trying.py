"""Whether the configured endpoints work: tried by connecting and by fetching a token, without one call of theirs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tasks.http.call import Identity
from tasks.http.endpoints import Endpoint, Reference, Unreadable
from tasks.http.failures import NotAnswered, Timeout
from tasks.http.identity import IdentityError, Tokens
from tasks.http.transport import Sender


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check of an endpoint found. `check` is the configured key it is about, or `token`."""

    check: str
    ok: bool
    found: str


def endpoint_try(endpoint: Endpoint, sender: Sender, tokens: Tokens, *, seconds: float) -> list[Finding]:
    """Every check of one endpoint, each within so many seconds."""
    found = [_reach(endpoint, key, sender, seconds) for key in endpoint.urls()]
    found += _credentials(endpoint)
    if endpoint.has_credentials and all(finding.ok for finding in found):
        found.append(_token(endpoint, tokens, seconds))
    return found


def _reach(endpoint: Endpoint, key: str, sender: Sender, seconds: float) -> Finding:
    try:
        reached = sender.probe(endpoint, key, deadline_seconds=seconds)
    except NotAnswered as error:
        told = f"no connection within {seconds:g} s" if isinstance(error, Timeout) else error.message
        return Finding(key, ok=False, found=f"{endpoint.urls()[key]}: {told}")
    tls = f", {reached.tls}, certificate until {reached.certificate_until}" if reached.tls else ", in the clear"
    return Finding(key, ok=True, found=f"{endpoint.urls()[key]}: {reached.address}{tls}")


def _credentials(endpoint: Endpoint) -> Iterator[Finding]:
    for key, reference in (("client_id", endpoint.client_id), ("client_secret", endpoint.client_secret)):
        if isinstance(reference, Reference):
            try:
                reference.read()
            except Unreadable as error:
                yield Finding(key, ok=False, found=str(error))


def _token(endpoint: Endpoint, tokens: Tokens, seconds: float) -> Finding:
    try:
        tokens.bearer(endpoint, Identity("service_account"), deadline_seconds=seconds)
    except IdentityError as error:
        return Finding("token", ok=False, found=error.message)
    untried = "; an exchange needs a user's consent and is not tried" if endpoint.exchange_url else ""
    return Finding("token", ok=True, found=f"got one{untried}")
