"""The service v1.Flow: what every call passes before and after its method.

In this order: who calls, then its message, may it, then the work; so that a stranger's stream never holds a thread and
a refusal names the object it was about. What fails becomes a status here and nowhere else. A message is parsed here,
not by grpcio, which answers INTERNAL to one that cannot be.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, NoReturn

import grpc
from django.db import close_old_connections
from google.protobuf.message import DecodeError, Message
from google.rpc.status_pb2 import Status

from access.callers import require
from flowsched import db
from flowsched.actor import Door, request_id_from
from flowsched.errors import FlowschedError, InvalidInput, TooLarge
from rpc.call import Call, Method
from rpc.errors import DETAILS_KEY, cut, status_of
from rpc.identity import caller_of
from rpc.patience import Patience
from rpc.proto import flow_pb2
from rpc.texts import check_texts

SERVICE: Final = flow_pb2.DESCRIPTOR.services_by_name["Flow"]
REQUEST_ID: Final = "x-request-id"
MAX_ANSWER: Final = 64 * 1024 * 1024
_IDS: Final = (
    "id",
    "schedule_id",
    "scope_id",
    "task_id",
    "nvl_domain_identifier",
)  # what a request is about, for the audit trail
_CODES: Final = {code.value[0]: code for code in grpc.StatusCode}


@dataclass(frozen=True, slots=True)
class _Incoming:
    """A call on its way to its method. `until`: when it is too late to begin (monotonic)."""

    name: str
    method: Method
    until: float
    stream: Iterator[bytes]
    context: grpc.ServicerContext
    request_id: str

    def too_late(self) -> bool:
        """Whether nobody waits for the answer any more, or it waited too long for its turn."""
        context = self.context
        return not context.is_active() or context.time_remaining() <= 0 or time.monotonic() >= self.until


class _Late(Exception):
    """The call's time was over before it began."""


class Flow(grpc.GenericRpcHandler):
    """Finds the method of a call. `deadline` is how many seconds a call may wait until it is begun."""

    def __init__(
        self, methods: Mapping[str, Method], *, users: Mapping[str, str], deadline: float, patience: Patience
    ) -> None:
        self._methods = methods
        self._users = users
        self._deadline = deadline
        self._patience = patience

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler[Any, Any] | None:
        """The handler of a call of this service. Runs when the call arrives, before it waits for a thread."""
        service, _, name = handler_call_details.method.lstrip("/").partition("/")
        if service != SERVICE.full_name:
            return None
        if name in self._methods:
            behaviour = partial(self._serve, name, time.monotonic() + self._deadline)
        else:
            behaviour = partial(_unimplemented, name)
        # As a stream of one message, which is the same on the wire: the thread gets the call before its message is
        # there, and bytes instead of whatever grpcio says of them.
        return grpc.stream_unary_rpc_method_handler(behaviour)

    def _serve(self, name: str, until: float, stream: Iterator[bytes], context: grpc.ServicerContext) -> bytes:
        call = _Incoming(name, self._methods[name], until, stream, context, _request_id(context))
        close_old_connections()
        try:
            answer = self._answer(call)
        finally:
            close_old_connections()
        trailing = ((REQUEST_ID, call.request_id), *(context.trailing_metadata() or ()))
        if isinstance(answer, bytes):
            context.set_trailing_metadata(trailing)
            return answer
        context.set_trailing_metadata((*trailing, (DETAILS_KEY, answer.SerializeToString())))
        return _abort(context, _CODES[answer.code], answer.message)

    def _answer(self, call: _Incoming) -> bytes | Status:
        """The answer's bytes, or why there is none."""
        try:
            with db.translate():
                return self._work(call)
        except grpc.RpcError:  # its client went away, or never sent the message
            return Status(code=grpc.StatusCode.CANCELLED.value[0], message="the call was cancelled")
        except _Late:
            message = "the call waited for its turn until its deadline and was not begun; try again later"
            return Status(code=grpc.StatusCode.DEADLINE_EXCEEDED.value[0], message=message)
        except Exception as error:  # noqa: BLE001  the last place: status_of logs it and shows nothing of it
            return status_of(error, request_id=call.request_id, statuses=call.method.statuses)

    def _work(self, call: _Incoming) -> bytes:
        if call.too_late():
            raise _Late
        context, verb = call.context, call.method.verb
        caller = caller_of(context.invocation_metadata(), context.auth_context(), self._users)
        request, fault = _parsed(call.name, next(self._patience.messages(call.stream, context), None))
        if verb:
            object_id = "" if request is None else _object_id(request)
            require(caller, verb, door=Door.GRPC, request_id=call.request_id, object_id=object_id)
        if fault is not None:
            raise fault
        return _rendered(call.name, call.method.run(Call(caller, call.request_id, context), request))


def _unimplemented(name: str, _stream: Iterator[bytes], context: grpc.ServicerContext) -> bytes:
    message = f"{cut(name, 100)} is not part of flowsched; server reflection or flow.proto say what is"
    return _abort(context, grpc.StatusCode.UNIMPLEMENTED, message)


def _abort(context: grpc.ServicerContext, code: grpc.StatusCode, message: str) -> NoReturn:
    context.abort(code, message)
    raise AssertionError  # abort raises; its type does not say so


def _request_id(context: grpc.ServicerContext) -> str:
    return request_id_from(*(value for key, value in context.invocation_metadata() if key == REQUEST_ID))


def _parsed(name: str, data: bytes | None) -> tuple[Any, FlowschedError | None]:
    """The request, or what is wrong with it."""
    described = SERVICE.methods_by_name[name].input_type
    if data is None:
        return None, InvalidInput(f"{name} takes one {described.name}; the call ended without a message")
    request: Message = getattr(flow_pb2, described.name)()
    try:
        request.ParseFromString(data)
        check_texts(request, data)
    except DecodeError:
        return None, InvalidInput(f"the message is no {described.name}: its bytes cannot be read as flow.proto says")
    except InvalidInput as error:
        return None, error
    return request, None


def _object_id(request: Any) -> str:
    fields = request.DESCRIPTOR.fields_by_name
    for name in _IDS:
        if name in fields and fields[name].message_type is not None and request.HasField(name):
            named = getattr(request, name).id
            return str(getattr(named, "id", named))  # a domain is named by an Identifier, which holds the id
    return ""


def _rendered(name: str, answer: Message) -> bytes:
    data = answer.SerializeToString()
    if len(data) > MAX_ANSWER:
        raise TooLarge(f"the answer to {name} has {len(data)} bytes, more than {MAX_ANSWER}: ask for it page by page")
    return data
