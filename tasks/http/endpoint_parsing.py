"""FLOWSCHED_ENDPOINTS read strictly: unknown keys, plain HTTP and odd addresses are refused when a process starts.

A service that is called by a misread line of configuration gets a credential that was meant for another.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from flowsched import strictjson
from flowsched.errors import InvalidInput
from tasks.http import addresses
from tasks.http.endpoints import GATEWAY_PATH, Endpoint, Reference, Url

NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?")
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,254}")
URL = re.compile(
    r"(?P<scheme>https?)://(?P<host>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9](?:[A-Za-z0-9._-]{0,251}[A-Za-z0-9])?\.?)"
    r"(?::(?P<port>[0-9]{1,5}))?(?P<path>/\S*)?"
)
PATH = re.compile(r"/[A-Za-z0-9._~!$&'()*+,;=:@/-]*")
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
KINDS = ("api", "gateway")
CLIENT_AUTH = ("client_secret_basic", "client_secret_post")
TEXT = 1000
CONNECTIONS = 1000
FAULTS_SHOWN = 20


class Fault(Exception):
    """What is wrong with one key's value."""


def endpoints_parse(text: str) -> dict[str, Endpoint]:
    """`{"name": {"kind": …, "base_url": …, …}, …}`. Raises InvalidInput naming everything that is wrong (TH-5)."""
    faults: dict[str, str] = {}
    data = strictjson.read(
        text.encode(),
        source="the configuration",
        complain=lambda pointer, reason: faults.update({strictjson.path_of(pointer): reason}),
    )
    found = {}
    if not isinstance(data, dict):
        faults[""] = f"it must be an object of endpoints by name, not {strictjson.kind_of(data)}"
    else:
        for name, entry in data.items():
            found[name] = _endpoint(name, entry, faults)
    if faults:
        told = [f"{key}: {why}" if key else why for key, why in faults.items()]
        more = f"; and {len(told) - FAULTS_SHOWN} more" if len(told) > FAULTS_SHOWN else ""
        raise InvalidInput("; ".join(told[:FAULTS_SHOWN]) + more, fields=faults)
    return {name: endpoint for name, endpoint in found.items() if endpoint is not None}


def _endpoint(name: str, entry: Any, faults: dict[str, str]) -> Endpoint | None:
    before = len(faults)
    if not NAME.fullmatch(name):
        faults[name[:64]] = "a name has 1 to 64 lower-case letters, digits and, inside, hyphens"
    if not isinstance(entry, dict):
        faults[name[:64]] = f"it must be an object, not {strictjson.kind_of(entry)}"
        return None
    values: dict[str, Any] = {}
    for key, value in entry.items():
        try:
            values[key] = _value(key, value)
        except Fault as fault:
            faults[f"{name}.{key}"] = str(fault)
    for key in ("kind", "base_url"):
        if key not in entry:
            faults[f"{name}.{key}"] = "it is missing"
    if len(faults) == before:
        faults |= {f"{name}.{key}": why for key, why in _together(values).items()}
    if len(faults) > before:
        return None
    if values["kind"] == "gateway":
        values |= {"methods": ("POST",), "path_prefixes": (GATEWAY_PATH,)}
    return Endpoint(name=name, **values)


def _value(key: str, value: Any) -> Any:
    if key not in READERS:
        raise Fault(f"there is no such key; there are: {', '.join(READERS)}")
    return READERS[key](value)


def _together(values: Mapping[str, Any]) -> dict[str, str]:
    """What each value may be, but not beside the others."""
    faults = {}
    for key in ("base_url", "token_url", "exchange_url"):
        url = values.get(key)
        if url is None:
            continue
        if url.scheme == "http" and not values.get("plain_http") and not addresses.names_loopback(url.host):
            faults[key] = "plain http:// sends everything in the clear: use https://, or set plain_http to true"
        elif key != "base_url" and (kind := addresses.unusual(url.host)):
            faults[key] = f"{url.host} is {kind}: no credential is sent there"
    credentials = {key for key in ("token_url", "client_id", "client_secret") if values.get(key)}
    if credentials and len(credentials) < 3:  # noqa: PLR2004  all of them
        faults["client_secret"] = "token_url, client_id and client_secret go together: give all or none"  # noqa: S105
    if values.get("exchange_url") and not credentials:
        faults["exchange_url"] = "an exchange is made by a service account: give token_url, client_id, client_secret"
    if values["kind"] == "gateway":
        odd = [key for key in ("token_url", "exchange_url", "methods", "path_prefixes") if key in values]
        faults |= dict.fromkeys(odd, f"a gateway has none: it takes POST {GATEWAY_PATH}… as nobody")
    return faults


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value or len(value) > TEXT or not (value.isascii() and value.isprintable()):
        raise Fault(f"it must be 1 to {TEXT} printable ASCII characters")
    return value


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise Fault(f"it must be true or false, not {strictjson.kind_of(value)}")
    return value


