"""The OpenAPI document: what of each operation its view does not say itself.

Which failures an operation can answer follows from what it is (who may, is there an id in its path, does it take a
body) and from which helpers its handler calls: a handler that calls `repeatable` takes an Idempotency-Key. What does
not follow, a view adds: `problems` (method -> further statuses) and `links` (method -> name -> Link, for whoever walks
the API by its own answers).
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, Final

from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import OpenApiParameter

from flowsched.rest.answers import ProblemOut
from flowsched.rest.fields import Strict
from flowsched.rest.problems import MEDIA_TYPE

PREFIX: Final = "/api/v1/"
_UNSAFE: Final = frozenset({"POST", "PUT", "PATCH", "DELETE"})
_NAMES: Final = {
    400: ("BadRequest", "The request cannot be understood; `errors` names each field at fault."),
    401: ("Unauthenticated", "No token, one that is not known, or a session that has ended."),
    403: ("Forbidden", "The caller may not do this; `reason` is the permission it takes."),
    404: ("NotFound", "There is no such thing, here or named in the body."),
    409: ("Conflict", "It exists already, or its state does not allow this; `reason` says which."),
    412: ("PreconditionFailed", "It was changed since the version that If-Match names: read it again."),
    413: ("TooLarge", "The body is larger than 256 KiB."),
    415: ("UnsupportedMediaType", "The body is not plain application/json in UTF-8."),
    422: ("KeyReused", "The Idempotency-Key came with another request within 24 hours."),
    429: ("TooMany", "Too many requests a minute, or a rack's queue is full."),
    503: ("Unavailable", "Somebody else holds it at the moment, or the database is away: try again."),
}
_TEXT: Final = {"type": "string"}
_HEADERS: Final[Mapping[str, Mapping[str, Any]]] = {
    "X-Request-ID": {"description": "Names this request in the audit trail and in the log.", "required": True},
    "Retry-After": {"description": "Seconds to wait before the next attempt."},
    "WWW-Authenticate": {"description": "Bearer.", "required": True},
    "Idempotency-Replayed": {"description": "`true`: this is the answer to an earlier request with the same key."},
}
_KEY: Final = OpenApiParameter(
    "Idempotency-Key",
    {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]([ -~]*[!-~])?$"},
    OpenApiParameter.HEADER,
    description="The same key answers the same result for 24 hours; with another request it is refused.",
)
_IF_MATCH: Final = OpenApiParameter(
    "If-Match",
    {"type": "string", "pattern": r'^(\*|(W/)?"[!#-~]*")$', "examples": ['"3"']},
    OpenApiParameter.HEADER,
    description="The ETag of the version that this is meant for; 412 if there is a newer one.",
)
_HELPERS: Final = {"repeatable": [_KEY], "expected_version": [_IF_MATCH]}


class Schema(AutoSchema):
    """One operation's entry."""

    def get_operation_id(self) -> str:
        """By path and method: `tasks_list`, `tasks_retrieve`, `tasks_cancel`."""
        parts = [part for part in self.path.removeprefix(PREFIX).split("/") if part]
        words = [part.replace("-", "_") for part in parts if not part.startswith("{")]
        if self.method == "GET":
            words.append("list" if any(one.name == "offset" for one in self._declared()) else "retrieve")
        elif self.method != "POST":
            words.append({"PUT": "replace", "PATCH": "update"}.get(self.method, "delete"))
        elif hasattr(self.view, "get"):  # elsewhere the path itself is the verb
            words.append("create")
        return "_".join(words)

    def get_serializer_name(self, serializer: Any, direction: Any) -> str:
        """The class's name without the ending that tells requests and answers apart here."""
        del direction
        name: str = serializer.__class__.__name__
        return name.removesuffix("Out").removesuffix("In")

    def get_override_parameters(self) -> list[Any]:
        """The headers that the handler asks for."""
        return [one for name, found in _HELPERS.items() if name in self._calls for one in found]

    def _declared(self) -> list[OpenApiParameter]:
        return [one for one in self.get_override_parameters() if isinstance(one, OpenApiParameter)]

    @cached_property
    def _calls(self) -> frozenset[str]:
        """The names that the handler uses."""
        handler = inspect.unwrap(getattr(self.view, self.method.lower()))
        return frozenset(handler.__code__.co_names)

    def _map_basic_serializer(self, serializer: Any, direction: str) -> Any:
        schema = super()._map_basic_serializer(serializer, direction)  # type: ignore[no-untyped-call]
        if isinstance(serializer, Strict):
            _add(schema, {**serializer.described, "additionalProperties": False})
        return schema

    def _get_response_bodies(self, direction: Any = "response") -> dict[str, Any]:
        found: dict[str, Any] = super()._get_response_bodies(direction)
        self.resolve_serializer(ProblemOut, "response")
        for response in found.values():
            response["headers"] = {**response.get("headers", {}), **{name: _header(name) for name in self._headers()}}
        links = getattr(self.view, "links", {}).get(self.method)
        if links:
            found[min(found)]["links"] = {name: link.described() for name, link in links.items()}
        for status in sorted(self._statuses()):
            found[str(status)] = {"$ref": f"#/components/responses/{_NAMES[status][0]}"}
        return found

    def _headers(self) -> Iterator[str]:
        yield "X-Request-ID"
        if "repeatable" in self._calls:
            yield "Idempotency-Replayed"

    def _statuses(self) -> set[int]:
        """What can go wrong."""
        body = self.method in {"POST", "PUT", "PATCH"} and self.get_request_serializer() is not None
        found = {400, 401, 429, 503} | set(getattr(self.view, "problems", {}).get(self.method, ()))
        if self.method in _UNSAFE:
            found |= {403, 409}
        if getattr(self.view, "verbs", {}).get(self.method):
            found.add(403)
        if "{" in self.path or body:
            found.add(404)
        if body:
            found |= {413, 415}
        if "expected_version" in self._calls:
            found.add(412)
        if "repeatable" in self._calls:
            found.add(422)
        return found


def _add(schema: dict[str, Any], more: Mapping[str, Any]) -> None:
    """Put `more` into `schema`, into what is there already where it is."""
    for key, value in more.items():
        if isinstance(value, Mapping) and isinstance(schema.get(key), dict):
            _add(schema[key], value)
        else:
            schema[key] = value


def _header(name: str) -> dict[str, Any]:
    return {"$ref": f"#/components/headers/{name}"}


def shared_parts(result: dict[str, Any], generator: Any, request: Any, public: bool) -> dict[str, Any]:
    """Hook: the responses and headers that operations refer to."""
    del generator, request, public
    of_status = {401: ["WWW-Authenticate"], 429: ["Retry-After"], 503: ["Retry-After"]}
    components = result["components"]
    components["headers"] = {name: {**header, "schema": _TEXT} for name, header in _HEADERS.items()}
    components["responses"] = {
        name: {
            "description": description,
            "headers": {one: _header(one) for one in ["X-Request-ID", *of_status.get(status, [])]},
            "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
        }
        for status, (name, description) in _NAMES.items()
    }
    return result
