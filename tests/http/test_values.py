"""What each place takes, at its limits; what it refuses is in the corpus."""

import ipaddress
import string

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowsched.errors import InvalidInput
from tasks.http.hosts import address_of, names_metadata
from tasks.http.values import check_headers, check_key, check_path, check_query, check_text, check_webhook_id

BASE = "http://endpoint.example:8443"


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/v1",
        "/v1/",
        "/v1/racks/rack-1",
        "/v1/racks/rack-1:power-off",
        "/a.b/..c/d../.e",
        "/v1;version=2/x",
        "/~x/!$&'()*+,;=",
        "/" + "a" * 2047,
    ],
)
def test_paths(path):
    check_path(path)
    assert httpx.URL(BASE + path).path == path


@given(
    st.text(st.sampled_from(string.printable + "\u2024\uff0e\uff0f\u00e4"), max_size=30).map(lambda text: f"/{text}")
)
def test_a_path_that_is_accepted_leads_to_the_endpoint_as_it_stands(path):
    """TH-4: the URL that httpx makes of it has our scheme, host and port, and this path, byte for byte."""
    try:
        check_path(path)
    except InvalidInput:
        return
    url = httpx.URL(BASE + path)
    assert (url.scheme, url.host, url.port) == ("http", "endpoint.example", 8443)
    assert url.raw_path == path.encode()
    assert (url.userinfo, url.query, url.fragment) == (b"", b"", "")


@given(st.dictionaries(st.text(min_size=1, max_size=9), st.text(max_size=20), max_size=4))
def test_a_query_that_is_accepted_stays_in_the_query(query):
    try:
        check_query(query)
    except InvalidInput:
        return
    url = httpx.URL(BASE + "/v1", params=query)
    assert (url.host, url.port, url.path, url.fragment) == ("endpoint.example", 8443, "/v1", "")
    assert dict(url.params) == query


@given(st.dictionaries(st.text(min_size=1, max_size=9), st.text(max_size=20), max_size=4))
def test_headers_that_are_accepted_are_one_line_each(headers):
    """TH-6: without h11's help, which httpx relies on."""
    try:
        check_headers(headers)
    except InvalidInput:
        return
    raw = b"".join(name + b": " + value + b"\r\n" for name, value in httpx.Headers(headers).raw)
    assert raw.count(b"\n") == raw.count(b"\r") == len(headers)


@pytest.mark.parametrize(
    ("check", "good", "bad"),
    [
        (check_query, {f"q{n}": "" for n in range(100)}, {f"q{n}": "" for n in range(101)}),
        (check_query, {"q" * 255: "a" * 4096}, {"q" * 256: ""}),
        (check_query, {"q": "\u00e4\u20ac\U0001f600"}, {"": "x"}),
        (check_query, {"q q": "x"}, {"q\n": "x"}),
        (check_headers, {f"X-{n}": "" for n in range(100)}, {f"X-{n}": "" for n in range(101)}),
        (check_headers, {"X-A": "a", "X-B": "a"}, {"X-A": "a", "x-a": "b"}),
        (check_headers, {"X" * 255: "a" * 4096}, {"X-A": "a" * 4097}),
        (check_headers, {"Accept": "text/plain; q=0.5"}, {"Accept": "text/plain\n"}),
        (check_headers, {"content-type": "application/merge-patch+json"}, {"Content-Type": "text/html"}),
        (check_headers, {"Content-Type": "application/json; charset=utf-8"}, {"Content-Type": "application/json, x"}),
        (check_headers, {"Content-Type": "application/JSON"}, {"Content-Type": ""}),
        (check_headers, {"X-Tokenizer": "a", "X-Key": "a"}, {"X-Token": "a"}),
        (check_key, "k", ""),
        (check_key, "k" * 255, "k" * 256),
        (check_key, "a b~!", "a\tb"),
        (check_webhook_id, "a", ""),
        (check_webhook_id, "a" * 64, "a" * 65),
        (check_webhook_id, "a-1-b", "a-"),
        (check_webhook_id, "0", "a_b"),
    ],
)
def test_limits(check, good, bad):
    check(good)
    with pytest.raises(InvalidInput):
        check(bad)


def test_every_refused_item_is_named():
    with pytest.raises(InvalidInput) as caught:
        check_headers({"Host": "a", "X-Good": "a", "X-Bad": "\n", "Cookie": "a"}, field="target.headers")
    assert sorted(caught.value.fields) == ["target.headers.Cookie", "target.headers.Host", "target.headers.X-Bad"]


def test_a_refused_value_is_not_repeated():
    """I-72."""
    for check, value in ((check_path, "/hunter2\n"), (check_key, "hunter2\n"), (check_webhook_id, "Hunter2")):
        with pytest.raises(InvalidInput) as caught:
            check(value)
        assert "unter2" not in str(caught.value.fields)


SPELLINGS = [
    ("169.254.169.254", "169.254.169.254"),
    ("2852039166", "169.254.169.254"),
    ("0xA9FEA9FE", "169.254.169.254"),
    ("0251.0376.0251.0376", "169.254.169.254"),
    ("0xa9.254.43518", "169.254.169.254"),
    ("169.16689662", "169.254.169.254"),
    ("127.1", "127.0.0.1"),
    ("0", "0.0.0.0"),
    ("0x7f.1", "127.0.0.1"),
    ("::ffff:a9fe:a9fe", "169.254.169.254"),
    ("::169.254.169.254", "169.254.169.254"),
    ("64:ff9b::a9fe:a9fe", "169.254.169.254"),
    ("2002:a9fe:a9fe::", "169.254.169.254"),
    ("fe80::1%eth0", "fe80::1"),
    ("2001:db8::1", "2001:db8::1"),
]


@pytest.mark.parametrize(("text", "address"), SPELLINGS)
def test_spellings_of_an_address(text, address):
    assert address_of(text) == ipaddress.ip_address(address)


@pytest.mark.parametrize(
    "text", ["example", "1.2.3.4.5", "256.1.1.1", "1.2.3.256", "09", "4294967296", "", "1..2", "0x"]
)
def test_no_address(text):
    assert address_of(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "169.254.1.17",  # a host interface of a BMC
        "the metadata of a rack",
        "metadata",
        "http://inventory.example/metadata",
        "http://10.0.0.1/169.254.169.254",
        "http://169.254.169.254.example/",
        "a // b",
        "50% off",
        "http://[",
        "http://[::1",
        "12:30",
    ],
)
def test_harmless_texts(text):
    check_text(text, field="body")
    assert not names_metadata(text)


@given(st.text(st.sampled_from("0123456789abcdefx.:/@[]%\\-\u3002\uff0f "), max_size=40))
def test_no_text_upsets_the_search(text):
    assert names_metadata(text) in (True, False)


@pytest.mark.parametrize("text", ["/" * 65536, "//a" * 20000, "%25" * 20000, "http://" * 9000, "\u3002" * 60000])
def test_no_text_takes_long(text):
    assert names_metadata(text) is False
