"""What the confirmation of a schedule's verb says: what happens, what does not, and what would be refused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from django.utils.html import format_html

from console.viewer import Viewer
from dispatcher.firing import Triggered
from flowsched.errors import InvalidInput, NotFound
from schedules.models import TaskSchedule
from schedules.specs import spec_of
from schedules.template import rackless, summary
from scopes.models import TaskScheduleScope
from tasks.models import Task
from tasks.operations import disruptive, operation_label
from tasks.states import ACTIVE

BUSY_NAMED: Final = 5
NAMED: Final = 12
_VERBS: Final = {"pause": "Pause", "resume": "Resume", "delete": "Delete"}


@dataclass(frozen=True, slots=True)
class Subject:
    """A schedule somebody is about to act on, with what the page says of it."""

    schedule: TaskSchedule
    racks: list[str]
    busy: list[str]
    active: int
    next_after_trigger: datetime | None

    @property
    def id(self) -> UUID:
        """The schedule's id."""
        return self.schedule.pk

    @property
    def name(self) -> str:
        """Its name."""
        return self.schedule.name

    @property
    def version(self) -> int:
        """Its version."""
        return self.schedule.version

    @property
    def state(self) -> str:
        """Enabled, or who disabled it."""
        return "enabled" if self.schedule.enabled else self.schedule.disabled_kind

    @property
    def disruptive(self) -> bool:
        """Whether its operation takes running work off the racks, or cannot be read."""
        template = self.schedule.operation_template
        return not isinstance(template, dict) or disruptive(template.get("type", ""), template.get("code", ""))

    @property
    def is_call(self) -> bool:
        """Whether it makes HTTP calls, on racks or on none."""
        return rackless(self.schedule.operation_template)

    @property
    def calls(self) -> int:
        """How many it makes."""
        return max(1, len(self.racks)) if self.is_call else 0

    @property
    def operation(self) -> str:
        """Its operation in words."""
        return summary(self.schedule.operation_template)[1] or "Unreadable operation"


def subjects_of(ids: Sequence[UUID], *, now: datetime) -> list[Subject]:
    """The schedules with their racks and what runs there: three queries. Raises NotFound for the first missing."""
    rows = TaskSchedule.objects.in_bulk(list(ids))
    missing = next((pk for pk in ids if pk not in rows), None)
    if missing is not None:
        raise NotFound(f"there is no schedule '{missing}': it may have been deleted meanwhile", reason="SCHEDULE")
    scopes = TaskScheduleScope.objects.filter(schedule_id__in=ids).order_by("position", "id")
    racks: dict[UUID, list[tuple[UUID, str]]] = {pk: [] for pk in ids}
    for schedule_id, rack_id, name in scopes.values_list("schedule_id", "rack_id", "rack__name"):
        if rack_id:
            racks[schedule_id].append((rack_id, name))
    lanes = {rack_id for pairs in racks.values() for rack_id, _ in pairs} | set(ids)  # a call's lane is its schedule
    tasks: dict[UUID, Task] = {}
    own: dict[UUID | None, int] = {}
    for task in Task.objects.filter(lane__in=lanes, status__in=sorted(ACTIVE)).order_by("-created_at", "id"):
        tasks[task.lane] = task
        own[task.schedule_id] = own.get(task.schedule_id, 0) + 1
    return [
        Subject(
            schedule=rows[pk],
            racks=[name for _, name in racks[pk]],
            busy=[
                _busy(name, tasks[rack_id])
                for rack_id, name in racks[pk]
                if rack_id in tasks and not rackless(rows[pk].operation_template)  # a call conflicts with nothing
            ],
            active=own.get(pk, 0),
            next_after_trigger=_next_after(rows[pk], now),
        )
        for pk in ids
    ]


def what(verb: str, subjects: Sequence[Subject]) -> str:
    """The verb with what it hits: the button. `Power reset 38 racks`, `Pause 2 schedules`."""
    if verb == "trigger" and all(s.is_call for s in subjects):
        return f"Make {_many(sum(s.calls for s in subjects), 'HTTP call')}"
    if verb == "trigger" and any(s.is_call for s in subjects):
        return f"Trigger {len(subjects)} schedules"
    if verb == "trigger":
        racks = {rack for s in subjects for rack in s.racks}
        operations = {s.operation for s in subjects}
        operation = operations.pop() if len(operations) == 1 else "Trigger operations on"
        return f"{operation} {_many(len(racks), 'rack')}".capitalize()
    if len(subjects) == 1:
        return f"{_VERBS[verb]} schedule"
    return f"{_VERBS[verb]} {len(subjects)} schedules"


def title(verb: str, subjects: Sequence[Subject]) -> str:
    """The heading of the page."""
    if verb == "trigger":
        return f"{what(verb, subjects)} now?"
    name = f'"{subjects[0].name}"' if len(subjects) == 1 else f"{len(subjects)} schedules"
    return f"{_VERBS[verb]} {name}?"


def pause_says(subjects: Sequence[Subject], viewer: Viewer) -> list[str]:
    """What a pause does and does not."""
    del viewer
    active = sum(s.active for s in subjects)
    they = "It" if len(subjects) == 1 else "They"
    rest = f" {_many(active, 'task')} already submitted {'keeps' if active == 1 else 'keep'} running." if active else ""
    return [f"{they} will not fire until resumed.{rest}"]


