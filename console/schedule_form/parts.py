"""The parts of the form that are asked for while somebody types: the preview, the rack list, the fields of a call."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

from django.http import HttpRequest, HttpResponse

from console.schedule_form.actions import act
from console.schedule_form.call_fields import call_context
from console.schedule_form.pages import FormPage, preview_context, urls
from console.schedule_form.preview import preview_of
from console.schedule_form.racks import racks_context


class PreviewPart(FormPage):
    """What it will do, while somebody types."""

    verbs: ClassVar = {"POST": "schedule.create"}
    http_method_names = ["post"]

    def post(self, request: HttpRequest, id: UUID | None = None) -> HttpResponse:
        """Look at the form."""
        form = self.posted(request, self.row(id))
        shown = preview_of(form, self.viewer.now)
        return self.fragment("console/schedule_form/preview_answer.html", **preview_context(form, shown))


class RacksPart(FormPage):
    """The rack list after one of its buttons."""

    verbs: ClassVar = {"POST": "schedule.create"}
    http_method_names = ["post"]

    def post(self, request: HttpRequest, id: UUID | None = None) -> HttpResponse:
        """Do what the button asks."""
        form = self.posted(request, self.row(id))
        act(form, request.POST.get("do", ""), request.POST)
        return self.fragment(
            "console/schedule_form/racks_answer.html", errors=form.wrong, may_racks=True, **racks_context(form),
            **urls(form.schedule),
        )  # fmt: skip


class EditPreviewPart(PreviewPart):
    """The same for a schedule that exists."""

    verbs: ClassVar = {"POST": "schedule.update"}


class EditRacksPart(RacksPart):
    """The same for a schedule that exists."""

    verbs: ClassVar = {"POST": "scope.reconcile"}


class CallPart(FormPage):
    """What the endpoint that was chosen takes, with what was typed so far."""

    verbs: ClassVar = {"POST": "schedule.create"}
    http_method_names = ["post"]

    def post(self, request: HttpRequest) -> HttpResponse:
        """Show them; nothing is checked yet."""
        form = self.posted(request, None)
        return self.fragment("console/schedule_form/call_target.html", form=form, errors={}, **call_context(form, {}))
