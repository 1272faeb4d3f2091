"""The two doors as they are deployed: serve_web and serve_grpc, each a process, on the test's own database."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import grpc

from tests.doors.restclient import Rest
from tests.doors.wireclient import Client, Wire
from tests.faults.harness import DOORS, ROOT, Product, wait_for

LOCK_TIMEOUT = "0.3"  # seconds; three attempts are made before a caller is told that it is busy
WAITING_PER_RACK = "1"
UNLIMITED = "10000000"
# What docs/doors.md shows as the configuration of endpoints is theirs. No worker runs, so that nobody is ever called.
ENDPOINTS = re.findall(r"^```json\n(.*?)^```$", (ROOT / "docs" / "doors.md").read_text(), re.MULTILINE | re.DOTALL)[0]
SECRET = {"INVENTORY_SECRET": "known to these tests alone"}


class Doors:
    """The processes, and clients of them."""

    def __init__(self, folder: Path) -> None:
        self.product = Product(folder)
        self.rest_port, self.grpc_port = free_port(), free_port()
        self.wire = Wire()
        self.channel = grpc.insecure_channel(f"127.0.0.1:{self.grpc_port}", options=[("grpc.enable_retries", 0)])
        self.fault_expected = False  # set by a test that provokes one
        self._clients: list[Rest] = []
        self._read = 0

    def environment(self) -> dict[str, str]:
        """What both are configured with; sessions carry a name, so that other tests know them for idle ones."""
        env = self.product.environment(
            FLOWSCHED_LOCK_TIMEOUT=LOCK_TIMEOUT,
            FLOWSCHED_MAX_WAITING_PER_RACK=WAITING_PER_RACK,
            FLOWSCHED_API_REQUESTS_PER_MINUTE=UNLIMITED,
            FLOWSCHED_WEB_WORKERS="1",
            FLOWSCHED_ENDPOINTS=ENDPOINTS,
            **SECRET,
            DJANGO_SETTINGS_MODULE="flowsched.settings",
        )
        return env | {"DATABASE_URL": f"{env['DATABASE_URL']}&application_name={DOORS}"}

    def start(self) -> None:
        """Start both and wait until they answer."""
        for command, port in (("serve_web", self.rest_port), ("serve_grpc", self.grpc_port)):
            words = [sys.executable, "manage.py", command, "--bind", f"127.0.0.1:{port}"]
            with self.log.open("ab") as log:
                process = subprocess.Popen(
                    words, env=self.environment(), cwd=ROOT, stdin=subprocess.DEVNULL, stdout=log,
                    stderr=subprocess.STDOUT, start_new_session=True,
                )  # fmt: skip
            self.product.processes.append(process)
        for port in (self.rest_port, self.grpc_port):
            wait_for(lambda port=port: self._listens(port), 40, "both doors are open")

    def _listens(self, port: int) -> bool:
        dead = [process.args for process in self.product.processes if process.poll() is not None]
        if dead:
            raise RuntimeError(f"{dead} ended:\n{self.log.read_text()[-4000:]}")
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return True
        return False

    @property
    def log(self) -> Path:
        return self.product.folder / "doors.log"

    def new_lines(self) -> str:
        """What both have logged since the last call."""
        text = self.log.read_text(errors="replace")
        new, self._read = text[self._read :], len(text)
        return new

    def stop(self) -> None:
        self.channel.close()
        self.product.stop()

    def rest(self, token: str | None) -> Rest:
        """A client; `hang_up` closes its connection."""
        self._clients.append(Rest(self.rest_port, token))
        return self._clients[-1]

    def hang_up(self) -> None:
        while self._clients:
            self._clients.pop().close()

    def grpc(self, token: str | None) -> Client:
        return Client(self.channel, token, self.wire)


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])
