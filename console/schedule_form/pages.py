"""The pages of the form: add, edit, and the parts of them that are asked for while somebody types.

Every one of them but the two saves only reads; what a button of the rack list does is done to the form alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar
from uuid import UUID

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.html import format_html

from access.callers import require
from access.permissions import ENDPOINT_USE
from console.call_shown import facts_of
from console.pages import Page, say
from console.schedule_form.actions import PRESETS, act
from console.schedule_form.call_fields import call_context, usable_endpoints
from console.schedule_form.call_typed import CALL
from console.schedule_form.conflict import Conflict, conflict_of, rebased
from console.schedule_form.form import OPENED, Form, form_new, form_of, form_posted
from console.schedule_form.picks import picks_dump
from console.schedule_form.preview import Preview, calls_words, collisions, line_of, preview_of
from console.schedule_form.racks import Seen, racks_context
from console.schedule_form.reading import FORCED, VERSIONED, Reading
from console.schedule_form.saving import checked, form_change, form_create, racks_changed, refusal_inputs
from flowsched.actor import Door
from flowsched.errors import AlreadyExists, InvalidInput, NotFound, PreconditionFailed, VersionMismatch
from inventory.picking import any_rack
from schedules.models import TaskSchedule
from schedules.selectors import schedule_get
from tasks.http.endpoints import endpoints
from tasks.operations import OperationKind

OPERATIONS = {
    OperationKind.POWER_ON.value: "Power on",
    OperationKind.POWER_OFF.value: "Power off",
    OperationKind.POWER_RESET.value: "Power reset",
    OperationKind.BRING_UP.value: "Bring-up",
    OperationKind.INGEST.value: "Ingest",
    OperationKind.UPGRADE_FIRMWARE.value: "Firmware upgrade",
}
CALL_WORDS = {CALL: "HTTP call"}


class FormPage(Page):
    """What adding and editing share."""

    def posted(self, request: HttpRequest, row: TaskSchedule | None) -> Form:
        """The form that the request carries, with the endpoints that the viewer may use."""
        return self.offering(form_posted(request.POST, row))

    def offering(self, form: Form) -> Form:
        """The form with the endpoints that the viewer may use; the only one is chosen already."""
        form.usable = usable_endpoints(self.viewer.caller) if form.schedule is None else {}
        if len(form.usable) == 1 and not form.call.endpoint:
            form.call = replace(form.call, endpoint=next(iter(form.usable)))
        return form

    def row(self, id: UUID | None) -> TaskSchedule | None:
        """The schedule that is edited. Raises NotFound."""
        return None if id is None else schedule_get(id)

    def show(
        self, form: Form, *, errors: Mapping[str, str] | None = None, conflict: Conflict | None = None
    ) -> HttpResponse:
        """The whole page."""
        shown = preview_of(form, self.viewer.now)
        editing = form.schedule is not None
        return self.render(
            "console/schedule_form/page.html",
            title=f"Edit {form.schedule.name}" if form.schedule else "Add schedule",
            crumbs=[("Schedules", reverse("admin:schedules"))],
            operations=OPERATIONS | (CALL_WORDS if form.usable or form.is_call else {}),
            may_call=bool(form.usable or form.is_call) and not editing,
            call_part_url=reverse("admin:schedule_add_call"),
            facts=_facts(form, shown),
            **call_context(form, errors or {}),
            forced_kinds=FORCED,
            versioned_kinds=VERSIONED,
            presets=PRESETS,
            opened_items=[(OPENED + name, text) for name, text in form.opened.items()] if editing else [],
            opened_racks=picks_dump(form.opened_picks) if editing else "",
            errors=errors or {},
            conflict=conflict,
            no_inventory=not form.picks and not any_rack(),
            may_racks=not editing or self.viewer.caller.may("scope.reconcile"),
            cancel=schedule_url(form.schedule.pk) if form.schedule else reverse("admin:schedules"),
            waiting=settings.FLOWSCHED_MAX_WAITING_PER_RACK,
            queue_timeout=settings.FLOWSCHED_QUEUE_TIMEOUT,
            minimum=settings.FLOWSCHED_MIN_INTERVAL,
            **self.parts(form, shown),
        )

    def parts(self, form: Form, shown: Preview) -> dict[str, Any]:
        """What the parts of the page show that are asked for again."""
        return {
            **racks_context(form, shown.seen),
            **preview_context(form, shown),
            **urls(form.schedule),
        }

    def fragment(self, template: str, **context: Any) -> HttpResponse:
        """A part of the page, without the frame and its questions."""
        around = {
            "viewer": self.viewer, "can": self.viewer.can, "now": self.viewer.now, "zone": self.viewer.zone,
            "zone_name": self.viewer.zone.key,
        }  # fmt: skip
        return HttpResponse(render_to_string(template, around | context, self.request))

    def save(self, form: Form) -> HttpResponse:
        """Save it, or show it again with all that is wrong and all that was typed."""
        reading = checked(form)
        if reading.errors:
            return self.show(form, errors=reading.errors)
        try:
            return self.saved(form, self.write(form, reading))
        except VersionMismatch:
            return self.conflict(form)
        except (InvalidInput, AlreadyExists, NotFound, PreconditionFailed) as error:
            if isinstance(error, NotFound) and not error.field:
                raise  # the schedule itself is gone
            return self.show(form, errors=refusal_inputs(error, form))

    def write(self, form: Form, reading: Reading) -> TaskSchedule | None:
        """Call the service."""
        raise NotImplementedError

    def saved(self, form: Form, row: TaskSchedule | None) -> HttpResponse:
        """Say what was done, on the schedule's page."""
        raise NotImplementedError

    def conflict(self, form: Form) -> HttpResponse:
        """Show what somebody else changed."""
        raise NotImplementedError


