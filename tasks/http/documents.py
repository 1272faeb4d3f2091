"""JSON documents of a call, the body and the payload: walk them within limits, write them as bytes (TH-8)."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import Any, Final

from flowsched.errors import InvalidInput
from tasks.http.values import MAX_NAME, control_in, shown

MAX_STRINGS: Final = 1000
MAX_VALUES: Final = 5000
MAX_DEPTH: Final = 32
MAX_DOCUMENT: Final = 64 * 1024  # bytes of UTF-8 in the strings and keys of a document
MAX_NUMBER: Final = 2**63


def document_map(document: Any, field: str, change: Callable[[str, str], str]) -> Any:
    """A copy of a JSON document with each string, at any depth, replaced by `change(string, its place)`.

    Keys and everything that is no string stay (I-43). Raises InvalidInput, with the place, for what is no JSON or
    breaks a limit: depth, number of strings and values, and the size of all strings together, counted as they come.
    """
    return _Mapper(change).copy(document, field, 0)


class _Mapper:
    """One walk through a document, with what it has counted so far."""

    def __init__(self, change: Callable[[str, str], str]) -> None:
        self.change = change
        self.strings = self.values = self.size = 0

    def copy(self, value: Any, place: str, depth: int) -> Any:
        self.values += 1
        if depth > MAX_DEPTH:
            raise InvalidInput(f"the document is nested deeper than {MAX_DEPTH}", field=place)
        if self.values > MAX_VALUES:
            raise InvalidInput(f"the document has more than {MAX_VALUES} values", field=place)
        if isinstance(value, Mapping):
            return {self.key(key, place): self.copy(value[key], f"{place}.{shown(key)}", depth + 1) for key in value}
        if isinstance(value, (list, tuple)):
            return [self.copy(item, f"{place}[{at}]", depth + 1) for at, item in enumerate(value)]
        if isinstance(value, str):
            return self.string(value, place)
        check_scalar(value, place)
        return value

    def key(self, key: Any, place: str) -> str:
        if not isinstance(key, str) or len(key) > MAX_NAME or control_in(key):
            raise InvalidInput(
                f"a key must be text of at most {MAX_NAME} characters, no control characters", field=place
            )
        self.count(key, place)
        return key

    def string(self, text: str, place: str) -> str:
        self.strings += 1
        if self.strings > MAX_STRINGS:
            raise InvalidInput(f"the document has more than {MAX_STRINGS} strings", field=place)
        changed = self.change(text, place)
        self.count(changed, place)
        return changed

    def count(self, text: str, place: str) -> None:
        self.size += len(text.encode(errors="surrogatepass"))
        if self.size > MAX_DOCUMENT:
            raise InvalidInput(f"the document has more than {MAX_DOCUMENT // 1024} KiB of text", field=place)


def check_scalar(value: Any, field: str) -> None:
    """A number, true, false or null as JSON has them."""
    if value is None or isinstance(value, bool):
        return
    if isinstance(value, int) and abs(value) < MAX_NUMBER:
        return
    if isinstance(value, float) and math.isfinite(value):
        return
    raise InvalidInput("the document may only have objects, lists, text, null and numbers of 64 bits", field=field)


def json_bytes(document: Any) -> bytes:
    """A checked document as the body of a request."""
    return json.dumps(document, allow_nan=False, separators=(",", ":")).encode()
