"""JSON read strictly: what the standard reader lets pass (repeated keys, NaN) or drops is named with its place.

Pure. A lenient reader would keep the last of two keys, and the operator would never learn which rack was lost.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from flowsched.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class NotJson:
    """A number that JSON does not have: NaN, Infinity, -Infinity."""

    text: str


def read(data: bytes, *, source: str, complain: Callable[[str, str], None]) -> Any:
    """The value in `data`. Faults with a place in the value go to `complain(pointer, reason)`; the rest is raised."""
    suspects: list[object] = []
    repeated: dict[int, list[str]] = {}

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(items)
        if len(value) < len(items):
            times = Counter(key for key, _ in items)
            repeated[id(value)] = sorted(key for key, count in times.items() if count > 1)
            suspects.append(value)  # also keeps the id its own
        return value

    def constant(text: str) -> NotJson:
        suspects.append(text)
        return NotJson(text)

    value = _load(data, source=source, pairs=pairs, constant=constant)
    if suspects:
        for pointer, part in walk(value):
            if isinstance(part, NotJson):
                complain(pointer, f"{part.text} is not a JSON number")
            for key in repeated.get(id(part), []):
                complain(join(pointer, key), "this key is given twice")
    return value


def _load(data: bytes, *, source: str, pairs: Callable[..., Any], constant: Callable[[str], Any]) -> Any:
    try:
        text = data.decode("utf-8-sig")
        return json.loads(text, object_pairs_hook=pairs, parse_constant=constant)
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{source}: not UTF-8 text: byte {error.start} cannot be read", field="file") from None
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise InvalidInput(f"{source}: not JSON: {error.msg} at {place}", field="file") from None
    except RecursionError:
        raise InvalidInput(f"{source}: not readable: nested too deeply", field="file") from None
    except ValueError:  # the reader's own limit of digits in an integer
        raise InvalidInput(f"{source}: not readable: a number in it has too many digits", field="file") from None


def walk(value: Any, pointer: str = "") -> Iterator[tuple[str, Any]]:
    """Every value inside `value` with its JSON pointer, outermost first."""
    stack = [(pointer, value)]
    while stack:
        place, part = stack.pop()
        yield place, part
        inner = part.items() if isinstance(part, dict) else enumerate(part) if isinstance(part, list) else ()
        stack.extend(reversed([(join(place, key), item) for key, item in inner]))


def join(pointer: str, key: object) -> str:
    """The JSON pointer (RFC 6901) to `key` below `pointer`."""
    return f"{pointer}/{str(key).replace('~', '~0').replace('/', '~1')}"


def path_of(pointer: str) -> str:
    """A JSON pointer as people write paths: `/components/3/info/id` is `components[3].info.id`."""
    keys = [key.replace("~1", "/").replace("~0", "~") for key in pointer.split("/")[1:]]
    return "".join(f"[{key}]" if key.isdecimal() else f".{key}" for key in keys).removeprefix(".")


def kind_of(value: Any) -> str:
    """What JSON calls the type of `value`."""
    if isinstance(value, NotJson):
        return value.text
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    names: dict[type, str] = {str: "a string", dict: "an object", list: "a list"}
    return names.get(type(value), "a number")
