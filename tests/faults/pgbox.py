"""A PostgreSQL of a test's own, to restart and kill: the product's embedded server in a folder that nobody else uses.

Binaries, account and start are the product's (flowsched.postgres), so the box runs wherever the product does: as root
or not, with or without DATABASE_URL. Its folder has a blank in its path on purpose. fsync is on, as PostgreSQL has it:
what a commit promised must be there after a crash.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from django.conf import settings
from django.db import connection
from psycopg import sql

from flowsched.postgres import account as accounts
from flowsched.postgres import binaries as programs
from flowsched.postgres import location, server
from flowsched.postgres.location import Cluster
from tests.faults.harness import ROOT, database_url, wait_for

TEMPLATE = "migrated"


class Box:
    """One server in a temporary folder."""

    def __init__(self) -> None:
        # Not tmp_path: as root that is closed to the account that runs the server.
        self.folder = Path(tempfile.mkdtemp(prefix="flowsched box ", dir="/tmp"))
        self.folder.chmod(0o755)
        self.cluster: Cluster = location.locate(self.folder / "var")
        self._made = 0

    def start(self) -> None:
        server.ensure(self.cluster)

    def restart(self) -> None:
        """Every session ends without a farewell and the server recovers from its log, as after a crash."""
        account = accounts.choose(self.cluster)
        binaries = programs.usable_by(programs.find(settings.FLOWSCHED_PG_BIN, self.cluster), account, self.cluster)
        command = [binaries / "pg_ctl", "stop", "-D", self.cluster.data, "-m", "immediate", "-w", "-t", "120"]
        answer = account.run(command, cwd=self.cluster.home)
        assert answer.returncode == 0, answer.stdout
        self.start()  # not `pg_ctl restart`, which gives up while sessions of the old server are still ending

    def kill(self) -> None:
        kill_server(self.cluster)

    def remove(self) -> None:
        self.kill()
        for folder in (self.cluster.socket_dir, self.cluster.home, self.folder):
            shutil.rmtree(folder, ignore_errors=True)

    def database(self, name: str = "") -> str:
        """A new database with the product's tables: a copy of one that was migrated once."""
        with server.connect(self.cluster, "postgres") as admin:
            known = admin.execute("SELECT 1 FROM pg_database WHERE datname = %s", [TEMPLATE]).fetchone()
            if not known:
                admin.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(TEMPLATE)))
                self._migrate()
            self._made += 1
            name = name or f"box_{self._made}"
            copy = sql.SQL("CREATE DATABASE {} TEMPLATE {}")
            admin.execute(copy.format(sql.Identifier(name), sql.Identifier(TEMPLATE)))
        return name

    def _migrate(self) -> None:
        with pointed_at(self.cluster, TEMPLATE):
            url = database_url()
        environment = {k: v for k, v in os.environ.items() if not k.startswith("FLOWSCHED_")}
        done = subprocess.run(
            [sys.executable, "manage.py", "migrate", "--verbosity", "0"],
            cwd=ROOT, env=environment | {"FLOWSCHED_TESTING": "1", "DATABASE_URL": url},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr


def kill_server(cluster: Cluster) -> None:
    """SIGKILL to the server and all its sessions: the power is gone, the disk is not."""
    for pid in server._processes_in(cluster.data) or ():
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    wait_for(lambda: not server._processes_in(cluster.data), 30, "the server is gone")


@contextmanager
def pointed_at(cluster: Cluster, name: str) -> Iterator[None]:
    """The test's own Django connection, and those of threads it starts, go to this server's database."""
    before = dict(connection.settings_dict)
    connection.close()
    connection.settings_dict.update(cluster.django_settings() | {"NAME": name, "OPTIONS": before["OPTIONS"]})
    try:
        yield
    finally:
        connection.close()
        connection.settings_dict.update(before)
