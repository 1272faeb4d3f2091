"""Requests to real servers: what arrives, what is answered, and that they go nowhere else (TH-4, TH-5, TH-6)."""

from __future__ import annotations

import json
import socket
import threading

import pytest

from tasks.http.endpoints import Endpoint, Url
from tasks.http.transport import Broken, Refused, Sender, Timeout
from tests.http.test_addresses import DISGUISED
from tests.http_servers.parts import asking, endpoint
from tests.http_servers.servers import unique

METADATA = [
    "169.254.169.254",
    "fd00:ec2::254",
    "::ffff:169.254.169.254",
    "64:ff9b::a9fe:a9fe",
    "2002:a9fe:a9fe::",
    "fe80::1",
    "0.0.0.0",
    "224.0.0.1",
    "127.0.0.1",
    "::1",
]


def test_what_was_asked_arrives_and_nothing_that_the_environment_adds(sink, sender):
    path = f"/ok/{unique()}"
    request = asking(
        path,
        "POST",
        query={"a": "b c&d=e", "ü": "é"},
        headers={"X-Env": "lab", "Content-Type": "application/json"},
        body=b'{"x": 1}',
        key="k-1",
    )
    answer = sender.send(endpoint(sink.url), request, deadline_seconds=20, bearer="t0ken")
    assert (answer.status, answer.excerpt_bytes) == (200, b'{"ok": true}')
    assert answer.headers["content-type"] == "application/json"
    (arrived,) = sink.records(path=path)
    assert (arrived["method"], arrived["path"], arrived["body"]) == ("POST", path, '{"x": 1}')
    assert arrived["query"] == "a=b+c%26d%3De&%C3%BC=%C3%A9"
    assert arrived["headers"] == {
        "host": sink.url.removeprefix("http://"),
        "user-agent": "flowsched",
        "accept": "*/*",
        "accept-encoding": "identity",
        "connection": "close",
        "x-env": "lab",
        "content-type": "application/json",
        "idempotency-key": "k-1",
        "authorization": "Bearer t0ken",
        "content-length": "8",
    }


def test_no_body_and_an_empty_one_are_two_things(sink, sender):
    path = f"/ok/{unique()}"
    for body in (None, b"{}"):
        sender.send(endpoint(sink.url), asking(path, "POST", body=body), deadline_seconds=20)
    assert [(r["body"], r["headers"].get("content-length")) for r in sink.records(path=path)] == [
        ("", "0"),
        ("{}", "2"),
    ]


def test_the_base_urls_path_comes_first(sink, sender):
    part = unique()
    sender.send(endpoint(f"{sink.url}/ok/{part}/"), asking("/v1/racks"), deadline_seconds=20)
    assert [record["path"] for record in sink.records(path=part)] == [f"/ok/{part}/v1/racks"]


def test_redirects_are_answers(sink, tls_sink, sender):
    """The place they lead to hears nothing."""
    part = unique()
    for status in (301, 302, 303, 307, 308):
        to = f"{tls_sink.url}/ok/{part}"
        answer = sender.send(endpoint(sink.url), asking(f"/redirect/{status}", query={"to": to}), deadline_seconds=20)
        assert (answer.status, answer.headers["location"]) == (status, to)
    assert tls_sink.records(path=part) == []


def test_httpbins_redirects_are_answers_too(httpbin, sender):
    answer = sender.send(endpoint(httpbin.url), asking("/redirect/3"), deadline_seconds=20)
    assert answer.status == 302


@pytest.mark.parametrize("status", [200, 201, 202, 204, 304, 400, 404, 418, 429, 500, 503])
def test_statuses_of_httpbin_are_told_as_they_are(httpbin, sender, status):
    answer = sender.send(endpoint(httpbin.url), asking(f"/status/{status}"), deadline_seconds=20)
    assert answer.status == status


def test_a_compressed_answer_of_httpbin_is_read(httpbin, sender):
    for path, word in (("/gzip", "gzipped"), ("/deflate", "deflated")):
        answer = sender.send(endpoint(httpbin.url), asking(path), deadline_seconds=20)
        assert json.loads(answer.excerpt_bytes)[word] is True


