"""What is compared last, on what httpx is about to send (TH-4): scheme, host, port and the Host header."""

from __future__ import annotations

import asyncio

import httpx
import pytest

from tasks.http.network import Lookups, NotAllowed
from tasks.http.way import Wanted, Way
from tests.http_servers.parts import endpoint
from tests.http_servers.servers import unique


def ask(url, where, **more):
    """What comes of httpx being asked for `url` on the way to `where`."""

    async def get():
        way = Way(where, where.base_url, 1, Lookups(lambda host: ["127.0.0.1"]))
        return await way._client.get(url, **more)

    return asyncio.run(get())


@pytest.mark.parametrize("path", ["/a/../b", "/a/./b", "/a b", "/ü", "/a?b", "/a#b", "/a\tb"])
def test_a_path_that_httpx_would_change_is_not_sent(path):
    wanted = Wanted(endpoint("https://inventory.example/api").base_url, "GET", path, (), (), None, 1)
    with pytest.raises(NotAllowed, match="path"):
        wanted.target()


def test_the_endpoints_own_url_is_asked_for(sink):
    assert ask(f"{sink.url}/ok/{unique()}", endpoint(sink.url)).status_code == 200


@pytest.mark.parametrize(
    "change",
    [
        lambda url: url.copy_with(scheme="https"),
        lambda url: url.copy_with(host="localhost"),
        lambda url: url.copy_with(host="127.0.0.2"),
        lambda url: url.copy_with(port=url.port + 1),
        lambda url: url.copy_with(port=None),
    ],
)
def test_another_scheme_host_or_port_is_not(sink, change):
    url = httpx.URL(sink.url)
    with pytest.raises(NotAllowed, match="would leave"):
        ask(change(url), endpoint(sink.url))


def test_nor_another_host_in_the_header(sink):
    with pytest.raises(NotAllowed, match="would leave"):
        ask(f"{sink.url}/ok", endpoint(sink.url), headers={"Host": "evil.example"})


@pytest.mark.parametrize(
    "host", ["http://h\\@evil.example/", "http://evil.example@127.0.0.1/", "http://[::ffff:7f00:1]/"]
)
def test_what_httpx_makes_of_odd_urls_is_what_counts(sink, host):
    with pytest.raises((NotAllowed, httpx.InvalidURL)):
        ask(host, endpoint(sink.url))
