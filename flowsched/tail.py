"""Following a log file that grows and is rotated."""

from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO

CHUNK = 65536


class Tail:
    """What is added to a file from now on, line by line, with a name in front."""

    def __init__(self, path: Path, name: str) -> None:
        self._path = path
        self._name = name
        self._file: BinaryIO | None = None
        self._rest = b""
        self._offset = path.stat().st_size if path.exists() else 0

    def lines(self) -> list[str]:
        """The whole lines added since the last call; at most one chunk a call, so that a flood holds nothing up."""
        data = self._read()
        *whole, self._rest = (self._rest + data).split(b"\n")
        return [f"{self._name:<10} | {line.decode(errors='replace')}" for line in whole]

    def close(self) -> None:
        """Let go of the file."""
        if self._file is not None:
            self._file.close()

    def _read(self) -> bytes:
        if self._file is None:
            try:
                self._file = self._path.open("rb")
            except FileNotFoundError:
                return b""
            self._file.seek(self._offset)
        data = self._file.read(CHUNK)
        if not data and self._rotated():
            self._file.close()
            self._file, self._offset = None, 0
        return data

    def _rotated(self) -> bool:
        assert self._file is not None
        try:
            found = self._path.stat()
        except FileNotFoundError:
            return False
        return found.st_ino != os.fstat(self._file.fileno()).st_ino or found.st_size < self._file.tell()
