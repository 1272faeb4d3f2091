"""The filters a template may use: default, lower, upper, int, length, tojson, date (D-25).

Each promises a result no longer than a whole template's output may be, whatever it is given: a chain of filters cannot
grow a text without bound (`tojson` of `tojson` doubles every backslash). Each takes plain text, numbers, lists and
objects only, so that no method of anything is ever called.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from jinja2 import Undefined

from flowsched.errors import InvalidInput

MAX_OUTPUT: Final = 64 * 1024  # bytes of UTF-8
MAX_DATE_FORMAT: Final = 64
MAX_WHOLE: Final = 2**63
# Digits only: names of days and months follow the locale, and a width (`%9999Y`) is a way to ask for memory.
_DATE_FORMAT: Final = re.compile(r"(?:[\x20-\x24\x26-\x7e]|%[YmdHMSfjyGVu%])+\Z")
_JSON: Final = json.JSONEncoder(sort_keys=True, allow_nan=False)


class RenderError(InvalidInput):
    """A template cannot be accepted or rendered; `field` is its place, the message names the cause."""


def bounded(text: str) -> str:
    """`text`, if a template may put out that much; RenderError otherwise."""
    if len(text) > MAX_OUTPUT or len(text.encode(errors="surrogatepass")) > MAX_OUTPUT:
        raise RenderError(f"the template puts out more than {MAX_OUTPUT // 1024} KiB")
    return text


def text_of(value: Any) -> str:
    """What stands in the output for `value`: text as it is, numbers as digits; RenderError for everything else.

    Exact types: a class derived from str could bring its own `__str__`.
    """
    if isinstance(value, Undefined):
        return str(value)  # raises what is undefined
    if type(value) is str:
        return bounded(value)
    if type(value) is int or (type(value) is float and math.isfinite(value)):
        return str(value)
    hint = "use default(…, true)" if value is None else "use the filter tojson, or if"
    raise RenderError(f"the template puts out {_kind(value)}, not text or a number: {hint}")


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    names = {bool: "true or false", list: "a list", dict: "an object", float: "an infinite number"}
    return names.get(type(value), "something unknown")


def _default(value: Any, other: Any = "", also_if_empty: Any = False) -> Any:  # Jinja's argument
    return other if isinstance(value, Undefined) or (also_if_empty and not value) else value


def _lower(value: Any) -> str:
    return bounded(text_of(value).lower())


def _upper(value: Any) -> str:
    return bounded(text_of(value).upper())


def _int(value: Any, *default: Any) -> Any:
    """A whole number. Without a default what is none is refused: Jinja's 0 would be a call about another thing."""
    text = text_of(value).strip()
    try:
        number = int(text) if re.fullmatch(r"[+-]?[0-9]{1,19}", text) else int(float(text))
        if abs(number) < MAX_WHOLE:
            return number
    except (ValueError, OverflowError):
        pass
    if default:
        return default[0]
    raise RenderError("the filter int met text that is no whole number: give it a default, int(0)")


def _length(value: Any) -> int:
    if isinstance(value, Undefined) or type(value) not in (str, list, dict):
        raise RenderError("the filter length takes text, a list or an object")
    return len(value)


def _tojson(value: Any) -> str:
    """`value` as JSON, counted while it is written; unlike Jinja's nothing is escaped for HTML."""
    if isinstance(value, Undefined):
        return str(value)  # raises
    pieces, size = [], 0
    try:
        for piece in _JSON.iterencode(value):
            size += len(piece)
            if size > MAX_OUTPUT:
                break
            pieces.append(piece)
    except (TypeError, ValueError, RecursionError):
        raise RenderError("the filter tojson met something that is no plain data") from None
    if size > MAX_OUTPUT:
        raise RenderError(f"the template puts out more than {MAX_OUTPUT // 1024} KiB")
    return "".join(pieces)


def _date(value: Any, form: Any) -> str:
    """A time of ISO 8601 in UTC, written as `form` says."""
    date_format_check(form)
    try:
        at = datetime.fromisoformat(text_of(value))
        at = at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    except (ValueError, OverflowError):
        raise RenderError("the filter date takes a time such as now, in ISO 8601") from None
    return at.strftime(form)


def date_format_check(form: Any) -> None:
    """Refuse a format that is more than digits and printable ASCII around them."""
    if type(form) is not str or len(form) > MAX_DATE_FORMAT or not _DATE_FORMAT.match(form):
        raise RenderError(
            f"the filter date takes a format of at most {MAX_DATE_FORMAT} printable characters with "
            "%Y %m %d %H %M %S %f %j %y %G %V %u %%"
        )


class FilterRow(NamedTuple):
    """A filter and how many arguments it takes in its parentheses."""

    function: Callable[..., Any]
    least: int = 0
    most: int = 0


FILTERS: Final[dict[str, FilterRow]] = {
    "default": FilterRow(_default, 1, 2),
    "lower": FilterRow(_lower),
    "upper": FilterRow(_upper),
    "int": FilterRow(_int, 0, 1),
    "length": FilterRow(_length),
    "tojson": FilterRow(_tojson),
    "date": FilterRow(_date, 1, 1),
}
