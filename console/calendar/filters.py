"""What a calendar or a feed is about: all, or one rack, one schedule, one operation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import Q, QuerySet

from console.schedules_reads import OPERATIONS
from dispatcher.models import Firing, FiringScope
from inventory.identifiers import uuid_or_none
from inventory.models import Rack
from schedules.models import TaskSchedule


@dataclass(frozen=True, slots=True)
class Filters:
    """Ids, which stay right when something is renamed, and names to show. `unknown` says what could not be found."""

    rack_id: UUID | None = None
    rack: str = ""
    schedule_id: UUID | None = None
    schedule: str = ""
    operation: str = ""
    unknown: tuple[str, ...] = ()

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Filters:
        """Read an address or a form: racks and schedules by name or id. At most two queries."""
        rack, schedule = _text(given, "rack"), _text(given, "schedule")
        operation = str(given.get("operation", ""))
        rack_id, rack_name = _rack(rack)
        schedule_id, schedule_name = _schedule(schedule)
        unknown = []
        if rack and rack_id is None:
            unknown.append(f"no rack is called '{rack}'")
        if schedule and schedule_id is None:
            unknown.append(f"no schedule is called '{schedule}'")
        known = operation if operation in OPERATIONS else ""
        return cls(rack_id, rack_name, schedule_id, schedule_name, known, tuple(unknown))

    @classmethod
    def stored(cls, value: Mapping[str, str]) -> Filters:
        """What a feed keeps."""
        rack, schedule = value.get("rack"), value.get("schedule")
        return cls(
            rack_id=UUID(rack) if rack else None,
            schedule_id=UUID(schedule) if schedule else None,
            operation=value.get("operation", "") if value.get("operation", "") in OPERATIONS else "",
        )

    def to_store(self) -> dict[str, str]:
        """For a feed to keep."""
        kept = {"rack": str(self.rack_id or ""), "schedule": str(self.schedule_id or ""), "operation": self.operation}
        return {name: value for name, value in kept.items() if value}

    @property
    def words(self) -> str:
        """`for r07, Power Reset`; empty without a filter."""
        parts = [self.rack, self.schedule, OPERATIONS[self.operation][0] if self.operation else ""]
        return ", ".join(part for part in parts if part)

    @property
    def query(self) -> dict[str, str]:
        """As an address has them."""
        given = {"rack": self.rack, "schedule": str(self.schedule_id or ""), "operation": self.operation}
        return {name: value for name, value in given.items() if value}

    def schedules(self) -> QuerySet[TaskSchedule]:
        """The schedules these filters leave."""
        rows = TaskSchedule.objects.all()
        if self.unknown:
            return rows.none()
        if self.schedule_id:
            rows = rows.filter(pk=self.schedule_id)
        if self.rack_id:
            rows = rows.filter(scopes__rack_id=self.rack_id)  # once at most: a rack is in a schedule once
        return rows.filter(_operation(self.operation)) if self.operation else rows

    def firings(self) -> QuerySet[Firing]:
        """The firings these filters leave."""
        rows = Firing.objects.all()
        if self.unknown:
            return rows.none()
        if self.schedule_id:
            rows = rows.filter(schedule_id=self.schedule_id)
        if self.rack_id:
            rows = rows.filter(pk__in=FiringScope.objects.filter(rack_id=self.rack_id).values("firing_id"))
        return rows.filter(_operation(self.operation)) if self.operation else rows


def _text(given: Mapping[str, Any], name: str) -> str:
    return str(given.get(name, "")).replace("\x00", "").strip()[:255]


def _operation(word: str) -> Q:
    """The stored operations that go by this word."""
    return Q(operation_template__code__in=OPERATIONS[word][1])


def _rack(text: str) -> tuple[UUID | None, str]:
    if not text:
        return None, ""
    key = uuid_or_none(text)
    match = Q(name=text) | Q(pk=key) if key else Q(name=text)
    row = Rack.objects.filter(match).values_list("pk", "name").first()
    return row or (None, text)


def _schedule(text: str) -> tuple[UUID | None, str]:
    """A schedule that is there, or one that left firings behind."""
    if not text:
        return None, ""
    key = uuid_or_none(text)
    match = Q(name=text) | Q(pk=key) if key else Q(name=text)
    row = TaskSchedule.objects.filter(match).values_list("pk", "name").first()
    if row is None:
        left = Q(schedule_id=key) if key else Q(schedule_name=text)
        row = Firing.objects.filter(left).order_by("-id").values_list("schedule_id", "schedule_name").first()
    return row or (None, text)
