"""The two services every gRPC tool expects: health, and reflection where it is switched on. Neither asks who calls.

Each has threads of its own, so that a probe is answered while every other thread works, and a limit of patience:
whoever may call them without a name must not keep a thread either.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import grpc
from grpc_health.v1 import health, health_pb2
from grpc_reflection.v1alpha import reflection, reflection_pb2

from rpc.patience import Patience

THREADS: Final = 2  # of each

_Check: Final = health_pb2.HealthCheckRequest


class _Behaviour:
    """A method with what grpcio looks for on it: the threads that run it, and whether it answers later by callback."""

    def __init__(self, run: Callable[..., Any], pool: ThreadPoolExecutor, *, non_blocking: bool = False) -> None:
        self._run = run
        self.experimental_thread_pool = pool
        self.experimental_non_blocking = non_blocking

    def __call__(self, *arguments: Any) -> Any:
        return self._run(*arguments)


class _Watches:
    """The streams that watch the health.

    The servicer cannot end them, and one would hold up a stop for all its grace. Nor does it expect a watcher that
    takes no answer, and waits for it with a lock that every probe needs.
    """

    def __init__(self, patience: Patience) -> None:
        self._patience = patience
        self._open: dict[int, Callable[[Any], None]] = {}
        self._lock = threading.Lock()
        self._numbers = itertools.count()

    def add(self, send: Callable[[Any], None], context: grpc.ServicerContext) -> Callable[[Any], None]:
        """What the servicer is given instead of `send`: the same with patience, and nothing follows the end (None)."""
        number = next(self._numbers)
        with self._lock:
            self._open[number] = send

        def guarded(answer: Any) -> None:
            with self._lock:
                found = self._open.get(number) if answer is not None else self._open.pop(number, None)
            if found is not None:
                with self._patience.waiting(context):
                    found(answer)

        return guarded

    def end(self) -> None:
        """End them all."""
        with self._lock:
            sends = list(self._open.values())
            self._open.clear()
        for send in sends:
            send(None)


class Health:
    """grpc.health.v1.Health: `Check` and `Watch`, for the server as a whole and for each service."""

    def __init__(self, services: list[str], *, patience: Patience, pool: ThreadPoolExecutor) -> None:
        self._servicer = health.HealthServicer(experimental_non_blocking=True, experimental_thread_pool=pool)
        self._patience = patience
        self._pool = pool
        self._watches = _Watches(patience)
        for service in services:
            self._servicer.set(service, health_pb2.HealthCheckResponse.SERVING)

    def stopping(self) -> None:
        """Answer NOT_SERVING from now on, also to those who watch."""
        self._servicer.enter_graceful_shutdown()

    def end_watches(self) -> None:
        """End the calls of those who watch."""
        self._watches.end()

    def handler(self) -> grpc.GenericRpcHandler:
        """The service."""
        check = _Behaviour(self._one(self._servicer.Check), self._pool)
        watch = _Behaviour(self._one(self._servicer.Watch), self._pool, non_blocking=True)  # a watcher keeps no thread
        methods: dict[str, grpc.RpcMethodHandler[Any, Any]] = {
            "Check": grpc.stream_unary_rpc_method_handler(check, response_serializer=_serialized),
            "Watch": grpc.stream_stream_rpc_method_handler(watch, response_serializer=_serialized),
        }
        return grpc.method_handlers_generic_handler(health.SERVICE_NAME, methods)

    def _one(self, behaviour: Callable[..., Any]) -> Callable[..., Any]:
        """`behaviour` for the one message of a call, awaited with patience."""

        def run(stream: Iterator[bytes], context: grpc.ServicerContext, *send: Callable[[Any], None]) -> Any:
            data = next(self._patience.messages(stream, context), b"")
            request = _parsed(_Check, data, context)
            return behaviour(request, context, *(self._watches.add(one, context) for one in send))

        return run


def reflection_handler(services: list[str], *, patience: Patience, pool: ThreadPoolExecutor) -> grpc.GenericRpcHandler:
    """grpc.reflection.v1alpha.ServerReflection for `services`."""
    servicer = reflection.ReflectionServicer([*services, reflection.SERVICE_NAME])

    def info(stream: Iterator[bytes], context: grpc.ServicerContext) -> Iterator[Any]:
        kind = reflection_pb2.ServerReflectionRequest
        requests = (_parsed(kind, data, context) for data in patience.messages(stream, context))
        yield from servicer.ServerReflectionInfo(requests, context)

    handler: grpc.RpcMethodHandler[Any, Any] = grpc.stream_stream_rpc_method_handler(
        _Behaviour(info, pool), response_serializer=_serialized
    )
    return grpc.method_handlers_generic_handler(reflection.SERVICE_NAME, {"ServerReflectionInfo": handler})


def _serialized(answer: Any) -> bytes:
    data: bytes = answer.SerializeToString()
    return data


def _parsed(kind: Any, data: bytes, context: grpc.ServicerContext) -> Any:
    try:
        return kind.FromString(data)
    except Exception:  # noqa: BLE001  DecodeError, and whatever else bytes do to a parser
        context.abort(grpc.StatusCode.INVALID_ARGUMENT, "the message cannot be read")
