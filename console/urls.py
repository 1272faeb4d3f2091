"""The pages, inside the admin's URLs."""

from __future__ import annotations

from django.urls import URLPattern, path

from console import account, dashboard
from console.schedule_form import pages as form
from console.schedule_form import search


def pages() -> list[URLPattern]:
    """Every page of ours."""
    return [
        path("", dashboard.DashboardPage.as_view(), name="index"),
        path("zone/", account.ZonePage.as_view(), name="zone"),
        path("zones.json", account.zones, name="zones"),
        path("schedules/", dashboard.DashboardPage.as_view(), name="schedules"),
        path("schedules/add/", form.AddPage.as_view(), name="schedule_add"),
        path("schedules/add/preview/", form.PreviewPart.as_view(), name="schedule_add_preview"),
        path("schedules/add/racks/", form.RacksPart.as_view(), name="schedule_add_racks"),
        path("schedules/<uuid:id>/edit/", form.EditPage.as_view(), name="schedule_edit"),
        path("schedules/<uuid:id>/edit/preview/", form.EditPreviewPart.as_view(), name="schedule_edit_preview"),
        path("schedules/<uuid:id>/edit/racks/", form.EditRacksPart.as_view(), name="schedule_edit_racks"),
        path("schedules/rack-search/", search.SearchPart.as_view(), name="schedule_rack_search"),
        path("schedules/rack-components/<uuid:id>/", search.ComponentsPart.as_view(), name="schedule_rack_components"),
        path("tasks/", dashboard.DashboardPage.as_view(), name="tasks"),
        path("racks/", dashboard.DashboardPage.as_view(), name="racks"),
        path("calendar/", dashboard.DashboardPage.as_view(), name="calendar"),
        path("audit/", dashboard.DashboardPage.as_view(), name="audit"),
    ]
