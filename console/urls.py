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
    racks,
    schedule,
    schedule_verbs,
    schedules,
    tasks,
)


def pages() -> list[URLPattern]:
    """Every page of ours."""
    return [
        path("", dashboard.DashboardPage.as_view(), name="index"),
        path("outcomes/", outcome_list.OutcomesPage.as_view(), name="outcomes"),
        path("zone/", account.ZonePage.as_view(), name="zone"),
        path("zones.json", account.zones, name="zones"),
        path("schedules/", schedules.SchedulesPage.as_view(), name="schedules"),
        path("schedules/do/<str:verb>/", schedule_verbs.SchedulesVerbPage.as_view(), name="schedules_verb"),
        path("schedules/add/", dashboard.DashboardPage.as_view(), name="schedule_add"),
        path("schedules/<str:id>/edit/", dashboard.DashboardPage.as_view(), name="schedule_edit"),
        path("schedules/<str:id>/", schedule.SchedulePage.as_view(), name="schedule"),
        path("schedules/<str:id>/do/<str:verb>/", schedule_verbs.SchedulesVerbPage.as_view(), name="schedule_verb"),
        path("tasks/", tasks.TasksPage.as_view(), name="tasks"),
        path("tasks/<str:id>/", tasks.TaskPage.as_view(), name="task"),
        path("tasks/<str:id>/cancel/", tasks.TaskCancelPage.as_view(), name="task_cancel"),
        path("tasks/<str:id>/decide/", tasks.TaskDecidePage.as_view(), name="task_decide"),
        path("racks/<str:id>/", racks.RackPage.as_view(), name="rack"),
        path("racks/", racks.RacksPage.as_view(), name="racks"),
        path("calendar/", calendar.CalendarPage.as_view(), name="calendar"),
        path("calendar/feeds/", feeds.FeedsPage.as_view(), name="calendar_feeds"),
        path("calendar/feeds/<int:id>/revoke/", feeds.FeedRevokePage.as_view(), name="calendar_feed_revoke"),
        path("audit/", audit_page.AuditPage.as_view(), name="audit"),
    ]
