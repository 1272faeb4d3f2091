"""Sending one request within one deadline, from any thread, and interrupting it from any other (D-26, TH-20).

The deadline is for everything: the place among the endpoint's connections, the name's resolution, connecting, TLS,
the request, the answer's headers, and what is read of its body. Whatever goes wrong says whether the request may have
been `sent`: that decides what may be sent again.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import os
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import httpx

from flowsched.errors import InvalidInput
from tasks.http.body import charset_of
from tasks.http.endpoints import Endpoint
from tasks.http.failures import Broken, Cancelled, NotAnswered, Refused, Timeout, refused, told
from tasks.http.network import Lookups, NotAllowed, Resolve, resolve_by_system
from tasks.http.request import Request
from tasks.http.values import check_headers, check_key, check_path, check_query
from tasks.http.way import Reached, Wanted, Way

EXCERPT_BYTES = 8 * 1024 + 1  # one more than is kept, so that a cut shows
HEADER_BYTES = 64 * 1024  # of an answer's headers that are handed on
TOKEN_CONNECTIONS = 2

__all__ = ["Broken", "Call", "Cancel", "Cancelled", "NotAnswered", "Refused", "Response", "Sender", "Timeout", "sender"]


@dataclass(frozen=True, slots=True)
class Response:
    """An answer. Header names are lower-case; `excerpt_bytes` is what was read of the body, decoded, at most 8 KiB + 1.

    `charset` is what the answer says its text is in, a name that is safe to decode with.
    """

    status: int
    headers: Mapping[str, str]
    excerpt_bytes: bytes
    charset: str


class Cancel:
    """A switch that any thread throws, once, and that interrupts whatever was given it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._thrown = False
        self._callbacks: list[Callable[[], None]] = []

    def is_set(self) -> bool:
        """Whether it was thrown."""
        return self._thrown

    def set(self) -> None:
        """Throw it."""
        with self._lock:
            self._thrown = True
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback()

    @contextlib.contextmanager
    def calling(self, callback: Callable[[], None]) -> Iterator[None]:
        """While inside, `callback` is called when it is thrown; at once if it was."""
        with self._lock:
            if not self._thrown:
                self._callbacks.append(callback)
        if self._thrown:
            callback()
        try:
            yield
        finally:
            with self._lock, contextlib.suppress(ValueError):
                self._callbacks.remove(callback)


class Call:
    """One request under way. `result` and `cancel` may be called from any thread."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._task: asyncio.Task[None] | None = None
        self._cancelled = False
        self._future: concurrent.futures.Future[Response] = concurrent.futures.Future()
        self.sent = False  # true from just before its first byte may leave this process
        self.status: int | None = None  # of the answer, once its headers are there

    def result(self, timeout: float | None = None) -> Response:
        """The answer. Raises Timeout, Broken, Refused, Cancelled; TimeoutError if it is not there in `timeout` s."""
        return self._future.result(timeout)

    def done(self) -> bool:
        """Whether `result` would answer at once."""
        return self._future.done()

    def on_done(self, callback: Callable[[], None]) -> None:
        """Call back, in some thread, as soon as it is done."""
        self._future.add_done_callback(lambda _: callback())

    def wait(self) -> None:
        """Wait until it is done, however it ends."""
        concurrent.futures.wait([self._future])

    def cancel(self) -> None:
        """Interrupt it. `result` then raises Cancelled, unless the answer was there already."""
        with contextlib.suppress(RuntimeError):  # the sender was closed, and its calls with it
            self._loop.call_soon_threadsafe(self._interrupt)

    def refuse(self, reason: str) -> None:
        """End it before it began."""
        self._future.set_exception(Refused(reason))

    def begin(self, work: Callable[[], Awaitable[Response]], until: float) -> None:
        """On the loop: do `work` until the monotonic instant `until`."""
        self._task = asyncio.ensure_future(self._carry(work, until))
        self._task.add_done_callback(self._never_begun)
        if self._cancelled:
            self._task.cancel()

    async def trace(self, event: str, _details: Any) -> None:
        """What the library tells of a request's way."""
        if event.endswith("send_request_headers.started"):
            self.sent = True

    def begun(self, status: int) -> None:
        """An answer begins."""
        self.status = status

    def _interrupt(self) -> None:
        if not self._cancelled and not self._future.done():
            self._cancelled = True
            if self._task is not None:
                self._task.cancel()

    def _never_begun(self, _task: asyncio.Task[None]) -> None:
        """A task that is cancelled before its first step takes none: then there is no result yet."""
        if not self._future.done():
            self._future.set_exception(Cancelled(sent=False))

    async def _carry(self, work: Callable[[], Awaitable[Response]], until: float) -> None:
        failure: Exception
        try:
            async with asyncio.timeout_at(until):
                response = await work()
        except TimeoutError:
            failure = Timeout(sent=self.sent, status=self.status)
        except asyncio.CancelledError:
            failure = Cancelled(sent=self.sent, status=self.status)
        except NotAllowed as error:
            failure = Refused(str(error))
        except Exception as error:  # noqa: BLE001  a call always ends, and what it says holds nothing that was sent
            failure = Broken(told(error), sent=self.sent, status=self.status)
        else:
            self._future.set_result(response)
            return
        self._future.set_exception(failure)


