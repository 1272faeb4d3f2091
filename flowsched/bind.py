"""Where a door listens: reading it, whether it is free, whether somebody answers there."""

from __future__ import annotations

import errno
import re
import socket
from contextlib import closing
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException

from django.conf import settings

from flowsched.errors import InvalidInput, PreconditionFailed

_TCP = re.compile(r"(?P<host>\[[0-9a-fA-F:.]+\]|[A-Za-z0-9.-]+):(?P<port>\d{1,5})")
MAX_PORT = 65535
SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Bind:
    """An address: host and port, or a path (host empty)."""

    host: str
    port: int = 0
    path: str = ""

    @classmethod
    def parse(cls, text: str) -> Bind:
        """Read `host:port`, `[v6]:port` or `unix:path`. Raises InvalidInput."""
        if text.startswith("unix:") and len(text) > len("unix:"):
            return cls("", path=text.removeprefix("unix:"))
        found = _TCP.fullmatch(text)
        if found is None or int(found["port"]) > MAX_PORT:
            raise InvalidInput(f"'{text[:64]}' is no address: write host:port, [v6]:port or unix:path", field="bind")
        return cls(found["host"].strip("[]"), int(found["port"]))

    def __str__(self) -> str:
        """As `parse` reads it."""
        if self.path:
            return f"unix:{self.path}"
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def url(self) -> str:
        """What a browser is told; a door that listens everywhere is reached by its host's name."""
        everywhere = self.host in {"0.0.0.0", "::"}  # noqa: S104  compared, not bound
        shown = Bind("localhost", self.port) if everywhere else self
        return str(shown) if self.path else f"http://{shown}/"

    @property
    def family(self) -> socket.AddressFamily:
        """The sockets it takes."""
        return socket.AF_INET6 if ":" in self.host else socket.AF_INET


def settled(bind: Bind) -> Bind:
    """`bind`, its port chosen now where it was 0: several processes have to know it."""
    if bind.path or bind.port:
        return bind
    with closing(socket.socket(bind.family)) as probe:
        probe.bind((bind.host, 0))
        return Bind(bind.host, probe.getsockname()[1])


def refuse_taken(bind: Bind, *, setting: str) -> None:
    """Raise PreconditionFailed, which names the setting, if somebody listens there already or nobody may."""
    if bind.path:
        return  # a server takes over a socket's file that nobody listens on any more
    with closing(socket.socket(bind.family)) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((bind.host, bind.port))
        except OSError as error:
            why = "is taken by another process" if error.errno == errno.EADDRINUSE else f"cannot be used: {error}"
            raise PreconditionFailed(
                f"{bind} {why}. Free it, or set {setting} to another address; port 0 takes any that is free",
                reason="TAKEN",
            ) from None


def answers(bind: Bind) -> bool:
    """Whether a web door of ours answers there. Asks what needs no database and no caller."""
    connection = _Unix(bind.path) if bind.path else HTTPConnection(bind.host, bind.port, timeout=SECONDS)
    host = next((name.lstrip(".") for name in settings.ALLOWED_HOSTS if name != "*"), "localhost")
    try:
        with closing(connection):
            connection.request("GET", "/api/v1/me/", headers={"Host": host, "X-Forwarded-Proto": "https"})
            return connection.getresponse().getheader("X-Request-ID") is not None
    except (OSError, HTTPException):
        return False


class _Unix(HTTPConnection):
    """HTTP over a socket's file."""

    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=SECONDS)
        self._path = path

    def connect(self) -> None:
        """Connect to the file."""
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(SECONDS)
        self.sock.connect(self._path)
