"""A caller of the REST door with a token of its own, on Django's test client."""

from __future__ import annotations

import itertools
import json
from typing import Any

from django.contrib.auth.models import User
from django.test import Client

from access.callers import Caller, by_username
from access.services import token_create, user_create
from flowsched import clock
from flowsched.actor import Actor, Door

ROOT = Actor("root", Door.CLI)
_number = itertools.count(1)


class Rest:
    """Calls below /api/v1/; `token` None sends no token."""

    def __init__(self, token: str | None = None, **defaults: Any) -> None:
        self.token = token
        self.client = Client(raise_request_exception=False, **defaults)

    def call(self, method: str, path: str, body: Any = None, *, query: Any = None, headers: Any = None, **more: Any):
        """Send `body`: bytes as they are, anything else as JSON, None for no body."""
        headers = dict(headers or {})
        if self.token is not None:
            headers.setdefault("Authorization", f"Bearer {self.token}")
        if body is not None:
            more["data"] = body if isinstance(body, bytes) else json.dumps(body)
            more.setdefault("content_type", "application/json")
        url = path if path.startswith("/") else f"/api/v1/{path}"
        return self.client.generic(method, url, query_params=query, headers=headers, **more)

    def get(self, path: str, **query: Any):
        return self.call("GET", path, query=query)

    def post(self, path: str, body: Any = None, **options: Any):
        return self.call("POST", path, body, **options)


def make_user(*roles: str, name: str = "", superuser: bool = False) -> str:
    """A user with these roles; its name."""
    name = name or f"user-{next(_number)}"
    user_create(username=name, roles=roles, by=ROOT, now=clock.now())
    User.objects.filter(username=name).update(is_superuser=superuser)
    return name


def rest(*roles: str, name: str = "", superuser: bool = False, **defaults: Any) -> Rest:
    """A caller with these roles, or a superuser."""
    return Rest(make_token(make_user(*roles, name=name, superuser=superuser)), **defaults)


def make_token(username: str, **options: Any) -> str:
    return token_create(username=username, by=ROOT, now=clock.now(), **{"life": None, **options})[1]


def caller(*roles: str, **options: Any) -> Caller:
    return by_username(make_user(*roles, **options))


def problem(response: Any, status: int) -> dict[str, Any]:
    """The problem that a response is, which must have this status."""
    assert response.status_code == status, response.content
    assert response["Content-Type"] == "application/problem+json"
    body = response.json()
    assert set(body) - {"refusals"} == {"type", "title", "status", "detail", "reason", "errors", "request_id"}
    assert body["status"] == status
    assert body["request_id"] == response["X-Request-ID"]
    assert all(set(error) == {"field", "code", "message"} for error in body["errors"])
    return body


def fields(response: Any) -> set[str]:
    """The fields that a 400 names."""
    return {error["field"] for error in problem(response, 400)["errors"]}