class AddPage(FormPage):
    """A new schedule."""

    verbs: ClassVar = {"GET": "schedule.create", "POST": "schedule.create"}

    def get(self, request: HttpRequest) -> HttpResponse:
        """Show it empty, with racks that a link names, or as the copy of a schedule."""
        copied = request.GET.get("copy", "")
        form = form_new(
            self.viewer.zone, racks=request.GET.getlist("rack"), copied=schedule_get(copied) if copied else None
        )  # fmt: skip
        return self.show(self.offering(form))

    def post(self, request: HttpRequest) -> HttpResponse:
        """Create it; or, without a script, do what another button of the form asks."""
        form, do = self.posted(request, None), request.POST.get("do", "save")
        if do == "save":
            self.may_call(form)
            return self.save(form)
        act(form, do, request.POST)
        return self.show(form)

    def may_call(self, form: Form) -> None:
        """Refuse, and record, a call to an endpoint that exists and is not the viewer's to use (I-88)."""
        if form.is_call and form.call.endpoint in endpoints():
            caller, by = self.viewer.caller, self.viewer.by
            require(caller, f"{ENDPOINT_USE}{form.call.endpoint}", door=Door.ADMIN, request_id=by.request_id)

    def write(self, form: Form, reading: Reading) -> TaskSchedule | None:
        """Create it."""
        return form_create(form, reading, by=self.viewer.by, now=self.viewer.now)

    def saved(self, form: Form, row: TaskSchedule | None) -> HttpResponse:
        """Say when it runs first and on what; a form that was sent before created nothing."""
        assert row is not None
        if row.created_at != self.viewer.now:
            say(self.request, f"“{row.name}” was created by this form before: nothing was created again.")
            return redirect(schedule_url(row.pk))
        reached = calls_words(len(form.picks)) if form.is_call else _reached(form)
        assert row.next_run_at is not None  # it was created just now
        say(self.request, format_html("Created. First run {}, {}.", self.viewer.said(row.next_run_at), reached))
        return redirect(schedule_url(row.pk))


class EditPage(FormPage):
    """A schedule that exists."""

    verbs: ClassVar = {"GET": "schedule.update", "POST": "schedule.update"}

    def get(self, request: HttpRequest, id: UUID) -> HttpResponse:
        """Show it as it is."""
        return self.show(form_of(schedule_get(id), self.viewer.zone))

    def post(self, request: HttpRequest, id: UUID) -> HttpResponse:
        """Save what was changed; or do what another button of the form asks."""
        row = schedule_get(id)
        form, do = self.posted(request, row), request.POST.get("do", "save")
        if do == "keep":
            if request.POST.get("now_version") != str(row.version):
                return self.conflict(form)
            rebased(form, request.POST.getlist("keep"), row, self.viewer.zone)
        elif do != "save":
            act(form, do, request.POST)
            return self.show(form)
        if racks_changed(form):
            caller, by = self.viewer.caller, self.viewer.by
            require(caller, "scope.reconcile", door=Door.ADMIN, request_id=by.request_id, object_id=id)
        return self.save(form)

    def write(self, form: Form, reading: Reading) -> TaskSchedule | None:
        """Write what was changed."""
        return form_change(form, reading, by=self.viewer.by, now=self.viewer.now)

    def saved(self, form: Form, row: TaskSchedule | None) -> HttpResponse:
        """Say what changed of its next run."""
        before = form.schedule
        assert before is not None
        if row is None:
            say(self.request, "Nothing was changed.")
        elif row.next_run_at is not None and row.next_run_at != before.next_run_at:
            say(self.request, format_html("Saved. Next run {}.", self.viewer.said(row.next_run_at)))
        else:
            say(self.request, "Saved.")
        return redirect(schedule_url(before.pk))

    def conflict(self, form: Form) -> HttpResponse:
        """Show what somebody else changed, beside what was typed; nothing of it was saved."""
        assert form.schedule is not None
        row = schedule_get(form.schedule.pk)
        return self.show(form, conflict=conflict_of(form, row, self.viewer.zone))


def _facts(form: Form, shown: Preview) -> list[tuple[str, str]]:
    """The call of a schedule that exists, in words."""
    operation = shown.reading.operation
    if form.schedule is None or operation is None or not shown.is_call:
        return []
    return facts_of(operation.code, operation.information)


def _reached(form: Form) -> str:
    components = sum(reach.reached for reach in Seen.of(list(form.picks.values())).reach.values())
    racks = f"{len(form.picks)} {'rack' if len(form.picks) == 1 else 'racks'}"
    return f"{components} {'component' if components == 1 else 'components'} on {racks}"


def preview_context(form: Form, shown: Preview) -> dict[str, Any]:
    """What the panel's template reads."""
    return {
        "form": form,
        "preview": shown,
        "preview_line": line_of(shown),
        "calls": calls_words(shown.racks),
        "collisions": collisions(shown.forecast) if shown.forecast else "",
    }


def urls(row: TaskSchedule | None) -> dict[str, str]:
    """Where the form's parts are asked for."""
    if row is None:
        return {"preview_url": reverse("admin:schedule_add_preview"), "racks_url": reverse("admin:schedule_add_racks")}
    return {
        "preview_url": reverse("admin:schedule_edit_preview", args=[row.pk]),
        "racks_url": reverse("admin:schedule_edit_racks", args=[row.pk]),
    }


def schedule_url(schedule_id: UUID) -> str:
    """The schedule's page."""
    return reverse("admin:schedule", args=[schedule_id])
