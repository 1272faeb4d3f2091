"""How the list of schedules can be narrowed and ordered: these parameters and no others (TH-18)."""

from __future__ import annotations

from typing import Any, Final

from django.db.models import F, Q, QuerySet
from django_filters import FilterSet
from drf_spectacular.types import OpenApiTypes

from flowsched.rest.filtering import TRUTH, Ordering, Value, Word, moment, text_up_to
from inventory.identifiers import MAX_NAME, parse_uuid
from schedules.models import TaskSchedule
from schedules.template import stored_as

_text = text_up_to(MAX_NAME)
_ORDERS: Final = {
    "created_at": ("created_at", "id"),
    "-created_at": ("-created_at", "-id"),
    "name": ("name", "id"),
    "-name": ("-name", "-id"),
    "next_run_at": (F("next_run_at").asc(nulls_last=True), "id"),
    "-next_run_at": (F("next_run_at").desc(nulls_last=True), "-id"),
}


def _words(choices: Any) -> dict[str, str]:
    return {value: value for value in choices.values if value}


class ScheduleFilter(FilterSet):  # type: ignore[misc]  # django-filter has no types
    """Filters of schedules; several of them narrow together."""

    enabled = Word(TRUTH, "enabled", about="Only enabled ones, or only the others.")
    operation_type = Word(stored_as(), about="What they do.", method="doing")
    spec_type = Word(_words(TaskSchedule.SpecType), "spec_type", about="How their times are given.")
    overlap_policy = Word(_words(TaskSchedule.OverlapPolicy), "overlap_policy", about="Their overlap policy.")
    disabled_kind = Word(_words(TaskSchedule.DisabledKind), "disabled_kind", about="Why they are not enabled.")
    rack_id = Value("scopes__rack_id", reader=parse_uuid, schema=OpenApiTypes.UUID, about="Those that cover this rack.")
    rack = Value("scopes__rack__name", reader=_text, about="Those that cover the rack of this name.")
    name = Value("name", reader=_text, about="The one of this name.")
    q = Value("name", "icontains", reader=_text, about="Those whose name holds this, in upper or lower case.")
    due_after = Value(
        "next_run_at", "gte", reader=moment, schema=OpenApiTypes.DATETIME, about="Next run at this instant or later."
    )
    due_before = Value(
        "next_run_at", "lt", reader=moment, schema=OpenApiTypes.DATETIME, about="Next run before this instant."
    )
    ordering = Ordering(_ORDERS, default="created_at")

    def doing(self, rows: QuerySet[TaskSchedule], _name: str, stored: list[tuple[str, str]]) -> QuerySet[TaskSchedule]:
        """Those with one of these stored types and codes; an operation that cannot be read is none of them."""
        match = Q()
        for kind, code in stored:
            match |= Q(operation_template__type=kind, operation_template__code=code)
        return rows.filter(match)
