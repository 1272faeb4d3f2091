"""Real processes on the test's own database, killed by pid, and the effect log.

The processes are the product's own commands, started as a supervisor would start them. What counts as done is the
effect log, a file outside the database: the product's tables cannot vouch for themselves.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from urllib.parse import quote

from django.db import InterfaceError, OperationalError, connection

ROOT = Path(__file__).resolve().parent.parent.parent
LOGIN = ("USER", "PASSWORD", "HOST", "PORT")
LEASE = 2.0  # seconds: leases of the processes under test
DOORS = "doors-under-test"  # what the sessions of tests/doors/servers.py call themselves


def wait_for(condition: Callable[[], object], seconds: float, what: str) -> None:
    """Poll until `condition` holds; fail with what did not happen. A database that is away is asked again."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            if condition():
                return
        except (OperationalError, InterfaceError):
            connection.close()
        time.sleep(0.05)
    raise AssertionError(f"within {seconds:g} s this did not happen: {what}")


class Product:
    """The product's processes of one test."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.effect_log = folder / "effects.jsonl"
        self.processes: list[subprocess.Popen[bytes]] = []
        self._logs: dict[int, Path] = {}

    def environment(self, **extra: str) -> dict[str, str]:
        """What the processes are configured with: the test's database, short leases, files of their own."""
        env = {name: value for name, value in os.environ.items() if not name.startswith("FLOWSCHED_")}
        return env | {
            "DATABASE_URL": database_url(),
            "FLOWSCHED_TESTING": "1",
            "FLOWSCHED_DATA_DIR": str(self.folder),
            "FLOWSCHED_EFFECT_LOG": str(self.effect_log),
            "FLOWSCHED_FIRING_LEASE": str(LEASE),
            "FLOWSCHED_RUN_LEASE": str(LEASE),
            "FLOWSCHED_POLL_INTERVAL": "1",
            "FLOWSCHED_SIMULATED_LATENCY": "0.01",
            **extra,
        }

    def start(self, *words: str, faults: str = "", **extra: str) -> subprocess.Popen[bytes]:
        """Start `manage.py WORDS`; its output goes to a file that a failing test can be read by."""
        path = self.folder / f"{words[0]}-{len(self.processes)}.log"
        log = path.open("wb")
        process = subprocess.Popen(
            [sys.executable, str(ROOT / "manage.py"), *words],
            env=self.environment(FLOWSCHED_FAULTS=faults, **extra),
            cwd=ROOT,
            stdout=log,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        log.close()
        self.processes.append(process)
        self._logs[process.pid] = path
        return process

    def dispatcher(self, faults: str = "", **extra: str) -> subprocess.Popen[bytes]:
        return self.start("run_dispatcher", faults=faults, **extra)

    def worker(self, faults: str = "", **extra: str) -> subprocess.Popen[bytes]:
        return self.start("run_worker", faults=faults, **extra)

    def said(self, process: subprocess.Popen[bytes]) -> str:
        """What one process has written."""
        return self._logs[process.pid].read_text()

    def serving(self, process: subprocess.Popen[bytes]) -> None:
        """Wait until a dispatcher or worker has begun, its signal handlers in place."""
        words = (" started: poll", " runs at a time")
        wait_for(lambda: any(word in self.said(process) for word in words), 40, "the process has begun")

    def logs(self) -> str:
        return "\n".join(f"--- {path.name}\n{path.read_text()[-4000:]}" for path in sorted(self.folder.glob("*.log")))

    def effects(self) -> list[dict[str, object]]:
        """What was done to hardware, in order."""
        if not self.effect_log.exists():
            return []
        return [json.loads(line) for line in self.effect_log.read_text().splitlines()]

    def stop(self) -> None:
        """End everything, stopped processes too."""
        for process in self.processes:
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.kill()
            process.wait(10)
        wait_for(nobody_connected, 20, "the server has noticed that every process is gone")


def terminate(process: subprocess.Popen[bytes], seconds: float = 20.0) -> int:
    """SIGTERM, and the exit code of an orderly end."""
    process.send_signal(signal.SIGTERM)
    return process.wait(seconds)


def killed(process: subprocess.Popen[bytes], seconds: float = 20.0) -> bool:
    """Whether the process died by SIGKILL, waiting for it."""
    return process.wait(seconds) == -signal.SIGKILL


def stopped(process: subprocess.Popen[bytes]) -> bool:
    """Whether SIGSTOP holds the process."""
    return Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"


def nobody_connected() -> bool:
    """A killed process's sessions hold their locks until the server notices. Doors stay open between tests, idle."""
    others = query(
        "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        " AND backend_type = 'client backend' AND application_name <> %s",
        DOORS,
    )
    return not others


def database_url() -> str:
    """The test's database as a URL a process can be given; a socket's folder may hold blanks."""
    database = connection.settings_dict
    user, password, host, port = (quote(str(database.get(part) or ""), safe="") for part in LOGIN)
    login = f"{user}:{password}@" if password else f"{user}@" if user else ""
    return f"postgres://{login}/{database['NAME']}?host={host}" + (f"&port={port}" if port else "")


def query(sql: str, *values: object) -> list[tuple[object, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        return cursor.fetchall()


def database_clock() -> datetime:
    [(now,)] = query("SELECT clock_timestamp()")
    return now
