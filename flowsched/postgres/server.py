"""Starting, stopping and inspecting the embedded server.

`ensure` promises: after it, the cluster accepts connections and holds the product's database, whatever state the
folder was found in; or it raises StartFailed with a sentence an operator can act on. Any number of processes may call
it at once. It never deletes data, and it removes a `postmaster.pid` only after PostgreSQL itself refused to start over
it and no living process works in the data folder: two servers on one folder would destroy it.
"""

from __future__ import annotations

import errno
import fcntl
import os
import shlex
import shutil
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from enum import StrEnum
from pathlib import Path

import psycopg
from django.conf import settings
from psycopg import sql

from flowsched.postgres import account as accounts
from flowsched.postgres import binaries as programs
from flowsched.postgres import folders
from flowsched.postgres.account import Account
from flowsched.postgres.binaries import Binaries
from flowsched.postgres.errors import StartFailed
from flowsched.postgres.location import DATABASE, PORT, SYSTEM_HOME, Cluster

MAX_CONNECTIONS = 200
START_SECONDS = 120  # crash recovery after a busy day takes its time
LOCK_SECONDS = 180  # longer than one start
ORPHAN_SECONDS = 30  # backends of a killed server end within a moment of noticing it
BUILTIN_LOCALE_SINCE = 17


class State(StrEnum):
    """What a probe of the socket found."""

    UP = "up"
    BUSY = "starting or stopping"
    DOWN = "down"


def ensure(cluster: Cluster) -> bool:
    """Make the cluster accept connections; whether this call is what started it."""
    with exclusively(cluster):
        state = wait_while_busy(cluster)
        if state is State.DOWN:
            _start(cluster)
        _create_database(cluster)
    return state is State.DOWN


def stop(cluster: Cluster) -> bool:
    """Stop the server in an orderly way, ending its sessions; False where none was running."""
    if not cluster.data.exists():
        return False
    with exclusively(cluster):
        if wait_while_busy(cluster) is State.DOWN:
            return False
        account = accounts.choose(cluster)
        binaries = programs.usable_by(programs.find(settings.FLOWSCHED_PG_BIN, cluster), account, cluster)
        _stop(cluster, account, binaries)
    return True


def probe(cluster: Cluster) -> State:
    """Whether the server answers, without changing anything."""
    with closing(socket.socket(socket.AF_UNIX)) as client:
        client.settimeout(5)
        try:
            client.connect(os.fspath(cluster.socket))
        except OSError as error:
            if error.errno in {errno.ENOENT, errno.ECONNREFUSED, errno.ENOTDIR}:
                return State.DOWN
            if error.errno == errno.EACCES:
                raise StartFailed(f"{cluster.socket_dir} belongs to another user. Set FLOWSCHED_DATA_DIR.") from error
            return State.BUSY
    try:
        connect(cluster, "postgres").close()
    except psycopg.OperationalError as error:
        # Refusing for any other reason, such as too many clients, it is up.
        busy = ("starting up", "shutting down", "in recovery", "not yet accepting", "closed the connection")
        return State.BUSY if any(words in str(error) for words in busy) else State.UP
    return State.UP


def connect(cluster: Cluster, database: str) -> psycopg.Connection[tuple[object, ...]]:
    """A plain autocommit connection."""
    folders.check_socket_dir(cluster)
    return psycopg.connect(
        host=os.fspath(cluster.socket_dir),
        port=PORT,
        user=DATABASE,
        dbname=database,
        connect_timeout=10,
        autocommit=True,
    )


def pid(cluster: Cluster) -> int | None:
    """The server's process, as its pid file says; it may be long gone."""
    try:
        return int((cluster.data / "postmaster.pid").read_text(encoding="utf-8", errors="replace").split()[0])
    except (OSError, ValueError, IndexError):
        return None


def say(message: str) -> None:
    """Tell the person at the terminal; the answer of the command itself stays alone on standard output."""
    sys.stderr.write(f"{message}\n")
    sys.stderr.flush()


