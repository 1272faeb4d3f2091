"""Places of their own for servers and processes that tests start, kill and remove."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from django.db import connections

from flowsched.environment import REPOSITORY
from flowsched.postgres import base, location, server

FOREIGN = ("FLOWSCHED_", "DATABASE_URL", "DJANGO_SETTINGS_MODULE", "PYTEST")


class Place:
    """A data folder with a blank in its path, below which nothing exists yet."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.data_dir = folder / "var"

    @property
    def cluster(self):
        return location.locate(self.data_dir)

    def environment(self, **more):
        plain = {k: v for k, v in os.environ.items() if not k.startswith(FOREIGN)}
        doors = {"FLOWSCHED_WEB_BIND": "127.0.0.1:0", "FLOWSCHED_GRPC_BIND": "127.0.0.1:0"}
        return plain | doors | {"FLOWSCHED_TESTING": "1", "FLOWSCHED_DATA_DIR": str(self.data_dir)} | more

    def start(self, *words, **more):
        return subprocess.Popen(
            [sys.executable, *words],
            cwd=REPOSITORY,
            env=self.environment(**more),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self, *words, **more):
        process = self.start(*words, **more)
        output, _ = process.communicate(timeout=60)
        return process.returncode, output

    def manage(self, *words, **more):
        return self.run("manage.py", *words, **more)

    def sql(self, statement):
        with server.connect(self.cluster, location.DATABASE) as connection:
            cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else None

    def wrapper(self):
        """A Django connection to this place's server, as settings would make it."""
        settings_dict = dict(connections["default"].settings_dict)
        settings_dict |= self.cluster.django_settings()
        settings_dict["OPTIONS"] = {"session": connections["default"].settings_dict["OPTIONS"]["session"]}
        return base.DatabaseWrapper(settings_dict, alias="place")


def make():
    # Not tmp_path: as root that is closed to the account that runs the server.
    made = Place(Path(tempfile.mkdtemp(prefix="flowsched test ", dir="/tmp")))
    made.folder.chmod(0o755)
    return made


def remove(place):
    """Kill the server without a checkpoint: its data goes anyway."""
    cluster = place.cluster
    for pid in server._processes_in(cluster.data) or ():
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    for folder in (cluster.socket_dir, cluster.home, place.folder):
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def place():
    made = make()
    yield made
    remove(made)


@pytest.fixture(scope="module")
def used_folder():
    made = make()
    yield made
    remove(made)


@pytest.fixture
def used(used_folder):
    """A running server that several tests mistreat in turn; each finds it up."""
    server.ensure(used_folder.cluster)
    return used_folder


@pytest.fixture
def connect_to(settings, django_db_blocker):
    made = []

    def connect(place):
        settings.FLOWSCHED_CLUSTER = place.cluster
        made.append(place.wrapper())
        return made[-1]

    with django_db_blocker.unblock():
        yield connect
        for wrapper in made:
            wrapper.close()
