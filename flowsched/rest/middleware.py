"""An id for each request, and no HTML from /api/: what fails outside the views is a problem too."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import Final

from django.http import HttpRequest, HttpResponse

from flowsched.actor import request_id_from
from flowsched.rest.problems import plain_response, problem

_DATA: Final = "default-src 'none'; frame-ancestors 'none'"  # an answer that a browser has nothing to load for
_REDIRECTS: Final = {HTTPStatus.MOVED_PERMANENTLY, HTTPStatus.FOUND}


class RequestId:
    """Takes `X-Request-ID` if it is one, else makes one; answers it, so that client, log and audit trail agree."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Handle one request."""
        request_id = request_id_from(request.headers.get("X-Request-ID"))
        request.request_id = request_id  # type: ignore[attr-defined]
        response = self.get_response(request)
        if request.path.startswith("/api/"):
            if "json" not in response.get("Content-Type", ""):
                response = _in_json(response, request_id)
            if "html" not in response.get("Content-Type", ""):
                response["Content-Security-Policy"] = _DATA
        response["X-Request-ID"] = request_id
        return response


def _in_json(response: HttpResponse, request_id: str) -> HttpResponse:
    """What Django says of a request in HTML, in JSON; anything else as it is."""
    status = HTTPStatus(response.status_code)
    if status in _REDIRECTS:  # a client that followed it would send its token in the clear each time
        detail = "this is served by HTTPS only: send the request to https://"
        return plain_response(problem("https_required", HTTPStatus.FORBIDDEN, "HTTPS is required", detail, request_id))
    if status < HTTPStatus.BAD_REQUEST:
        return response
    return plain_response(problem(status.name.lower(), status, status.phrase, status.description, request_id))
