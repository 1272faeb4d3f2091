"""Which rules of Flow's behaviour (F-…) the tests name: the sections on services, templates, targets, firing, tasks.

`bin/rules` prints the rules that no test names, each with why. A test fails when the list and this page differ, so a
rule that loses its test, or gains one, shows.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

SECTIONS = {
    "B services": range(121, 184),
    "C operation template": range(184, 196),
    "D target resolution": range(196, 217),
    "E specs and dispatcher": range(217, 240),
    "F task manager": range(240, 264),
}

# No test names these, and why.
UNNAMED = {
    249: "unlinked components go back to waiting: not ours, an executor that cannot reach one says no_effect",
}

NAMED = re.compile(r"F-(\d{3})(?:…F-(\d{3}))?|(?<=_)f(\d{3})(?=_)")


def named(folder: Path) -> set[int]:
    """The rules that the tests below `folder` name: `F-145`, `F-140…F-143`, or `test_f145_…`."""
    found: set[int] = set()
    for path in folder.rglob("test_*.py"):
        for first, last, in_name in NAMED.findall(path.read_text(encoding="utf-8")):
            number = int(first or in_name)
            found |= set(range(number, int(last or number) + 1))
    return found


def unnamed(folder: Path) -> list[int]:
    """The rules of the sections that no test names."""
    found = named(folder)
    return [number for numbers in SECTIONS.values() for number in numbers if number not in found]


def main() -> int:
    """Print what no test names; 1 if something is missing here."""
    missing = unnamed(Path(__file__).parent)
    for number in missing:
        print(f"F-{number}  {UNNAMED.get(number, 'NO TEST NAMES IT')}")  # noqa: T201  its output
    total = sum(len(numbers) for numbers in SECTIONS.values())
    print(f"{total - len(missing)} of {total} rules are named by a test")  # noqa: T201
    return int(any(number not in UNNAMED for number in missing))


if __name__ == "__main__":
    sys.exit(main())