def _connections(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= CONNECTIONS:
        raise Fault(f"it must be a whole number from 1 to {CONNECTIONS}")
    return value


def _one_of(words: tuple[str, ...]) -> Callable[[Any], str]:
    def read(value: Any) -> str:
        if value not in words:
            raise Fault(f"it must be one of: {', '.join(words)}")
        return str(value)

    return read


def _list(value: Any) -> list[str]:
    if not isinstance(value, list) or not value:
        raise Fault("it must be a list of at least one string")
    return [_text(item) for item in value]


def _methods(value: Any) -> tuple[str, ...]:
    methods = _list(value)
    if wrong := sorted(set(methods) - set(METHODS)):
        raise Fault(f"{', '.join(wrong)}: there are {', '.join(METHODS)}")
    return tuple(method for method in METHODS if method in methods)


def _prefixes(value: Any) -> tuple[str, ...]:
    return tuple(_path(prefix) for prefix in _list(value))


def _path(path: str) -> str:
    if not PATH.fullmatch(path) or "//" in path or {".", ".."} & {part.partition(";")[0] for part in path.split("/")}:
        raise Fault(f"{path!r} is no plain absolute path: no //, no . or .., no %, no query")
    return path


def _file(value: Any) -> str:
    path = _text(value)
    if not path.startswith("/"):
        raise Fault("it must be the absolute path of a file")
    return path


def _reference(value: Any) -> Reference:
    if isinstance(value, dict) and len(value) == 1:
        ((kind, name),) = value.items()
        if kind == "env" and isinstance(name, str) and VARIABLE.fullmatch(name):
            return Reference(variable=name)
        if kind == "file":
            return Reference(file=_file(name))
    # What was given may be the secret itself: it is not repeated.
    raise Fault('it must be {"env": "NAME"} or {"file": "/absolute/path"}: the secret itself does not belong here')


def _client_id(value: Any) -> Reference | str:
    return _text(value) if isinstance(value, str) else _reference(value)


def _url(value: Any) -> Url:
    match = URL.fullmatch(_text(value))
    if match is None:
        raise Fault("it must be http(s)://host[:port][/path], without user, query or fragment")
    host = match["host"].strip("[]").lower()
    try:
        host = str(addresses.literal(host) or host)
    except ValueError as error:
        raise Fault(str(error)) from None
    if ":" not in host and (len(host) > 253 or any(not 0 < len(part) < 64 for part in host.rstrip(".").split("."))):  # noqa: PLR2004
        raise Fault(f"{host[:64]!r} is no host name")
    port = int(match["port"] or {"http": 80, "https": 443}[match["scheme"]])
    if not 0 < port < 65536:  # noqa: PLR2004
        raise Fault(f"there is no port {port}")
    return Url(match["scheme"], host, port, _path(match["path"] or "/"))


def _base_url(value: Any) -> Url:
    url = _url(value)
    return replace(url, path=url.path.rstrip("/"))


READERS: dict[str, Callable[[Any], Any]] = {
    "kind": _one_of(KINDS),
    "base_url": _base_url,
    "ca_bundle": _file,
    "client_id": _client_id,
    "client_secret": _reference,
    "client_auth": _one_of(CLIENT_AUTH),
    "token_url": _url,
    "exchange_url": _url,
    "scope": _text,
    "audience": _text,
    "methods": _methods,
    "path_prefixes": _prefixes,
    "honours_idempotency_key": _flag,
    "plain_http": _flag,
    "allow_private_addresses": _flag,
    "max_connections": _connections,
    "excerpt": _flag,
}
