"""The folders and files around the embedded server: who may enter them, and whose they must be."""

from __future__ import annotations

import os
from pathlib import Path

from flowsched.postgres.account import Account
from flowsched.postgres.errors import StartFailed
from flowsched.postgres.location import Cluster

LOG_BYTES = 10_000_000


def check_socket_dir(cluster: Cluster) -> None:
    """Refuse a socket folder that is not the server's own: in /tmp anybody could have made it, with a server in it."""
    try:
        found = cluster.socket_dir.lstat()
        owner = cluster.data.stat().st_uid
    except OSError:
        return  # nothing there to be fooled by; connecting will say so
    if found.st_uid != owner or found.st_mode & 0o077:
        raise StartFailed(
            f"{cluster.socket_dir} is not the database's own (its owner or mode differs). Remove it, or set "
            "FLOWSCHED_DATA_DIR to a folder with a shorter path, so that none in /tmp is needed."
        )


def make(folder: Path) -> None:
    """Make a folder and its missing parents; as root, so that the server's account can enter what we made."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        for path in reversed(missing):
            path.mkdir(exist_ok=True)
            if os.geteuid() == 0:
                path.chmod(0o755)
    except OSError as error:
        raise StartFailed(unwritable(folder, error)) from error


def make_socket_dir(cluster: Cluster, account: Account) -> None:
    """Make the socket's folder, private to the server's account (and to root), or refuse the one that is there."""
    try:
        cluster.socket_dir.mkdir(mode=0o700)
    except FileExistsError:
        check_socket_dir(cluster)
    else:
        account.own(cluster.socket_dir, 0o700)


def make_log(cluster: Cluster, account: Account) -> None:
    """Make the log where it is missing, and begin another where it has grown large."""
    if cluster.log.exists() and cluster.log.stat().st_size > LOG_BYTES:
        cluster.log.replace(cluster.log.with_name("pg.log.1"))
    os.close(os.open(cluster.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600))
    account.own(cluster.log, 0o600)


def unwritable(folder: Path, error: OSError) -> str:
    """What to say of a folder that refuses us."""
    return f"{folder} cannot be used ({error.strerror}). Set FLOWSCHED_DATA_DIR to a folder this user can write."