def test_cookies_go_into_no_other_request(sink, sender):
    path = f"/echo/200/{unique()}"
    for _ in range(2):
        answer = sender.send(endpoint(sink.url), asking(path), deadline_seconds=20, bearer="c00kie")
        assert answer.headers["set-cookie"]
    assert ["cookie" in record["headers"] for record in sink.records(path=path)] == [False, False]


def test_proxies_and_credentials_of_the_environment_are_ignored(sink, tls_sink, sender, monkeypatch, tmp_path):
    elsewhere = f"http://127.0.0.1:{tls_sink.port}"
    for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, elsewhere)
    monkeypatch.delenv("NO_PROXY", raising=False)
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login me password pass\n")
    monkeypatch.setenv("NETRC", str(netrc))
    path = f"/ok/{unique()}"
    assert sender.send(endpoint(sink.url), asking(path), deadline_seconds=20).status == 200
    (arrived,) = sink.records(path=path)
    assert "authorization" not in arrived["headers"]


@pytest.mark.parametrize(
    "path",
    ["/ok/../up", "/ok/./x", "/ok/a b", "/ok/ü", "/ok?x=1", "/ok#x", "/ok/%2e", "//evil.example/", "/ok\r\nX: 1", "ok"],
)
def test_paths_that_httpx_reads_otherwise_are_not_sent(sink, sender, path):
    before = len(sink.records())
    for where in (sink.url, f"{sink.url}/ok"):
        with pytest.raises(Refused) as caught:
            sender.send(endpoint(where), asking(path), deadline_seconds=20)
        assert caught.value.sent is False
    assert len(sink.records()) == before


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("X-A", "1\r\nX-B: 2"),
        ("X-A", "1\nX-B: 2"),
        ("X-A", "1\0"),
        ("X-A", "é"),
        ("X A", "1"),
        ("X-A:", "1"),
        ("X-A\r\nX-B", "1"),
        ("", "1"),
        ("X-A", "1" * 40_000),
        ("Host", "evil.example"),
        ("hOST", "evil.example"),
        ("Content-Length", "0"),
        ("Transfer-Encoding", "chunked"),
        ("Connection", "keep-alive"),
        ("Authorization", "Basic eA=="),
        ("Idempotency-Key", "mine"),
        ("Cookie", "a=b"),
    ],
)
def test_headers_are_looked_at_before_anything_is_connected(sender, name, value):
    with pytest.raises(Refused) as caught:  # port 9: whoever connected would be told so
        sender.send(endpoint("http://127.0.0.1:9"), asking("/", headers={name: value}), deadline_seconds=20)
    assert "header" in caught.value.message


@pytest.mark.parametrize("bearer", ["a\r\nX: 1", "a\0b", "é"])
def test_a_token_that_would_end_its_line_is_not_sent(sender, bearer):
    with pytest.raises(Refused) as caught:
        sender.send(endpoint("http://127.0.0.1:9"), asking("/"), deadline_seconds=20, bearer=bearer)
    assert bearer not in str(caught.value)


def test_a_name_is_resolved_once_and_what_was_checked_is_connected_to(sink, tls_sink):
    """DNS that answers first A, then B: there is no second question between check and connection."""
    asked = []

    def resolve(host):
        asked.append(host)
        return ["127.0.0.1"] if len(asked) == 1 else ["169.254.169.254"]

    sender = Sender(resolve)
    path = f"/ok/{unique()}"
    here = endpoint(f"http://inventory.localhost:{sink.port}")
    assert sender.send(here, asking(path), deadline_seconds=20).status == 200
    assert asked == ["inventory.localhost"]
    with pytest.raises(Refused, match=r"169\.254\.169\.254"):
        sender.send(here, asking(path), deadline_seconds=20)
    assert len(sink.records(path=path)) == 1
    assert sink.records(path=path)[0]["headers"]["host"] == f"inventory.localhost:{sink.port}"
    sender.close()


