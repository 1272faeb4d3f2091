"""Endpoints that lead to a socket of the test's own, which counts who comes; and bodies of calls to them."""

from __future__ import annotations

import json
import socket
import threading
from typing import Any

import pytest

SECRET = "s3cr3t-of-the-client"


class Door:
    """A listener that lets everybody in, says nothing, and counts them."""

    def __init__(self) -> None:
        self.visits = 0
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._socket.getsockname()[1]}"

    def _serve(self) -> None:
        while True:
            try:
                visitor, _ = self._socket.accept()
            except OSError:
                return
            self.visits += 1
            visitor.close()

    def close(self) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join(5)


@pytest.fixture
def door():
    """One that stands for every target and every token server."""
    one = Door()
    yield one
    one.close()


@pytest.fixture
def endpoints(door, settings, monkeypatch) -> Door:
    """`inventory`, called as somebody; `open`, as nobody and below /v1; `hooks`, a gateway: all lead to `door`."""
    monkeypatch.setenv("CLIENT_SECRET_OF_TESTS", SECRET)
    credentials = {
        "token_url": f"{door.url}/token",
        "exchange_url": f"{door.url}/exchange",
        "client_id": "flowsched",
        "client_secret": {"env": "CLIENT_SECRET_OF_TESTS"},
    }
    methods = ["GET", "POST", "PUT", "PATCH", "DELETE"]
    api = {"kind": "api", "base_url": f"{door.url}/base", "methods": methods}
    settings.FLOWSCHED_ENDPOINTS = json.dumps(
        {
            "inventory": {**api, **credentials, "honours_idempotency_key": True},
            "open": {**api, "path_prefixes": ["/v1"]},
            "hooks": {"kind": "gateway", "base_url": door.url},
        }
    )
    return door


def api_call(path: str = "/v1/racks", method: str = "POST", **parts: Any) -> dict[str, Any]:
    """An operation that calls `inventory` as its service account; `parts` are of target, identity, policy."""
    own = {"identity": {"kind": "service_account"}} | {
        key: parts.pop(key) for key in ("identity", "policy") if key in parts
    }
    target = {"kind": "api", "endpoint": "inventory", "method": method, "path": path, **parts}
    return {"type": "http_call", "target": target, **own}


def gateway_call(**parts: Any) -> dict[str, Any]:
    """An operation that notifies a webhook."""
    return {
        "type": "http_call",
        "target": {"kind": "gateway", "endpoint": "hooks", "webhook_id": "night-report", "payload": {}, **parts},
    }


def call_body(operation: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    """A body that creates an hourly schedule of a call, without racks unless `fields` say so."""
    spec = {"type": "interval", "spec": "1h"}
    return {"name": "call", "spec": spec, "operation": operation or api_call(), **fields}


def in_body(code: str, information: dict[str, Any]) -> dict[str, Any]:
    """A stored operation as bodies have it."""
    return {**information, "type": "http_call", "target": {"kind": code, **information["target"]}}