@contextmanager
def exclusively(cluster: Cluster) -> Iterator[None]:
    """One starter or stopper at a time, however many processes find the server missing."""
    folders.make(cluster.home)
    deadline = time.monotonic() + LOCK_SECONDS
    try:
        handle = os.open(cluster.lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        if os.geteuid() == 0:  # in an ordinary user's clone the next starter may be that user
            home = cluster.home.stat()
            os.fchown(handle, home.st_uid, home.st_gid)
    except OSError as error:
        raise StartFailed(folders.unwritable(cluster.home, error)) from error
    try:
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise StartFailed(
                        f"Another process has held {cluster.lock} for {LOCK_SECONDS} s. See {cluster.log}."
                    ) from None
                time.sleep(0.05)
        yield
    finally:
        os.close(handle)


def wait_while_busy(cluster: Cluster) -> State:
    """The state once a start or stop that is under way has ended."""
    deadline = time.monotonic() + START_SECONDS
    while (state := probe(cluster)) is State.BUSY:
        if time.monotonic() > deadline:
            raise StartFailed(f"The database is still starting or stopping after {START_SECONDS} s. See {cluster.log}.")
        time.sleep(0.1)
    return state


def _start(cluster: Cluster) -> None:
    account = accounts.choose(cluster)
    binaries = programs.usable_by(programs.find(settings.FLOWSCHED_PG_BIN, cluster), account, cluster)
    if not cluster.data.exists():
        say(f"Creating a local PostgreSQL {binaries.version} in {cluster.home}, run by user {account.name} …")
        if cluster.home.is_relative_to(SYSTEM_HOME):
            say(f"It lies there because {account.name} may not enter {settings.DATA_DIR}.")
        _initialise(cluster, account, binaries)
    folders.make_socket_dir(cluster, account)
    folders.make_log(cluster, account)
    deadline = time.monotonic() + ORPHAN_SECONDS
    while True:
        answer = account.run(_start_command(cluster, binaries), cwd=cluster.home, timeout=START_SECONDS + 30)
        if answer.returncode == 0 or probe(cluster) is State.UP:
            return
        if not _clear_the_way(cluster, account, binaries) or time.monotonic() > deadline:
            raise StartFailed(f"The local PostgreSQL did not start: {_last_words(cluster, answer.stdout)}")
        time.sleep(0.2)


def _start_command(cluster: Cluster, binaries: Binaries) -> list[str | Path]:
    quoted = str(cluster.socket_dir).replace('"', '""')
    values = {
        "listen_addresses": "",
        "port": PORT,
        "unix_socket_directories": f'"{quoted}"',
        "unix_socket_permissions": "0700",
        "max_connections": str(MAX_CONNECTIONS),
        "log_line_prefix": "%m [%p] ",
    }
    options = " ".join(f"-c {shlex.quote(f'{name}={value}')}" for name, value in values.items())
    wait = ["-w", "-t", str(START_SECONDS)]
    return [binaries / "pg_ctl", "start", "-D", cluster.data, "-l", cluster.log, *wait, "-o", options]


def _clear_the_way(cluster: Cluster, account: Account, binaries: Binaries) -> bool:
    """After a refused start: remove what stands in the way, if it is safe; whether another try makes sense."""
    left = [cluster.data / "postmaster.pid", cluster.socket.with_name(f"{cluster.socket.name}.lock")]
    living = _processes_in(cluster.data)
    if living is None:
        return False
    if not living:
        # Left by a server that died, whose number now belongs to a zombie, to another program, or was never written.
        found = [path for path in left if path.exists()]
        for path in found:
            path.unlink()
        return bool(found)
    if pid(cluster) in living and not cluster.socket.exists():
        say(f"The socket {cluster.socket} is gone while the server runs; restarting the server …")
        _stop(cluster, account, binaries)
    return True  # backends of a server that was killed: they end by themselves


def _processes_in(folder: Path) -> set[int] | None:
    """Living processes whose working folder is the data folder, as every PostgreSQL process's is; None: cannot tell."""
    if not Path("/proc/self/cwd").exists():
        return None
    real = os.path.realpath(folder)
    found = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if str((entry / "cwd").readlink()) == real:
                    found.add(int(entry.name))
            except OSError:  # gone meanwhile, a zombie, or another user's
                continue
    return found


def _stop(cluster: Cluster, account: Account, binaries: Binaries) -> None:
    answer = account.run([binaries / "pg_ctl", "stop", "-D", cluster.data, "-m", "fast", "-t", "60"], cwd=cluster.home)
    if answer.returncode != 0:
        raise StartFailed(f"The local PostgreSQL did not stop: {_last_words(cluster, answer.stdout)}")


def _initialise(cluster: Cluster, account: Account, binaries: Binaries) -> None:
    """Make the data folder beside its final name, so that a death half-way leaves nothing that looks like data."""
    partial = cluster.home / "pg.tmp"
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(mode=0o700)
    account.own(partial, 0o700)
    locale = ["--locale=C.UTF-8"]
    if binaries.major >= BUILTIN_LOCALE_SINCE:
        locale = ["--locale-provider=builtin", "--locale=C.UTF-8"]  # the same everywhere, whatever libc is installed
    command = [str(binaries / "initdb"), "-D", str(partial), "-U", DATABASE, "--auth=trust", "--encoding=UTF8"]
    answer = account.run([*command, *locale, "--data-checksums", "--no-instructions"], cwd=cluster.home)
    if answer.returncode != 0:
        raise StartFailed(f"The local PostgreSQL could not be created: {answer.stdout.strip()[-1000:]}")
    partial.rename(cluster.data)


def _create_database(cluster: Cluster) -> None:
    """Under the same lock as the start: two sessions creating one database fail in ways nobody expects."""
    with connect(cluster, "postgres") as connection:
        if not connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE]).fetchone():
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(DATABASE)))


def _last_words(cluster: Cluster, said: str) -> str:
    try:
        lines = cluster.log.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    telling = [line for line in lines[-20:] if any(word in line for word in ("FATAL", "PANIC", "ERROR", "HINT"))]
    return f"{' / '.join(telling[-3:]) or said.strip()[-500:]}. See {cluster.log}."
