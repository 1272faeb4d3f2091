"""The servers that HTTP operations are tested against, as processes and session-scoped fixtures.

Another folder's conftest.py has them by `from tests.http_servers.servers import httpbin, oauth, sink, tls_sink`. Each
starts when it is first asked for and is killed at the end; should the tests themselves be killed, the kernel does it.
"""

from __future__ import annotations

import itertools
import json
import selectors
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.http_servers.certificates import Authority

ROOT = Path(__file__).resolve().parent.parent.parent
START_SECONDS = 60
_numbers = itertools.count(1)


@dataclass(frozen=True)
class Running:
    """A server: where it is, and what reached it."""

    process: subprocess.Popen[bytes]
    port: int
    log: Path
    scheme: str = "http"
    ca: Path | None = None

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}"

    def records(self, **wanted: object) -> list[dict]:
        """The lines of its log, in order, whose fields are as wanted; `path` only has to be contained."""
        if not self.log.exists():
            return []
        lines = [json.loads(line) for line in self.log.read_text().splitlines() if line]
        part = wanted.pop("path", "")
        return [r for r in lines if part in r.get("path", "") and all(r.get(k) == v for k, v in wanted.items())]


def unique(word: str = "t") -> str:
    """A part of a path, or a name, that no other test of this process uses."""
    return f"{word}-{next(_numbers)}-{time.monotonic_ns()}"


def start(folder: Path, module: str, *words: object, scheme: str = "http", ca: Path | None = None) -> Running:
    """Start `python -m MODULE LOG WORDS…` and wait until it says its port."""
    name = module.rpartition(".")[2]
    log, said = folder / f"{name}.jsonl", folder / f"{name}.log"
    logs = [] if name == "bin" else [log]
    with said.open("wb") as errors:
        process = subprocess.Popen(
            [sys.executable, ROOT / "flowsched" / "child.py", sys.executable, "-m", module, *map(str, [*logs, *words])],
            cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, start_new_session=True,
        )  # fmt: skip
    with selectors.DefaultSelector() as ready:
        ready.register(process.stdout, selectors.EVENT_READ)
        line = process.stdout.readline() if ready.select(START_SECONDS) else b""
    if not line.strip().isdigit():
        process.kill()
        process.wait()
        raise AssertionError(f"{module} does not listen: {line!r} {said.read_text()[-2000:]}")
    return Running(process, int(line), log, scheme, ca)


def stop(server: Running) -> None:
    """Kill it."""
    server.process.kill()
    server.process.wait(10)
    server.process.stdout.close()


def _session(tmp_path_factory, module: str) -> Iterator[Running]:
    server = start(tmp_path_factory.mktemp("servers"), module)
    yield server
    stop(server)


@pytest.fixture(scope="session")
def sink(tmp_path_factory):
    yield from _session(tmp_path_factory, "tests.http_servers.sink")


@pytest.fixture(scope="session")
def oauth(tmp_path_factory):
    yield from _session(tmp_path_factory, "tests.http_servers.oauth")


@pytest.fixture(scope="session")
def httpbin(tmp_path_factory):
    yield from _session(tmp_path_factory, "tests.http_servers.bin")


@pytest.fixture(scope="session")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("ca"), "ca")


@pytest.fixture(scope="session")
def tls_sink(tmp_path_factory, authority):
    """The sink, by HTTPS, as 127.0.0.1, localhost and inventory.example."""
    certificate, key = authority.issue("server", "127.0.0.1", "localhost", "inventory.example")
    folder = tmp_path_factory.mktemp("servers")
    server = start(folder, "tests.http_servers.sink", certificate, key, scheme="https", ca=authority.pem)
    yield server
    stop(server)
