"""Who runs the embedded server: ourselves, or an unprivileged account where we are root.

Never `nobody`: unrelated daemons share it, and whoever runs as the server's account owns the data and, through trust
authentication, every row. An account that exists for PostgreSQL is taken where there is one; otherwise one is made.
"""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flowsched.postgres.errors import StartFailed
from flowsched.postgres.location import Cluster

CANDIDATES = ("postgres", "flowsched")
CREATED = "flowsched"
# A client's or another server's settings must not reach ours.
FOREIGN = ("PG", "LC_", "LANG", "TZ")


@dataclass(frozen=True, slots=True)
class Account:
    """A user of the operating system; `switch` says whether we have to become it."""

    name: str
    uid: int
    gid: int
    switch: bool

    def run(
        self, command: Sequence[str | Path], *, cwd: Path, timeout: float = 180
    ) -> subprocess.CompletedProcess[str]:
        """Run one of PostgreSQL's programs as this account and give back all it said."""
        environment = {k: v for k, v in os.environ.items() if not k.startswith(FOREIGN)} | {"LC_ALL": "C"}
        become: dict[str, Any] = {"user": self.uid, "group": self.gid, "extra_groups": []} if self.switch else {}
        answer: subprocess.CompletedProcess[str] = subprocess.run(  # noqa: S603 - programs found by binaries.find
            [str(part) for part in command],
            cwd=cwd,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=timeout,
            check=False,
            **become,
        )
        return answer

    def own(self, path: Path, mode: int) -> None:
        """Give a file or folder to this account."""
        if self.switch:
            os.chown(path, self.uid, self.gid)
        path.chmod(mode)


def choose(cluster: Cluster) -> Account:
    """The account for a cluster: whoever owns its data, else ourselves, else the first unprivileged one there is."""
    owner = cluster.data.stat().st_uid if cluster.data.exists() else None
    if os.geteuid() != 0:
        if owner not in {None, os.geteuid()}:
            raise StartFailed(
                f"The database in {cluster.data} belongs to user {_name(owner)}. Run this as {_name(owner)}, or set "
                "FLOWSCHED_DATA_DIR to a folder of your own."
            )
        return Account(name=_name(os.geteuid()), uid=os.geteuid(), gid=os.getegid(), switch=False)
    if owner == 0:
        raise StartFailed(
            f"{cluster.data} belongs to root, and PostgreSQL refuses to run as root. Give the folder to the account "
            "that made it (chown -R), or move it away to begin with an empty database."
        )
    return _of(pwd.getpwuid(owner)) if owner is not None else _unprivileged()


def _unprivileged() -> Account:
    for name in CANDIDATES:
        try:
            return _of(pwd.getpwnam(name))
        except KeyError:
            continue
    useradd = shutil.which("useradd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
    if useradd is not None:
        command = [useradd, "--system", "--no-create-home", "--home-dir", "/nonexistent"]
        made = subprocess.run(  # noqa: S603
            [*command, "--shell", "/usr/sbin/nologin", CREATED], capture_output=True, text=True, check=False
        )
        try:
            return _of(pwd.getpwnam(CREATED))
        except KeyError:
            reason = made.stderr.strip()
    else:
        reason = "there is no useradd here"
    raise StartFailed(
        f"PostgreSQL refuses to run as root, and the account '{CREATED}' cannot be made: {reason}. Make it (a system "
        "account without login), run this as an ordinary user, or set DATABASE_URL to a PostgreSQL of your own."
    )


def _of(entry: pwd.struct_passwd) -> Account:
    return Account(name=entry.pw_name, uid=entry.pw_uid, gid=entry.pw_gid, switch=True)


def _name(uid: int | None) -> str:
    try:
        return pwd.getpwuid(uid).pw_name if uid is not None else "unknown"
    except KeyError:
        return str(uid)