@pytest.mark.parametrize("address", METADATA)
def test_a_name_that_leads_to_metadata_or_to_this_machine_is_refused(sink, address):
    for answers in ([address], ["192.0.2.1", address]):
        sender = Sender(lambda host, answers=answers: answers)
        where = endpoint(f"http://inventory.example:{sink.port}", plain_http=True)
        call = sender.start(where, asking("/ok"), deadline_seconds=20)
        with pytest.raises(Refused) as caught:
            call.result()
        assert "inventory.example leads to" in caught.value.message
        assert call.sent is False
        sender.close()


@pytest.mark.parametrize("host", ["2852039166", "0xa9fea9fe", "0251.0376.0251.0376", *DISGUISED])
def test_odd_spellings_are_refused_at_the_connection_too(sender, host):
    """Should one ever get past the configuration."""
    where = Endpoint(name="odd", kind="api", base_url=Url("http", host, 80))
    with pytest.raises(Refused) as caught:
        sender.send(where, asking("/"), deadline_seconds=20)
    assert caught.value.sent is False


def test_private_addresses_are_refused_where_the_endpoint_says_so():
    sender = Sender(lambda host: ["10.0.0.1"])
    closed = endpoint("http://inventory.example", plain_http=True, allow_private_addresses=False)
    with pytest.raises(Refused, match="allow_private_addresses"):
        sender.send(closed, asking("/"), deadline_seconds=20)
    sender.close()


def test_the_next_address_is_tried_where_the_first_does_not_answer(sink):
    sender = Sender(lambda host: ["127.0.0.2", "127.0.0.1"])  # the sink listens on the second alone
    answer = sender.send(endpoint(f"http://localhost:{sink.port}"), asking("/ok"), deadline_seconds=20)
    assert answer.status == 200
    sender.close()


@pytest.mark.parametrize("failure", [socket.gaierror(-2, "Name or service not known"), UnicodeError("label"), []])
def test_a_name_that_leads_nowhere_says_so(failure):
    def resolve(host):
        if isinstance(failure, Exception):
            raise failure
        return failure

    sender = Sender(resolve)
    with pytest.raises(Broken) as caught:
        sender.send(endpoint("http://inventory.example", plain_http=True), asking("/"), deadline_seconds=20)
    assert "inventory.example cannot be resolved" in caught.value.message
    assert caught.value.sent is False
    sender.close()


def test_nobody_listening_says_so(sender):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        with pytest.raises(Broken) as caught:
            sender.send(endpoint(f"http://127.0.0.1:{taken.getsockname()[1]}"), asking("/"), deadline_seconds=20)
    assert caught.value.message == "it cannot be connected to: Connection refused"
    assert caught.value.sent is False


def test_a_hung_endpoint_takes_no_place_of_another(sink, sender):
    """As many calls as it may have hang; one more waits in vain; another endpoint answers."""
    hung, well = endpoint(sink.url, name="hung", max_connections=2), endpoint(sink.url, name="well", max_connections=2)
    path = f"/hang/{unique()}"
    calls = [sender.start(hung, asking(path), deadline_seconds=60) for _ in range(2)]
    waiting = sender.start(hung, asking(path), deadline_seconds=0.5)
    for _ in range(5):
        assert sender.send(well, asking("/ok"), deadline_seconds=20).status == 200
    with pytest.raises(Timeout) as caught:
        waiting.result(20)
    assert caught.value.sent is False
    for call in calls:
        call.cancel()
    assert len(sink.records(path=path)) == 2


def test_a_resolver_that_hangs_holds_no_other_name_and_one_thread(sink):
    release = threading.Event()

    def resolve(host):
        if host == "hung.example":
            release.wait(60)
            return []
        return ["127.0.0.1"]

    sender = Sender(resolve)
    hung = endpoint("http://hung.example", plain_http=True)
    calls = [sender.start(hung, asking("/"), deadline_seconds=0.5) for _ in range(8)]
    assert sender.send(endpoint(f"http://localhost:{sink.port}"), asking("/ok"), deadline_seconds=20).status == 200
    for call in calls:
        with pytest.raises(Timeout) as caught:
            call.result(20)
        assert caught.value.sent is False
    assert [thread.name for thread in threading.enumerate()].count("resolve hung.example") == 1
    release.set()
    sender.close()
