"""Filters of lists: the parameters that a FilterSet declares, and no way from a parameter's name to a column.

A value is read by one of our readers, which refuses what it does not understand: a filter that is passed over in
silence answers with everything. What a filter takes is also what the API's description says of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from django import forms
from django.db.models import QuerySet
from django_filters import Filter, FilterSet
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request
from rest_framework.serializers import ValidationError

from flowsched.errors import InvalidInput
from flowsched.rest.fields import Instant
from flowsched.rest.paging import DEFAULT_LIMIT, MAX_LIMIT, MAX_OFFSET, only

Reader = Callable[[str], Any]

OFFSET: Final = OpenApiParameter(
    "offset",
    {"type": "integer", "minimum": 0, "maximum": MAX_OFFSET, "default": 0},
    description="How many to pass over.",
)
LIMIT: Final = OpenApiParameter(
    "limit",
    {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": DEFAULT_LIMIT},
    description="How many to answer with.",
)
PAGE: Final = (OFFSET, LIMIT)
TRUTH: Final[Mapping[str, Any]] = {"true": True, "false": False}


class Value(Filter):  # type: ignore[misc]  # django-filter has no types
    """A filter by what `reader` makes of the text. `schema` is the type in the description."""

    field_class = forms.Field

    def __init__(
        self,
        field_name: str | None = None,
        lookup_expr: str = "exact",
        *,
        reader: Reader,
        about: str,
        schema: Any = OpenApiTypes.STR,
        method: str | None = None,
    ) -> None:
        super().__init__(field_name, lookup_expr, method=method)
        self.reader, self.about, self.schema = reader, about, schema
        self.words: Sequence[str] | None = None

    @property
    def field(self) -> forms.Field:
        """The form's field, which only reads."""
        return _Read(self.reader)


class Word(Value):
    """A filter by one of some words, each of which stands for a value."""

    def __init__(self, words: Mapping[str, Any], field_name: str | None = None, **options: Any) -> None:
        super().__init__(field_name, reader=_reader_of(words), **options)
        self.words = list(words)


class Ordering(Word):
    """The order of the answer: each word stands for what `order_by` takes, a tie-break at its end included."""

    def __init__(self, orders: Mapping[str, Sequence[Any]], *, default: str) -> None:
        super().__init__(orders, about=f"The order; left out: {default}. A minus turns it round; ties go by id.")

    def filter(self, qs: QuerySet[Any], value: Sequence[Any] | None) -> QuerySet[Any]:
        """Order by it."""
        return qs.order_by(*value) if value else qs


def filtered(
    filters: type[FilterSet], request: Request, rows: QuerySet[Any]
) -> tuple[QuerySet[Any], Mapping[str, str]]:
    """The rows that the query parameters ask for, and the parameters.

    Raises InvalidInput that names each parameter which is unknown, repeated, empty or cannot be read.
    """
    parameters = only(request, {*filters.base_filters, "offset", "limit"})
    bound = filters(dict(parameters), queryset=rows)
    faults = {
        name: "this is empty: give a value or leave it out" for name in bound.filters if parameters.get(name) == ""
    }
    faults |= {name: " ".join(messages) for name, messages in bound.errors.items()}
    if faults:
        raise InvalidInput("; ".join(f"{name}: {why}" for name, why in faults.items()), fields=faults)
    return bound.qs, parameters


def parameters_of(filters: type[FilterSet]) -> list[OpenApiParameter]:
    """What `filtered` takes, for the API's description."""
    described = [
        OpenApiParameter(name, one.schema, description=one.about, enum=one.words)
        for name, one in filters.base_filters.items()
    ]
    return [*described, *PAGE]


def moment(text: str) -> datetime:
    """An RFC 3339 instant. Raises InvalidInput."""
    try:
        return Instant().to_internal_value(text)
    except ValidationError:
        raise InvalidInput("this must be an RFC 3339 time with an offset, such as 2026-06-01T04:00:00Z") from None


def text_up_to(most: int) -> Reader:
    """A reader of any text of at most `most` characters."""

    def read(text: str) -> str:
        if len(text) > most:
            raise InvalidInput(f"this has {len(text)} characters: at most {most} are allowed")
        return text

    return read


def _reader_of(words: Mapping[str, Any]) -> Reader:
    def read(text: str) -> Any:
        if text not in words:
            raise InvalidInput(f"this must be one of {', '.join(words)}")
        return words[text]

    return read


class _Read(forms.Field):
    """A form field whose errors are those of a reader."""

    def __init__(self, reader: Reader) -> None:
        super().__init__(required=False)
        self.reader = reader

    def to_python(self, value: Any) -> Any:
        try:
            return self.reader(value) if value else None
        except InvalidInput as error:
            raise forms.ValidationError(error.message) from error
