"""URL composition of the project; the doors that need URLs add themselves here."""

from django.urls import URLPattern, URLResolver, include, path, re_path

from access import api as access_api
from flowsched.rest.missing import MissingView
from tasks import api as tasks_api

urlpatterns: list[URLPattern | URLResolver] = [
    path(
        "api/v1/",
        include(
            [
                *access_api.urlpatterns,
                *tasks_api.urlpatterns,
            ]
        ),
    ),
    re_path(r"^api(/.*)?$", MissingView.as_view()),
]
