"""URL composition of the project; the doors that need URLs add themselves here."""

from django.urls import URLPattern, URLResolver, include, path, re_path

import access.schema  # noqa: F401  tells the OpenAPI document how callers identify themselves
from access import api as access_api
from dispatcher import api as dispatcher_api
from flowsched.rest.missing import MissingView
from flowsched.rest.pages import DocsView, SchemaView
from inventory import api as inventory_api
from schedules import api as schedules_api
from scopes import api as scopes_api
from tasks import api as tasks_api

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
                *schedules_api.urlpatterns,
                *inventory_api.urlpatterns,
                *tasks_api.urlpatterns,
            ]
        ),
    ),
    re_path(r"^api(/.*)?$", MissingView.as_view()),
]
