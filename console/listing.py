"""What every list shares: a page of rows, a bounded count, filters as chips, state in the URL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.http import urlencode

PER_PAGE: Final = 50
COUNTED: Final = 10_000  # counting further costs more than it tells
MAX_PAGE: Final = 100_000


@dataclass(frozen=True, slots=True)
class Chip:
    """One filter in force, and the address without it."""

    text: str
    url: str


@dataclass(frozen=True, slots=True)
class Rows:
    """A page of a list. `total` None means more than COUNTED."""

    rows: Sequence[Any]
    page: int
    total: int | None
    previous: str
    next: str

    @property
    def said(self) -> str:
        """How many there are."""
        return f"more than {COUNTED:,}" if self.total is None else f"{self.total:,}"


def rows_of(request: HttpRequest, query: QuerySet[Any]) -> Rows:
    """The page that the URL names: two queries, one on the first page of a short list."""
    text = request.GET.get("page", "1")
    page = min(int(text), MAX_PAGE) if text.isascii() and text.isdecimal() and len(text) < 8 and int(text) else 1  # noqa: PLR2004
    start = (page - 1) * PER_PAGE
    found = list(query[start : start + PER_PAGE + 1])
    more = len(found) > PER_PAGE
    total: int | None = start + len(found)
    if more or (not found and start):
        counted = query.order_by()[: COUNTED + 1].count()
        total = None if counted > COUNTED else counted
    return Rows(
        rows=found[:PER_PAGE],
        page=page,
        total=total,
        previous=with_parameter(request, page=str(page - 1)) if page > 1 else "",
        next=with_parameter(request, page=str(page + 1)) if more else "",
    )


def with_parameter(request: HttpRequest, **changed: str) -> str:
    """This address with these parameters; an empty one is left out."""
    parameters = {name: str(value) for name, value in request.GET.items() if name not in changed and name != "page"}
    parameters |= {name: value for name, value in changed.items() if value}
    return f"?{urlencode(parameters)}" if parameters else request.path


def chips(request: HttpRequest, labels: Mapping[str, str]) -> list[Chip]:
    """The filters in force; `labels` names each parameter."""
    return [
        Chip(f"{label}: {value[:64]}", with_parameter(request, **{name: ""}))
        for name, label in labels.items()
        if (value := request.GET.get(name, "").strip())
    ]
