"""Whether requirements*.txt were compiled from requirements*.in as they are now; offline, so by what the files say."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
PIN = re.compile(r"^(?P<name>[\w.-]+)(\[.*\])?==(?P<version>[^\s;\\]+)")


def wanted(path: Path) -> list[Requirement]:
    """The requirements that a person wrote."""
    lines = (line.partition("  #")[0].strip() for line in path.read_text(encoding="utf-8").splitlines())
    return [Requirement(line) for line in lines if line and not line.startswith(("#", "-"))]


def pinned(path: Path) -> tuple[dict[str, set[str]], set[str]]:
    """The versions pinned for each name, and the names that the file says were asked for directly."""
    versions: dict[str, set[str]] = {}
    direct = set()
    name = ""
    for line in path.read_text(encoding="utf-8").splitlines():
        if match := PIN.match(line):
            name = canonicalize_name(match["name"])
            versions.setdefault(name, set()).add(match["version"])
        elif line.strip().startswith("#") and f"-r {path.with_suffix('.in').name}" in line:
            direct.add(name)
    return versions, direct


def complaints(source: Path) -> list[str]:
    """What is out of step between one .in file and its .txt."""
    versions, direct = pinned(source.with_suffix(".txt"))
    found = []
    for requirement in wanted(source):
        name = canonicalize_name(requirement.name)
        direct.discard(name)
        if not versions.get(name):
            found.append(f"{source.name} asks for {requirement}, which is not pinned")
        elif not all(requirement.specifier.contains(version, prereleases=True) for version in versions[name]):
            found.append(f"{source.name} asks for {requirement}, but {', '.join(sorted(versions[name]))} is pinned")
    return found + [f"{name} is pinned, but {source.name} no longer asks for it" for name in sorted(direct)]


if __name__ == "__main__":
    problems = [text for source in sorted(ROOT.glob("requirements*.in")) for text in complaints(source)]
    if problems:
        sys.exit("\n".join([*problems, "Run bin/requirements and commit what it changes."]))
