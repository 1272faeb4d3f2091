"""The audit trail: who did what, through which door, and what was refused."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, ClassVar, Final

from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse

from audit.models import AuditEntry
from console.listing import chips, rows_of
from console.pages import Page
from dispatcher.rendering import audit_words
from flowsched.actor import Door

LABELS: Final[Mapping[str, str]] = {
    "q": "Search",
    "actor": "Who",
    "door": "Door",
    "kind": "Kind",
    "refused": "Refused",
    "day": "Day",
}
KINDS: Final = ("schedule", "task", "rack", "nvl_domain", "inventory", "user", "token", "hold", "session")


class AuditPage(Page):
    """One searchable page, newest first."""

    verbs: ClassVar = {"GET": "audit.read"}
    title = "Audit"

    def get(self, request: HttpRequest) -> HttpResponse:
        """Show the page that the address names."""
        wanted = {name: request.GET.get(name, "") for name in LABELS}
        found = rows_of(request, _found(wanted))
        return self.render(
            "console/audit.html",
            rows=[(entry, audit_words(entry)) for entry in found.rows],
            found=found,
            chips=chips(request, LABELS),
            wanted=wanted,
            doors=list(Door),
            kinds=KINDS,
        )


def _found(wanted: Mapping[str, Any]) -> QuerySet[AuditEntry]:
    rows = AuditEntry.objects.order_by("-id")
    text = {name: str(value).replace("\x00", "").strip() for name, value in wanted.items()}
    if text["q"]:
        rows = rows.filter(
            Q(object_name__icontains=text["q"]) | Q(object_id=text["q"]) | Q(verb__icontains=text["q"])
            | Q(request_id=text["q"])
        )  # fmt: skip
    for name, column in (("actor", "actor"), ("door", "door"), ("kind", "object_kind")):
        if text[name]:
            rows = rows.filter(**{column: text[name]})
    if text["refused"]:
        rows = rows.exclude(refused="")
    if day := _day(text["day"]):
        rows = rows.filter(at__date=day)
    return rows


def _day(text: str) -> Any:
    try:
        return datetime.strptime(text, "%Y-%m-%d").date() if text else None  # noqa: DTZ007  a day, not an instant
    except ValueError:
        return None
