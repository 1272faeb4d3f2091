"""What a viewer sets for themselves: the zone in which times are shown."""

from __future__ import annotations

from typing import ClassVar
from zoneinfo import ZoneInfo

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_GET

from access.services import timezone_set
from console import moments
from console.pages import Page, say
from console.viewer import viewer_of
from console.zones import zone_named
from schedules.zones import zone_names


class ZonePage(Page):
    """Keep the viewer's zone."""

    verbs: ClassVar = {"POST": ""}
    http_method_names = ["post"]

    def post(self, request: HttpRequest) -> HttpResponse:
        """Set it and go back."""
        wanted = request.POST.get("timezone_button") or request.POST.get("timezone", "")
        zone = zone_named(wanted.strip(), field="timezone").key
        timezone_set(user_id=self.viewer.caller.user_id, timezone=zone, by=self.viewer.by, now=self.viewer.now)
        say(request, f"Times are shown in {zone}.")
        back = request.POST.get("next", "")
        safe = url_has_allowed_host_and_scheme(back, {request.get_host()}, require_https=request.is_secure())
        return redirect(back if safe else "admin:index")


@require_GET
def zones(request: HttpRequest) -> HttpResponse:
    """Every accepted name with its offset now, for the list that a field offers."""
    viewer = viewer_of(request)
    if viewer is None:
        return JsonResponse([], safe=False, status=401)
    offsets = [(name, moments.offset(viewer.now, ZoneInfo(name))) for name in sorted(zone_names())]
    return JsonResponse(offsets, safe=False)
