"""What the tests of endpoints, identity and transport are made of."""

from __future__ import annotations

import json
from collections.abc import Mapping

from tasks.http.call import Identity
from tasks.http.endpoint_parsing import endpoints_parse
from tasks.http.endpoints import Endpoint
from tasks.http.request import Request

ROBOT = Identity("service_account")


def asking(
    path: str,
    method: str = "GET",
    *,
    query: Mapping[str, str] | None = None,
    headers: Mapping[str, str] | None = None,
    body: bytes | None = None,
    key: str | None = None,
) -> Request:
    """A rendered request."""
    return Request(method, path, query or {}, headers or {}, body, key)


def user(subject: str, consent_id: str = "") -> Identity:
    """A user, who agreed unless another consent is named."""
    return Identity("delegated_user", subject, consent_id or f"consent-of-{subject}")


def endpoint(base_url: str, name: str = "inventory", **more: object) -> Endpoint:
    """An endpoint as FLOWSCHED_ENDPOINTS makes it."""
    entry = {"kind": "api", "base_url": base_url} | more
    return endpoints_parse(json.dumps({name: entry}))[name]
