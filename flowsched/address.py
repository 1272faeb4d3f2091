"""Where another service is, and as whom we come: a URL whose password appears in nothing that is printed or logged."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

PORTS = {"http": 8123, "https": 8443}  # ClickHouse's
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Address:
    """One database of a ClickHouse server."""

    scheme: str
    host: str
    port: int
    user: str
    password: str = field(repr=False)
    database: str

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}/{self.database}"

    @classmethod
    def parse(cls, url: str, *, name: str) -> Address:
        """Read `http(s)://user:password@host:port/database`; all but scheme and host may be left out.

        Raises ImproperlyConfigured with `name` and what is wrong, and never repeats the URL.
        """
        wanted = f"{name} must be https://user:password@host:port/database (or http://)"
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError:
            raise ImproperlyConfigured(f"{wanted}; its host or port cannot be read.") from None
        database = parts.path.strip("/")
        if parts.scheme not in PORTS or not parts.hostname:
            raise ImproperlyConfigured(f"{wanted}; it has no scheme of these two, or no host.")
        if parts.query or parts.fragment:
            raise ImproperlyConfigured(f"{wanted}; nothing may follow the database's name.")
        if database and not NAME.fullmatch(database):
            raise ImproperlyConfigured(f"{wanted}; a database's name is letters, digits and _.")
        return cls(
            scheme=parts.scheme,
            host=parts.hostname,
            port=PORTS[parts.scheme] if port is None else port,
            user=unquote(parts.username or "") or "default",
            password=unquote(parts.password or ""),
            database=database or "default",
        )
