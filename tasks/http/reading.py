"""Read JSON that somebody wrote, and collect every fault instead of stopping at the first."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, ParamSpec, TypeVar

from flowsched.errors import InvalidInput
from tasks.http.values import shown

MAX_LABEL: Final = 255
MAX_TEXT: Final = 4096
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z")
_SHOWN: Final = 3  # faults that the message repeats; all are in its fields

P = ParamSpec("P")
T = TypeVar("T")


class Reader:
    """Each method gives a usable value, and notes what was wrong under the dotted place; `finish` raises once."""

    def __init__(self) -> None:
        self.fields: dict[str, str] = {}

    def add(self, place: str, message: str) -> None:
        """Note a fault; the first of a place stays."""
        self.fields.setdefault(place, message)

    def run(self, place: str, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T | None:
        """What `work` gives, or None after noting the InvalidInput it raised; places inside `place` stay."""
        try:
            return work(*args, **kwargs)
        except InvalidInput as error:
            for name, message in error.fields.items() or ((place, error.message),):
                self.add(name if name.startswith(place) else place, message)
            return None

    def finish(self, sentence: str) -> None:
        """Raise InvalidInput if anything was noted."""
        if not self.fields:
            return
        first = [f"{place}: {message}" if place else message for place, message in self.fields.items()][:_SHOWN]
        rest = len(self.fields) - len(first)
        more = f"; and {rest} more" if rest else ""
        raise InvalidInput(f"{sentence}: {'; '.join(first)}{more}", fields=self.fields)

    def mapping(self, given: Any, place: str, keys: Sequence[str], *, required: Sequence[str] = ()) -> dict[str, Any]:
        """An object with no keys but `keys`; what is unknown is noted and left out."""
        dot = f"{place}." if place else ""
        if not isinstance(given, Mapping):
            self.add(place or "information", "is missing" if given is None else "must be an object")
            return {}
        for key in given:
            if key not in keys:
                self.add(f"{dot}{shown(str(key))}", f"unknown key: use {', '.join(keys)}")
        for key in required:
            if key not in given:
                self.add(f"{dot}{key}", "is missing")
        return {key: given[key] for key in keys if key in given}

    def text(self, values: Mapping[str, Any], place: str) -> str | None:
        """The text at `place`, or None after noting that there is none. A missing one is `mapping`'s to note."""
        key = place.rpartition(".")[2]
        if key not in values:
            return None
        if not isinstance(values[key], str):
            self.add(place, "must be text")
            return None
        if len(values[key]) > MAX_TEXT:
            self.add(place, f"is longer than {MAX_TEXT} characters")
            return None
        return str(values[key])

    def name(self, values: Mapping[str, Any], place: str) -> str:
        """A name of configuration."""
        text = self.text(values, place)
        if text is not None and not _NAME.match(text):
            self.add(place, "must be 1 to 64 letters, digits, dots, hyphens or underscores")
        return text or ""

    def label(self, values: Mapping[str, Any], place: str) -> str:
        """A text that is required and printed."""
        text = self.text({place.rpartition(".")[2]: None, **values}, place)
        if text is not None and (not 1 <= len(text) <= MAX_LABEL or not text.isprintable() or text != text.strip()):
            self.add(place, f"must have 1 to {MAX_LABEL} printable characters, no outer blanks")
        return text or ""

    def choice(self, values: Mapping[str, Any], place: str, known: Sequence[str]) -> str:
        """One of a few words."""
        key = place.rpartition(".")[2]
        if key not in values:
            return known[0]
        if values[key] not in known:
            self.add(place, f"must be one of {', '.join(known)}")
            return known[0]
        return str(values[key])

    def whole(self, given: Any, place: str, least: int, most: int) -> int:
        """A whole number within limits."""
        if not isinstance(given, int) or isinstance(given, bool) or not least <= given <= most:
            self.add(place, f"must be a whole number from {least} to {most}")
            return least
        return given

    def strings(self, values: Mapping[str, Any], place: str) -> dict[str, str]:
        """An object of texts; absent is empty."""
        given = values.get(place.rpartition(".")[2], {})
        if not isinstance(given, Mapping):
            self.add(place, "must be an object of texts")
            return {}
        for name, text in given.items():
            if not isinstance(name, str) or not isinstance(text, str):
                self.add(f"{place}.{shown(str(name))}", "must be text")
        return {name: text for name, text in given.items() if isinstance(name, str) and isinstance(text, str)}
