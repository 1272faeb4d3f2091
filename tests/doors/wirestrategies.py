"""Messages of any type of the wire, with what nobody expects in each field that the descriptor has."""

from __future__ import annotations

from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from hypothesis import strategies as st

from tests.doors.awkward import SPECS, ZONES, ids, texts
from tests.doors.wireclient import Wire

DEPTH = 5
INT32 = st.one_of(st.sampled_from([0, 1, -1, 2, 100, 2**31 - 1, -(2**31)]), st.integers(-(2**31), 2**31 - 1))
NUMBERS = {
    FieldDescriptor.TYPE_INT32: INT32,
    FieldDescriptor.TYPE_UINT32: st.integers(0, 2**32 - 1),
    FieldDescriptor.TYPE_INT64: st.one_of(
        st.sampled_from([0, -1, 2**63 - 1, -(2**63), 253402300799, 253402300800, -62135596800, -62135596801]),
        st.integers(-(2**63), 2**63 - 1),
    ),
    FieldDescriptor.TYPE_ENUM: st.one_of(st.integers(-2, 9), INT32),
    FieldDescriptor.TYPE_BOOL: st.booleans(),
}
# What is read as more than a text; everything else is a name.
TEXTS = {
    "id": ids,
    "spec": st.one_of(st.sampled_from(SPECS), st.sampled_from(["1h", "0 3 * * *", "2031-01-01T00:00:00Z"]), texts),
    "timezone": st.one_of(st.sampled_from(ZONES), texts),
    "direction": st.one_of(st.sampled_from(["ASC", "DESC", "asc", "; --"]), texts),
}


@st.composite
def messages(draw: Any, wire: Wire, name: str, depth: int = DEPTH) -> Any:
    """A message of type `name`; each field is there or not."""
    message = wire.message(name)()
    _fill(draw, message, depth)
    return message


def _fill(draw: Any, message: Any, depth: int) -> None:
    for field in message.DESCRIPTOR.fields:
        if not draw(st.booleans()) or (field.message_type is not None and depth == 0):
            continue
        if field.is_repeated:
            for _ in range(draw(st.integers(0, 2))):
                if field.message_type is not None:
                    _fill(draw, getattr(message, field.name).add(), depth - 1)
                else:
                    getattr(message, field.name).append(_scalar(draw, field))
        elif field.message_type is not None:
            getattr(message, field.name).SetInParent()
            _fill(draw, getattr(message, field.name), depth - 1)
        else:
            setattr(message, field.name, _scalar(draw, field))


def _scalar(draw: Any, field: FieldDescriptor) -> Any:
    if field.type == FieldDescriptor.TYPE_STRING:
        return draw(TEXTS.get(field.name, texts))
    return draw(NUMBERS[field.type])
