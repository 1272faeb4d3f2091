"""Does a text name a cloud's metadata service? In every spelling that resolvers read as one (TH-4, TH-5).

A target that fetches what it is told to must not be told to fetch credentials. This looks at values; where a call
itself goes is decided by the endpoint alone.
"""

from __future__ import annotations

import ipaddress
import re
import unicodedata
from typing import Final
from urllib.parse import unquote

_NAMES: Final = frozenset({"metadata", "metadata.google.internal", "instance-data", "instance-data.ec2.internal"})
_ADDRESSES: Final = frozenset(
    ipaddress.ip_address(text)
    for text in ("169.254.169.254", "169.254.170.2", "100.100.100.200", "fd00:ec2::254", "fd20:ce::254")
)
_NAT64: Final = ipaddress.ip_network("64:ff9b::/96")
_URL_HOST: Final = re.compile(r"[/\\]{2}([^/\\?#\s\"'<>]{1,300})")
_NUMBER: Final = re.compile(r"0[xX][0-9a-fA-F]{1,16}|[0-9]{1,20}")
_MOST_PARTS: Final = 4
_UNQUOTED: Final = 3  # layers of percent-encoding looked under

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def names_metadata(text: str) -> bool:
    """Whether `text` is the host of a metadata service, or has a URL whose host is link-local or such a service."""
    for _ in range(_UNQUOTED):
        plain = unicodedata.normalize("NFKC", text)
        if _is_metadata(plain.strip(), any_link_local=False):
            return True
        if any(_is_metadata(found, any_link_local=True) for found in _URL_HOST.findall(plain)):
            return True
        text = unquote(plain)
        if text == plain:
            break
    return False


def _is_metadata(authority: str, *, any_link_local: bool) -> bool:
    host = authority.rpartition("@")[2].replace("\u3002", ".").lower()
    if host.startswith("["):
        host = host[1:].partition("]")[0]
    elif host.count(":") == 1:
        host = host.partition(":")[0]
    host = host.rstrip(".")
    if host in _NAMES - (set() if any_link_local else {"metadata"}):
        return True
    address = address_of(host)
    return address is not None and (address in _ADDRESSES or (any_link_local and address.is_link_local))


def address_of(host: str) -> Address | None:
    """The address that `host` is a spelling of, as inet_aton reads it, IPv4 inside IPv6 taken out; else None."""
    try:
        six = ipaddress.IPv6Address(host.partition("%")[0])
    except ValueError:
        return _inet_aton(host)
    inner = six.ipv4_mapped or six.sixtofour
    if inner is None and (six in _NAT64 or six.packed[:12] == bytes(12)):
        inner = ipaddress.IPv4Address(six.packed[12:])
    return inner or six


def _inet_aton(host: str) -> ipaddress.IPv4Address | None:
    """Decimal, octal and hexadecimal parts, one to four, the last filling the rest: `2852039166`, `0xa9.254.43518`."""
    parts = host.split(".")
    if len(parts) > _MOST_PARTS or not all(_NUMBER.fullmatch(part) for part in parts):
        return None
    try:
        numbers = [_number(part) for part in parts]
    except ValueError:
        return None
    room = 8 * (_MOST_PARTS + 1 - len(numbers))
    if any(number > 255 for number in numbers[:-1]) or numbers[-1] >= 1 << room:  # noqa: PLR2004 - a byte
        return None
    value = numbers[-1]
    for place, number in enumerate(numbers[:-1]):
        value |= number << (24 - 8 * place)
    return ipaddress.IPv4Address(value)


def _number(part: str) -> int:
    if part[:2] in ("0x", "0X"):
        return int(part, 16)
    return int(part, 8) if part.startswith("0") and part != "0" else int(part)
