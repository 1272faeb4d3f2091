"""The error tree as gRPC statuses: the code, a sentence, and details a program can read.

`google.rpc.BadRequest` names each field at fault, `google.rpc.ErrorInfo` the stable reason. Details travel in trailing
metadata, of which a client takes 8 KiB unless told otherwise and fails the call over a byte more: what is sent here
stays below that, and what does not fit is left out.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Final

import grpc
from google.protobuf.message import Message
from google.rpc.error_details_pb2 import BadRequest, ErrorInfo
from google.rpc.status_pb2 import Status

from flowsched.errors import FlowschedError, InvalidInput, PermissionDenied
from rpc.refusals import DOMAIN, FRAME, packed, refusal_infos

logger = logging.getLogger(__name__)

DETAILS_KEY: Final = "grpc-status-details-bin"  # where grpcio-status and every other client library looks for them
TRAILER: Final = 7_600  # bytes for message and details; the rest of the 8 KiB is for keys and the request id
MAX_MESSAGE: Final = 900  # bytes of UTF-8
MAX_FIELD: Final = 300  # bytes of the text about one field

# kind -> status; design.md's table of errors. The last two have no door here, since no call carries a version or a key.
STATUSES: Final[Mapping[str, grpc.StatusCode]] = {
    "invalid_input": grpc.StatusCode.INVALID_ARGUMENT,
    "unauthenticated": grpc.StatusCode.UNAUTHENTICATED,
    "permission_denied": grpc.StatusCode.PERMISSION_DENIED,
    "not_found": grpc.StatusCode.NOT_FOUND,
    "already_exists": grpc.StatusCode.ALREADY_EXISTS,
    "precondition_failed": grpc.StatusCode.FAILED_PRECONDITION,
    "queue_full": grpc.StatusCode.RESOURCE_EXHAUSTED,
    "too_large": grpc.StatusCode.RESOURCE_EXHAUSTED,
    "too_many": grpc.StatusCode.RESOURCE_EXHAUSTED,
    "busy": grpc.StatusCode.ABORTED,
    "unavailable": grpc.StatusCode.UNAVAILABLE,
    "version_mismatch": grpc.StatusCode.FAILED_PRECONDITION,
    "key_reused": grpc.StatusCode.FAILED_PRECONDITION,
}


def status_of(error: Exception, *, request_id: str, statuses: Mapping[str, grpc.StatusCode] | None = None) -> Status:
    """The status that `error` is. Whatever is not of our tree is logged here, and its text stays here.

    `statuses` says which reasons have another code than their kind (`Method.statuses`).
    """
    if not isinstance(error, FlowschedError):
        logger.error("request %s failed", request_id, exc_info=error)
        message = f"This is a fault of flowsched. Its log says more under the request id {request_id}."
        return _status(grpc.StatusCode.INTERNAL, message, [_info("INTERNAL", {"request_id": request_id})])
    code = (statuses or {}).get(error.reason) or STATUSES[error.kind]
    status = _status(code, error.message, _details(error))
    room = _room(status.message) - sum(detail.ByteSize() + FRAME for detail in status.details)
    status.details.extend(packed(info) for info in refusal_infos(error.refusals, room=room))
    return status


def cut(text: str, limit: int) -> str:
    """`text`, or as much of it as `limit` bytes of UTF-8 hold, ending in an ellipsis."""
    data = text.encode(errors="replace")
    if len(data) <= limit:
        return data.decode()
    return data[: limit - 3].decode(errors="ignore") + "…"


def _details(error: FlowschedError) -> list[Message]:
    found: list[Message] = []
    fields = error.fields if isinstance(error, InvalidInput) else {}
    if fields:
        found.append(_bad_request(fields))
    if isinstance(error, PermissionDenied):
        found.append(_info(error.kind, {"permission": error.reason}))
    elif error.reason or not fields:
        metadata = {"field": error.field} if error.field and not fields else {}
        found.append(_info(error.reason or error.kind, metadata))
    return found


def _bad_request(fields: Mapping[str, str]) -> BadRequest:
    """As many violations as leave room for a reason beside them."""
    bad = BadRequest()
    for field, text in fields.items():
        violation = BadRequest.FieldViolation(field=cut(field, MAX_FIELD), description=cut(text, MAX_FIELD))
        if bad.field_violations and bad.ByteSize() + violation.ByteSize() > TRAILER // 4:
            break
        bad.field_violations.append(violation)
    return bad


def _info(reason: str, metadata: Mapping[str, str]) -> ErrorInfo:
    texts = {key: cut(text, MAX_FIELD) for key, text in metadata.items()}
    return ErrorInfo(reason=cut(reason.upper(), MAX_FIELD), domain=DOMAIN, metadata=texts)


def _status(code: grpc.StatusCode, message: str, details: Sequence[Message]) -> Status:
    return Status(code=code.value[0], message=cut(message, MAX_MESSAGE), details=[packed(one) for one in details])


def _room(message: str) -> int:
    """The bytes that details may take beside `message`, which travels percent-encoded and once more among them."""
    data = message.encode()
    encoded = sum(1 if 0x20 <= byte < 0x7F and byte != ord("%") else 3 for byte in data)  # noqa: PLR2004  ASCII
    return (TRAILER - encoded) * 3 // 4 - len(data)  # base64 makes four bytes of three
