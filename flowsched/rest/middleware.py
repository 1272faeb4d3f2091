"""An id for each request, and no HTML from /api/: what fails outside the views is a problem too."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable
from http import HTTPStatus
from typing import Final

from django.http import HttpRequest, HttpResponse

from flowsched.rest.problems import plain_response, problem

_GIVEN: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")


class RequestId:
    """Takes `X-Request-ID` if it is one, else makes one; answers it, so that client, log and audit trail agree."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Handle one request."""
        given = request.headers.get("X-Request-ID", "")
        request_id = given if _GIVEN.fullmatch(given) else uuid.uuid4().hex
        request.request_id = request_id  # type: ignore[attr-defined]
        response = self.get_response(request)
        failed = response.status_code >= HTTPStatus.BAD_REQUEST
        if failed and request.path.startswith("/api/") and "json" not in response.get("Content-Type", ""):
            status = HTTPStatus(response.status_code)
            body = problem(status.name.lower(), status, status.phrase, status.description, request_id)
            response = plain_response(body)
        response["X-Request-ID"] = request_id
        return response
