"""The way to one URL's host: so many requests at a time, each on a connection of its own (TH-4, TH-5)."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any, cast

import httpcore
import httpx

from tasks.http.body import Body
from tasks.http.endpoints import Endpoint, Url
from tasks.http.network import Backend, Lookups, NotAllowed, TooMuch

AGENT = "flowsched"
USUAL_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Wanted:
    """A request down to its bytes, on its way to one URL. `path` goes below that URL's; `read` is in bytes."""

    url: Url
    method: str
    path: str
    query: Sequence[tuple[str, str]]
    headers: Sequence[tuple[str, str]]
    body: bytes | None
    read: int

    def target(self) -> httpx.URL:
        """The URL as httpx understands it. Raises NotAllowed if it understands another path (`/../x`, `/a b`)."""
        path = self.url.path + self.path or "/"
        query = str(httpx.QueryParams(list(self.query))).encode() if self.query else None
        try:
            url = httpx.URL(scheme=self.url.scheme, host=self.url.host, port=self.url.port, path=path, query=query)
        except httpx.InvalidURL:
            raise NotAllowed("the path or the query is not valid in a URL") from None
        if url.raw_path.partition(b"?")[0] != path.encode():
            raise NotAllowed("the path that would be asked for is not the one given")
        return url


@dataclass(frozen=True, slots=True)
class Reached:
    """What a connection found: whom it reached, and with TLS the version and when the certificate ends."""

    address: str
    tls: str = ""
    certificate_until: str = ""


class Way(httpx.AsyncBaseTransport):
    """How requests reach one URL's host. `connections` bounds how many are under way; the others wait."""

    def __init__(self, endpoint: Endpoint, url: Url, connections: int, lookups: Lookups) -> None:
        self._url = url
        self._endpoint = endpoint
        self._lookups = lookups
        self._places = asyncio.Semaphore(connections)
        self._tls: ssl.SSLContext | None = None
        self._client = httpx.AsyncClient(
            transport=self,
            trust_env=False,
            follow_redirects=False,
            timeout=None,  # noqa: S113  one deadline is around everything
            headers={"User-Agent": AGENT, "Accept": "*/*", "Accept-Encoding": "identity", "Connection": "close"},
        )
        # No answer's cookie goes into another request.
        self._client.cookies.jar = CookieJar(policy=DefaultCookiePolicy(allowed_domains=[]))

    async def exchange(
        self, wanted: Wanted, trace: Callable[[str, Any], Any], begun: Callable[[int], None]
    ) -> tuple[httpx.Headers, bytes]:
        """Send and read as much of the answer as is wanted. `begun` is told its status as soon as it is known."""
        target = wanted.target()
        async with self._places:
            request = self._client.build_request(
                wanted.method, target, headers=list(wanted.headers), content=wanted.body, extensions={"trace": trace}
            )
            answer = await self._client.send(request, stream=True)
            try:
                begun(answer.status_code)
                body = Body(answer.headers.get("content-encoding", ""), wanted.read)
                with contextlib.suppress(TooMuch):
                    async with contextlib.aclosing(cast(AsyncGenerator[bytes, None], answer.aiter_raw())) as parts:
                        async for part in parts:
                            if body.feed(part):
                                break
            finally:
                await answer.aclose()
        return answer.headers, body.taken()

    async def probe(self) -> Reached:
        """Connect, with TLS where it is, and ask for nothing."""
        backend = self.backend()
        try:
            stream = await backend.connect_tcp(self._url.host, self._url.port)
            address = str(stream.get_extra_info("server_addr")[0])
            context = self.tls()
            if context is None:
                return Reached(address)
            stream = await stream.start_tls(context, server_hostname=self._url.host)
            tls = stream.get_extra_info("ssl_object")
            return Reached(address, tls.version(), tls.getpeercert()["notAfter"])
        finally:
            await backend.aclose()

    def tls(self) -> ssl.SSLContext | None:
        """What certificates are checked by: the endpoint's CA bundle alone, or else the CAs that httpx brings."""
        if self._tls is None and self._url.scheme == "https":
            bundle = self._endpoint.ca_bundle
            try:
                self._tls = (
                    ssl.create_default_context(cafile=bundle) if bundle else httpx.create_ssl_context(trust_env=False)
                )
            except OSError as error:  # ssl.SSLError is one
                reason = "it holds no certificate" if isinstance(error, ssl.SSLError) else error.strerror
                raise NotAllowed(f"the CA bundle {bundle} cannot be read: {reason}") from None
        return self._tls

    def backend(self) -> Backend:
        """What makes one connection."""
        return Backend(self._lookups, allow_private=self._endpoint.allow_private_addresses)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send on a new connection, which ends with the answer. What httpx made of the URL is compared here, last."""
        url = request.url
        going = (url.scheme, url.raw_host.decode(), url.port or USUAL_PORTS.get(url.scheme), request.headers["host"])
        if going != (self._url.scheme, self._url.host, self._url.port, self._url.authority):
            raise NotAllowed(f"the request would leave {self._url.origin}")
        target = httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path)
        backend = self.backend()
        connection = httpcore.AsyncHTTPConnection(target.origin, ssl_context=self.tls(), network_backend=backend)
        sending = httpcore.Request(
            method=request.method,
            url=target,
            headers=request.headers.raw,
            content=request.stream,
            extensions=request.extensions,
        )
        try:
            answer = await connection.handle_async_request(sending)
        except BaseException:
            await backend.aclose()
            raise
        return httpx.Response(answer.status, headers=answer.headers, stream=_Stream(answer, backend))


class _Stream(httpx.AsyncByteStream):
    """An answer's body; closing it closes the connection, whatever is still to come."""

    def __init__(self, answer: httpcore.Response, backend: Backend) -> None:
        self._answer = answer
        self._backend = backend

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for part in self._answer.aiter_stream():
            yield part

    async def aclose(self) -> None:
        await self._backend.aclose()
