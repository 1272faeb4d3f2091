"""The product's URLs and views that fail, one for each error of the tree."""

from typing import ClassVar

from django.core.exceptions import DisallowedRedirect, SuspiciousOperation
from django.db import DataError
from django.http import Http404
from django.urls import include, path
from rest_framework import exceptions
from rest_framework.response import Response

from access.models import IdempotencyKey
from access.views import RestView
from flowsched import clock, errors
from flowsched import urls as flowsched_urls

SECRET = "SELECT password FROM users"
RAISED = {
    "fault": lambda: RuntimeError(SECRET),
    "key": lambda: KeyError(SECRET),
    "data": lambda: DataError(SECRET),
    "recursion": lambda: RecursionError(SECRET),
    "missing": Http404,
    "suspicious": lambda: SuspiciousOperation(SECRET),
    "redirect": lambda: DisallowedRedirect(SECRET),
    "throttled": lambda: exceptions.Throttled(wait=3.2),
    **{
        kind.kind: lambda kind=kind: kind(f"what, which, what to do: {kind.kind}", reason="WHY")
        for kind in errors.FlowschedError.__subclasses__()
    },
}


class Raises(RestView):
    verbs: ClassVar = {"GET": "", "POST": ""}
    field_names: ClassVar = {"inner": "outer.inner"}

    def fail(self, name):
        error = RAISED[name]()
        raise error

    def get(self, request, name):
        self.fail(name)

    def post(self, request, name):
        """Writes first: what was written must be undone where the request is one transaction."""
        IdempotencyKey.objects.create(user_id=self.caller.user_id, key="written", created_at=clock.now())
        self.fail(name)


class Fields(RestView):
    verbs: ClassVar = {"POST": ""}
    field_names: ClassVar = {"inner": "outer.inner"}

    def post(self, request):
        raise errors.InvalidInput("two faults", fields={"inner": "is odd", "name": "is empty"})


class NoVerb(RestView):
    """Somebody forgot its verbs."""

    def get(self, request):
        return Response({"open": True})

    post = get


class Unknown(RestView):
    """Its verb is in no table."""

    verbs: ClassVar = {"GET": "rack.melt"}

    def get(self, request, id):
        return Response({"open": True})


urlpatterns = [
    path(
        "api/v1/test/",
        include(
            [
                path("raises/<str:name>/", Raises.as_view()),
                path("fields/", Fields.as_view()),
                path("noverb/", NoVerb.as_view()),
                path("unknown/<str:id>/", Unknown.as_view()),
            ]
        ),
    ),
    *flowsched_urls.urlpatterns,
]
