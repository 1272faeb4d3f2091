"""Reading one object of a rack file: typed access by key, each fault noted with its JSON pointer instead of raised.

Pure. A reader goes on after a fault, so that an operator sees the faults of a file at once and not one a run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar
from uuid import UUID

from flowsched.errors import InvalidInput
from flowsched.strictjson import join, kind_of, path_of
from inventory.identifiers import NO_UUID, check_name, check_text, shown

_T = TypeVar("_T")
MAX_FAULTS = 20
FAULTS_IN_A_LINE = 5
MAX_INTEGER = 2**31 - 1


@dataclass(slots=True)
class Report:
    """Faults and warnings of one file. `strict` makes a key that nobody reads a fault."""

    source: str
    strict: bool = False
    faults: dict[str, str] = field(default_factory=dict)
    codes: set[str] = field(default_factory=set)
    more: int = 0
    logins: int = 0
    unlisted: int = 0
    unknown: Counter[str] = field(default_factory=Counter)
    first: dict[str, str] = field(default_factory=dict)

    def add(self, pointer: str, reason: str, *, code: str = "BAD_DOCUMENT") -> None:
        """Note a fault; a place keeps its first one, and those above the limit are only counted."""
        self.codes.add(code)
        if pointer in self.faults:
            return
        if len(self.faults) < MAX_FAULTS:
            self.faults[pointer] = reason
        else:
            self.more += 1

    def lines(self) -> Iterator[str]:
        """Each fault as a line: file, pointer, reason."""
        for pointer, reason in self.faults.items():
            yield f"{self.source} {shown(pointer, most=400) or '(the whole file)'}: {reason}"
        if self.more:
            yield f"{self.source}: and {self.more} more"

    def raise_any(self) -> None:
        """Raise InvalidInput if there are faults."""
        if self.faults:
            raise InvalidInput("\n".join(self.lines()), reason="BAD_DOCUMENT", fields=self.faults)

    def sentences(self) -> str:
        """The first faults in one line, each with its path."""
        found = [f"{shown(path_of(pointer), most=200) or self.source}: {why}" for pointer, why in self.faults.items()]
        more = len(found) + self.more - FAULTS_IN_A_LINE
        return "; ".join(found[:FAULTS_IN_A_LINE]) + (f"; and {more} more" if more > 0 else "")

    def raise_request(self) -> None:
        """Raise InvalidInput if there are faults, for a request: in one line, fields by their paths."""
        if self.faults:
            fields = {path_of(pointer) or self.source: why for pointer, why in self.faults.items()}
            raise InvalidInput(self.sentences(), reason="BAD_DOCUMENT", fields=fields)

    def skip_key(self, pointer: str) -> None:
        """Note a key that is not read: a fault, or once for all the places that differ in list positions only."""
        if self.strict:
            self.add(pointer, "unknown field")
            return
        pattern = "/".join("*" if part.isdigit() else part for part in pointer.split("/"))
        if pattern in self.unknown or len(self.unknown) < MAX_FAULTS:
            self.unknown[pattern] += 1
            self.first.setdefault(pattern, pointer)
        else:
            self.unlisted += 1

    def warnings(self) -> Iterator[str]:
        """What was left out of the file, in sentences."""
        for pattern, count in self.unknown.items():
            places = f"{count} places, the first is" if count > 1 else "at"
            key = pattern.rsplit("/", 1)[1]
            yield f"unknown key '{shown(key)}' is ignored ({places} {shown(self.first[pattern], most=400)})"
        if self.unlisted:
            yield f"other unknown keys at {self.unlisted} places are ignored as well"
        if self.logins:
            yield f"logins of {self.logins} BMCs are dropped: user and password are never stored"


@dataclass(frozen=True, slots=True)
class Node:
    """An object of the file with its place."""

    value: dict[str, Any]
    pointer: str
    report: Report

    @classmethod
    def of(cls, value: Any, pointer: str, report: Report) -> Node | None:
        """`value` if it is an object; otherwise a fault is noted."""
        if isinstance(value, dict):
            return cls(value, pointer, report)
        report.add(pointer, f"must be an object, not {kind_of(value)}")
        return None

    def at(self, key: str) -> str:
        """The pointer to `key`."""
        return join(self.pointer, key)

    def complain(self, key: str, reason: str) -> None:
        """Note a fault of `key`."""
        self.report.add(self.at(key), reason)

    def has(self, key: str) -> bool:
        """Whether `key` is given, null included."""
        return key in self.value

    def only(self, known: set[str]) -> None:
        """Note the keys that nothing here reads."""
        for key in self.value:
            if key not in known:
                self.report.skip_key(self.at(key))

    def either(self, key: str, other: str) -> str:
        """Whichever of two spellings of a key is given."""
        if self.has(key) and self.has(other):
            self.complain(other, f"'{key}' says the same: give one of the two")
        return other if self.has(other) else key

    def parsed(self, key: str, parse: Callable[[str], _T], *, required: bool = False) -> _T | None:
        """What `parse` makes of the string under `key`; None if it is empty, absent or at fault."""
        text = self.value.get(key)
        if text is None or text == "":
            if required:
                self.complain(key, "is missing" if text is None else "is empty")
            return None
        if not isinstance(text, str):
            self.complain(key, f"must be a string, not {kind_of(text)}")
            return None
        try:
            return parse(text)
        except InvalidInput as error:
            self.complain(key, error.message)
            return None

    def name(self, key: str) -> str:
        """A name that must be there."""
        return self.parsed(key, lambda text: check_name(text, what="the value"), required=True) or ""

    def text(self, key: str, *, most: int = 255, lines: bool = False) -> str:
        """A text that may be empty or absent."""
        return self.parsed(key, lambda text: check_text(text, what="the value", most=most, lines=lines)) or ""

    def integer(self, key: str) -> int:
        """A whole number from -1, which stands for unknown and is what absent means."""
        number = self.value.get(key, -1)
        if isinstance(number, bool) or not isinstance(number, int):
            self.complain(key, f"must be a whole number, not {kind_of(number)}")
            return -1
        if not -1 <= number <= MAX_INTEGER:
            self.complain(key, f"must be between -1 and {MAX_INTEGER}")
            return -1
        return number

    def child(self, key: str, *, required: bool = False) -> Node:
        """The object under `key`; an empty one if it is absent."""
        value = self.value.get(key)
        if value is None and not required:
            value = {}
        if value is None:
            self.complain(key, "is missing")
        elif (node := Node.of(value, self.at(key), self.report)) is not None:
            return node
        # Its place has its fault already, and what is missing inside says nothing more.
        return Node({}, self.at(key), Report(self.report.source))

    def items(self, key: str) -> list[tuple[str, Any]]:
        """The entries of the list under `key` with their pointers; none if it is absent or null."""
        value = self.value.get(key)
        if value is None:
            return []
        if not isinstance(value, list):
            self.complain(key, f"must be a list, not {kind_of(value)}")
            return []
        return [(join(self.at(key), index), entry) for index, entry in enumerate(value)]


@dataclass(slots=True)
class Uniques:
    """What may occur once in a file."""

    report: Report
    seen: dict[tuple[str, object], str] = field(default_factory=dict)

    def once(self, what: str, value: object, pointer: str) -> None:
        """Note a fault if `value` occurred before. Absent and faulty values are no values."""
        if not isinstance(value, str | UUID | tuple) or value in ("", NO_UUID):
            return
        if isinstance(value, tuple) and not value[-1]:
            return
        first = self.seen.setdefault((what, value), pointer)
        if first != pointer:
            self.report.add(pointer, f"this {what} is also at {first}")
