"""Filters of lists: each parameter is declared with how its text is read; no lookup is a client's choice (TH-18).

django-filter's own filters pass over what they cannot read (`active=ture` would list everything); these refuse it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from django import forms
from django.db.models import F, OrderBy, QuerySet
from django_filters import Filter, FilterSet
from drf_spectacular.utils import OpenApiParameter
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request

from flowsched.errors import FlowschedError, InvalidInput
from flowsched.rest.fields import Instant
from flowsched.rest.paging import DEFAULT_LIMIT, MAX_LIMIT, MAX_OFFSET, bounds, only, page

Schema = Mapping[str, Any]
_PAGING: Final[Mapping[str, Schema]] = {
    "offset": {"type": "integer", "minimum": 0, "maximum": MAX_OFFSET, "default": 0},
    "limit": {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": DEFAULT_LIMIT},
}


class _ReadField(forms.Field):
    def __init__(self, *, read: Callable[[str], Any], **options: Any) -> None:
        super().__init__(**options)
        self.read = read

    def to_python(self, value: Any) -> Any:
        """The value; None where the parameter was not given."""
        if value is None:
            return None
        try:
            return self.read(value)
        except FlowschedError as error:
            raise forms.ValidationError(error.message) from error


class Read(Filter):  # type: ignore[misc]  # django-filter has no types
    """A filter whose text `read` turns into a value or refuses with InvalidInput; `schema` is its JSON schema."""

    field_class = _ReadField

    def __init__(self, read: Callable[[str], Any], *, schema: Schema, help_text: str = "", **options: Any) -> None:
        super().__init__(read=read, help_text=help_text, **options)
        self.schema = schema


class Ordering(Read):
    """The order of a list: one of `columns` (word -> column), ascending, or descending with a `-`; ties by id.

    Rows without a value in one of the columns `nulls_last` come last in both directions.
    """

    def __init__(self, columns: Mapping[str, str], *, nulls_last: Collection[str] = (), help_text: str = "") -> None:
        words = [sign + word for word in columns for sign in ("", "-")]
        super().__init__(one_of(words), schema={"type": "string", "enum": words}, help_text=help_text)
        self.columns, self.nulls_last = columns, nulls_last

    def filter(self, qs: Any, value: str | None) -> Any:
        """`qs` in that order."""
        if value is None:
            return qs
        sign = "-" if value.startswith("-") else ""
        column = self.columns[value.removeprefix("-")]
        last = True if column in self.nulls_last else None
        return qs.order_by(OrderBy(F(column), descending=bool(sign), nulls_last=last), f"{sign}id")


def listed(
    request: Request, filters: type[FilterSet], rows: QuerySet[Any], *, most: int | None = None
) -> tuple[list[Any], dict[str, int]]:
    """The page of `rows` that the query parameters ask for, and what the answer says about it; see `page` for `most`.

    Raises InvalidInput that names every parameter at fault.
    """
    form = _checked(request, filters, rows)
    return page(form.qs, form.data, most=most)


def asked(request: Request, filters: type[FilterSet]) -> dict[str, Any]:
    """What the query parameters ask for, with `offset` and `limit`; for rows that are not all one table's.

    `filters` has a Meta with a model. Raises InvalidInput as `listed` does.
    """
    form = _checked(request, filters, None)
    offset, limit = bounds(form.data)
    return {**form.form.cleaned_data, "offset": offset, "limit": limit}


def _checked(request: Request, filters: type[FilterSet], rows: QuerySet[Any] | None) -> FilterSet:
    form = filters(only(request, {*filters.base_filters, *_PAGING}), queryset=rows)
    if not form.is_valid():
        fields = {name: str(why[0]) for name, why in form.errors.items()}
        raise InvalidInput("; ".join(f"{name}: {why}" for name, why in fields.items()), fields=fields)
    return form


def parameters(filters: type[FilterSet] | None = None) -> list[OpenApiParameter]:
    """The query parameters of a list, for its schema: the filters, if there are any, and the paging."""
    found = [] if filters is None else [_parameter(name, one) for name, one in filters.base_filters.items()]
    return [*found, *(OpenApiParameter(name, dict(schema)) for name, schema in _PAGING.items())]


def _parameter(name: str, one: Any) -> OpenApiParameter:
    schema = dict(one.schema)
    return OpenApiParameter(name, schema, description=one.extra["help_text"], explode=schema["type"] != "array")


def flag(text: str) -> bool:
    """True or false, nothing like it."""
    if text not in {"true", "false"}:
        raise InvalidInput("this must be true or false")
    return text == "true"


def instant(text: str) -> datetime:
    """An RFC 3339 time."""
    try:
        value: datetime = Instant().to_internal_value(text)
    except ValidationError as error:
        raise InvalidInput(f"{error.detail[0]} In a query, + is written %2B.") from error  # type: ignore[index]
    return value


def one_of(words: list[str]) -> Callable[[str], str]:
    """Reads one of `words`."""

    def read(text: str) -> str:
        if text not in words:
            raise InvalidInput(f"this must be one of {', '.join(words)}")
        return text

    return read


def word(words: list[str], **options: Any) -> Read:
    """A filter by one of `words`."""
    return Read(one_of(words), schema={"type": "string", "enum": words}, **options)


def some_of(words: type[StrEnum]) -> Callable[[str], list[str]]:
    """Reads some of `words`, divided by commas."""

    def read(text: str) -> list[str]:
        given = text.split(",")
        if not set(given) <= set(words):
            raise InvalidInput(f"this must be one or more of {', '.join(words)}, divided by commas")
        return given

    return read


FLAG: Final[Schema] = {"type": "boolean"}
INSTANT: Final[Schema] = {"type": "string", "format": "date-time"}


def words_schema(words: type[StrEnum]) -> Schema:
    """The schema of what `some_of` reads."""
    return {"type": "array", "items": {"type": "string", "enum": list(words)}, "minItems": 1}
