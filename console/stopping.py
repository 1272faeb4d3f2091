"""What stopping a task means for its rack: what starts it again, and who waits behind it."""

from __future__ import annotations

from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from console.viewer import Viewer
from schedules.models import TaskSchedule
from scopes.models import TaskScheduleScope
from tasks.models import Task
from tasks.states import TaskStatus


def afterwards(task: Task, viewer: Viewer) -> list[SafeString]:
    """What comes after a task that is stopped now: two queries."""
    return [*_again(task, viewer), *_behind(task)]


def next_run_said(schedule: TaskSchedule, viewer: Viewer) -> SafeString:
    """When a schedule runs next, as the end of a sentence, or why it does not."""
    if not schedule.enabled or schedule.next_run_at is None:
        why = {"person": "paused", "consumed": "it has run"}.get(schedule.disabled_kind, "disabled by the system")
        return format_html("no next run: {}", why)
    if schedule.next_run_at <= viewer.now:
        return format_html("next run now: it is due")
    return format_html("next run {}", viewer.said(schedule.next_run_at))


def pause_link(schedule: TaskSchedule, viewer: Viewer) -> SafeString:
    """The way to the confirmation of pausing it, for who may; empty for the rest."""
    if not schedule.enabled or not viewer.caller.may("schedule.pause"):
        return SafeString("")
    address = reverse("admin:schedule_verb", args=[schedule.pk, "pause"])
    return format_html(' <a href="{}">Pause that schedule…</a>', address)


def _again(task: Task, viewer: Viewer) -> list[SafeString]:
    """Whether its schedule starts it again, and when."""
    if task.schedule_id is None:
        return []
    rows = TaskScheduleScope.objects.filter(schedule_id=task.schedule_id).select_related("schedule")
    scope = (rows.filter(rack_id=task.rack_id) if task.rack_id else rows.filter(rack__isnull=True)).first()
    rack = task.rack_name or "it"
    if scope is None:
        return [format_html('"{}" reaches {} no longer: it does not start this again.', task.schedule_name, rack)]
    schedule = scope.schedule
    if not schedule.enabled or schedule.next_run_at is None:
        said = next_run_said(schedule, viewer)
        return [format_html('"{}" does not start this again ({}).', schedule.name, said)]
    link = pause_link(schedule, viewer)
    if schedule.next_run_at <= viewer.now:
        return [format_html('"{}" is due and starts this again at once.{}', schedule.name, link)]
    at = viewer.said(schedule.next_run_at)
    return [format_html('"{}" starts this again on {} at its next run, {}.{}', schedule.name, rack, at, link)]


def _behind(task: Task) -> list[SafeString]:
    """How many tasks of the rack began to wait after it."""
    later = Task.objects.filter(lane=task.lane, status=TaskStatus.WAITING, created_at__gte=task.created_at)
    count = later.exclude(pk=task.pk).count()
    if not count:
        return []
    many = "1 task waits" if count == 1 else f"{count} tasks wait"
    return [format_html("{} behind it and may begin once it has ended.", many)]
