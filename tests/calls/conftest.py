"""Schedules of HTTP calls against the sink, and whoever fires and carries them out in this process."""

from __future__ import annotations

import json

import pytest

from tests.calls.helpers import Site
from tests.http_servers.servers import sink

__all__ = ["sink"]


@pytest.fixture
def site(sink, settings, request) -> Site:
    """The sink as four endpoints: `api` as it is, `keyed` honouring keys, `hooks-…` gateways that answer so."""
    common = {"base_url": sink.url, "plain_http": True}
    api = {"kind": "api", "methods": ["GET", "POST", "PUT", "PATCH", "DELETE"], "path_prefixes": ["/"]}
    settings.FLOWSCHED_ENDPOINTS = json.dumps(
        {
            "api": {**common, **api},
            "keyed": {**common, **api, "honours_idempotency_key": True},
            **{
                f"hooks-{status}": {"base_url": f"{sink.url}/status/{status}", "plain_http": True, "kind": "gateway"}
                for status in (200, 202, 204, 404, 500)
            },
            "hooks-hang": {"base_url": f"{sink.url}/hang", "plain_http": True, "kind": "gateway"},
        }
    )
    return Site(sink)
