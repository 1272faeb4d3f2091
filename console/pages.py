"""The base of every page: who may see it, what surrounds it, and how a refusal reads.

A page answers GET by showing and POST by calling one service. A GET writes nothing, ever.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from django.contrib import messages
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.template.response import TemplateResponse
from django.utils.decorators import method_decorator
from django.views import View
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_protect

from access.callers import require
from console.viewer import Viewer, viewer_of
from flowsched import db
from flowsched.actor import Door
from flowsched.errors import FlowschedError, NotFound, PermissionDenied
from flowsched.rest.problems import STATUSES

NOT_SIGNED_IN = 401


@method_decorator([never_cache, csrf_protect], name="dispatch")
class Page(View):
    """A page. `verbs` maps each method to the verb that the viewer must have the permission for; "" for any staff."""

    verbs: ClassVar[Mapping[str, str]] = {"GET": ""}
    title: ClassVar[str] = ""
    viewer: Viewer

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Let the viewer in or not, and render what the services refuse."""
        with db.translate():
            viewer = viewer_of(request)
        if viewer is None:
            return signed_out(request)
        self.viewer = viewer
        verb = self.verbs.get("GET" if request.method == "HEAD" else request.method or "")
        try:
            with db.translate():
                if verb:
                    by = viewer.by
                    require(
                        viewer.caller, verb, door=Door.ADMIN, request_id=by.request_id, object_id=kwargs.get("id", "")
                    )
                return super().dispatch(request, *args, **kwargs)
        except FlowschedError as error:
            return refused(request, error)

    def render(self, template: str, *, status: int = 200, **context: Any) -> HttpResponse:
        """The page around `context`."""
        return page(self.request, template, status=status, **({"title": self.title} | context))


def page(request: HttpRequest, template: str, *, status: int = 200, **context: Any) -> HttpResponse:
    """A template inside the frame, rendered here, so that what its queries raise is the page's to answer."""
    from console.site import site_context  # noqa: PLC0415  the site imports the pages

    response = TemplateResponse(request, template, site_context(request) | context, status=status)
    return response.render()


def refused(request: HttpRequest, error: FlowschedError) -> HttpResponse:
    """The page that says what was refused; for a region of a page only the sentence."""
    status = STATUSES[error.kind][0]
    if getattr(request, "htmx", False):
        return HttpResponse(f"{error.message}", status=status, content_type="text/plain; charset=utf-8")
    template = {NotFound: "console/404.html", PermissionDenied: "console/403.html"}.get(
        type(error), "console/error.html"
    )
    title = {403: "You may not do this", 404: "There is no such thing"}.get(status, STATUSES[error.kind][1])
    return page(request, template, status=status, title=title, error=error)


def signed_out(request: HttpRequest) -> HttpResponse:
    """The sign-in page; for a region of a page an answer that it is not put into."""
    if getattr(request, "htmx", False):
        return HttpResponse("You were signed out. Sign in again.", status=NOT_SIGNED_IN, content_type="text/plain")
    return redirect_to_login(request.get_full_path(), login_url="admin:login")


def say(request: HttpRequest, text: str) -> None:
    """One message on the next page: that something was done."""
    messages.success(request, text)
