"""The OpenAPI document and its page, open to everybody.

They say what the source says and nothing of this installation; and who has no token yet must find out here how to get
one. Made once a process: a document that is made for each anonymous request would be a way to keep a server busy.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.decorators import method_decorator
from django.views import View
from django.views.decorators.csrf import csrf_exempt
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.renderers import OpenApiYamlRenderer
from drf_spectacular.views import SpectacularSwaggerSplitView
from rest_framework.renderers import JSONRenderer
from rest_framework.response import Response

from flowsched.rest.problems import plain_response, problem


@cache
def document() -> dict[str, Any]:
    """The OpenAPI document."""
    made: dict[str, Any] = SchemaGenerator().get_schema(request=None, public=True)  # type: ignore[no-untyped-call]
    return made


@cache
def _rendered(form: str) -> bytes:
    if form == "json":
        return json.dumps(document()).encode()
    text: bytes = OpenApiYamlRenderer().render(document(), renderer_context={})  # type: ignore[no-untyped-call]
    return text


@method_decorator(csrf_exempt, name="dispatch")  # it only reads: a POST is told so, not that it lacks a token
class SchemaView(View):
    """The document: YAML, or JSON with `?format=json` or where JSON is all that is accepted."""

    http_method_names = ["get", "head"]

    def get(self, request: HttpRequest) -> HttpResponse:
        """It."""
        wanted = request.GET.get("format") or ("json" if _accepts_json_only(request) else "yaml")
        if wanted not in {"yaml", "json"}:
            detail = "format must be yaml or json"
            body = problem("invalid_input", 400, "The request cannot be understood", detail, request.request_id)  # type: ignore[attr-defined]
            return plain_response(body)
        return HttpResponse(_rendered(wanted), content_type=f"application/{wanted}")


class DocsView(SpectacularSwaggerSplitView):
    """The document as a page on which calls can be tried. All of it comes from this server, and nothing is inline."""

    template_name = "flowsched/docs.html"
    authentication_classes = ()
    permission_classes = ()
    throttle_classes = ()
    http_method_names = ["get", "head"]

    def handle_exception(self, exc: Exception) -> Response:
        """A problem in JSON: the page's own renderer would write it as text."""
        response = super().handle_exception(exc)
        self.request.accepted_renderer = JSONRenderer()
        return response


def _accepts_json_only(request: HttpRequest) -> bool:
    accepted = request.headers.get("Accept", "")
    return "json" in accepted and "yaml" not in accepted
