from __future__ import annotations

import subprocess
import sys
import uuid
from dataclasses import replace
from pathlib import Path

import pytest

from flowsched.address import Address
from tasks.history import reader as reader_module
from tasks.history.clickhouse import connect
from tasks.history.reader import Reader
from tasks.history.table import table_init
from tests.tasks_runs.conftest import committed  # noqa: F401  a fixture

ROOT = Path(__file__).resolve().parents[2]
PASSWORD = "s3cret-c4nary"


class StandIn:
    """The stand-in for a ClickHouse server (see server.py), which keeps its port and its folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = 0
        self.process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.history.server", str(self.folder), str(self.port)],
            cwd=ROOT,
            env={"STANDIN_USER": f"flows:{PASSWORD}"},
            stdout=subprocess.PIPE,
            text=True,
        )
        self.port = int(self.process.stdout.readline())

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait(10)
            self.process.stdout.close()
            self.process = None

    def address(self) -> Address:
        """A database of its own for whoever asks."""
        url = f"http://flows:{PASSWORD}@127.0.0.1:{self.port}/t_{uuid.uuid4().hex}"
        return Address.parse(url, name="FLOWSCHED_CLICKHOUSE_URL")


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    standin = StandIn(tmp_path_factory.mktemp("clickhouse"))
    standin.start()
    address = standin.address()
    client = connect(address, seconds=60, database=False)
    table_init(client, address)
    # The library's first insert loads more of it, for seconds: longer than a test's transaction may be idle.
    client.insert("scheduler_runs", [["first"]], column_names=["message"])
    yield standin
    standin.kill()


@pytest.fixture(autouse=True)
def _nobody_remembers(monkeypatch):
    """What one test found away is not away for the next."""
    monkeypatch.setattr(reader_module, "reader", Reader())


@pytest.fixture
def clickhouse(server, settings):
    """ClickHouse, configured, with an empty table: a client of its database."""
    settings.FLOWSCHED_CLICKHOUSE_URL = address = server.address()
    client = connect(address, seconds=30, database=False)
    table_init(client, address)
    return client


@pytest.fixture
def away(settings):
    """ClickHouse configured, and nobody there."""
    address = Address.parse(f"http://flows:{PASSWORD}@127.0.0.1:1/flows", name="FLOWSCHED_CLICKHOUSE_URL")
    settings.FLOWSCHED_CLICKHOUSE_URL = address
    return replace(address)
