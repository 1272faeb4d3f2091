"""Schedules of HTTP calls and what became of them, for pages to show: rows alone, nobody is called."""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from typing import Any

from flowsched import clock
from inventory.targets import Target
from schedules.models import TaskSchedule
from schedules.services import schedule_create
from tasks.models import Run, Task
from tasks.operations import Operation
from tests.dispatcher.helpers import BY

API = "http://127.0.0.1:9"  # nobody listens there
ENDPOINTS = {
    "inventory": {
        "kind": "api", "base_url": API, "methods": ["GET", "POST"], "path_prefixes": ["/v1/"],
        "token_url": f"{API}/token", "exchange_url": f"{API}/exchange", "client_id": "robot",
        "client_secret": {"env": "CANARY_SECRET"},
    },
    "open": {"kind": "api", "base_url": API, "methods": ["GET", "PUT"], "path_prefixes": ["/"]},
    "hooks": {"kind": "gateway", "base_url": API},
}  # fmt: skip
SECRET = "canary-secret-9f31c2"


def configure(settings, monkeypatch, **endpoints: Any) -> None:
    """Make these the endpoints of the installation, beside ENDPOINTS."""
    monkeypatch.setenv("CANARY_SECRET", SECRET)
    settings.FLOWSCHED_ENDPOINTS = json.dumps(ENDPOINTS | endpoints)


def report(path: str = "/v1/reports", method: str = "POST", **policy: Any) -> Operation:
    """A call of the endpoint `inventory` as its service account."""
    body = {"rack": "{{ rack.name | default('none') }}", "n": [1, True, None]} if method == "POST" else None
    target = {"endpoint": "inventory", "method": method, "path": path, "query": {"day": "{{ now }}"}, "body": body}
    return Operation(
        "http_call",
        "api",
        {"target": {**target, "headers": {"X-Env": "lab"}}, "identity": {"kind": "service_account"}, "policy": policy},
    )


def call_schedule(
    name: str = "Report", operation: Operation | None = None, *, targets: Sequence[Target] = (), **more: Any
) -> TaskSchedule:
    """An hourly schedule of it; without `targets` on no rack."""
    given = {"spec_type": "interval", "spec": "1h", "by": BY, "now": clock.now(), **more}
    return schedule_create(name=name, operation=operation or report(), targets=targets, **given)


def call_task(schedule: TaskSchedule, **more: Any) -> Task:
    """A task of such a schedule, on no rack."""
    now = clock.now()
    template = schedule.operation_template
    given = {"status": "failed", "finished_at": now if more.get("status", "failed") == "failed" else None, **more}
    return Task.objects.create(
        type=template["type"], code=template["code"], information=template["information"], executor_type="http",
        schedule_id=schedule.pk, schedule_name=schedule.name, lane=schedule.pk, created_at=now, updated_at=now, **given,
    )  # fmt: skip


def call_run(task: Task, state: str = "failed", *, call: dict[str, Any] | None = None, **more: Any) -> Run:
    """A run of it with a record (I-54)."""
    now = clock.now()
    facts = {
        "endpoint": "inventory", "identity_kind": "delegated_user", "principal_name": "ada", "actor_name": "robot",
        "consent_id": "c-1", "target_kind": "api", "target_summary": "POST /v1/reports", "http_status": 503,
        "response_excerpt": "<img src=x onerror=alert(1)>{{ 7*7 }}", "error_type": "http_503",
        "trace_id": uuid.uuid4().hex, "fired_at": now.isoformat(), **(call or {}),
    }  # fmt: skip
    given = {"finished_at": now, "message": "the target answered 503", **more}
    return Run.objects.create(
        task=task, state=state, executor="http", queued_at=now, started_at=now, call=facts,
        attempts=[{"attempt": 1, "state": "failed", "message": "<img src=x onerror=alert(1)>"}], **given,
    )  # fmt: skip
