"""What is read of an answer's body: little, and never more than that, however it is packed (TH-20). Pure."""

from __future__ import annotations

import codecs
import re
import zlib

CHARSET = re.compile(r";\s*charset\s*=\s*\"?([A-Za-z0-9._-]{1,40})", re.IGNORECASE)
# Python's codecs include some that unpack, and one (idna) whose time grows with the square of the text.
CHARSETS = frozenset(
    ["utf-8", "ascii", "cp1252", "utf-16", "utf-16-le", "utf-16-be", "shift_jis", "euc_jp", "gb18030", "koi8-r"]
    + [f"iso8859-{part}" for part in range(1, 17)]
)
EVERYTHING = zlib.MAX_WBITS | 32  # gzip's and zlib's headers


class Body:
    """The first `limit` bytes of a body. `encoding` is the Content-Encoding; one that is not known leaves nothing."""

    def __init__(self, encoding: str, limit: int) -> None:
        self._limit = limit
        self._data = bytearray()
        name = encoding.strip().lower()
        self._plain = name in {"", "identity"}
        self._unpack = zlib.decompressobj(EVERYTHING) if name in {"gzip", "x-gzip", "deflate"} else None

    def feed(self, part: bytes) -> bool:
        """Take in what arrived; True when nothing more is needed."""
        left = self._limit - len(self._data)
        if self._plain:
            self._data += part[:left]
        elif self._unpack is None:
            return True  # asked for as it is, it came in a form that nobody can read or scrub
        else:
            try:
                self._data += self._unpack.decompress(part, left)
            except zlib.error:
                return True
        return len(self._data) >= self._limit or (self._unpack is not None and self._unpack.eof)

    def taken(self) -> bytes:
        """What was read."""
        return bytes(self._data)


def charset_of(content_type: str) -> str:
    """The charset that an answer names if it is one of the usual ones, else UTF-8."""
    match = CHARSET.search(content_type)
    if match is None:
        return "utf-8"
    try:
        name = codecs.lookup(match[1]).name
    except LookupError:
        return "utf-8"
    return name if name in CHARSETS else "utf-8"
