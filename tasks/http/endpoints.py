"""The services that HTTP operations may call: named configuration, never a URL of a schedule's (D-23, TH-4, TH-21).

A schedule names an endpoint; where that is, what may be asked of it and as whom is written here by whoever runs the
installation, in FLOWSCHED_ENDPOINTS. Nothing in it is a secret: a secret is named by the environment variable or the
file that holds it, and read when it is used.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from flowsched.environment import REPOSITORY
from flowsched.errors import InvalidInput, NotFound
from tasks.http.call import Gateway, HttpCall
from tasks.http.request import Request

SECRET_BYTES = 64 * 1024  # of a file with a secret
GATEWAY_PATH = "/notifications/"
NAMES_SHOWN = 50


class Unreadable(Exception):
    """A reference to a credential leads nowhere. The sentence names variable or file, never what is in them."""


@dataclass(frozen=True, slots=True)
class Reference:
    """Where a credential is: `variable` of the environment, or `file`. Never the credential."""

    variable: str = ""
    file: str = ""

    def __str__(self) -> str:
        return f"the file {self.file}" if self.file else f"the environment's {self.variable}"

    def read(self) -> str:
        """What it holds, without blanks around it; read anew each time, so that rotation needs no restart."""
        text = self._from_file() if self.file else os.environ.get(self.variable, "")
        text = text.strip()
        if not text:
            raise Unreadable(f"{self} holds nothing")
        return text

    def _from_file(self) -> str:
        try:
            with Path(self.file).open("rb") as file:
                data = file.read(SECRET_BYTES + 1)
        except OSError as error:
            raise Unreadable(f"{self} cannot be read: {error.strerror}") from None
        if len(data) > SECRET_BYTES:
            raise Unreadable(f"{self} is larger than {SECRET_BYTES} bytes")
        text = data.decode("utf-8", errors="replace")
        if "\N{REPLACEMENT CHARACTER}" in text:
            raise Unreadable(f"{self} is not UTF-8 text")
        return text


@dataclass(frozen=True, slots=True)
class Url:
    """An absolute URL without user, query and fragment. `host` has no brackets, a base URL no `/` at its end."""

    scheme: str
    host: str
    port: int
    path: str = ""

    def __str__(self) -> str:
        return f"{self.origin}{self.path}"

    @property
    def authority(self) -> str:
        """Host and port as the Host header has them."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == {"http": 80, "https": 443}[self.scheme] else f"{host}:{self.port}"

    @property
    def origin(self) -> str:
        """Scheme, host and port."""
        return f"{self.scheme}://{self.authority}"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One service. Frozen, and equal to another only if everything is, so that it can be the key of a cache.

    `kind`: `api` takes any allowed request, `gateway` takes notifications. `methods` and `path_prefixes` bound what
    schedules may ask; prefixes are whole segments below the base URL's path. `token_url` and what `client_id` and
    `client_secret` lead to give a service account, `exchange_url` tokens of users besides (RFC 8693).
    """

    name: str
    kind: str
    base_url: Url
    ca_bundle: str = ""
    client_id: Reference | str = ""
    client_secret: Reference | None = None
    client_auth: str = "client_secret_basic"
    token_url: Url | None = None
    exchange_url: Url | None = None
    scope: str = ""
    audience: str = ""
    methods: tuple[str, ...] = ("GET",)
    path_prefixes: tuple[str, ...] = ("/",)
    honours_idempotency_key: bool = False
    plain_http: bool = False
    allow_private_addresses: bool = True
    max_connections: int = 8
    excerpt: bool = True

    @property
    def has_credentials(self) -> bool:
        """Whether it is called as somebody."""
        return self.token_url is not None

    def urls(self) -> dict[str, Url]:
        """What it leads to, by the key it is configured with."""
        named = {"base_url": self.base_url, "token_url": self.token_url, "exchange_url": self.exchange_url}
        return {key: url for key, url in named.items() if url is not None}


@cache
def _configured(text: str) -> Mapping[str, Endpoint]:
    from tasks.http import endpoint_parsing  # noqa: PLC0415  it makes what is defined here

    try:
        data = text if text.startswith("{") else (REPOSITORY / Path(text).expanduser()).read_text(encoding="utf-8")
        return endpoint_parsing.endpoints_parse(data)
    except InvalidInput as error:
        raise ImproperlyConfigured(f"FLOWSCHED_ENDPOINTS: {error.message}") from None
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise ImproperlyConfigured(
            f"FLOWSCHED_ENDPOINTS: {text} cannot be read: {reason}. Name a file, or give the JSON itself."
        ) from None


def endpoints() -> Mapping[str, Endpoint]:
    """The configured endpoints by name, read once a process. Raises ImproperlyConfigured with all that is wrong."""
    text = settings.FLOWSCHED_ENDPOINTS
    return _configured(text) if text else {}


def endpoint_of(name: str, field: str = "target.endpoint") -> Endpoint:
    """The endpoint called `name`. Raises NotFound on `field`, with the names there are."""
    known = endpoints()
    if name not in known:
        names = sorted(known)
        listed = ", ".join(names[:NAMES_SHOWN]) + (f" and {len(names) - NAMES_SHOWN} more" * (len(names) > NAMES_SHOWN))
        there = f"it must be one of: {listed}" if names else "none is configured (FLOWSCHED_ENDPOINTS)"
        raise NotFound(f"there is no endpoint {str(name)[:64]!r}; {there}", field=field, reason="ENDPOINT_UNKNOWN")
    return known[name]


def call_check(call: HttpCall, endpoint: Endpoint) -> None:
    """Whether `endpoint` takes such calls, written and not rendered. Raises InvalidInput with every field at fault."""
    target, name = call.target, endpoint.name
    kind = "gateway" if isinstance(target, Gateway) else "api"
    faults: dict[str, str] = {}
    if kind != endpoint.kind:
        faults["target.endpoint"] = f"{name} is of kind {endpoint.kind}, this operation needs one of kind {kind}"
    elif not isinstance(target, Gateway):
        faults |= _asked(endpoint, target.method, _literal(target.path))
    faults |= _identity(endpoint, call.identity.kind)
    _raise(faults, f"the endpoint {endpoint.name} does not take this")


def request_check(request: Request, endpoint: Endpoint) -> None:
    """The same of a rendered request: what a template made of the path counts. Raises InvalidInput."""
    if endpoint.kind == "gateway":
        wrong = request.method != "POST" or not _below(request.path, GATEWAY_PATH)
        faults = {"target": f"a gateway takes POST {GATEWAY_PATH}… only"} if wrong else {}
    else:
        faults = _asked(endpoint, request.method, request.path)
    _raise(faults, f"the endpoint {endpoint.name} does not take this")


def _asked(endpoint: Endpoint, method: str, path: str) -> dict[str, str]:
    faults = {}
    if method not in endpoint.methods:
        faults["target.method"] = f"{endpoint.name} allows {', '.join(endpoint.methods)}, not {method}"
    if not any(_below(path, prefix) for prefix in endpoint.path_prefixes):
        allowed = ", ".join(endpoint.path_prefixes)
        faults["target.path"] = (
            f"{endpoint.name} allows paths below {allowed}: what stands before a template must be one"
        )
    return faults


def _identity(endpoint: Endpoint, kind: str) -> dict[str, str]:
    name = endpoint.name
    if kind == "none" and endpoint.kind == "api" and endpoint.has_credentials:
        return {"identity.kind": f"{name} is called as somebody: service_account or delegated_user"}
    if kind != "none" and endpoint.kind == "gateway":
        return {"identity.kind": "a gateway is called as nobody: none"}
    if kind != "none" and not endpoint.has_credentials:
        return {"identity.kind": f"{name} has no credentials configured (token_url): none"}
    if kind == "delegated_user" and endpoint.exchange_url is None:
        return {"identity.kind": f"{name} has no exchange_url configured, so nobody can be called for: service_account"}
    return {}


def _literal(path: str) -> str:
    """What stands before the first template."""
    return min((path.partition(mark)[0] for mark in ("{{", "{%", "{#")), key=len)


def _below(path: str, prefix: str) -> bool:
    return path == prefix.rstrip("/") or path.startswith(prefix.rstrip("/") + "/")


def _raise(faults: dict[str, str], what: str) -> None:
    if faults:
        told = "; ".join(f"{field}: {why}" for field, why in faults.items())
        raise InvalidInput(f"{what}: {told}", fields=faults, reason="ENDPOINT_REFUSES")
