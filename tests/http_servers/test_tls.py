"""HTTPS: the endpoint's CA bundle decides, names count, and nothing is sent before (issue's endpoints)."""

from __future__ import annotations

import pytest

from tasks.http.transport import Broken, Refused, Sender
from tests.http_servers.certificates import Authority
from tests.http_servers.parts import asking, endpoint
from tests.http_servers.servers import start, stop, unique


def test_the_endpoints_ca_is_honoured(tls_sink, sender):
    path = f"/ok/{unique()}"
    for host in ("127.0.0.1", "localhost"):
        where = endpoint(f"https://{host}:{tls_sink.port}", ca_bundle=str(tls_sink.ca))
        assert sender.send(where, asking(path), deadline_seconds=20, bearer="t").status == 200
    assert len(tls_sink.records(path=path)) == 2


def test_the_name_is_what_is_shown_and_checked_though_an_address_is_connected_to(tls_sink):
    """`inventory.localhost` leads to the same server, whose certificate is for other names."""
    sender = Sender(lambda host: ["127.0.0.1"])
    with pytest.raises(Broken) as caught:
        sender.send(
            endpoint(f"https://inventory.localhost:{tls_sink.port}", ca_bundle=str(tls_sink.ca)),
            asking("/ok"),
            deadline_seconds=20,
        )
    assert "certificate is not accepted: Hostname mismatch" in caught.value.message
    assert caught.value.sent is False
    sender.close()


def test_another_ca_is_refused_before_anything_is_sent(tls_sink, sender, tmp_path):
    other, path = Authority(tmp_path, "other"), f"/ok/{unique()}"
    for bundle in ({"ca_bundle": str(other.pem)}, {}):
        with pytest.raises(Broken) as caught:
            sender.send(endpoint(tls_sink.url, **bundle), asking(path), deadline_seconds=20, bearer="t")
        assert "its certificate is not accepted" in caught.value.message
        assert caught.value.sent is False
    assert tls_sink.records(path=path) == []


def test_a_certificate_that_is_over_is_refused(authority, sender, tmp_path):
    certificate, key = authority.issue("over", "127.0.0.1", ended=True)
    server = start(tmp_path, "tests.http_servers.sink", certificate, key, scheme="https", ca=authority.pem)
    try:
        with pytest.raises(Broken, match="expired"):
            sender.send(endpoint(server.url, ca_bundle=str(server.ca)), asking("/ok"), deadline_seconds=20)
    finally:
        stop(server)


def test_a_server_that_speaks_no_tls_says_so(sink, sender):
    with pytest.raises(Broken, match="TLS failed"):
        sender.send(endpoint(f"https://127.0.0.1:{sink.port}"), asking("/ok"), deadline_seconds=20)


def test_a_bundle_that_cannot_be_read_says_so(tls_sink, sender, tmp_path):
    empty = tmp_path / "empty.pem"
    empty.touch()
    for bundle, told in ((tmp_path / "none.pem", "No such file"), (empty, "no certificate")):
        with pytest.raises(Refused, match=told) as caught:
            sender.send(endpoint(tls_sink.url, ca_bundle=str(bundle)), asking("/ok"), deadline_seconds=20)
        assert str(bundle) in caught.value.message


def test_variables_that_name_other_cas_are_ignored(tls_sink, sender, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(tls_sink.ca))
    monkeypatch.setenv("SSL_CERT_DIR", str(tls_sink.ca.parent))
    with pytest.raises(Broken, match="not accepted"):
        sender.send(endpoint(tls_sink.url), asking("/ok"), deadline_seconds=20)
