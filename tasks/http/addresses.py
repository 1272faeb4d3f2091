"""Which addresses a request may go to (TH-5). Pure.

Targets are internal by nature, so private addresses are allowed unless an endpoint says otherwise. What is never a
target by itself is refused whatever a resolver answers: this machine, this link (where clouds keep their metadata and
credentials), groups, and every form in which one of those hides inside an IPv6 address. Python's own `is_global` and
`is_private` are no help: they call 64:ff9b::a9fe:a9fe and 224.0.0.1 global, and change from release to release.
"""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import TypeAlias

Address: TypeAlias = IPv4Address | IPv6Address
Network: TypeAlias = IPv4Network | IPv6Network


def _networks(*texts: str) -> tuple[Network, ...]:
    return tuple(ip_network(text) for text in texts)


# The names of these kinds are read by operators; the order is that of asking.
DISGUISED = {  # an IPv4 address inside an IPv6 one
    "an IPv4-mapped address": _networks("::ffff:0:0/96"),
    "an IPv4-translated address": _networks("::ffff:0:0:0/96"),
    "a NAT64 address": _networks("64:ff9b::/96", "64:ff9b:1::/48"),
    "a 6to4 address": _networks("2002::/16", "192.88.99.0/24"),
    "a Teredo address": _networks("2001::/32"),
}
UNSPECIFIED = _networks("0.0.0.0/8", "::/128")
LOOPBACK = _networks("127.0.0.0/8", "::1/128")
NEVER = {
    "an unspecified address": UNSPECIFIED,
    "an IPv4-compatible address": _networks("::/96"),  # after ::1, which is loopback's
    "a link-local address": _networks("169.254.0.0/16", "fe80::/10"),
    "a cloud's metadata address": _networks(
        "100.100.100.200/32", "168.63.129.16/32", "192.0.0.192/32", "fd00:ec2::/32", "fd20:ce::254/128"
    ),
    "a multicast address": _networks("224.0.0.0/4", "ff00::/8"),
    "a reserved or broadcast address": _networks("240.0.0.0/4"),
}
PRIVATE = _networks(
    "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "198.18.0.0/15", "fc00::/7", "fec0::/10"
)


def literal(host: str) -> Address | None:
    """The address that `host` spells, None where it is a name. Brackets are not part of it.

    Raises ValueError, with a sentence, for what a C library would read as an address and a person would not: numbers
    in octal, hexadecimal or with parts left out, and zones.
    """
    try:
        address = ip_address(host)
    except ValueError:
        last = host.rstrip(".").rpartition(".")[2].lower()
        if ":" in host:
            raise ValueError(f"{host!r} is no IPv6 address") from None
        if last.isdigit() or last.startswith("0x"):  # as browsers decide it: it ends in a number
            raise ValueError(
                f"{host!r} is no name and no address in its usual spelling: write four decimal numbers"
            ) from None
        return None
    if "%" in host:
        raise ValueError(f"{host!r} names a zone: link-local addresses are no targets")
    if disguise := _kind(address, DISGUISED):
        raise ValueError(f"{host} is {disguise}: write the address itself")
    return address


def names_loopback(host: str) -> bool:
    """Whether a URL with this host means this machine and says so."""
    name = host.rstrip(".").lower()
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        address = literal(host)
    except ValueError:
        return False
    return address is not None and _within(address, LOOPBACK)


def refusal(address: Address, host: str, *, allow_private: bool) -> str:
    """Why a request to `host` may not go to `address`; empty where it may.

    What the URL itself spells was somebody's decision and stands, except an address in disguise. `host` is the URL's.
    """
    if disguise := _kind(address, DISGUISED):
        return f"{address} is {disguise}"
    if names_loopback(host):
        return "" if _within(address, LOOPBACK) else f"{address} is not this machine, which {host} stands for"
    return "" if _spelled(address, host) else _unasked(address, allow_private=allow_private)


def _unasked(address: Address, *, allow_private: bool) -> str:
    """Why a name may not lead to `address`."""
    if _within(address, LOOPBACK):
        return f"{address} is this machine, and the URL does not say so: write 127.0.0.1 or localhost"
    if kind := _kind(address, NEVER):
        return f"{address} is {kind}"
    if not allow_private and _within(address, PRIVATE):
        return f"{address} is a private address, and allow_private_addresses is off"
    return ""


def unusual(host: str) -> str:
    """What a literal host is, where no answer of a resolver would be let through; empty otherwise."""
    address = literal(host)
    return _kind(address, NEVER) if address is not None else ""


def _spelled(address: Address, host: str) -> bool:
    try:
        return ip_address(host) == address
    except ValueError:
        return False


def _within(address: Address, networks: Iterable[Network]) -> bool:
    return any(address in network for network in networks)  # a network of the other version holds none


def _kind(address: Address, kinds: dict[str, tuple[Network, ...]]) -> str:
    if _within(address, LOOPBACK):
        return ""
    return next((kind for kind, networks in kinds.items() if _within(address, networks)), "")
