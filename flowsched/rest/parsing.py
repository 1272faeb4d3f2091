"""Request bodies: JSON in UTF-8, bounded in size and depth, without what JSON readers disagree about (TH-10).

What passes here can be stored: NaN, NUL characters, lone surrogates and numbers beyond a double would be accepted by
a lenient reader and refused by the database half way through a write.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import IO, Any, Final

from rest_framework.exceptions import UnsupportedMediaType
from rest_framework.parsers import BaseParser

from flowsched import strictjson
from flowsched.errors import InvalidInput, TooLarge

MAX_BODY: Final = 256 * 1024
MAX_DEPTH: Final = 32
MAX_KEYS: Final = 12_000  # two for each of the 5,000 racks that one request may name (D-30), and the rest
MAX_FIELD: Final = 200  # characters of a place in an answer
MAX_DIGITS: Final = 64  # of a number; the reader itself is slow on thousands
# A string without its end reaches to the end of the body, and no string is tried twice: linear in any body.
_TOKENS: Final = re.compile(rb'"(?:[^"\\]|\\.)*+"?|[][{}]', re.DOTALL)


class StrictJSONParser(BaseParser):
    """Reads `application/json`. Raises TooLarge, InvalidInput with the place of each fault."""

    media_type = "application/json"

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        """The value in the body."""
        request = (parser_context or {}).get("request")
        charset = _charset(media_type or "")
        if charset not in {"", "utf-8", "utf8"} or (request is not None and request.META.get("HTTP_CONTENT_ENCODING")):
            raise UnsupportedMediaType(media_type or "", "Send the body as UTF-8, without a content encoding.")
        body = stream.read(MAX_BODY + 1)
        if len(body) > MAX_BODY:
            raise TooLarge(f"the body is larger than the limit of {MAX_BODY // 1024} KiB: split the request")
        return parse_body(body)


def parse_body(body: bytes) -> Any:
    """The value in `body`. Raises InvalidInput."""
    if _depth(body) > MAX_DEPTH:
        raise InvalidInput(f"the body is nested deeper than {MAX_DEPTH} levels", reason="BAD_JSON", field="body")
    faults: dict[str, str] = {}

    def complain(place: str, why: str) -> None:
        faults.setdefault(place, why)

    try:
        value = strictjson.read(body, source="the body", complain=complain)
    except InvalidInput as error:
        raise InvalidInput(error.message, reason="BAD_JSON", field="body") from error
    keys, sound = _scan(value)
    if keys > MAX_KEYS:
        raise InvalidInput(
            f"the body has more than {MAX_KEYS} keys: split the request", reason="BAD_JSON", field="body"
        )
    if not sound:
        for place, part in strictjson.walk(value):
            if why := _unstorable(part):
                complain(place, why)
            if isinstance(part, dict) and (why := next(filter(None, map(_unstorable, part)), "")):
                complain(place, f"a key: {why}")
    if faults:
        fields = {field_of(place): why for place, why in list(faults.items())[:20]}
        raise InvalidInput("the body is not JSON that can be stored", reason="BAD_JSON", fields=fields)
    return value


def field_of(pointer: str) -> str:
    """A JSON pointer as errors name fields: `/target_spec/racks/0/name` is `target_spec.racks.0.name`.

    Cut, and with what cannot be shown escaped: a key may be anything.
    """
    field = pointer.strip("/").replace("/", ".").replace("~1", "/").replace("~0", "~")[:MAX_FIELD]
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in field) or "body"


def _scan(value: Any) -> tuple[int, bool]:
    """How many keys there are, and whether all can be stored. Without places, which cost ten times as much."""
    keys, sound, stack = 0, True, [value]
    while stack:
        part = stack.pop()
        if isinstance(part, dict):
            keys += len(part)
            stack.extend(part)
            stack.extend(part.values())
        elif isinstance(part, list):
            stack.extend(part)
        elif sound:
            sound = not _unstorable(part)
    return keys, sound


def _unstorable(part: Any) -> str:
    if isinstance(part, str):
        if "\x00" in part:
            return "NUL characters cannot be stored"
        if not part.isascii() and any("\ud800" <= c <= "\udfff" for c in part):
            return "half of a surrogate pair is not a character"
    if isinstance(part, float) and not math.isfinite(part):
        return "this number is beyond what can be stored"
    if isinstance(part, int) and not isinstance(part, bool) and abs(part) >= 10**MAX_DIGITS:
        return f"this number has more than {MAX_DIGITS} digits"
    return ""


def _depth(body: bytes) -> int:
    """How deep brackets nest, strings left out: counted before reading, since readers recurse."""
    depth = deepest = 0
    for token in _TOKENS.findall(body):
        if token in b"[{":
            depth += 1
            deepest = max(deepest, depth)
        elif token in b"]}":
            depth -= 1
    return deepest


def _charset(media_type: str) -> str:
    for parameter in media_type.split(";")[1:]:
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "charset":
            return value.strip().strip('"').lower()
    return ""
