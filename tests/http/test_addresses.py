"""Which addresses a request may go to (TH-5)."""

from __future__ import annotations

from ipaddress import ip_address

import pytest

from tasks.http.addresses import literal, names_loopback, refusal, unusual

METADATA = ["169.254.169.254", "fd00:ec2::254", "fd20:ce::254", "100.100.100.200", "168.63.129.16", "192.0.0.192"]
DISGUISED = [
    "::ffff:169.254.169.254",
    "::ffff:a9fe:a9fe",
    "::ffff:0:a9fe:a9fe",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b::10.0.0.1",
    "64:ff9b:1::a9fe:a9fe",
    "2002:a9fe:a9fe::",
    "2002:7f00:1::",
    "2001:0:a9fe:a9fe::",
    "192.88.99.1",
    "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
]
NEVER = [
    *METADATA,
    "169.254.0.1",
    "fe80::1",
    "0.0.0.0",
    "0.1.2.3",
    "::",
    "::169.254.169.254",
    "224.0.0.1",
    "239.255.255.255",
    "ff02::1",
    "240.0.0.1",
    "255.255.255.255",
    "127.0.0.1",
    "127.255.255.254",
    "::1",
]
SPELLINGS = [
    "2852039166",
    "0xa9fea9fe",
    "0xA9FEA9FE",
    "025177524776",
    "0251.0376.0251.0376",
    "0xa9.0xfe.0xa9.0xfe",
    "169.254.43518",
    "169.16689662",
    "0169.254.169.254",
    "169.254.169.254.",
    "127.1",
    "0x7f.1",
    "2130706433",
    "0",
    "0x0",
    "1.2.3",
    "256.1.1.1",
    "a.0x7f",
    "[::1]",
    "fe80::1%eth0",
    "fe80::1%25eth0",
    "::ffff:169.254.169.254",
    "64:ff9b::a9fe:a9fe",
    "2002:a9fe:a9fe::",
    "１６９.254.169.254",  # noqa: RUF001  full-width digits are the point
]


@pytest.mark.parametrize("text", [*NEVER, *DISGUISED])
def test_a_name_never_leads_there(text):
    assert refusal(ip_address(text), "inventory.example", allow_private=True)


@pytest.mark.parametrize("text", ["10.1.2.3", "192.168.0.1", "172.31.255.255", "100.64.0.1", "fd12::1", "198.18.0.1"])
def test_private_addresses_are_targets_unless_the_endpoint_says_otherwise(text):
    assert refusal(ip_address(text), "inventory.example", allow_private=True) == ""
    assert "allow_private_addresses" in refusal(ip_address(text), "inventory.example", allow_private=False)


@pytest.mark.parametrize("text", ["93.184.216.34", "2606:2800:220:1::1", "172.32.0.1", "100.128.0.1", "169.253.1.1"])
def test_public_addresses_are_targets(text):
    assert refusal(ip_address(text), "inventory.example", allow_private=False) == ""


@pytest.mark.parametrize("text", METADATA)
def test_what_the_url_itself_spells_was_decided_by_somebody(text):
    assert refusal(ip_address(text), text, allow_private=False) == ""
    assert unusual(text)
    other = ip_address("169.254.1.1")
    assert refusal(other, text, allow_private=True)


@pytest.mark.parametrize("text", DISGUISED)
def test_a_disguise_is_refused_even_where_the_url_spells_it(text):
    assert refusal(ip_address(text), text, allow_private=True)


@pytest.mark.parametrize("host", SPELLINGS)
def test_spellings_that_only_a_c_library_reads_are_refused(host):
    with pytest.raises(ValueError, match=r"\w"):
        literal(host)


@pytest.mark.parametrize("host", ["inventory.example", "localhost", "a1", "1a", "x.1a", "dead.beef"])
def test_names_are_names(host):
    assert literal(host) is None


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST", "localhost.", "a.localhost", "127.0.0.1", "127.9.9.9", "::1"]
)
def test_a_host_that_says_loopback_leads_there_and_nowhere_else(host):
    assert names_loopback(host)
    assert refusal(ip_address("127.0.0.1"), host, allow_private=False) == ""
    assert refusal(ip_address("10.0.0.1"), host, allow_private=True)
    assert refusal(ip_address("169.254.169.254"), host, allow_private=True)


@pytest.mark.parametrize("host", ["notlocalhost", "localhost.example", "inventory.example", "10.0.0.1", "127.1"])
def test_other_hosts_do_not_say_loopback(host):
    assert not names_loopback(host)
    assert refusal(ip_address("127.0.0.1"), host, allow_private=True)
