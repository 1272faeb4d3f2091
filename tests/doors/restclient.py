"""A REST client that holds every answer to what is promised of all of them: JSON, and problems of one shape."""

from __future__ import annotations

import http.client
import json
import time
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

BASE = "/api/v1/"
PROBLEM = {"type", "title", "status", "detail", "reason", "errors", "request_id"}
TIMEOUT = 30.0
IDLE = 0.5  # seconds; gunicorn closes after two


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    headers: http.client.HTTPMessage
    raw: bytes

    @property
    def body(self) -> Any:
        return json.loads(self.raw) if self.raw else None

    @property
    def fields(self) -> list[str]:
        """The fields that a problem names."""
        return [entry["field"] for entry in self.body["errors"]]

    def check(self, *, described: bool) -> Answer:
        """RFC 9457: a failure is a problem, with the id under which it is logged; whatever it is, it is JSON.

        `described`: this is the API's description, which is YAML or a page.
        """
        kind = self.headers.get("Content-Type", "")
        if self.status >= 400:
            assert kind == "application/problem+json", (self.status, kind, self.raw[:300])
        if self.status >= 400 and self.raw:  # HEAD has no body
            assert set(self.body) >= PROBLEM, self.body
            assert self.body["status"] == self.status
            assert self.body["request_id"] == self.headers.get("X-Request-ID", "")  # none: gunicorn refused to read it
            assert all(set(entry) == {"field", "code", "message"} for entry in self.body["errors"]), self.body
        elif self.raw and not described:
            assert kind == "application/json", (self.status, kind, self.raw[:300])
        return self


class Rest:
    """A caller with a token. A connection left idle is not used again: the server may be closing it."""

    def __init__(self, port: int, token: str | None) -> None:
        self.port, self.token = port, token
        self._connection: http.client.HTTPConnection | None = None
        self._used = 0.0

    def __call__(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        raw: bytes | None = None,
        headers: dict[str, str] | None = None,
    ) -> Answer:
        """One call; `path` counts from /api/v1/ unless it begins with a slash; `raw` is sent as it is."""
        sent = raw if raw is not None else None if body is None else json.dumps(body).encode()
        given = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        if sent is not None:
            given["Content-Type"] = "application/json"
        connection = self._connected()
        try:
            with suppress(
                BrokenPipeError, ConnectionResetError
            ):  # what is too large is answered before all of it is sent
                connection.request(method, path if path.startswith("/") else BASE + path, sent, given | (headers or {}))
            response = connection.getresponse()
            answer = Answer(response.status, response.headers, response.read())
        except BaseException:
            connection.close()
            raise
        if answer.status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
            connection.close()  # the server does, instead of reading the rest
        self._used = time.monotonic()
        return answer.check(described=path.startswith(("schema/", "docs/")))

    def _connected(self) -> http.client.HTTPConnection:
        if self._connection is None or time.monotonic() - self._used > IDLE:
            if self._connection is not None:
                self._connection.close()
            self._connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=TIMEOUT)
        return self._connection

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()

    def ok(self, method: str, path: str, body: Any = None, **more: Any) -> Any:
        """The body of a call that must succeed."""
        answer = self(method, path, body, **more)
        assert answer.status < 400, (method, path, answer.body)
        return answer.body
