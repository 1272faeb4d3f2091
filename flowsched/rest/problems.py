"""The error tree as HTTP: RFC 9457 problem details, one shape for every failure under /api/.

`errors` names each field at fault; `reason` is the stable code for programs; `request_id` is in the audit trail and
in the log, under which a 500 can be found. `refusals` is there when racks refused, one entry each (D-13).
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final

from django.core.exceptions import BadRequest, RequestDataTooBig, SuspiciousOperation
from django.core.exceptions import PermissionDenied as DjangoPermissionDenied
from django.db import DatabaseError, InterfaceError
from django.http import Http404, HttpResponse, JsonResponse, UnreadablePostError
from rest_framework import exceptions
from rest_framework.response import Response
from rest_framework.views import set_rollback

from flowsched import db
from flowsched.errors import FlowschedError, InvalidInput, TooLarge
from flowsched.rest.answers import refusals_out

logger = logging.getLogger(__name__)

MEDIA_TYPE: Final = "application/problem+json"
BASE: Final = "urn:flowsched:problem:"
RETRY_SECONDS: Final = 2
MAX_ERRORS: Final = 100  # entries of `errors`; a body may have thousands of faults

# kind -> status and title; design.md's table of errors.
STATUSES: Final[Mapping[str, tuple[int, str]]] = {
    "invalid_input": (400, "The request cannot be understood"),
    "unauthenticated": (401, "Who are you?"),
    "permission_denied": (403, "This takes a permission you do not have"),
    "not_found": (404, "There is no such thing"),
    "already_exists": (409, "It exists already"),
    "precondition_failed": (409, "Its state does not allow this"),
    "version_mismatch": (412, "It was changed meanwhile"),
    "too_large": (413, "The request is too large"),
    "key_reused": (422, "The idempotency key was used for another request"),
    "queue_full": (429, "The queue is full"),
    "too_many": (429, "Too many requests"),
    "busy": (503, "Somebody else holds it at the moment"),
    "unavailable": (503, "Something this needs is out of reach"),
}

# What Django raises while it reads a request, in our words.
_FOREIGN: Final[Sequence[tuple[Any, Callable[[], Exception]]]] = (
    (Http404, exceptions.NotFound),
    (DjangoPermissionDenied, exceptions.PermissionDenied),
    (RequestDataTooBig, lambda: TooLarge("the request is larger than this server reads")),
    (
        (SuspiciousOperation, BadRequest, UnreadablePostError),
        lambda: InvalidInput("the request cannot be read: it is malformed, has too many parts, or ended too early"),
    ),
)


def exception_handler(error: Exception, context: Mapping[str, Any]) -> Response:
    """DRF's handler: whatever a view raised, as a problem. What was written in the request's transaction is undone."""
    set_rollback()
    request = context.get("request")
    request_id = getattr(getattr(request, "_request", request), "request_id", "")
    has_body = getattr(request, "method", "") in {"POST", "PUT", "PATCH"}  # others' fields are query parameters
    names = getattr(context.get("view"), "field_names", {}) if has_body else {}
    body, headers = problem_of(error, request_id=request_id, field_names=names)
    return Response(body, status=body["status"], headers=headers, content_type=MEDIA_TYPE)


def problem_of(
    error: Exception, *, request_id: str = "", field_names: Mapping[str, str] | None = None
) -> tuple[dict[str, Any], dict[str, str]]:
    """(body, headers) of the problem that `error` is. `field_names` maps services' names of fields to the body's."""
    error = _typed(error)
    if isinstance(error, FlowschedError):
        status, title = STATUSES[error.kind]
        headers = {"Retry-After": str(RETRY_SECONDS)} if status == HTTPStatus.SERVICE_UNAVAILABLE else {}
        if status == HTTPStatus.UNAUTHORIZED:
            headers["WWW-Authenticate"] = "Bearer"
        found = _errors(error, field_names or {})
        body = problem(error.kind, status, title, error.message, request_id, errors=found, reason=error.reason)
        if error.refusals:
            body["refusals"] = refusals_out(error.refusals)
        return body, headers
    if isinstance(error, exceptions.APIException):
        return _of_framework(error, request_id)
    logger.error("request %s failed", request_id, exc_info=error)
    detail = f"This is a fault of flowsched. Its log says more under the request id {request_id}."
    return problem("internal", 500, "Something went wrong inside", detail, request_id), {}


def problem(
    kind: str,
    status: int,
    title: str,
    detail: str,
    request_id: str,
    *,
    errors: list[dict[str, str]] | None = None,
    reason: str = "",
) -> dict[str, Any]:
    """The body of a problem."""
    return {
        "type": BASE + kind,
        "title": title,
        "status": status,
        "detail": detail,
        "reason": reason,
        "errors": (errors or [])[:MAX_ERRORS],
        "request_id": request_id,
    }


def plain_response(body: Mapping[str, Any]) -> HttpResponse:
    """A problem outside DRF."""
    return JsonResponse(body, status=body["status"], content_type=MEDIA_TYPE)


def _typed(error: Exception) -> Exception:
    for kinds, make in _FOREIGN:
        if isinstance(error, kinds):
            return make()
    if isinstance(error, (DatabaseError, InterfaceError)):
        try:
            with db.translate():
                raise error
        except FlowschedError as typed:
            return typed
        except (DatabaseError, InterfaceError):
            return error
    return error


def _errors(error: FlowschedError, names: Mapping[str, str]) -> list[dict[str, str]]:
    code = error.reason or error.kind
    field = {error.field: error.message} if error.field else {}
    fields = error.fields if isinstance(error, InvalidInput) else field
    return [{"field": _named(field, names), "code": code, "message": text} for field, text in fields.items()]


def _named(field: str, names: Mapping[str, str]) -> str:
    """A field as bodies name it: `components[3].info.id` is `components.3.info.id`, as in DRF's own errors.

    A name that ends in a dot stands for everything that begins so.
    """
    head, dot, rest = field.partition(".")
    found = names.get(field) or f"{names.get(head + dot, head + dot)}{rest}"
    return re.sub(r"\[(\d+)\]", r".\1", found)


def _of_framework(error: exceptions.APIException, request_id: str) -> tuple[dict[str, Any], dict[str, str]]:
    headers = {}
    if wait := getattr(error, "wait", None):
        headers["Retry-After"] = str(int(wait) + 1)
    if isinstance(error, exceptions.ValidationError):
        found = [
            {"field": field, "code": code, "message": text} for field, code, text in _flat(error.get_full_details())
        ]
        detail = "; ".join(f"{entry['field']}: {entry['message']}" for entry in found[:5])
        return problem("invalid_input", 400, STATUSES["invalid_input"][1], detail, request_id, errors=found), headers
    kind = {403: "permission_denied", 404: "not_found", 429: "too_many"}.get(error.status_code)
    if error.status_code == HTTPStatus.BAD_REQUEST:
        kind = "invalid_input"
    title = STATUSES[kind][1] if kind else HTTPStatus(error.status_code).phrase
    code = kind or HTTPStatus(error.status_code).name.lower()
    return problem(code, error.status_code, title, str(error.detail), request_id), headers


def _flat(details: Any, place: str = "") -> Iterator[tuple[str, str, str]]:
    """Field, code and message of each leaf of DRF's nested details."""
    if isinstance(details, list):
        for index, item in enumerate(details):
            leaf = isinstance(item, dict) and set(item) == {"message", "code"} and isinstance(item["message"], str)
            yield from _flat(item, place if leaf else f"{place}.{index}".strip("."))
    elif isinstance(details, dict) and set(details) == {"message", "code"} and isinstance(details["message"], str):
        yield place or "body", str(details["code"]), str(details["message"])
    elif isinstance(details, dict):
        for key, item in details.items():
            yield from _flat(item, place if key == "non_field_errors" else f"{place}.{key}".strip("."))
