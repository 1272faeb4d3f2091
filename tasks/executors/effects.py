"""The effect log: what the simulated hardware was made to do, outside the database.

A line is on disk before anything about it is written to the database, so it is the witness the crash tests count: what
a killed process did is here even if no table knows. Append only, one JSON object a line.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any


def effect_append(path: Path, record: dict[str, Any]) -> None:
    """Append one line in a single write and wait until the disk has it."""
    line = (json.dumps(record, separators=(",", ":")) + "\n").encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o640)
    try:
        written = os.write(descriptor, line)
        if written != len(line):  # a full disk; the next line must not continue this one
            os.write(descriptor, b"\n")
            raise OSError(f"{path}: only {written} of {len(line)} bytes of an effect were written")
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def effect_known(path: Path, key: str) -> bool:
    """Whether an effect with this key is in the log. Reads all of it: asked only for a step that is repeated."""
    needle = f'"key":{json.dumps(key)}'.encode()
    try:
        with path.open("rb") as lines:
            return any(needle in line and line.endswith(b"}\n") for line in lines)
    except FileNotFoundError:
        return False
