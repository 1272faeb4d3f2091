"""The list of schedules: what runs next, what is off and why, what went wrong last time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar, Final

from django.http import HttpRequest, HttpResponse

from console.listing import chips, rows_of, with_parameter
from console.outcomes_shown import Count, counts
from console.pages import Page
from console.schedules_reads import KINDS, LABELS, OPERATIONS, OUTCOMES, SORTS, STATES, schedules_found
from console.words import WORDS
from dispatcher.tallies import Tally, last_firings
from schedules.models import TaskSchedule
from schedules.template import rackless, summary
from schedules.wording import timing_words

OVERDUE_AFTER: Final = 30  # seconds past its time
SHORTEST_SEARCH: Final = 2


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the list. `word` is the state's key in the vocabulary, `why` the sentence beside it."""

    schedule: TaskSchedule
    racks: int
    operation: str
    when: str
    word: str
    why: str
    no_next: str
    own_zone: str
    last: Tally | None
    outcomes: list[Count]
    is_call: bool = False


class SchedulesPage(Page):
    """Find a schedule, see when and whether it works."""

    verbs: ClassVar = {"GET": "schedule.read"}
    title = "Schedules"

    def get(self, request: HttpRequest) -> HttpResponse:
        """Show the page of the list that the address names."""
        wanted = {name: request.GET.get(name, "") for name in (*LABELS, "sort")}
        if len(wanted["q"].strip()) < SHORTEST_SEARCH:
            wanted["q"] = ""
        found = rows_of(request, schedules_found(wanted))
        tallies = (
            last_firings([schedule.pk for schedule in found.rows]) if self.viewer.caller.may("firing.read") else {}
        )
        sort = wanted["sort"] if wanted["sort"] in SORTS else "next"
        return self.render(
            "console/schedules.html",
            rows=[row_of(schedule, tallies.get(schedule.pk), self.viewer.now) for schedule in found.rows],
            found=found,
            chips=chips(request, LABELS),
            wanted=wanted,
            states=STATES,
            kinds=KINDS,
            operations={key: words for key, (words, _) in OPERATIONS.items()},
            outcomes={key: WORDS[key].word for key in OUTCOMES},
            columns=[
                (label, with_parameter(request, sort=f"-{key}" if sort == key else key), _aria(sort, key))
                for label, key in (("Name", "name"), ("When", ""), ("Next run", "next"), ("Last firing", "last"))
            ],
            may_select=any(self.viewer.caller.may(f"schedule.{verb}") for verb in ("pause", "trigger", "delete")),
        )


def row_of(schedule: TaskSchedule, last: Tally | None, now: datetime) -> Row:
    """What one schedule's line says."""
    word, why = state_of(schedule, now)
    return Row(
        schedule=schedule,
        racks=getattr(schedule, "racks", 0),
        operation=summary(schedule.operation_template)[1] or "unreadable operation",
        when=timing_words(schedule.spec_type, schedule.spec, schedule.timezone),
        word=word,
        why=why,
        no_next={"paused": "none: paused", "consumed": "none: has run"}.get(word, "none: disabled"),
        own_zone=own_zone(schedule),
        last=last,
        outcomes=counts(last.groups) if last else [],
        is_call=rackless(schedule.operation_template),
    )


def own_zone(schedule: TaskSchedule) -> str:
    """The zone that a schedule's times are also shown in: its own, where it is read in one."""
    return schedule.timezone if schedule.spec_type == TaskSchedule.SpecType.CRON else ""


def state_of(schedule: TaskSchedule, now: datetime) -> tuple[str, str]:
    """(key of the vocabulary, sentence why) of a schedule's state."""
    if schedule.enabled:
        late = (now - schedule.next_run_at).total_seconds() if schedule.next_run_at else 0
        return ("overdue", "Due and not fired: is a dispatcher alive?") if late > OVERDUE_AFTER else ("enabled", "")
    if schedule.disabled_kind == TaskSchedule.DisabledKind.PERSON:
        reason = schedule.disabled_reason
        own = reason == f"paused by {schedule.disabled_by}"
        return "paused", f"by {schedule.disabled_by}" + ("" if own or not reason else f': "{reason}"')
    if schedule.disabled_kind == TaskSchedule.DisabledKind.CONSUMED:
        return "consumed", "It ran once and cannot run again; copy it instead."
    return "system", schedule.disabled_reason


def _aria(sort: str, key: str) -> str:
    if sort.lstrip("-") != key or not key:
        return ""
    return "descending" if sort.startswith("-") else "ascending"
