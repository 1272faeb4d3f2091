"""Pause, resume, trigger and delete, for one schedule or several: a confirmation, then each through its service.

Several are done one by one, and the answer says of each what became of it and why not: one that is refused takes
nothing from the others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final
from uuid import uuid5

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

from access.callers import require
from console import links
from console import schedule_words as words
from console.confirm import Confirmation, Confirmed, Moved, confirmed, difference
from console.pages import Page, say
from console.schedule_words import Subject, subjects_of
from dispatcher.firing import Triggered, trigger
from flowsched.actor import Door
from flowsched.errors import FlowschedError, InvalidInput, NotFound
from inventory.identifiers import parse_uuid
from schedules.services import schedule_delete, schedule_pause, schedule_resume

MOST_AT_ONCE: Final = 200


@dataclass(frozen=True, slots=True)
class Done:
    """What became of one schedule: a key of the vocabulary or a word, and the reason."""

    name: str
    url: str
    result: str
    reason: str
    refused: bool = False
    badge: str = ""


@dataclass(frozen=True, slots=True)
class VerbWords:
    """How a verb is written: on buttons, and when it is done. `verb` is the permission table's name for it."""

    verb: str
    label: str
    past: str
    says: Callable[[Sequence[Subject], Any], list[str]]


VERBS: Final[Mapping[str, VerbWords]] = {
    "pause": VerbWords("schedule.pause", "Pause", "paused", words.pause_says),
    "resume": VerbWords("schedule.resume", "Resume", "resumed", words.resume_says),
    "trigger": VerbWords("schedule.trigger", "Trigger", "triggered", words.trigger_says),
    "delete": VerbWords("schedule.delete", "Delete", "deleted", words.delete_says),
}


