"""Connections for HTTP operations: one resolution, every address checked, then exactly that address (TH-5).

A check that resolves a name and a connection that resolves it again can be told two things; here the connection is
made to the address that was checked. One connection carries one request: a kept one that the other side is just
closing loses a request of which nobody could say whether it arrived.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import threading
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from ipaddress import ip_address
from typing import Any, TypeAlias

import httpcore

from tasks.http import addresses
from tasks.http.addresses import Address

# From a host name to addresses as text; may block. Port is not part of it: every port is the same machine.
Resolve: TypeAlias = Callable[[str], Sequence[str]]

CONNECT_PATIENCE = 2.0  # seconds for an address while there is another to try
ADDRESSES_TRIED = 4
CONNECTION_BYTES = 256 * 1024  # read from one connection; headers may be 100 KiB, a body is read to 64 KiB


class NotAllowed(Exception):
    """The address is no target. The sentence says which and why."""


class TooMuch(httpcore.RemoteProtocolError):
    """The other side sends more than any answer is read of. The sentence is ours."""


class Unresolved(httpcore.ConnectError):
    """The name leads nowhere. The sentence is ours."""


def resolve_by_system(host: str) -> Sequence[str]:
    """What this machine's resolver says, in its order."""
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(sockaddr[0]) for *_, sockaddr in found))


class Lookups:
    """Resolutions off the loop, one at a time a name: a resolver that hangs holds one thread a name and no call.

    The threads are daemons: a process that ends does not wait for a resolver.
    """

    def __init__(self, resolve: Resolve) -> None:
        self._resolve = resolve
        self._under_way: dict[str, asyncio.Future[Sequence[str]]] = {}

    async def addresses(self, host: str) -> Sequence[str]:
        """The addresses of `host`. Raises OSError as resolvers do."""
        if host not in self._under_way:
            loop = asyncio.get_running_loop()
            self._under_way[host] = future = loop.create_future()
            work = partial(self._work, host, future, loop)
            threading.Thread(target=work, name=f"resolve {host}", daemon=True).start()
        # Whoever asked first may give up without taking the answer from the others.
        return await asyncio.shield(self._under_way[host])

    def _work(self, host: str, future: asyncio.Future[Sequence[str]], loop: asyncio.AbstractEventLoop) -> None:
        answer: Sequence[str] = ()
        failure: Exception | None = None
        try:
            answer = self._resolve(host)
        except Exception as error:  # noqa: BLE001  it is raised again where the answer is awaited
            failure = error
        with contextlib.suppress(RuntimeError):  # the loop has been closed meanwhile
            loop.call_soon_threadsafe(self._done, host, future, answer, failure)

    def _done(
        self, host: str, future: asyncio.Future[Sequence[str]], answer: Sequence[str], failure: Exception | None
    ) -> None:
        del self._under_way[host]
        if failure is None:
            future.set_result(answer)
        else:
            future.set_exception(failure)
            future.exception()  # nobody may be waiting any more


class Backend(httpcore.AsyncNetworkBackend):
    """Connects to allowed addresses only, and closes what it opened.

    The library would forget a connection whose TLS it was still waiting for when it was interrupted.
    """

    def __init__(self, lookups: Lookups, *, allow_private: bool) -> None:
        self._lookups = lookups
        self._allow_private = allow_private
        self._inner = httpcore.AnyIOBackend()
        self._opened: list[httpcore.AsyncNetworkStream] = []

    async def aclose(self) -> None:
        """Close the connections, at once; nothing is owed to the other side."""
        for stream in self._opened:
            await stream.aclose()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109  the library's interface
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """A stream to the first allowed address that answers. Raises NotAllowed, httpcore.ConnectError."""
        targets = (await self.allowed(host))[:ADDRESSES_TRIED]
        for target in targets[:-1]:
            with contextlib.suppress(httpcore.ConnectError, httpcore.ConnectTimeout):
                return self._keep(await self._inner.connect_tcp(str(target), port, timeout=CONNECT_PATIENCE))
        return self._keep(await self._inner.connect_tcp(str(targets[-1]), port))

    def _keep(self, stream: httpcore.AsyncNetworkStream) -> httpcore.AsyncNetworkStream:
        self._opened.append(stream)
        return Measured(stream)

    async def allowed(self, host: str) -> list[Address]:
        """The addresses of `host`, all allowed: one that is not makes the whole answer suspect."""
        try:
            spelled = addresses.literal(host)
        except ValueError as error:
            raise NotAllowed(str(error)) from None
        found = [spelled] if spelled is not None else await self._resolved(host)
        for address in found:
            if reason := addresses.refusal(address, host, allow_private=self._allow_private):
                raise NotAllowed(f"{host} leads to where no request may go: {reason}")
        return found

    async def _resolved(self, host: str) -> list[Address]:
        try:
            texts = await self._lookups.addresses(host)
        except OSError as error:
            raise Unresolved(f"{host} cannot be resolved: {error.strerror or error}") from None
        except UnicodeError:
            raise Unresolved(f"{host} cannot be resolved: it is no host name") from None
        if not texts:
            raise Unresolved(f"{host} cannot be resolved: it has no address")
        return [ip_address(text) for text in texts]


class Measured(httpcore.AsyncNetworkStream):
    """A stream that ends where more is sent than any answer is read of: endless informational answers, for one."""

    def __init__(self, inner: httpcore.AsyncNetworkStream, left: int = CONNECTION_BYTES) -> None:
        self._inner = inner
        self._left = left

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109
        """Bytes; raises TooMuch once all that may be read has been."""
        if self._left <= 0:
            raise TooMuch(f"more than {CONNECTION_BYTES} bytes were sent before the answer was complete")
        data = await self._inner.read(min(max_bytes, self._left), timeout)
        self._left -= len(data)
        return data

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109
        """Send all of `buffer`."""
        await self._inner.write(buffer, timeout)

    async def aclose(self) -> None:
        """Close at once; nothing is owed to the other side."""
        await self._inner.aclose()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109
    ) -> httpcore.AsyncNetworkStream:
        """The stream within TLS, measured anew."""
        return Measured(await self._inner.start_tls(ssl_context, server_hostname, timeout))

    def get_extra_info(self, info: str) -> Any:
        """What the library asks for."""
        return self._inner.get_extra_info(info)
