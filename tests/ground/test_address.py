"""The URL of ClickHouse: read, refused by name, and its password shown to nobody."""

from __future__ import annotations

import pytest
from django.core.exceptions import ImproperlyConfigured

from flowsched.address import Address
from flowsched.environment import Environment

NAME = "FLOWSCHED_CLICKHOUSE_URL"


@pytest.mark.parametrize(
    ("url", "parts"),
    [
        ("https://ada:p%40ss@ch.example/flows", ("https", "ch.example", 8443, "ada", "p@ss", "flows")),
        ("http://ch.example", ("http", "ch.example", 8123, "default", "", "default")),
        ("http://ada@[::1]:9000/", ("http", "::1", 9000, "ada", "", "default")),
    ],
)
def test_what_is_left_out_has_its_default(url, parts):
    found = Address.parse(url, name=NAME)
    assert (found.scheme, found.host, found.port, found.user, found.password, found.database) == parts


@pytest.mark.parametrize(
    "url",
    [
        "clickhouse://u:s3cret@h/d",
        "https:///d",
        "u:s3cret@h/d",
        "https://u:s3cret@h:port/d",
        "https://u:s3cret@h:99999/d",
        "https://u:s3cret@[h/d",
        "https://u:s3cret@h/d?secure=1",
        "https://u:s3cret@h/d#x",
        "https://u:s3cret@h/d/e",
        "https://u:s3cret@h/d;DROP",
        "https://u:s3/cret@h/d",
    ],
)
def test_what_makes_no_sense_is_refused_by_name_and_not_repeated(url):
    with pytest.raises(ImproperlyConfigured, match=NAME) as refused:
        Environment({NAME: url}).address(NAME)
    assert "s3" not in str(refused.value)
    assert refused.value.__cause__ is None


def test_the_password_is_in_no_text_of_it():
    address = Address.parse("https://ada:s3cret@ch.example/flows", name=NAME)
    assert "s3cret" not in f"{address} {address!r} {[address]} {vars}"
    assert str(address) == "https://ch.example:8443/flows"


def test_unset_is_none():
    assert Environment({}).address(NAME) is None
