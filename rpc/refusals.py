"""Racks that refused, as details a program can read (D-13).

A call that made some tasks succeeds, and a successful gRPC call has no error details: the refusals travel in trailing
metadata. A client takes 8 KiB of that unless told otherwise, and fails the call over a byte more. So as many are sent
as fit, then how many were not; every one is in the firing's history and in the audit trail.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import grpc
from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.message import Message
from google.rpc.error_details_pb2 import ErrorInfo
from google.rpc.status_pb2 import Status

from flowsched.errors import Refusal

KEY: Final = "flowsched-refusals-bin"
DOMAIN: Final = "flowsched"
MORE: Final = "MORE_REFUSALS"
ROOM: Final = 5_400  # bytes; base64 on the wire makes 7,200 of them, and the rest of the trailer needs some
MAX_REASON: Final = 300  # characters of a rack's sentence
FRAME: Final = 4  # bytes that a detail takes in its Status beside its own
_LAST: Final = 160  # kept for the detail that counts the rest


def refusal_infos(refusals: Sequence[Refusal], *, room: int) -> list[ErrorInfo]:
    """An ErrorInfo a rack, as many as `room` bytes of a Status hold.

    If those are not all, one more with the reason MORE_REFUSALS says how many are missing.
    """
    found: list[ErrorInfo] = []
    used = beside_the_last = 0
    for refusal in refusals:
        info = _info(refusal)
        used += packed(info).ByteSize() + FRAME
        if used > room:
            missing = str(len(refusals) - beside_the_last)
            return [*found[:beside_the_last], ErrorInfo(reason=MORE, domain=DOMAIN, metadata={"count": missing})]
        found.append(info)
        if used <= room - _LAST:
            beside_the_last = len(found)
    return found


def refusals_status(refusals: Sequence[Refusal], *, room: int = ROOM) -> Status:
    """The refusals of a call that did make tasks."""
    status = Status(code=grpc.StatusCode.FAILED_PRECONDITION.value[0], message=_message(len(refusals)))
    infos = refusal_infos(refusals, room=room - status.ByteSize())
    status.details.extend(packed(info) for info in infos)
    return status


def trail_refusals(context: grpc.ServicerContext, refusals: Sequence[Refusal]) -> None:
    """Add the refusals of a successful call to its trailing metadata; none adds nothing."""
    if refusals:
        before = context.trailing_metadata() or ()
        context.set_trailing_metadata((*before, (KEY, refusals_status(refusals).SerializeToString())))


def _message(count: int) -> str:
    return "1 rack refused" if count == 1 else f"{count} racks refused"


def _info(refusal: Refusal) -> ErrorInfo:
    reason = refusal.reason if len(refusal.reason) <= MAX_REASON else refusal.reason[: MAX_REASON - 1] + "…"
    metadata = {"rack_name": refusal.rack_name, "outcome": refusal.outcome, "reason": reason}
    if refusal.rack_id is not None:
        metadata["rack_id"] = str(refusal.rack_id)
    return ErrorInfo(reason=(refusal.code or refusal.outcome).upper(), domain=DOMAIN, metadata=metadata)


def packed(detail: Message) -> AnyMessage:
    """A detail as a Status holds it."""
    found = AnyMessage()
    found.Pack(detail)
    return found
