"""URL composition of the project; the doors that need URLs add themselves here."""

from django.contrib import admin
from django.urls import URLPattern, URLResolver, include, path, re_path

from access import api as access_api
from console.calendar.feed import feed
from flowsched.rest.missing import MissingView

handler400 = "console.failures.unreadable"
handler404 = "console.failures.missing"
handler500 = "console.failures.fault"

urlpatterns: list[URLPattern | URLResolver] = [
    path(
        "api/v1/",
        include(
            [
                *access_api.urlpatterns,
            ]
        ),
    ),
    path("admin/", admin.site.urls),
    path("calendar/<str:token>.ics", feed, name="calendar_feed"),
    re_path(r"^api(/.*)?$", MissingView.as_view()),
]
