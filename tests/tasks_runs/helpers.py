"""Racks, tasks and jobs as the runs' tests need them, written straight into the tables."""

from __future__ import annotations

import json
import uuid
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import connection
from django.test.utils import CaptureQueriesContext

from flowsched import clock
from inventory.models import Component, Rack
from tasks.engine import get_engine
from tasks.models import Run, Task
from tasks.runs import RunHandle, run_begin

TYPES = {
    "power_on": "power_control",
    "power_off": "power_control",
    "restart": "power_control",
    "upgrade": "firmware_control",
    "bring_up": "bring_up",
    "ingest": "bring_up",
}


def make_rack(trays: int = 3, *, kind: str = "Compute", power: str = "off", name: str = "") -> Rack:
    name = name or f"rack-{uuid.uuid4().hex[:8]}"
    rack = Rack.objects.create(name=name, serial_number=name)
    Component.objects.bulk_create(
        Component(rack=rack, type=kind, name=f"tray-{n}", serial_number=f"{name}-{n}", power_state=power)
        for n in range(trays)
    )
    return rack


def make_task(rack: Rack, code: str = "power_on", *, job: bool = True, status: str = "pending", **columns: Any) -> Task:
    by_type: dict[str, list[str]] = {}
    for component in rack.components.order_by("name"):
        by_type.setdefault(component.type, []).append(str(component.id))
    now = clock.now()
    task = Task.objects.create(
        **{
            "type": TYPES[code],
            "code": code,
            "information": {},
            "rack_id": rack.id,
            "rack_name": rack.name,
            "lane": rack.id,
            "status": status,
            "attributes": {"components_by_type": by_type},
            "idempotency_key": uuid.uuid4(),
            "created_at": now,
            "updated_at": now,
            "queue_expires_at": now + timedelta(hours=1) if status == "waiting" else None,
        }
        | columns
    )
    if job and status == "pending":
        get_engine().enqueue([task.id])
    return task


def begin(task: Task, *, executor: str = "simulated") -> RunHandle:
    handle = run_begin(task_id=task.id, owner="test", executor=executor, now=clock.now())
    assert handle is not None
    return handle


def expire_lease(run: Run | None = None) -> datetime:
    """End the leases in the past, as when a worker was killed."""
    past = clock.now() - timedelta(seconds=1)
    rows = Run.objects.filter(state="running")
    (rows.filter(id=run.id) if run else rows).update(lease_until=past)
    return clock.now()


def waiting_jobs() -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT queueing_lock FROM procrastinate_jobs WHERE status = 'todo' ORDER BY id")
        return [row[0] for row in cursor.fetchall()]


def clear_jobs() -> None:
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM procrastinate_jobs")
        cursor.execute("DELETE FROM procrastinate_workers")


def effects(path: Path | None = None) -> list[dict[str, Any]]:
    path = path or settings.FLOWSCHED_EFFECT_LOG
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def statements(context: CaptureQueriesContext) -> list[str]:
    """Without BEGIN, COMMIT, SAVEPOINT."""
    words = ("BEGIN", "COMMIT", "SAVEPOINT", "RELEASE", "ROLLBACK")
    return [q["sql"] for q in context.captured_queries if not q["sql"].upper().startswith(words)]
