"""Racks as pages show them: power as last reported, what runs there, which schedules reach them. Constant queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.db.models import Count, Exists, Min, OuterRef, Q, QuerySet

from inventory.models import Component, Rack
from scopes.models import TaskScheduleScope
from tasks.models import Task
from tasks.operations import operation_label
from tasks.states import ACTIVE

LABELS: Final[Mapping[str, str]] = {
    "q": "Search",
    "location": "Location",
    "power": "Power",
    "busy": "Busy",
    "domain": "Domain",
}
POWER: Final[Mapping[str, str]] = {"on": "all on", "off": "some off", "unknown": "unknown"}
BUSY: Final[Mapping[str, str]] = {"yes": "busy", "no": "idle"}
PLACES: Final = ("region", "data_center", "room", "position")


@dataclass(frozen=True, slots=True)
class Power:
    """How many components are on, of how many; `key` is the vocabulary's."""

    on: int
    known: int
    total: int

    @property
    def key(self) -> str:
        """The state as a whole."""
        if not self.known:
            return "power_unknown"
        if self.on == self.total:
            return "power_on"
        return "power_mixed" if self.on else "power_off"

    @property
    def said(self) -> str:
        """In numbers."""
        return f"{self.on} of {self.total} on" if self.known else "not reported yet"


@dataclass(frozen=True, slots=True)
class RackRow:
    """One line of the list."""

    rack: Rack
    place: str
    power: Power
    task: Task | None
    doing: str
    schedules: int
    next_run_at: datetime | None


def racks_found(wanted: Mapping[str, str]) -> QuerySet[Rack]:
    """The racks that the filters keep, by name."""
    rows = Rack.objects.filter(deleted_at__isnull=True).select_related("nvl_domain").order_by("name", "id")
    if text := _text(wanted, "q"):
        rows = rows.filter(Q(name__icontains=text) | Q(serial_number__icontains=text) | _located(text))
    if text := _text(wanted, "location"):
        rows = rows.filter(_located(text))
    if text := _text(wanted, "domain"):
        rows = rows.filter(nvl_domain__name=text)
    if (busy := _text(wanted, "busy")) in BUSY:
        active = Exists(Task.objects.filter(lane=OuterRef("pk"), status__in=sorted(ACTIVE)))
        rows = rows.filter(active if busy == "yes" else ~active)
    if (power := _text(wanted, "power")) in POWER:
        live = Component.objects.filter(rack=OuterRef("pk"), deleted_at__isnull=True)
        reported = Exists(live.filter(power_state__in=["on", "off"]))
        not_on = Exists(live.exclude(power_state="on"))
        rows = rows.filter(
            {"on": reported & ~not_on, "off": Exists(live.filter(power_state="off"))}.get(power, ~reported)
        )
    return rows


def rack_rows(racks: Sequence[Rack]) -> list[RackRow]:
    """The lines of these racks: three queries."""
    ids = [rack.pk for rack in racks]
    power = power_of(ids)
    tasks = {
        task.lane: task for task in Task.objects.filter(lane__in=ids, status__in=sorted(ACTIVE)).order_by("-created_at")
    }
    reached = {
        row["rack_id"]: row
        for row in TaskScheduleScope.objects.filter(rack_id__in=ids)
        .order_by()
        .values("rack_id")
        .annotate(n=Count("pk"), first=Min("schedule__next_run_at", filter=Q(schedule__enabled=True)))
    }
    return [
        RackRow(
            rack=rack,
            place=place_of(rack),
            power=power.get(rack.pk, Power(0, 0, 0)),
            task=(task := tasks.get(rack.pk)),
            doing=operation_label(task.type, task.code, task.information) if task else "",
            schedules=reached.get(rack.pk, {}).get("n", 0),
            next_run_at=reached.get(rack.pk, {}).get("first"),
        )
        for rack in racks
    ]


def power_of(rack_ids: Sequence[UUID]) -> dict[UUID | None, Power]:
    """The power of these racks as last reported: one query."""
    rows = (
        Component.objects.filter(rack_id__in=rack_ids, deleted_at__isnull=True)
        .order_by()
        .values("rack_id")
        .annotate(
            on=Count("pk", filter=Q(power_state="on")),
            known=Count("pk", filter=Q(power_state__in=["on", "off", "disabled"])),
            total=Count("pk"),
        )
    )
    return {row["rack_id"]: Power(row["on"], row["known"], row["total"]) for row in rows}


def place_of(rack: Rack) -> str:
    """Where it stands, from the region to the position."""
    location = rack.location if isinstance(rack.location, dict) else {}
    return " · ".join(str(location[key]) for key in PLACES if location.get(key))


def _located(text: str) -> Q:
    match = Q()
    for key in PLACES:
        match |= Q(**{f"location__{key}__icontains": text})
    return match


def _text(wanted: Mapping[str, Any], name: str) -> str:
    return str(wanted.get(name, "")).replace("\x00", "").strip()
