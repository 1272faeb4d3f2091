"""The dashboard: whether it is safe to go back to sleep."""

from __future__ import annotations

from typing import ClassVar

from django.http import HttpRequest, HttpResponse

from console.pages import Page


class DashboardPage(Page):
    """The state of the system at a glance."""

    verbs: ClassVar = {"GET": ""}
    title = "Dashboard"

    def get(self, request: HttpRequest) -> HttpResponse:
        """Show it."""
        return self.render("console/dashboard.html")
