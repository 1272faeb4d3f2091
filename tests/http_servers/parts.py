"""What the tests of endpoints, identity and transport are made of."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from tasks.http.endpoint_parsing import endpoints_parse
from tasks.http.endpoints import Endpoint


@dataclass(frozen=True)
class Asking:
    """A rendered request, as tasks/http/request.py has it."""

    path: str = "/"
    method: str = "GET"
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    key: str | None = None


@dataclass(frozen=True)
class Who:
    """An identity, as tasks/http/call.py has it."""

    kind: str = "service_account"
    subject: str = ""
    consent_id: str = ""


def endpoint(base_url: str, name: str = "inventory", **more: object) -> Endpoint:
    """An endpoint as FLOWSCHED_ENDPOINTS makes it."""
    entry = {"kind": "api", "base_url": base_url} | more
    return endpoints_parse(json.dumps({name: entry}))[name]
