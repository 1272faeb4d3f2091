"""What every page shows around its content: navigation, zone, banners about the system."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse

from console.viewer import Viewer
from tasks.hold import hold_current
from tasks.processes import STOPPED, ProcessStatus, processes_list

ALIVE: Final = timedelta(seconds=15)
LATE: Final = timedelta(seconds=60)

# Label, URL name, the verb that shows it.
NAVIGATION: Final = (
    ("Dashboard", "admin:index", ""),
    ("Schedules", "admin:schedules", "schedule.read"),
    ("Tasks", "admin:tasks", "task.read"),
    ("Racks", "admin:racks", "rack.read"),
    ("Calendar", "admin:calendar", "schedule.read"),
    ("Audit", "admin:audit", "audit.read"),
)


@dataclass(frozen=True, slots=True)
class Link:
    """One entry of the navigation."""

    label: str
    url: str
    current: bool


def frame(request: HttpRequest, viewer: Viewer) -> Mapping[str, Any]:
    """The context of the frame: two queries, once a request."""
    kept: Mapping[str, Any] | None = getattr(request, "frame", None)
    if kept is None:
        kept = _frame(request, viewer)
        request.frame = kept  # type: ignore[attr-defined]
    return kept


def _frame(request: HttpRequest, viewer: Viewer) -> Mapping[str, Any]:
    processes = processes_list(now=viewer.now)
    return {
        "viewer": viewer,
        "can": viewer.can,
        "now": viewer.now,
        "zone": viewer.zone,
        "zone_name": viewer.zone.key,
        "navigation": _links(request, viewer),
        "processes": processes,
        "silent": [kind for kind in ("dispatcher", "worker") if not _any_alive(processes, kind)],
        "last_seen": {kind: _last(processes, kind) for kind in ("dispatcher", "worker")},
        "hold": hold_current(),
        "environment": settings.FLOWSCHED_SITE_NAME,
        "simulated": settings.FLOWSCHED_EXECUTOR == "simulated",
    }


def process_word(status: ProcessStatus) -> str:
    """The key of the vocabulary for a process."""
    if status.process.state == STOPPED:
        return "stopped"
    return "alive" if status.silent_for < ALIVE else "late" if status.silent_for < LATE else "gone"


def _any_alive(processes: list[ProcessStatus], kind: str) -> bool:
    return any(p.process.kind == kind and process_word(p) in {"alive", "late"} for p in processes)


def _last(processes: list[ProcessStatus], kind: str) -> ProcessStatus | None:
    return next((status for status in processes if status.process.kind == kind), None)


def _links(request: HttpRequest, viewer: Viewer) -> list[Link]:
    shown = [(label, reverse(name)) for label, name, verb in NAVIGATION if not verb or viewer.caller.may(verb)]
    longest = max((url for _, url in shown if request.path.startswith(url)), key=len, default="")
    return [Link(label, url, url == longest) for label, url in shown]
