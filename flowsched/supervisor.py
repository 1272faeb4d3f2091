"""The supervisor's configuration and its remote control.

Supervisor restarts what dies. A process that cannot get going is tried again after 1, 2, 3 … seconds; after
`START_TRIES` of those supervisor would give up for good, and `flowsched.up` starts it again after a pause instead.
"""

from __future__ import annotations

import os
import shlex
import socket
import sys
from contextlib import closing
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Any
from xmlrpc.client import Error as XmlRpcError
from xmlrpc.client import ServerProxy

from supervisor.xmlrpc import SupervisorTransport

from flowsched.postgres.location import short_dir

START_SECONDS = 3  # a process that lives this long is up
START_TRIES = 8
GROUP = "flowsched"
SOCKET = "up.sock"


@dataclass(frozen=True, slots=True)
class Program:
    """A command that is kept running."""

    name: str
    command: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Process:
    """A program as the supervisor sees it."""

    name: str
    state: str
    pid: int
    why: str


@dataclass(frozen=True, slots=True)
class Places:
    """Files of one supervised copy, all in its data folder."""

    data_dir: Path

    @property
    def folder(self) -> Path:
        """Configuration, lock and, where its path is short enough, the socket."""
        return self.data_dir / "run"

    @property
    def config(self) -> Path:
        """Written anew by each start."""
        return self.folder / "supervisor.conf"

    @property
    def pid_file(self) -> Path:
        """The supervisor's process."""
        return self.folder / "supervisor.pid"

    @property
    def lock(self) -> Path:
        """Held by the one `up` of this data folder."""
        return self.folder / "up.lock"

    @property
    def socket(self) -> Path:
        """The remote control; supervisor first binds a name a little longer than this."""
        return short_dir(self.folder, f"{SOCKET}.1234567890", key=self.folder) / SOCKET

    def log(self, name: str) -> Path:
        """Where a program's output goes."""
        return self.data_dir / "log" / f"{name}.log"

    def make(self) -> None:
        """Make the folders; those that hold sockets are private."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self.log("any").parent.mkdir(exist_ok=True)
        for private in {self.folder, self.socket.parent}:
            private.mkdir(mode=0o700, exist_ok=True)
            found = private.lstat()
            if found.st_uid != os.geteuid():
                raise PermissionError(f"{private} belongs to another user; set FLOWSCHED_DATA_DIR to a folder of yours")
            private.chmod(0o700)


def configuration(places: Places, programs: list[Program], *, folder: Path, stop_seconds: int) -> str:
    """Supervisor's configuration file."""
    user = ["user=root"] if os.geteuid() == 0 else []  # it warns about running as root unless told so
    sections = {
        "unix_http_server": [f"file={_plain(places.socket)}", "chmod=0700"],
        "supervisord": [
            f"logfile={_plain(places.log('supervisor'))}",
            "logfile_maxbytes=5MB",
            "logfile_backups=2",
            f"pidfile={_plain(places.pid_file)}",
            f"childlogdir={_plain(places.log('any').parent)}",
            "nodaemon=true",
            "silent=true",
            *user,
        ],
        "rpcinterface:supervisor": [
            "supervisor.rpcinterface_factory=supervisor.rpcinterface:make_main_rpcinterface",
        ],
        # One group, so that at the end all are asked to stop at once and share one drain time.
        f"group:{GROUP}": [f"programs={','.join(program.name for program in programs)}"],
    }
    for program in programs:
        child = (sys.executable, "-I", str(Path(__file__).with_name("child.py")), *program.command)
        sections[f"program:{program.name}"] = [
            f"command={' '.join(_plain(shlex.quote(word)) for word in child)}",
            f"directory={_plain(folder)}",
            "autorestart=true",
            f"startsecs={START_SECONDS}",
            f"startretries={START_TRIES}",
            "stopsignal=TERM",
            f"stopwaitsecs={stop_seconds}",
            "killasgroup=true",
            "redirect_stderr=true",
            f"stdout_logfile={_plain(places.log(program.name))}",
            "stdout_logfile_maxbytes=10MB",
            "stdout_logfile_backups=3",
        ]
    return "\n".join(line for name, lines in sections.items() for line in (f"[{name}]", *lines, ""))


class Control:
    """What a running supervisor can be asked."""

    def __init__(self, places: Places) -> None:
        self._places = places

    def pid(self) -> int | None:
        """Its process; None where none answers. One that is ending answers too, but no longer with its number."""
        try:
            with closing(socket.socket(socket.AF_UNIX)) as client:
                client.settimeout(5)
                client.connect(str(self._places.socket))
            return int(self._places.pid_file.read_text(encoding="ascii"))
        except (OSError, ValueError):
            return None

    def processes(self) -> list[Process]:
        """All programs; empty where the supervisor does not answer, or is ending."""
        found = self._ask("getAllProcessInfo") or []
        return [
            Process(str(one["name"]), str(one["statename"]), int(one["pid"]), str(one["spawnerr"])) for one in found
        ]

    def start(self, name: str) -> None:
        """Try a program again that the supervisor has given up."""
        self._ask("startProcess", f"{GROUP}:{name}", False)

    def shutdown(self) -> None:
        """Ask it to stop everything and end."""
        self._ask("shutdown")

    def _ask(self, question: str, *arguments: object) -> Any:
        """One call over a connection of its own; None where it is refused or nobody answers."""
        transport = SupervisorTransport(None, None, f"unix://{self._places.socket}")
        try:
            proxy = ServerProxy("http://127.0.0.1", transport=transport)
            return getattr(proxy.supervisor, question)(*arguments)
        except (OSError, HTTPException, XmlRpcError):
            return None
        finally:
            transport.close()


def _plain(value: object) -> str:
    """Supervisor expands %(name)s everywhere."""
    return str(value).replace("%", "%%")
