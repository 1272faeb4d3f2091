"""Django's admin site with our pages in it: the frame, the URLs, sign-in."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.urls import URLPattern, URLResolver

from console.frame import frame
from console.viewer import viewer_of


class ConsoleSite(admin.AdminSite):
    """The admin: pages of ours by noun, and Django's own for users and groups."""

    site_header = "flowsched"
    site_title = "flowsched"
    index_title = "Dashboard"
    site_url = None
    enable_nav_sidebar = False

    def get_urls(self) -> list[URLPattern | URLResolver]:
        """Ours first: what they do not take is Django's."""
        from console.urls import pages  # noqa: PLC0415  the pages need the models, which the site is older than

        return [*pages(), *super().get_urls()]

    def each_context(self, request: HttpRequest) -> dict[str, Any]:
        """What every page of the admin shows around itself."""
        context: dict[str, Any] = {
            "site_title": self.site_title,
            "site_header": self.site_header,
            "site_url": None,
            "has_permission": self.has_permission(request),
            "available_apps": [],
            "is_popup": False,
            "is_nav_sidebar_enabled": False,
        }
        viewer = viewer_of(request)
        return context | dict(frame(request, viewer)) if viewer is not None else context


def site_context(request: HttpRequest) -> dict[str, Any]:
    """The context of the site that is in use."""
    return admin.site.each_context(request)
