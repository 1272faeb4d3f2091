"""The base of every REST view: its verbs, its caller, repeated requests, versions as entity tags."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, ClassVar, Final
from uuid import UUID

from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from access import idempotency
from access.callers import Caller, require
from access.rest import caller_of, request_id_of
from flowsched.actor import Actor, Door
from flowsched.errors import InvalidInput, VersionMismatch
from flowsched.rest.answers import Link

IDEMPOTENCY_HEADER: Final = "Idempotency-Key"
REPLAYED_HEADER: Final = "Idempotency-Replayed"
_ENTITY_TAG: Final = re.compile(r'(?:W/)?"[!#-~\x80-\xff]*"')
_REPEATED_HEADERS: Final = ("ETag", "Location")  # what of an answer a repeat gets again, beside status and body


class RestView(APIView):
    """A REST view: `verbs` maps each method to the verb of the permission table, or to "" for any known caller.

    `field_names` maps a field as the services call it to the field of the body; one with a dot at its end stands for
    all that begin so. `problems` and `links` are for the OpenAPI document, see flowsched/rest/schema.py.
    """

    verbs: ClassVar[Mapping[str, str]] = {}
    field_names: ClassVar[Mapping[str, str]] = {}
    problems: ClassVar[Mapping[str, Collection[int]]] = {}
    links: ClassVar[Mapping[str, Mapping[str, Link]]] = {}
    http_method_names = ["get", "head", "post", "put", "patch", "delete"]

    @property
    def caller(self) -> Caller:
        """Who calls."""
        return caller_of(self.request)

    @property
    def by(self) -> Actor:
        """Who the services are told it is."""
        return self.caller.actor(Door.REST, request_id_of(self.request))

    def require(self, names: Iterable[str], object_id: object = "") -> None:
        """Ask for verbs besides the view's, which depend on what the request says. Raises PermissionDenied."""
        request_id = request_id_of(self.request)
        require(self.caller, names, door=Door.REST, request_id=request_id, object_id=object_id)

    def repeatable(self, request: Request, work: Callable[[UUID | None], Response]) -> Response:
        """Do `work` once for each Idempotency-Key, from which its request id comes; a repeat gets the first answer."""
        key = request.headers.get(IDEMPOTENCY_HEADER)
        if key is None:
            return work(None)
        noted = idempotency.begin(
            user_id=self.caller.user_id,
            key=key,
            request=f"{request.method} {request.path}",
            body=request.data,
            now=self.caller.now,
        )
        if noted.answer is not None:
            headers = {**noted.answer.body["headers"], REPLAYED_HEADER: "true"}
            return Response(noted.answer.body["body"], noted.answer.status, headers=headers)
        response = work(noted.id)
        headers = {name: response[name] for name in _REPEATED_HEADERS if name in response}
        answer = {"body": rendered(response), "headers": headers}
        idempotency.finish(noted, status=response.status_code, body=answer)
        return response

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Who, may it, how often; then refuse a body of unknown length, which would be read as none at all."""
        super().initial(request, *args, **kwargs)
        if request.META.get("HTTP_TRANSFER_ENCODING") and not request.META.get("CONTENT_LENGTH"):
            raise InvalidInput("send the body with a Content-Length, not in chunks", reason="NO_LENGTH")


def rendered(response: Response) -> Any:
    """The body of a response as plain JSON values, to be stored."""
    return json.loads(JSONRenderer().render(response.data)) if response.data is not None else None


def expected_version(request: Request) -> int | None:
    """The version that `If-Match` names; None without one, or for `*`.

    Raises InvalidInput for what is no entity tag, VersionMismatch for one that no version has, such as a weak one.
    """
    given = request.headers.get("If-Match", "*").strip()
    if given == "*":
        return None
    if not _ENTITY_TAG.fullmatch(given):
        raise InvalidInput(
            "If-Match must be one entity tag as an ETag header has it, quotes included, or *", field="If-Match"
        )
    digits = given[1:-1]
    if not digits.isdecimal():
        raise VersionMismatch(
            f"If-Match {given[:40]} is no version of this: read it again and send its ETag", reason="VERSION"
        )
    return int(digits) if len(digits) < 10 else -1  # noqa: PLR2004  versions are 32 bits


def etag(version: int) -> dict[str, str]:
    """The header that names a version."""
    return {"ETag": f'"{version}"'}
