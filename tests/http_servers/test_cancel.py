"""Calls are interrupted from another thread, and say whether the request may have arrived (I-34)."""

from __future__ import annotations

import threading
import time

import pytest

from tasks.http.network import Measured
from tasks.http.transport import Cancel, Cancelled, Sender
from tests.http_servers.parts import asking, endpoint
from tests.http_servers.servers import unique

SANE = 15


def until(condition):
    """Wait for what another thread or process does."""
    end = time.monotonic() + SANE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_call_that_was_sent_says_so_when_it_is_cancelled(sink, sender):
    path = f"/hang/{unique()}"
    call = sender.start(endpoint(sink.url), asking(path, "POST"), deadline_seconds=600)
    until(lambda: sink.records(path=path))
    call.cancel()
    with pytest.raises(Cancelled) as caught:
        call.result(SANE)
    assert caught.value.sent is True
    assert "may have arrived" in caught.value.message


def test_a_call_that_resolves_says_that_nothing_was_sent():
    asked, release = threading.Event(), threading.Event()

    def resolve(host):
        asked.set()
        release.wait(60)
        return []

    sender = Sender(resolve)
    call = sender.start(endpoint("https://inventory.example"), asking("/"), deadline_seconds=600)
    assert asked.wait(SANE)
    call.cancel()
    with pytest.raises(Cancelled) as caught:
        call.result(SANE)
    assert caught.value.sent is False
    release.set()
    sender.close()


def test_whoever_gives_up_takes_no_answer_of_a_resolver_from_others(sink):
    asked, release = threading.Event(), threading.Event()

    def resolve(host):
        asked.set()
        release.wait(60)
        return ["127.0.0.1"]

    sender = Sender(resolve)
    here = endpoint(f"http://localhost:{sink.port}")
    first, second = (sender.start(here, asking("/ok"), deadline_seconds=600) for _ in range(2))
    assert asked.wait(SANE)
    first.cancel()
    with pytest.raises(Cancelled):
        first.result(SANE)
    release.set()
    assert second.result(SANE).status == 200
    sender.close()


def test_sent_is_said_before_the_first_byte_leaves(sink, sender, monkeypatch):
    """Were it said after, a worker killed in between would send it again."""
    calls, said, held = [], [], threading.Event()
    write = Measured.write

    async def watched(self, buffer, timeout=None):  # noqa: ASYNC109  the library's interface
        held.wait(SANE)
        said.append(calls[0].sent)
        await write(self, buffer, timeout)

    monkeypatch.setattr(Measured, "write", watched)
    calls.append(sender.start(endpoint(sink.url), asking("/ok", "POST", body=b"{}"), deadline_seconds=600))
    held.set()
    assert calls[0].result(SANE).status == 200
    assert said[0] is True


def test_a_call_that_waits_for_its_place_says_that_nothing_was_sent(sink, sender):
    path = f"/hang/{unique()}"
    narrow = endpoint(sink.url, max_connections=1)
    first = sender.start(narrow, asking(path), deadline_seconds=600)
    until(lambda: sink.records(path=path))
    second = sender.start(narrow, asking(path), deadline_seconds=600)
    second.cancel()
    with pytest.raises(Cancelled) as caught:
        second.result(SANE)
    assert caught.value.sent is False
    first.cancel()
    with pytest.raises(Cancelled):
        first.result(SANE)
    assert sender.send(endpoint(sink.url, max_connections=1), asking("/ok"), deadline_seconds=SANE).status == 200


def test_cancelled_before_it_began_nothing_is_sent(sink, sender):
    path, cancel = f"/ok/{unique()}", Cancel()
    cancel.set()
    with pytest.raises(Cancelled) as caught:
        sender.send(endpoint(sink.url), asking(path), deadline_seconds=60, cancelled=cancel)
    assert caught.value.sent is False
    assert sink.records(path=path) == []


def test_the_switch_interrupts_whoever_waits_and_later_ones_too(sink, sender):
    path, cancel, ended = f"/hang/{unique()}", Cancel(), []

    def wait():
        with pytest.raises(Cancelled) as caught:
            sender.send(endpoint(sink.url), asking(path), deadline_seconds=600, cancelled=cancel)
        ended.append(caught.value.sent)

    threads = [threading.Thread(target=wait) for _ in range(3)]
    for thread in threads:
        thread.start()
    until(lambda: len(sink.records(path=path)) == 3)
    cancel.set()
    for thread in threads:
        thread.join(SANE)
    assert ended == [True, True, True]


def test_a_call_that_has_ended_cannot_be_cancelled_any_more(sink, sender):
    call = sender.start(endpoint(sink.url), asking("/ok"), deadline_seconds=SANE)
    assert call.result(SANE).status == 200
    call.cancel()
    assert call.result(SANE).status == 200


def test_interrupted_calls_give_their_places_back(sink, sender):
    """More of them than there are places, in every phase, and the endpoint still answers."""
    narrow = endpoint(sink.url, max_connections=2)
    for pause in (0, 0.001, 0.003, 0.01, 0.03):
        calls = [sender.start(narrow, asking(f"/hang/{unique()}"), deadline_seconds=60) for _ in range(6)]
        time.sleep(pause)
        for call in calls:
            call.cancel()
        for call in calls:
            with pytest.raises(Cancelled):
                call.result(SANE)
    assert sender.send(narrow, asking("/ok"), deadline_seconds=SANE).status == 200


def test_closing_a_sender_ends_its_calls_and_it_can_be_used_again(sink, sender):
    path = f"/hang/{unique()}"
    call = sender.start(endpoint(sink.url), asking(path), deadline_seconds=600)
    until(lambda: sink.records(path=path))
    sender.close()
    with pytest.raises(Cancelled):
        call.result(SANE)
    call.cancel()
    assert sender.send(endpoint(sink.url), asking("/ok"), deadline_seconds=SANE).status == 200