class Sender:
    """A process's way out: one event loop in a thread of its own, started when it is first needed."""

    def __init__(self, resolve: Resolve = resolve_by_system) -> None:
        self._resolve = resolve
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._ways: dict[tuple[Endpoint, str], Way] = {}
        self._lookups = Lookups(resolve)

    def send(
        self,
        endpoint: Endpoint,
        request: Request,
        *,
        deadline_seconds: float,
        bearer: str | None = None,
        cancelled: Cancel | None = None,
    ) -> Response:
        """Send `request` and wait for its answer, or until `cancelled` is thrown. Raises what `Call.result` raises."""
        call = self.start(endpoint, request, deadline_seconds=deadline_seconds, bearer=bearer)
        with cancelled.calling(call.cancel) if cancelled is not None else contextlib.nullcontext():
            return call.result()

    def start(
        self, endpoint: Endpoint, request: Request, *, deadline_seconds: float, bearer: str | None = None
    ) -> Call:
        """Begin to send `request`; the deadline counts from here. Whatever is wrong with it, `result` says."""
        own = [("Idempotency-Key", request.key)] if request.key is not None else []
        if bearer is not None:
            own.append(("Authorization", f"Bearer {bearer}"))
        wanted = Wanted(
            url=endpoint.base_url,
            method=request.method,
            path=request.path,
            query=list(request.query.items()),
            headers=[*request.headers.items(), *own],
            body=request.body,
            read=EXCERPT_BYTES,
        )
        return self._begin(endpoint, "base_url", wanted, deadline_seconds, _problem(request))

    def start_form(
        self,
        endpoint: Endpoint,
        key: str,
        *,
        headers: Mapping[str, str],
        body: bytes,
        deadline_seconds: float,
        read: int,
    ) -> Call:
        """Begin to post `body` to the endpoint's `token_url` or `exchange_url`, as `key` says; read so many bytes."""
        wanted = Wanted(endpoint.urls()[key], "POST", "", (), list(headers.items()), body, read)
        return self._begin(endpoint, key, wanted, deadline_seconds, "")

    def probe(self, endpoint: Endpoint, key: str, *, deadline_seconds: float) -> Reached:
        """Connect to the endpoint's URL `key` and ask for nothing. Raises Timeout, Broken, Refused."""

        async def within() -> Reached:
            async with asyncio.timeout(deadline_seconds):
                return await self._way(endpoint, key).probe()

        try:
            return asyncio.run_coroutine_threadsafe(within(), self._running()).result()
        except TimeoutError:
            raise Timeout(sent=False) from None
        except NotAllowed as error:
            raise Refused(str(error)) from None
        except Exception as error:  # noqa: BLE001  as of a call
            raise Broken(told(error), sent=False) from None

    def close(self) -> None:
        """Interrupt everything and end the thread. It starts again when it is needed again."""
        with self._lock:
            loop, thread = self._loop, self._thread
            self._loop = self._thread = None
        if loop is not None and thread is not None:
            loop.call_soon_threadsafe(loop.stop)
            thread.join()

    def _begin(self, endpoint: Endpoint, key: str, wanted: Wanted, seconds: float, problem: str) -> Call:
        until = time.monotonic() + seconds
        loop = self._running()
        call = Call(loop)
        problem = problem or next((why for name, value in wanted.headers if (why := refused(name, value))), "")
        if problem:
            call.refuse(problem)
        else:
            loop.call_soon_threadsafe(call.begin, partial(self._exchange, call, endpoint, key, wanted), until)
        return call

    async def _exchange(self, call: Call, endpoint: Endpoint, key: str, wanted: Wanted) -> Response:
        headers, body = await self._way(endpoint, key).exchange(wanted, call.trace, call.begun)
        assert call.status is not None
        kept = _bounded(headers)
        return Response(call.status, kept, body, charset_of(kept.get("content-type", "")))

    def _way(self, endpoint: Endpoint, key: str) -> Way:
        if (endpoint, key) not in self._ways:
            connections = endpoint.max_connections if key == "base_url" else TOKEN_CONNECTIONS
            self._ways[endpoint, key] = Way(endpoint, endpoint.urls()[key], connections, self._lookups)
        return self._ways[endpoint, key]

    def _running(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._lookups, self._ways = Lookups(self._resolve), {}  # both belong to a loop
                self._thread = threading.Thread(target=_serve, args=(self._loop,), name="http", daemon=True)
                self._thread.start()
            return self._loop


def _problem(request: Request) -> str:
    """What of a request may not be sent, whoever rendered it; empty if nothing."""
    try:
        check_path(request.path)
        check_query(request.query)
        check_headers(request.headers)
        if request.key is not None:
            check_key(request.key)
    except InvalidInput as error:
        return error.message
    return ""


def _bounded(headers: httpx.Headers) -> dict[str, str]:
    """The first 64 KiB of headers; of a name given twice the first value."""
    kept: dict[str, str] = {}
    left = HEADER_BYTES
    for name, value in headers.raw:
        left -= len(name) + len(value)
        if left < 0:
            break
        kept.setdefault(name.decode("latin-1").lower(), value.decode("latin-1"))
    return kept


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
        tasks = asyncio.all_tasks(loop)
        for task in tasks:
            task.cancel()
        loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        loop.run_until_complete(loop.shutdown_asyncgens())
    finally:
        loop.close()


@cache
def sender() -> Sender:
    """This process's sender."""
    return Sender()


os.register_at_fork(after_in_child=sender.cache_clear)  # a fork has the loop but not its thread