def pause_lists(subjects: Sequence[Subject], viewer: Viewer) -> list[str]:
    """Each schedule with its racks and the run that is given up first."""
    return [
        format_html('"{}"{}: {}', s.name, f" on {_many(len(s.racks), 'rack')}" if s.racks else "", given_up)
        for s in subjects
        for given_up in [_given_up(s.schedule, viewer)]
    ]


def _given_up(schedule: TaskSchedule, viewer: Viewer) -> str:
    if not schedule.enabled or schedule.next_run_at is None:
        return "it has no next run to give up"
    return format_html("gives up its run of {}", viewer.said(schedule.next_run_at))


def resume_says(subjects: Sequence[Subject], viewer: Viewer) -> list[str]:
    """When each would run first, and that nothing is made up for."""
    lines = []
    for subject in subjects[:NAMED]:
        schedule = subject.schedule
        once = schedule.spec_type == TaskSchedule.SpecType.ONE_TIME
        first = schedule.next_run_at if once else _first_run(schedule, viewer.now)
        if first is None:
            lines.append(f'"{subject.name}" will not run: see below.')
        elif first <= viewer.now:
            lines.append(f'The time of "{subject.name}" has passed: it will run within 10 seconds.')
        else:
            lines.append(format_html('"{}": next run {}.', subject.name, viewer.said(first)))
    return [*lines, "Runs missed while paused are not made up."]


def trigger_says(subjects: Sequence[Subject], viewer: Viewer) -> list[str]:
    """What a trigger does beside firing."""
    lines = []
    if not all(s.is_call for s in subjects):
        refuse = "racks with a conflicting task will refuse"
        lines.append(f"The overlap policy is not applied to a manual trigger; {refuse}.")
    calls = [subject for subject in subjects if subject.is_call]
    lines += [f'"{each.name}" makes {_many(each.calls, "call")}: {each.operation}.' for each in calls[:NAMED]]
    if calls:
        lines.append("A call is refused where as many as may be are under way already.")
    for subject in subjects[:NAMED]:
        if subject.schedule.spec_type == TaskSchedule.SpecType.ONE_TIME:
            lines.append(f'This uses "{subject.name}" up: it will not run at its planned time.')
        elif not subject.schedule.enabled:
            lines.append(f'"{subject.name}" stays {subject.state if subject.state != "person" else "paused"}.')
        elif subject.next_after_trigger is not None:
            after = viewer.said(subject.next_after_trigger)
            lines.append(format_html('Next run of "{}" after this: {}.', subject.name, after))
    return lines


def delete_says(subjects: Sequence[Subject], viewer: Viewer) -> list[str]:
    """What goes with a schedule and what stays."""
    del viewer
    racks = sum(len(s.racks) for s in subjects)
    active = sum(s.active for s in subjects)
    stays = f" {_many(active, 'active task')} {'is' if active == 1 else 'are'} not cancelled." if active else ""
    entries = "1 rack entry goes" if racks == 1 else f"{racks} rack entries go"
    gone = f"{entries} with {'it' if len(subjects) == 1 else 'them'}.{stays} " if racks else stays.lstrip() + " "
    return [f"{gone.lstrip()}History and audit stay."]


def notes(verb: str, subjects: Sequence[Subject]) -> list[str]:
    """What will be refused, as far as it can be seen now."""
    found = [f"{subject.name}: {why}" for subject in subjects if (why := already(verb, subject))]
    if verb == "trigger":
        busy = list(dict.fromkeys(line for subject in subjects for line in subject.busy))
        found += busy[:BUSY_NAMED]
        if len(busy) > BUSY_NAMED:
            found.append(f"and {len(busy) - BUSY_NAMED} more racks are busy")
    return found


def already(verb: str, subject: Subject) -> str:
    """Why the verb has nothing to do here; empty where it has."""
    schedule = subject.schedule
    if verb == "pause" and subject.state == "person":
        return f"Already paused, by {schedule.disabled_by}."
    if verb == "resume" and schedule.enabled:
        return "It is enabled already."
    consumed = schedule.spec_type == TaskSchedule.SpecType.ONE_TIME and schedule.next_run_at is None
    if consumed and verb != "delete":
        past = {"pause": "paused", "resume": "resumed", "trigger": "triggered"}[verb]
        return f"It has already run; a used one-time schedule cannot be {past}. Copy it instead."
    return ""


def submitted(result: Triggered) -> str:
    """What a trigger came to."""
    accepted, refused = len(result.task_ids), len(result.refusals)
    if not result.scopes:
        return "It has no racks: nothing was submitted."
    noun = "calls" if rackless(result.firing.operation_template) else "racks"
    return f"{accepted} of {len(result.scopes)} {noun} submitted" + (f", {refused} refused." if refused else ".")


def scope_word(state: str) -> str:
    """The vocabulary's key of a scope's outcome."""
    return "unresolved" if state == "failed" else state


def _busy(rack: str, task: Task) -> str:
    label = operation_label(task.type, task.code, task.information)
    return f"{rack} is busy: {label} is {task.status} there, and a conflicting operation will be refused"


def _next_after(schedule: TaskSchedule, now: datetime) -> datetime | None:
    try:
        return spec_of(schedule).next_after(now)
    except InvalidInput:
        return None


def _first_run(schedule: TaskSchedule, now: datetime) -> datetime | None:
    try:
        return spec_of(schedule).first_run(now)
    except InvalidInput:
        return None


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
