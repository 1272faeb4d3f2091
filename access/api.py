"""REST: who am I."""

from __future__ import annotations

from typing import Any, ClassVar

from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from access.permissions import PERMISSIONS
from access.views import RestView
from flowsched.rest.paging import only


class MeOut(serializers.Serializer[Any]):
    """The caller."""

    name = serializers.CharField()
    verbs = serializers.ListField(child=serializers.CharField(), help_text="What the caller may do.")
    token = serializers.CharField(help_text="The first characters of the token used; empty in a session.")


class MeView(RestView):
    """Who the caller is and what it may do."""

    verbs: ClassVar = {"GET": ""}

    @extend_schema(summary="Who am I, and what may I do", responses=MeOut, tags=["me"])
    def get(self, request: Request) -> Response:
        """The caller's name, its verbs, and the first characters of its token."""
        only(request, ())
        caller = self.caller
        allowed = [name for name in PERMISSIONS if caller.may(name)]
        return Response({"name": caller.name, "verbs": allowed, "token": caller.token})


urlpatterns = [path("me/", MeView.as_view(), name="me")]
