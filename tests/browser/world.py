"""A site with something on every page, made by the services: racks, schedules in every state, a night of firings."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.core.management import call_command
from django.db.models import F
from django.urls import reverse

from flowsched import clock
from inventory.models import Component, Rack
from inventory.targets import RackTarget
from schedules.models import TaskSchedule
from schedules.services import schedule_create, schedule_disable, schedule_pause
from tasks.models import Run, Task
from tasks.operations import operation
from tasks.processes import process_register
from tests.console.calls import call_run, call_schedule, call_task, report
from tests.dispatcher.helpers import BY, fire
from tests.tasks_runs.helpers import begin, make_task

HOUR = timedelta(hours=1)
HOURS = 32  # long enough that the nightly one has fired
ZONE = "America/New_York"


@dataclass(frozen=True)
class Site:
    """What a test asks the pages for. `racks` in the order of their names."""

    now: datetime
    racks: list[Rack]
    nightly: TaskSchedule
    paused: TaskSchedule
    broken: TaskSchedule
    unknown: Task
    running: Task
    calls: TaskSchedule
    called: Task


def made_site(*, racks: int = 12) -> Site:
    """Fill an empty database: a day and a half of a site, with one of every trouble."""
    now = clock.now().replace(microsecond=0)
    call_command("demo_racks", racks=racks, components=9, prefix="r", verbosity=0, json=True, stdout=_Nowhere())
    for kind in ("dispatcher", "worker"):
        process_register(kind=kind, now=clock.now())
    found = list(Rack.objects.order_by("name"))
    _power(found)
    rows = _schedules(found, now)
    for hours in range(HOURS, 0, -1):
        _one_hour(now - hours * HOUR + HOUR / 3)
    paused = schedule_pause(schedule_id=rows["Chiller test"].id, reason="chiller work", by=BY, now=now)
    broken = schedule_disable(
        schedule_id=rows["Sunday power off"].id, reason="time zone US/Pacific-New is not known here", now=now - 2 * HOUR
    )
    running = _in_flight(found[-2], now)
    unknown = _in_doubt(found[-1], now)
    calls, called = _calls(found[:2])
    nightly = rows["Nightly power reset"]
    nightly.refresh_from_db()
    return Site(now, found, nightly, paused, broken, unknown, running, calls, called)


def pages_of(site: Site) -> list[str]:
    """Every page, and every kind of confirmation."""
    verb = "admin:schedule_verb"
    return [
        reverse("admin:index"),
        reverse("admin:outcomes"),
        reverse("admin:schedules"),
        reverse("admin:schedules") + "?state=paused",
        reverse("admin:schedule_add"),
        reverse("admin:schedule_add") + f"?copy={site.calls.pk}",
        reverse("admin:schedule_edit", args=[site.nightly.pk]),
        reverse("admin:schedule_edit", args=[site.calls.pk]),
        reverse("admin:schedule", args=[site.calls.pk]),
        reverse("admin:schedule_dry_run", args=[site.calls.pk]),
        reverse(verb, args=[site.calls.pk, "trigger"]),
        reverse("admin:schedule", args=[site.nightly.pk]),
        reverse("admin:schedule", args=[site.nightly.pk]) + "?tab=firings",
        reverse("admin:schedule", args=[site.nightly.pk]) + "?tab=changes",
        reverse("admin:schedule", args=[site.broken.pk]),
        reverse(verb, args=[site.nightly.pk, "trigger"]),
        reverse(verb, args=[site.nightly.pk, "pause"]),
        reverse(verb, args=[site.paused.pk, "resume"]),
        reverse(verb, args=[site.nightly.pk, "delete"]),
        reverse("admin:tasks"),
        reverse("admin:tasks") + "?view=failed",
        reverse("admin:task", args=[site.running.pk]),
        reverse("admin:task", args=[site.called.pk]),
        reverse("admin:runs"),
        reverse("admin:runs") + f"?schedule={site.calls.pk}&state=failed",
        reverse("admin:task_cancel", args=[site.running.pk]),
        reverse("admin:task_decide", args=[site.unknown.pk]),
        reverse("admin:racks"),
        reverse("admin:rack", args=[site.racks[0].pk]),
        reverse("admin:rack_stop", args=[site.racks[-2].pk]),
        reverse("admin:calendar"),
        reverse("admin:calendar") + "?view=week",
        reverse("admin:calendar") + "?view=list",
        reverse("admin:calendar_feeds"),
        reverse("admin:audit"),
    ]


class _Nowhere:
    def write(self, text: str) -> int:
        return len(text)

    def flush(self) -> None: ...


def _power(racks: list[Rack]) -> None:
    """What the racks last reported: most on, one in part, one off, one never."""
    Component.objects.update(power_state="on")
    Component.objects.filter(rack=racks[1], type="Compute").update(power_state="off")
    Component.objects.filter(rack=racks[2]).update(power_state="off")
    Component.objects.filter(rack=racks[3]).update(power_state="")


def _schedules(racks: list[Rack], now: datetime) -> dict[str, TaskSchedule]:
    made = {}
    start = now - (HOURS + 1) * HOUR
    for name, timing, kind, on, zone in (
        ("Nightly power reset", ("cron", "30 2 * * *"), "power_reset", racks, ZONE),
        ("Firmware SJC01", ("cron", "0 3 * * 0"), "upgrade_firmware", racks[:6], "Europe/Berlin"),
        ("Lab power on", ("interval", "2h"), "power_on", racks[:4], ""),
        ("Chiller test", ("interval", "3h"), "power_on", racks[4:7], ""),
        ("Sunday power off", ("cron", "0 22 * * 0"), "power_off", racks[7:9], ZONE),
        ("Evening bring-up", ("cron", "0 18 * * 1-5"), "bring_up", racks[2:5], ZONE),
        ("Move to room 3", ("one-time", f"{now + 30 * HOUR:%Y-%m-%dT%H:%M:%SZ}"), "power_off", racks[5:6], ""),
    ):
        made[name] = schedule_create(
            name=name,
            spec_type=timing[0],
            spec=timing[1],
            timezone=zone,
            operation=operation(kind, target_version="25.1.0" if kind == "upgrade_firmware" else None),
            overlap_policy="skip",
            targets=[RackTarget(id=rack.id) for rack in on],
            by=BY,
            now=start,
        )
    return made


def _one_hour(at: datetime) -> None:
    """Fire what is due, then end its tasks as a worker does: all but every seventh, which failed."""
    fire(at)
    open_tasks = Task.objects.filter(status__in=["waiting", "pending", "running"]).order_by("id")
    ended = {"started_at": at, "finished_at": at + timedelta(minutes=4), "queue_expires_at": None}
    ids = list(open_tasks.values_list("id", flat=True))
    Task.objects.filter(id__in=ids[::7]).update(status="failed", message="BMC timed out after 3 attempts", **ended)
    Task.objects.filter(id__in=ids, status__in=["waiting", "pending", "running"]).update(
        status="completed", message="Succeeded", progress_done=F("progress_total"), **ended
    )


def _calls(racks: list[Rack]) -> tuple[TaskSchedule, Task]:
    """A schedule of HTTP calls on two racks, and one of its calls that failed."""
    row = call_schedule(
        "Rack report", report("/v1/racks/{{ rack.name }}/report"), targets=[RackTarget(id=rack.id) for rack in racks]
    )
    TaskSchedule.objects.filter(pk=row.pk).update(consecutive_skips=2, consecutive_no_effect=3)
    task = call_task(row, rack_id=racks[0].id, rack_name=racks[0].name, message="the target answered 503")
    call_run(task, attempt=2)
    return row, task


def _in_flight(rack: Rack, now: datetime) -> Task:
    task = make_task(rack, "upgrade")
    begin(task)
    Task.objects.filter(pk=task.pk).update(started_at=now - HOUR / 4, progress_done=5, progress_total=9)
    make_task(rack, "power_off", status="waiting")
    return task


def _in_doubt(rack: Rack, now: datetime) -> Task:
    task = make_task(rack, "restart")
    run = begin(task).run_id
    Run.objects.filter(pk=run).update(state="unknown", lease_token=None, lease_until=None)
    Task.objects.filter(pk=task.pk).update(message="worker ops-2 died after sending", started_at=now - HOUR / 3)
    task.refresh_from_db()
    return task
