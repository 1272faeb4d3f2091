"""URL composition of the project; the doors that need URLs add themselves here."""

from django.contrib import admin
from django.urls import URLPattern, URLResolver, include, path, re_path
from django.views.generic import RedirectView

import access.schema  # noqa: F401  tells the OpenAPI document how callers identify themselves
from access import api as access_api
from console.calendar.feed import feed
from dispatcher import api as dispatcher_api
from flowsched.rest.missing import MissingView
from flowsched.rest.pages import DocsView, SchemaView
from inventory import api as inventory_api
from schedules import api as schedules_api
from scopes import api as scopes_api
from scopes import api_calls as calls_api
from tasks import api as tasks_api
from tasks import api_runs as runs_api

handler400 = "console.failures.unreadable"
handler403 = "console.failures.forbidden"
handler404 = "console.failures.missing"
handler500 = "console.failures.fault"

urlpatterns: list[URLPattern | URLResolver] = [
    path(
        "api/v1/",
        include(
            [
                path("schema/", SchemaView.as_view(), name="schema"),
                path("docs/", DocsView.as_view(), name="docs"),
                *access_api.urlpatterns,
                *dispatcher_api.urlpatterns,
                *scopes_api.urlpatterns,  # schedules/check-conflicts/ before schedules/<id>/
                *calls_api.urlpatterns,
                *schedules_api.urlpatterns,
                *inventory_api.urlpatterns,
                *tasks_api.urlpatterns,
                *runs_api.urlpatterns,
            ]
        ),
    ),
    path("", RedirectView.as_view(pattern_name="admin:index")),
    path("admin/", admin.site.urls),
    path("calendar/<str:token>.ics", feed, name="calendar_feed"),
    re_path(r"^api(/.*)?$", MissingView.as_view()),
]
