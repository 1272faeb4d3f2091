"""What the rack picker asks for: racks and domains by a part of their name, and the components of one rack."""

from __future__ import annotations

from typing import ClassVar, Final
from uuid import UUID

from django.http import HttpRequest, HttpResponse

from console.schedule_form.pages import FormPage
from console.schedule_form.racks import part_groups
from inventory.picking import MIN_SEARCH, domains_search, racks_search

HITS: Final = 20


class SearchPart(FormPage):
    """Hits for the combobox: racks and domains, grouped, twenty in all."""

    verbs: ClassVar = {"GET": "rack.read"}
    http_method_names = ["get", "head"]

    def get(self, request: HttpRequest) -> HttpResponse:
        """Search."""
        text = request.GET.get("find", "").strip()
        domains = domains_search(text, limit=HITS // 4) if self.viewer.caller.may("nvl_domain.read") else []
        racks = racks_search(text, limit=HITS - len(domains))
        short = len(text) < MIN_SEARCH
        return self.fragment("console/schedule_form/hits.html", racks=racks, domains=domains, text=text, short=short)


class ComponentsPart(FormPage):
    """The components of a rack, to choose from."""

    verbs: ClassVar = {"GET": "component.read"}
    http_method_names = ["get", "head"]

    def get(self, request: HttpRequest, id: UUID) -> HttpResponse:
        """List them; those that the request names are chosen."""
        chosen = frozenset(request.GET.getlist("component"))
        return self.fragment("console/schedule_form/parts.html", groups=part_groups(id, chosen))
