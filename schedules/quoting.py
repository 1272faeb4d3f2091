"""How an error message quotes what a user typed: one line, printable, bounded, always in single quotes.

A message ends up in logs, HTTP bodies and terminals. Control characters and lone surrogates are escaped, so no text
can break a log line or fail to be encoded.
"""

from __future__ import annotations

QUOTED_CHARACTERS = 256


def quote(text: str, limit: int = QUOTED_CHARACTERS) -> str:
    """Return `text` in single quotes, escaped as Python would, cut to its first `limit` characters."""
    # repr() changes to double quotes only for a text with ' and without ", so a leading " pins the style; it is
    # dropped again.
    return "'" + repr('"' + text[:limit])[2:]


def escape(text: str) -> str:
    """Return the same as `quote`, without the quotes around it."""
    return quote(text)[1:-1]
