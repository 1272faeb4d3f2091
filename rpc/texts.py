"""Texts of a request that the database cannot hold: U+0000 is legal in a proto string and in no PostgreSQL text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from flowsched.errors import InvalidInput


def check_texts(request: Message, data: bytes) -> None:
    """Raise InvalidInput that names the first field with a NUL. `data` is the request's bytes: most have no zero."""
    if b"\x00" not in data:
        return
    for path in _with_nul(request, ""):
        raise InvalidInput(f"{path} holds a NUL character: leave it out", field=path)


def _with_nul(message: Message, prefix: str) -> Iterator[str]:
    for field, value in message.ListFields():
        if field.type not in {FieldDescriptor.TYPE_STRING, FieldDescriptor.TYPE_MESSAGE}:
            continue
        repeated = field.is_repeated
        for index, one in enumerate(value if repeated else (value,)):
            path = f"{prefix}{field.name}" + (f"[{index}]" if repeated else "")
            yield from _in(one, path)


def _in(value: Any, path: str) -> Iterator[str]:
    if isinstance(value, Message):
        yield from _with_nul(value, f"{path}.")
    elif "\x00" in value:
        yield path
