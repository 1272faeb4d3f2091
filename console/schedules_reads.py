"""The list of schedules: filters, order, and what each row says. A constant number of queries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from django.db.models import Count, F, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from dispatcher.models import Firing
from inventory.models import Rack
from schedules.models import TaskSchedule
from scopes.models import TaskScheduleScope
from tasks.operations import CODES, OperationKind, OperationType

STATES: Final[Mapping[str, str]] = {
    "enabled": "Enabled",
    "off": "Off, whoever did it",
    "person": "Paused",
    "system": "Disabled by the system",
    "consumed": "Has run",
}
KINDS: Final[Mapping[str, str]] = {"interval": "Every", "cron": "At calendar times", "one-time": "Once"}
OPERATIONS: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    OperationKind.POWER_ON.value: ("Power on", ("power_on", "force_power_on")),
    OperationKind.POWER_OFF.value: ("Power off", ("power_off", "force_power_off")),
    OperationKind.POWER_RESET.value: ("Power reset", ("restart", "force_restart", "warm_reset", "cold_reset")),
    OperationKind.BRING_UP.value: ("Bring up", ("bring_up",)),
    OperationKind.INGEST.value: ("Ingest", ("ingest",)),
    OperationKind.UPGRADE_FIRMWARE.value: ("Upgrade firmware", ("upgrade",)),
    OperationType.HTTP.value: ("HTTP call", ("api", "gateway")),
}
OUTCOMES: Final = ("submitted", "skipped", "rejected", "missed", "failed")
LABELS: Final[Mapping[str, str]] = {
    "q": "Search",
    "state": "State",
    "operation": "Operation",
    "kind": "Kind",
    "rack": "Rack",
    "outcome": "Last outcome",
}
SORTS: Final[Mapping[str, tuple[Any, ...]]] = {
    "next": (F("next_run_at").asc(nulls_last=True), "id"),
    "-next": (F("next_run_at").desc(nulls_last=True), "id"),
    "name": ("name", "id"),
    "-name": ("-name", "-id"),
    "last": (F("last_run_at").desc(nulls_last=True), "id"),
    "-last": (F("last_run_at").asc(nulls_last=True), "id"),
}


def schedules_found(wanted: Mapping[str, Any]) -> QuerySet[TaskSchedule]:
    """The schedules that the filters keep, each with `racks`, the number of its racks."""
    scopes = (
        TaskScheduleScope.objects.filter(schedule=OuterRef("pk")).order_by().values("schedule").values(n=Count("rack"))
    )
    rows = TaskSchedule.objects.annotate(racks=Coalesce(Subquery(scopes), 0))
    for name, narrow in _FILTERS.items():
        value = str(wanted.get(name, "")).replace("\x00", "").strip()
        if value:
            rows = rows.filter(narrow(value))
    return rows.order_by(*SORTS.get(str(wanted.get("sort", "")), SORTS["next"]))


def _search(text: str) -> Q:
    """By name, by rack, or by the operation's words."""
    lower = text.lower()
    codes = {row.code for row in CODES if lower in row.label}
    codes |= {code for words, coded in OPERATIONS.values() if lower in words.lower() for code in coded}
    racks = Rack.objects.filter(name__icontains=text).values("id")
    on_them = TaskScheduleScope.objects.filter(rack_id__in=racks).values("schedule_id")
    return Q(name__icontains=text) | Q(pk__in=on_them) | Q(operation_template__code__in=sorted(codes))


def _state(value: str) -> Q:
    if value in {"enabled", "off"}:
        return Q(enabled=value == "enabled")
    return Q(disabled_kind=value) if value in STATES else Q(pk__in=[])


def _operation(value: str) -> Q:
    return Q(operation_template__code__in=OPERATIONS[value][1]) if value in OPERATIONS else Q(pk__in=[])


def _rack(value: str) -> Q:
    racks = Rack.objects.filter(name=value).values("id")
    return Q(pk__in=TaskScheduleScope.objects.filter(rack_id__in=racks).values("schedule_id"))


def _outcome(value: str) -> Q:
    """Schedules whose newest firing had a rack with this outcome."""
    if value not in OUTCOMES:
        return Q(pk__in=[])
    newest = Firing.objects.filter(schedule_id=OuterRef("pk")).order_by("-fired_at", "-id")
    counted = TaskSchedule.objects.annotate(last=Subquery(newest.values(f"{value}_count")[:1])).filter(last__gt=0)
    return Q(pk__in=counted.values("pk"))


_FILTERS: Final = {
    "q": _search,
    "state": _state,
    "operation": _operation,
    "kind": lambda value: Q(spec_type=value),
    "rack": _rack,
    "outcome": _outcome,
}
