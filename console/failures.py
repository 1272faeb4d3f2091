"""Pages for what goes wrong outside the pages: forged or stale forms, lockouts, faults.

None of them claims more than is known: what failed before a verb was called did nothing, a fault may have.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.cache import add_never_cache_headers

from audit.services import verb
from console.viewer import viewer_of
from console.zones import zone_of
from flowsched import clock, db
from flowsched.errors import FlowschedError, PermissionDenied

FORGED = "This form was open too long or in another tab. Nothing was done. Go back and reload."

CLOSED = "This page is for administrators. Nothing was done. Ask one of them."


def csrf(request: HttpRequest, reason: str = "") -> HttpResponse:
    """A POST without the token of a form of ours; of somebody who is signed in, it is recorded."""
    del reason  # technical, and no help to a person
    viewer = None
    try:
        with db.translate():
            viewer = viewer_of(request)
            if viewer is not None:
                with verb("form.forged", by=viewer.by, kind="session", now=viewer.now, object_name=request.path[:255]):
                    raise PermissionDenied(FORGED)
    except FlowschedError:
        pass  # recorded, or the database is away: the page is the same
    return _page(request, "console/failure.html", 403, title="The form is stale", sentence=FORGED)


def forbidden(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """A page of Django's own that the viewer may not have; an attempt to change something is recorded."""
    del exception
    try:
        with db.translate():
            viewer = viewer_of(request) if request.method == "POST" else None
            if viewer is not None:
                with verb("admin.post", by=viewer.by, kind="page", now=viewer.now, object_name=request.path[:255]):
                    raise PermissionDenied(CLOSED)
    except FlowschedError:
        pass  # recorded, or the database is away: the page is the same
    return _page(request, "console/failure.html", 403, title="You may not do this", sentence=CLOSED)


def locked_out(request: HttpRequest, *_args: Any, **_kwargs: Any) -> HttpResponse:
    """Too many wrong passwords. The same words whether the user exists or not."""
    wait: timedelta = settings.AXES_COOLOFF_TIME
    context = {"title": "Too many attempts", "until": clock.now() + wait, "now": clock.now()}
    response = _page(request, "console/locked.html", 429, **context, zone=zone_of(request, None))
    response["Retry-After"] = str(int(wait.total_seconds()))
    return response


def fault(request: HttpRequest) -> HttpResponse:
    """A fault of ours: without database and context, which may be what failed."""
    request_id = getattr(request, "request_id", "")
    return _page(request, "console/500.html", 500, title="flowsched made an error", request_id=request_id)


def unreadable(request: HttpRequest, exception: Exception) -> HttpResponse:
    """A request that is malformed, or larger than a form may be."""
    del exception  # names our limits and not what to do
    megabytes = settings.DATA_UPLOAD_MAX_MEMORY_SIZE / 2**20
    sentence = (
        f"This request cannot be read: it is malformed or larger than {megabytes:g} MiB. Nothing was done. Go back: "
        "what you typed is still there."
    )
    return _page(request, "console/failure.html", 400, title="This cannot be read", sentence=sentence)


def missing(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Nothing at this address."""
    del exception
    sentence = f"There is nothing at {request.path[:200]}."
    return _page(request, "console/failure.html", 404, title="There is no such page", sentence=sentence)


def _page(request: HttpRequest, template: str, status: int, **context: Any) -> HttpResponse:
    base = {"site_title": "flowsched", "site_header": "flowsched", "has_permission": False, "is_popup": False}
    response = TemplateResponse(request, template, base | context, status=status).render()
    add_never_cache_headers(response)
    return response
