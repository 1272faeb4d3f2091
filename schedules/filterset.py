"""How the list of schedules can be narrowed and ordered: these parameters and no others (TH-18)."""

from __future__ import annotations

from typing import Final

from django.db.models import Q, QuerySet
from django_filters import FilterSet

from flowsched.rest.filtering import FLAG, INSTANT, Ordering, Read, flag, instant, word
from inventory.identifiers import MAX_NAME, check_name, check_text, parse_uuid
from inventory.rest import ID_SCHEMA
from schedules.answers import DISABLED_KINDS
from schedules.bodies import POLICIES, SPEC_TYPES
from schedules.models import TaskSchedule
from schedules.template import stored_as

_NAME: Final = {"type": "string", "minLength": 1, "maxLength": MAX_NAME}


def _some(text: str) -> str:
    return check_text(text) if text.strip() else check_name(text, what="this")


class ScheduleFilter(FilterSet):  # type: ignore[misc]  # django-filter has no types
    """Filters of schedules; several of them narrow together."""

    enabled = Read(flag, schema=FLAG, help_text="Only enabled ones, or only the others.")
    operation_type = word(list(stored_as()), help_text="What they do.", method="doing")
    spec_type = word(SPEC_TYPES, help_text="How their times are given.")
    overlap_policy = word(POLICIES, help_text="Their overlap policy.")
    disabled_kind = word(DISABLED_KINDS, help_text="Why they are not enabled.")
    rack_id = Read(parse_uuid, schema=ID_SCHEMA, field_name="scopes__rack_id", help_text="Those that cover this rack.")
    rack = Read(check_name, schema=_NAME, field_name="scopes__rack__name", help_text="The same, by the rack's name.")
    name = Read(check_name, schema=_NAME, help_text="The one of this name.")
    q = Read(_some, schema=_NAME, field_name="name", lookup_expr="icontains", help_text="In the name, any case.")
    due_after = Read(
        instant, schema=INSTANT, field_name="next_run_at", lookup_expr="gte", help_text="Next run then or later."
    )
    due_before = Read(instant, schema=INSTANT, field_name="next_run_at", lookup_expr="lt", help_text="Next run before.")
    ordering = Ordering(
        {"created_at": "created_at", "name": "name", "next_run_at": "next_run_at"},
        nulls_last=["next_run_at"],
        help_text="Oldest first unless said; without a next run last; ties by id.",
    )

    def doing(self, rows: QuerySet[TaskSchedule], _name: str, word: str) -> QuerySet[TaskSchedule]:
        """Those stored with a type and code of this word; an operation that cannot be read has none."""
        match = Q()
        for kind, code in stored_as()[word]:
            match |= Q(operation_template__type=kind, operation_template__code=code)
        return rows.filter(match)
