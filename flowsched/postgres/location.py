"""Where the embedded database lies. Looks at folders' modes, changes nothing: settings call this on every start."""

from __future__ import annotations

import hashlib
import os
import stat
from dataclasses import dataclass
from pathlib import Path

DATABASE = "flowsched"
PORT = "5432"  # only part of the socket's name: there is no TCP
SYSTEM_HOME = Path("/var/lib/flowsched")
# sun_path holds 108 bytes with its NUL; the kernel refuses longer ones, and PostgreSQL with them.
SOCKET_PATH_LIMIT = 106


@dataclass(frozen=True, slots=True)
class Cluster:
    """A server's places: `home` holds the data, the log and the lock; the socket may have to lie elsewhere."""

    home: Path
    socket_dir: Path

    @property
    def data(self) -> Path:
        """PGDATA."""
        return self.home / "pg"

    @property
    def log(self) -> Path:
        """Where the server writes what happens to it."""
        return self.home / "pg.log"

    @property
    def lock(self) -> Path:
        """Held by whoever starts or stops the server."""
        return self.home / "pg.lock"

    @property
    def socket(self) -> Path:
        """What clients connect to."""
        return self.socket_dir / f".s.PGSQL.{PORT}"

    def django_settings(self) -> dict[str, object]:
        """This cluster as an entry of DATABASES."""
        return {
            "NAME": DATABASE,
            "USER": DATABASE,
            "PASSWORD": "",
            "HOST": str(self.socket_dir),
            "PORT": PORT,
            "OPTIONS": {},
        }


def locate(data_dir: Path) -> Cluster:
    """The cluster that belongs to a data folder.

    PostgreSQL refuses to run as root, so root runs it as another account, which must be able to enter the folder.
    Where it cannot (a clone under /root), the database lies under /var/lib; opening up somebody's private folder
    instead is not ours to do.
    """
    real = Path(os.path.realpath(data_dir))
    home = real
    if os.geteuid() == 0 and not (real / "pg").exists() and not _others_may_enter(real):
        home = SYSTEM_HOME / digest(real)
    return Cluster(home=home, socket_dir=short_dir(home / "sock", f".s.PGSQL.{PORT}", key=home))


def digest(path: Path) -> str:
    """A short name for a path, so that two clones never share anything."""
    return hashlib.sha256(os.fsencode(path)).hexdigest()[:12]


def short_dir(preferred: Path, name: str, *, key: Path) -> Path:
    """`preferred`, or a folder in /tmp where a socket called `name` in it would exceed what the kernel takes.

    Not tempfile.gettempdir(): processes with different TMPDIR must agree. The folder's owner and mode are checked
    before use, since in /tmp anybody could have made it first.
    """
    if len(os.fsencode(preferred / name)) <= SOCKET_PATH_LIMIT:
        return preferred
    return Path("/tmp") / f"flowsched-{os.geteuid()}-{digest(key)}"  # noqa: S108


def _others_may_enter(path: Path) -> bool:
    for folder in (path, *path.parents):
        try:
            mode = folder.stat().st_mode
        except FileNotFoundError:
            continue  # made later, by us, open
        except PermissionError:
            return False
        if not mode & stat.S_IXOTH:
            return False
    return True
