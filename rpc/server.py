"""The gRPC server: its threads, its limits, the addresses it may listen on, and its orderly end.

What is refused here is refused before any call: an address beyond this machine without TLS, files that are no
certificate, a protobuf that is not the one whose parser is hardened (TH-12, TH-13).
"""

from __future__ import annotations

import ipaddress
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import grpc
from django.conf import settings
from django.db import connections
from google.protobuf.internal import api_implementation

from flowsched.bind import Bind
from flowsched.errors import InvalidInput, PreconditionFailed
from rpc.call import Method
from rpc.patience import Patience
from rpc.servicer import MAX_ANSWER, SERVICE, Flow
from rpc.standard import THREADS, Health, reflection_handler
from rpc.tls import Files, credentials

MAX_MESSAGE: Final = 4 * 1024 * 1024
MAX_METADATA: Final = 16 * 1024
MAX_STREAMS: Final = 100  # a connection
QUEUE_PER_THREAD: Final = 10  # calls taken in per thread, waiting ones included
MESSAGE_WITHIN: Final = 10.0  # seconds between a call and its message
PROBE_WITHIN: Final = 2.0  # the same for health, which answers strangers

OPTIONS: Final[tuple[tuple[str, int], ...]] = (
    ("grpc.so_reuseport", 0),  # two servers on one port would share it in silence
    ("grpc.max_receive_message_length", MAX_MESSAGE),
    ("grpc.max_send_message_length", MAX_ANSWER),
    ("grpc.max_metadata_size", MAX_METADATA),
    ("grpc.absolute_max_metadata_size", MAX_METADATA),
    ("grpc.max_concurrent_streams", MAX_STREAMS),
    # A peer that vanished without a word is found within 80 s; one that pings more often than every 10 s is cut off.
    ("grpc.keepalive_time_ms", 60_000),
    ("grpc.keepalive_timeout_ms", 20_000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.min_ping_interval_without_data_ms", 10_000),
    ("grpc.http2.max_ping_strikes", 2),
    # Connections end in time, so that clients spread over servers again and show their certificate again.
    ("grpc.max_connection_idle_ms", 15 * 60_000),
    ("grpc.max_connection_age_ms", 60 * 60_000),
    ("grpc.max_connection_age_grace_ms", 60_000),
)


@dataclass(frozen=True, slots=True)
class Config:
    """What a deployment decides. `deadline` in seconds; `users` maps certificates' names to user names."""

    threads: int
    deadline: float
    users: Mapping[str, str]
    reflection: bool
    tls: Files

    @classmethod
    def of_settings(cls) -> Config:
        """What the environment says."""
        return cls(
            threads=settings.FLOWSCHED_GRPC_THREADS,
            deadline=settings.FLOWSCHED_GRPC_DEADLINE.total_seconds(),
            users=settings.FLOWSCHED_GRPC_USERS,
            reflection=settings.FLOWSCHED_GRPC_REFLECTION,
            tls=Files(settings.FLOWSCHED_GRPC_CERT, settings.FLOWSCHED_GRPC_KEY, settings.FLOWSCHED_GRPC_CLIENT_CA),
        )


class Server:
    """One per process: bind, start, and stop from the thread that started it."""

    def __init__(self, methods: Mapping[str, Method], config: Config) -> None:
        if api_implementation.Type() != "upb":
            raise PreconditionFailed(
                f"protobuf runs on its '{api_implementation.Type()}' parser here, not on upb: unset "
                "PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION, or install protobuf from its wheel"
            )
        self._config = config
        self._stopped = False
        self._pool = ThreadPoolExecutor(config.threads, thread_name_prefix="grpc")
        self._pools = [ThreadPoolExecutor(THREADS, thread_name_prefix=name) for name in ("health", "reflection")]
        self._patience = Patience(MESSAGE_WITHIN)
        self._probe_patience = Patience(PROBE_WITHIN)
        self._server = grpc.server(
            self._pool, options=OPTIONS, maximum_concurrent_rpcs=config.threads * QUEUE_PER_THREAD
        )
        self._health = Health([SERVICE.full_name], patience=self._probe_patience, pool=self._pools[0])
        flow = Flow(methods, users=config.users, deadline=config.deadline, patience=self._patience)
        handlers = [flow, self._health.handler()]
        if config.reflection:
            services = [SERVICE.full_name, "grpc.health.v1.Health"]
            handlers.append(reflection_handler(services, patience=self._patience, pool=self._pools[1]))
        self._server.add_generic_rpc_handlers(handlers)

    def bind(self, address: str) -> str:
        """Listen on `address`; return it with the real port. InvalidInput, PreconditionFailed if it cannot be."""
        local, tls = is_local(address), credentials(self._config.tls)
        if tls is None and not local:
            raise InvalidInput(
                f"{address} can be reached from elsewhere and there is no TLS: name a certificate in "
                "FLOWSCHED_GRPC_CERT and FLOWSCHED_GRPC_KEY, or bind to 127.0.0.1",
                field="bind",
            )
        try:
            port = self._add_port(address, tls)
        except RuntimeError as error:
            raise PreconditionFailed(
                f"cannot listen on {address}: it is taken, or none of this machine's; choose another with --bind",
                reason="ADDRESS",
            ) from error
        return address if address.startswith("unix:") else f"{address.rpartition(':')[0]}:{port}"

    def _add_port(self, address: str, tls: grpc.ServerCredentials | None) -> int:
        if tls is None:
            return self._server.add_insecure_port(address)
        return self._server.add_secure_port(address, tls)

    def start(self) -> None:
        """Take calls."""
        self._patience.start()
        self._probe_patience.start()
        self._server.start()

    def stop(self, grace: float) -> None:
        """Take no more calls, let those in hand end within `grace` seconds, then cancel them; return when all ended.

        A cancelled call's transaction goes on to its own end in its thread, which this waits for. A second stop does
        nothing.
        """
        if self._stopped:
            return
        self._stopped = True
        self._health.stopping()
        ended = self._server.stop(grace)
        self._health.end_watches()
        ended.wait()
        self._patience.stop()
        self._probe_patience.stop()
        _close_connections(self._pool, self._config.threads)
        for pool in (self._pool, *self._pools):
            pool.shutdown()


def is_local(address: str) -> bool:
    """Whether only this machine can reach `address`. Raises InvalidInput for what is no address."""
    bind = Bind.parse(address)
    try:
        return bool(bind.path) or ipaddress.ip_address(bind.host).is_loopback
    except ValueError:
        return bind.host == "localhost"


def _close_connections(pool: ThreadPoolExecutor, threads: int) -> None:
    """Close the database connections of all threads of `pool`: each takes one of as many tasks, and waits for the rest.

    A thread that is still busy after a cancelled call keeps the others waiting for a second, then nobody waits.
    """
    together = threading.Barrier(threads)

    def close() -> None:
        connections.close_all()
        with suppress(threading.BrokenBarrierError):
            together.wait(1)

    for future in [pool.submit(close) for _ in range(threads)]:
        future.result()
