"""The pages, inside the admin's URLs."""

from __future__ import annotations

from django.urls import URLPattern, path

from console import (
    account,
    audit_page,
    calendar,
    dashboard,
    feeds,
    outcome_list,
    rack_stop,
    racks,
    runs,
    schedule,
    schedule_call,
    schedule_verbs,
    schedules,
    tasks,
)
from console.schedule_form import pages as form
from console.schedule_form import parts, search


def pages() -> list[URLPattern]:
    """Every page of ours."""
    return [
        path("", dashboard.DashboardPage.as_view(), name="index"),
        path("outcomes/", outcome_list.OutcomesPage.as_view(), name="outcomes"),
        path("zone/", account.ZonePage.as_view(), name="zone"),
        path("zones.json", account.zones, name="zones"),
        path("schedules/", schedules.SchedulesPage.as_view(), name="schedules"),
        path("schedules/do/<str:verb>/", schedule_verbs.SchedulesVerbPage.as_view(), name="schedules_verb"),
        path("schedules/add/", form.AddPage.as_view(), name="schedule_add"),
        path("schedules/add/preview/", parts.PreviewPart.as_view(), name="schedule_add_preview"),
        path("schedules/add/call/", parts.CallPart.as_view(), name="schedule_add_call"),
        path("schedules/add/racks/", parts.RacksPart.as_view(), name="schedule_add_racks"),
        path("schedules/<uuid:id>/edit/", form.EditPage.as_view(), name="schedule_edit"),
        path("schedules/<uuid:id>/edit/preview/", parts.EditPreviewPart.as_view(), name="schedule_edit_preview"),
        path("schedules/<uuid:id>/edit/racks/", parts.EditRacksPart.as_view(), name="schedule_edit_racks"),
        path("schedules/rack-search/", search.SearchPart.as_view(), name="schedule_rack_search"),
        path("schedules/rack-components/<uuid:id>/", search.ComponentsPart.as_view(), name="schedule_rack_components"),
        path("schedules/<str:id>/", schedule.SchedulePage.as_view(), name="schedule"),
        path("schedules/<str:id>/dry-run/", schedule_call.DryRunPage.as_view(), name="schedule_dry_run"),
        path("schedules/<str:id>/do/<str:verb>/", schedule_verbs.SchedulesVerbPage.as_view(), name="schedule_verb"),
        path("tasks/", tasks.TasksPage.as_view(), name="tasks"),
        path("tasks/runs/", runs.RunsPage.as_view(), name="runs"),
        path("tasks/<str:id>/", tasks.TaskPage.as_view(), name="task"),
        path("tasks/<str:id>/cancel/", tasks.TaskCancelPage.as_view(), name="task_cancel"),
        path("tasks/<str:id>/decide/", tasks.TaskDecidePage.as_view(), name="task_decide"),
        path("racks/<str:id>/", racks.RackPage.as_view(), name="rack"),
        path("racks/<str:id>/stop/", rack_stop.RackStopPage.as_view(), name="rack_stop"),
        path("racks/", racks.RacksPage.as_view(), name="racks"),
        path("calendar/", calendar.CalendarPage.as_view(), name="calendar"),
        path("calendar/feeds/", feeds.FeedsPage.as_view(), name="calendar_feeds"),
        path("calendar/feeds/<int:id>/revoke/", feeds.FeedRevokePage.as_view(), name="calendar_feed_revoke"),
        path("audit/", audit_page.AuditPage.as_view(), name="audit"),
    ]