class SchedulesVerbPage(Page):
    """A verb on the schedules that were ticked in the list (POST), or on one (GET shows, POST does)."""

    verbs: ClassVar = {"GET": "schedule.read", "POST": "schedule.read"}

    def get(self, request: HttpRequest, verb: str, id: str = "") -> HttpResponse:
        """Show what would happen."""
        self._may(verb, id)
        return self._show(verb, self._subjects(request, id), alone=bool(id))

    def post(self, request: HttpRequest, verb: str, id: str = "") -> HttpResponse:
        """Do it if the viewer has confirmed just this; else show it."""
        self._may(verb, id)
        subjects = self._subjects(request, id)
        if "nonce" not in request.POST:
            return self._show(verb, subjects, alone=bool(id))
        expected = self._confirmation(verb, subjects, alone=bool(id))
        try:
            sent = confirmed(request, expected)
        except Moved:
            return self._show(verb, subjects, alone=bool(id), moved=difference(request, expected), status=409)
        except InvalidInput as error:
            return self._show(verb, subjects, alone=bool(id), error=error.message, status=400)
        if id and verb != "trigger":
            self._do(verb, subjects[0], sent)  # a refusal is the page's to show
            say(request, f'"{subjects[0].name}" is {VERBS[verb].past}.')
            return redirect("admin:schedules") if verb == "delete" else redirect("admin:schedule", subjects[0].id)
        if id:
            return self._triggered(subjects[0], sent)
        return self._answer(verb, [self._try(verb, subject, sent) for subject in subjects])

    def _may(self, verb: str, about: str) -> None:
        if verb not in VERBS:
            raise NotFound(f"there is no verb '{verb[:32]}' for schedules")
        by = self.viewer.by
        require(self.viewer.caller, VERBS[verb].verb, door=Door.ADMIN, request_id=by.request_id, object_id=about)

    def _subjects(self, request: HttpRequest, id: str) -> list[Subject]:
        ids = [id] if id else request.POST.getlist("id") or request.GET.getlist("id")
        if not ids:
            raise InvalidInput("no schedule is selected: tick at least one in the list", field="id")
        if len(ids) > MOST_AT_ONCE:
            raise InvalidInput(f"{len(ids)} schedules are more than the {MOST_AT_ONCE} of one go", field="id")
        return subjects_of([parse_uuid(text) for text in dict.fromkeys(ids)], now=self.viewer.now)

    def _confirmation(self, verb: str, subjects: Sequence[Subject], *, alone: bool) -> Confirmation:
        form = VERBS[verb]
        what = words.what(verb, subjects)
        racks = list(dict.fromkeys(rack for s in subjects for rack in s.racks)) if verb == "trigger" else []
        return Confirmation(
            title=words.title(verb, subjects),
            button=what,
            back=reverse("admin:schedule", args=[subjects[0].id]) if alone else reverse("admin:schedules"),
            says=form.says(subjects, self.viewer),
            notes=words.notes(verb, subjects),
            racks=racks,
            listed=words.pause_lists(subjects, self.viewer) if verb == "pause" else [],
            seen={str(s.id): f"{s.version} {s.state}" for s in subjects},
            disruptive=verb == "trigger" and any(s.disruptive for s in subjects),
            reason_asked=verb == "pause",
            reason_required=verb == "pause",
        )

    def _show(
        self,
        verb: str,
        subjects: Sequence[Subject],
        *,
        alone: bool,
        error: str = "",
        moved: str = "",
        status: int = 200,
    ) -> HttpResponse:
        confirmation = self._confirmation(verb, subjects, alone=alone)
        reason = self.request.POST.get("reason", "")
        context = confirmation.context(error=error, moved=moved, reason=reason)
        return self.render(
            "console/confirm.html", status=status, **context, ids=[] if alone else [s.id for s in subjects]
        )

    def _do(self, verb: str, subject: Subject, sent: Confirmed) -> Triggered | None:
        given: dict[str, Any] = {"schedule_id": subject.id, "by": self.viewer.by, "now": self.viewer.now}
        match verb:
            case "pause":
                schedule_pause(**given, reason=sent.reason)
            case "resume":
                schedule_resume(**given)
            case "delete":
                schedule_delete(**given)
            case _:
                return trigger(**given, request_id=uuid5(sent.nonce, str(subject.id)))
        return None

    def _try(self, verb: str, subject: Subject, sent: Confirmed) -> Done:
        url = "" if verb == "delete" else reverse("admin:schedule", args=[subject.id])
        already = words.already(verb, subject)
        if already:
            return Done(subject.name, url, "not done", already, refused=True)
        try:
            result = self._do(verb, subject, sent)
        except FlowschedError as error:
            return Done(subject.name, url, "refused", error.message, refused=True)
        return Done(subject.name, url, VERBS[verb].past, words.submitted(result) if result else "")

    def _triggered(self, subject: Subject, sent: Confirmed) -> HttpResponse:
        result = self._do("trigger", subject, sent)
        assert result is not None
        rows = [
            Done(scope.rack_name or subject.name, "", "", scope.reason, badge=words.scope_word(scope.state))
            for scope in result.scopes
        ]
        back = links.firing(subject.id, result.firing.id)
        sentence = words.submitted(result)
        noun = "Rack" if any(scope.rack_name for scope in result.scopes) else "Call"
        return self._table(noun, sentence, rows, back, back_label="See the firing", title=subject.name)

    def _answer(self, verb: str, rows: Sequence[Done]) -> HttpResponse:
        done = sum(not row.refused for row in rows)
        sentence = f"{done} of {len(rows)} schedules {VERBS[verb].past}."
        title = f"{VERBS[verb].label}: {done} done, {len(rows) - done} not"
        return self._table("Schedule", sentence, rows, reverse("admin:schedules"), back_label="Schedules", title=title)

    def _table(self, noun: str, sentence: str, rows: Sequence[Done], back: str, **context: Any) -> HttpResponse:
        all_refused = bool(rows) and all(row.refused for row in rows)
        return self.render(
            "console/answer.html",
            noun=noun,
            sentence=sentence,
            rows=rows,
            back=back,
            all_refused=all_refused,
            **context,
        )
