"""How the list of firings can be narrowed: these parameters and no others (TH-18)."""

from __future__ import annotations

from typing import Final
from uuid import UUID

from django.db.models import Exists, OuterRef, Q, QuerySet
from django_filters import FilterSet

from dispatcher.models import Firing, FiringScope
from dispatcher.selectors import of_schedule
from flowsched.rest.filtering import INSTANT, Read, instant, word
from inventory.identifiers import parse_uuid
from inventory.rest import ID_SCHEMA

# The columns that hold how many racks had an outcome, once the firing is closed.
_COUNTED: Final = frozenset(state for state in FiringScope.State.values if state != FiringScope.State.PENDING)


class HistoryFilter(FilterSet):  # type: ignore[misc]  # django-filter has no types
    """Filters of one schedule's firings; several of them narrow together."""

    cause = word(Firing.Cause.values, help_text="By time, or by a person.")
    state = word(Firing.State.values, help_text="open until every rack has its outcome.")
    rack_id = Read(parse_uuid, schema=ID_SCHEMA, method="on", help_text="Those that reached this rack.")
    outcome = word(
        FiringScope.State.values,
        help_text="Those in which a rack, or the one of rack_id, had it.",
        method="with_outcome",
    )
    fired_after = Read(instant, schema=INSTANT, field_name="fired_at", lookup_expr="gte", help_text="Inclusive.")
    fired_before = Read(instant, schema=INSTANT, field_name="fired_at", lookup_expr="lt", help_text="Exclusive.")

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

    schedule_id = Read(parse_uuid, schema=ID_SCHEMA, method="of", help_text="Those of it, also if it was deleted.")

    def of(self, rows: QuerySet[Firing], _name: str, schedule_id: UUID) -> QuerySet[Firing]:
        """Those of a schedule."""
        return of_schedule(rows, schedule_id)
