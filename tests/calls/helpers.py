"""Making schedules of calls, firing them, and asking the sink what arrived."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from dispatcher.firing import trigger
from dispatcher.models import Firing, FiringScope
from flowsched import clock
from flowsched.errors import FlowschedError
from inventory.models import Rack
from inventory.targets import RackTarget
from schedules.models import TaskSchedule
from schedules.services import schedule_create
from tasks.models import Run, Task
from tasks.operations import Operation
from tasks.worker import Worker
from tests.dispatcher.helpers import BY
from tests.http_servers.servers import Running, unique


def call(path: str = "/ok/x", method: str = "GET", *, endpoint: str = "api", **policy: Any) -> Operation:
    """A call of the kind `api`."""
    body = {"at": "{{ now }}"} if method in {"POST", "PUT", "PATCH"} else None
    target = {"endpoint": endpoint, "method": method, "path": path, "body": body}
    return Operation("http_call", "api", {"target": target, "identity": {"kind": "none"}, "policy": policy})


def hook(webhook: str, *, endpoint: str = "hooks-202", **policy: Any) -> Operation:
    """A notification of a webhook."""
    target = {"endpoint": endpoint, "webhook_id": webhook, "payload": {"at": "{{ now }}"}}
    return Operation("http_call", "gateway", {"target": target, "policy": policy})


def scheduled(operation: Operation, racks: Sequence[Rack] = (), *, policy: str = "skip", **more: Any) -> TaskSchedule:
    """An hourly schedule of it."""
    return schedule_create(
        name=f"call {uuid.uuid4().hex[:8]}",
        spec_type="interval",
        spec="1h",
        operation=operation,
        overlap_policy=policy,
        targets=[RackTarget(id=rack.id) for rack in racks],
        by=BY,
        now=clock.now(),
        **more,
    )


def fired(schedule: TaskSchedule) -> list[FiringScope]:
    """Trigger it; its scopes, refused or not."""
    try:
        return trigger(schedule_id=schedule.id, by=BY, now=clock.now()).scopes
    except FlowschedError:
        last = Firing.objects.filter(schedule_id=schedule.id).latest("id")
        return list(FiringScope.objects.filter(firing=last).order_by("position", "scope_id"))


def came_due(schedule: TaskSchedule) -> None:
    """Make it due a second ago."""
    TaskSchedule.objects.filter(pk=schedule.pk).update(next_run_at=clock.now() - timedelta(seconds=1))


def work() -> None:
    """Carry out everything that waits, in this process."""
    Worker(concurrency=2, once=True).run()


def tasks_of(schedule: TaskSchedule) -> list[Task]:
    return list(Task.objects.filter(schedule_id=schedule.id).order_by("created_at", "id"))


def runs_of(schedule: TaskSchedule) -> list[Run]:
    return list(Run.objects.filter(task__schedule_id=schedule.id).order_by("started_at", "id"))


@dataclass(frozen=True)
class Site:
    """The sink, seen from one test: each asks for paths of its own."""

    sink: Running

    def path(self, mode: str) -> tuple[str, str]:
        """A path that makes the sink behave as `mode` says, and the part by which its log finds the requests."""
        word = unique()
        return f"/{mode}/{word}", word

    def arrived(self, word: str) -> list[dict]:
        """The requests that reached the sink, whether answered or not."""
        return self.sink.records(path=word)
