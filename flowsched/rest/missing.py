"""What is not there under /api/: said in JSON, and alike to callers known or not."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.decorators import method_decorator
from django.views import View
from django.views.decorators.csrf import csrf_exempt

from flowsched.rest.problems import plain_response, problem


@method_decorator(csrf_exempt, name="dispatch")  # else a POST would be told that it may not, not that nothing is here
class MissingView(View):
    """Answers 404 to every method."""

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Say so."""
        detail = f"there is nothing at {request.path[:200]}: paths begin with /api/v1/ and end with a slash"
        request_id = getattr(request, "request_id", "")
        return plain_response(problem("not_found", 404, "There is no such thing", detail, request_id))
