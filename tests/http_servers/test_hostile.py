"""Targets that take their time, lie, or send without end (I-53, I-91, TH-19, TH-20)."""

from __future__ import annotations

import contextlib
import socket
import time
import tracemalloc

import pytest

from tasks.http.transport import EXCERPT_BYTES, Broken, Timeout
from tests.http_servers.parts import asking, endpoint
from tests.http_servers.servers import unique

DEADLINE = 0.6
SANE = 15  # seconds by which a call has ended on a machine that is busy with something else
TOKEN = "t0ken-of-nobody-else"


def failure(sender, where, path, kind, deadline=DEADLINE, **more):
    """How a call fails, and that it does so in time."""
    began = time.monotonic()
    with pytest.raises(kind) as caught:
        sender.send(where, asking(path, **more), deadline_seconds=deadline, bearer=TOKEN)
    assert time.monotonic() - began < deadline + SANE
    assert TOKEN not in f"{caught.value} {caught.value!r}"
    return caught.value


@pytest.mark.parametrize(
    ("mode", "status"),
    [("hang", None), ("drip-headers", None), ("drip-body", 200), ("slow/30", None)],
)
def test_whatever_takes_its_time_ends_at_the_deadline(sink, sender, mode, status):
    path = f"/{mode}/{unique()}"
    error = failure(sender, endpoint(sink.url), path, Timeout)
    assert (error.sent, error.status) == (True, status)
    assert len(sink.records(path=path)) == 1


def test_httpbins_drip_and_delay_end_at_the_deadline(httpbin, sender):
    for path, query in (("/drip", {"duration": "30", "numbytes": "100"}), ("/delay/9", {})):
        assert failure(sender, endpoint(httpbin.url), path, Timeout, query=query).sent is True


def test_a_connection_that_is_not_taken_ends_at_the_deadline(sender):
    """A listener whose queue is full drops what asks to connect."""
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.socket())
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for _ in range(8):
            filler = stack.enter_context(socket.socket())
            filler.setblocking(False)
            filler.connect_ex(listener.getsockname())
        error = failure(sender, endpoint(f"http://127.0.0.1:{listener.getsockname()[1]}"), "/", Timeout)
        assert error.sent is False


def test_tls_that_is_not_answered_ends_at_the_deadline(sender):
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(8)
        error = failure(sender, endpoint(f"https://127.0.0.1:{listener.getsockname()[1]}"), "/", Timeout)
        assert error.sent is False
        connection, _ = listener.accept()
        with connection:  # ours has been closed, though the library forgets it
            connection.settimeout(SANE)
            while connection.recv(65536):
                pass


def test_a_deadline_that_is_over_sends_nothing(sink, sender):
    path = f"/ok/{unique()}"
    assert failure(sender, endpoint(sink.url), path, Timeout, deadline=0).sent is False
    assert sink.records(path=path) == []


@pytest.mark.parametrize(
    ("mode", "status", "arrived"),
    [
        ("reset-before-apply", None, 0),
        ("reset-after-apply", None, 1),
        ("reset-in-body", 200, 1),
        ("echo-raw", None, 1),
        ("many-headers/100000", None, 1),
        ("endless-1xx", None, 1),
    ],
)
def test_whatever_breaks_says_that_it_may_have_been_sent(sink, sender, mode, status, arrived):
    path = f"/{mode}/{unique()}"
    error = failure(sender, endpoint(sink.url), path, Broken, deadline=60)
    assert (error.sent, error.status) == (True, status)
    assert len(sink.records(path=path)) == arrived


@pytest.mark.parametrize(
    ("mode", "excerpt"),
    [
        ("huge", b"x" * EXCERPT_BYTES),
        ("bomb/gzip", bytes(EXCERPT_BYTES)),
        ("bomb/br", b""),
        ("many-headers/10000", b"many"),
    ],
)
def test_whatever_sends_too_much_is_read_a_little(sink, sender, mode, excerpt):
    path = f"/{mode}/{unique()}"
    where = endpoint(sink.url)
    sender.send(where, asking("/ok"), deadline_seconds=20)
    tracemalloc.start()
    try:
        answer = sender.send(where, asking(path), deadline_seconds=60)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (answer.status, answer.excerpt_bytes) == (200, excerpt)
    assert peak < 8 * 1024 * 1024
    assert sum(len(name) + len(value) for name, value in answer.headers.items()) <= 64 * 1024


def test_what_is_sent_without_end_ends_long_before_the_deadline(sink, sender):
    error = failure(sender, endpoint(sink.url), f"/endless-1xx/{unique()}", Broken, deadline=600)
    assert error.message == "more than 262144 bytes were sent before the answer was complete"


def test_httpbins_large_body_is_cut(httpbin, sender):
    answer = sender.send(endpoint(httpbin.url), asking("/bytes/100000"), deadline_seconds=20)
    assert len(answer.excerpt_bytes) == EXCERPT_BYTES
