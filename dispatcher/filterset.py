"""How the list of firings can be narrowed: these parameters and no others (TH-18)."""

from __future__ import annotations

from typing import Any, Final
from uuid import UUID

from django.db.models import Exists, OuterRef, Q, QuerySet
from django_filters import FilterSet
from drf_spectacular.types import OpenApiTypes

from dispatcher.models import Firing, FiringScope
from dispatcher.selectors import of_schedule
from flowsched.rest.filtering import Value, Word, moment
from inventory.identifiers import parse_uuid

# The columns that hold how many racks had an outcome, once the firing is closed.
_COUNTED: Final = frozenset(state for state in FiringScope.State.values if state != FiringScope.State.PENDING)


def _words(values: list[Any]) -> dict[str, str]:
    return {str(value): str(value) for value in values}


class HistoryFilter(FilterSet):  # type: ignore[misc]  # django-filter has no types
    """Filters of one schedule's firings; several of them narrow together."""

    cause = Word(_words(Firing.Cause.values), "cause", about="By time, or by a person.")
    state = Word(_words(Firing.State.values), "state", about="open until every rack has its outcome.")
    rack_id = Value(reader=parse_uuid, schema=OpenApiTypes.UUID, about="Those that reached this rack.", method="on")
    outcome = Word(
        _words(FiringScope.State.values),
        about="Those in which a rack, or the one of rack_id, had this outcome.",
        method="with_outcome",
    )
    fired_after = Value(
        "fired_at", "gte", reader=moment, schema=OpenApiTypes.DATETIME, about="Fired at this instant or later."
    )
    fired_before = Value(
        "fired_at", "lt", reader=moment, schema=OpenApiTypes.DATETIME, about="Fired before this instant."
    )

    def on(self, rows: QuerySet[Firing], _name: str, rack_id: UUID) -> QuerySet[Firing]:
        """Those that reached a rack."""
        return rows.filter(pk__in=FiringScope.objects.filter(rack_id=rack_id).values("firing_id"))

    def with_outcome(self, rows: QuerySet[Firing], _name: str, outcome: str) -> QuerySet[Firing]:
        """Those with a rack that had an outcome: counted in those that are closed, looked for in the few others."""
        rack_id = self.form.cleaned_data.get("rack_id")
        scopes = FiringScope.objects.filter(state=outcome)
        if rack_id is not None:
            return rows.filter(pk__in=scopes.filter(rack_id=rack_id).values("firing_id"))
        match = Q(closed_at__isnull=True) & Q(Exists(scopes.filter(firing_id=OuterRef("pk"))))
        if outcome in _COUNTED:
            match |= Q(**{f"{outcome}_count__gt": 0})
        return rows.filter(match)


class FiringFilter(HistoryFilter):
    """Filters of all firings."""

    schedule_id = Value(
        reader=parse_uuid, schema=OpenApiTypes.UUID, about="Those of this schedule, deleted or not.", method="of"
    )

    def of(self, rows: QuerySet[Firing], _name: str, schedule_id: UUID) -> QuerySet[Firing]:
        """Those of a schedule."""
        return of_schedule(rows, schedule_id)
