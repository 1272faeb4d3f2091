"""The two services every gRPC tool expects: health, and reflection where it is switched on. Neither asks who calls.

Each has threads of its own, so that a probe is answered while every other thread works, and a limit of patience:
whoever may call them without a name must not keep a thread either.
"""

from __future__ import annotations

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


class Health:
    """grpc.health.v1.Health: `Check` and `Watch`, for the server as a whole and for each service."""

    def __init__(self, services: list[str], *, patience: Patience, pool: ThreadPoolExecutor) -> None:
        self._servicer = health.HealthServicer(experimental_non_blocking=True, experimental_thread_pool=pool)
        self._patience = patience
        self._pool = pool
        for service in services:
            self._servicer.set(service, health_pb2.HealthCheckResponse.SERVING)

    def stopping(self) -> None:
        """Answer NOT_SERVING from now on, also to those who watch."""
        self._servicer.enter_graceful_shutdown()

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
            return behaviour(_parsed(_Check, data, context), context, *send)

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
