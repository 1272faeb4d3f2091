"""Pages by offset and limit, with the total; query parameters that nobody declared are refused."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final

from django.db.models import QuerySet
from rest_framework.request import Request

from flowsched.errors import InvalidInput

DEFAULT_LIMIT: Final = 50
MAX_LIMIT: Final = 200
MAX_OFFSET: Final = 10_000_000


def bounds(parameters: Mapping[str, str]) -> tuple[int, int]:
    """(offset, limit) as asked for. Raises InvalidInput."""
    offset = whole(parameters, "offset", default=0, least=0, most=MAX_OFFSET)
    return offset, whole(parameters, "limit", default=DEFAULT_LIMIT, least=1, most=MAX_LIMIT)


def page(
    rows: QuerySet[Any], parameters: Mapping[str, str], *, most: int | None = None
) -> tuple[list[Any], dict[str, int]]:
    """The page asked for and what the answer says about it: total, offset, limit.

    Rows are counted up to `most`, for tables of which counting all would take seconds; `total` then is at least that.
    """
    offset, limit = bounds(parameters)
    found = list(rows[offset : offset + limit])
    if len(found) < limit and (found or not offset):  # the last page tells the total by itself
        return found, {"total": offset + len(found), "offset": offset, "limit": limit}
    counted = rows.count() if most is None else rows[:most].count()
    return found, {"total": max(counted, offset + len(found) if found else 0), "offset": offset, "limit": limit}


def only(request: Request, known: Collection[str]) -> Mapping[str, str]:
    """The query parameters, each given once. Raises InvalidInput for one that is not in `known`."""
    fields = {}
    for name, values in request.query_params.lists():
        if name not in known:
            fields[name[:64]] = f"unknown query parameter: use {', '.join(sorted(known)) or 'none'}"
        elif len(values) > 1:
            fields[name] = "this query parameter is given more than once"
        elif "\x00" in values[0]:
            fields[name] = "NUL characters cannot be searched for"
    if fields:
        raise InvalidInput("; ".join(f"{name}: {why}" for name, why in list(fields.items())[:5]), fields=fields)
    return {name: str(value) for name, value in request.query_params.items()}


def whole(parameters: Mapping[str, str], name: str, *, default: int, least: int, most: int) -> int:
    """The whole number that the parameter `name` is, `default` without it. Raises InvalidInput."""
    text = parameters.get(name, "")
    if name not in parameters:
        return default
    if not (text.isascii() and text.isdecimal()) or len(text) > len(str(most)) or not least <= int(text) <= most:
        raise InvalidInput(f"{name} must be a whole number from {least} to {most}", field=name)
    return int(text)
