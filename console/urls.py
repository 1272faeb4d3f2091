"""The pages, inside the admin's URLs."""

from __future__ import annotations

from django.urls import URLPattern, path

from console import account, dashboard, outcome_list


def pages() -> list[URLPattern]:
    """Every page of ours."""
    return [
        path("", dashboard.DashboardPage.as_view(), name="index"),
        path("outcomes/", outcome_list.OutcomesPage.as_view(), name="outcomes"),
        path("zone/", account.ZonePage.as_view(), name="zone"),
        path("zones.json", account.zones, name="zones"),
        path("schedules/", dashboard.DashboardPage.as_view(), name="schedules"),
        path("tasks/", dashboard.DashboardPage.as_view(), name="tasks"),
        path("racks/", dashboard.DashboardPage.as_view(), name="racks"),
        path("calendar/", dashboard.DashboardPage.as_view(), name="calendar"),
        path("audit/", dashboard.DashboardPage.as_view(), name="audit"),
    ]
