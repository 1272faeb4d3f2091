"""Take secrets out of what a target said, before it is stored, logged or shown (I-53, I-57, I-98, TH-19).

Promises: a known secret never survives, whole or cut off, as it is or percent-encoded, as base64, escaped as JSON or
HTML; what looks like a credential goes as well. Where a shape is in doubt more is taken out rather than less. A text
may be cut before it comes here, so everything that is still open at its end counts as a secret.
"""

from __future__ import annotations

import base64
import codecs
import html
import json
import re
from collections.abc import Iterable, Iterator
from typing import Final
from urllib.parse import quote, quote_plus

from tasks.http.shapes import MARK, shapes_scrub

EXCERPT_BYTES: Final = 8192  # read of a body; the transport reads one more to know that there was more
EXCERPT_CHARS: Final = 8192
CUT_MARK: Final = "… (cut)"
MAX_SCRUBBED: Final = 16 * 1024  # characters looked at; the rest of a longer text is dropped
MIN_KNOWN: Final = 4  # a shorter value would take half of every text with it
_CHARSETS: Final = frozenset(
    {"utf-8", "ascii", "iso8859-1", "iso8859-15", "cp1252", "utf-16", "utf-16-le", "utf-16-be"}
)
# NUL fits no row, escape sequences drive terminals; and a value with such a character inside would not be recognised.
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")


def scrub(text: str, known: Iterable[str] = ()) -> str:
    """`text` without secrets: first the values of `known`, in every form, then all that has a secret's shape.

    Control characters but tab and line ends are dropped. A text of more than 16 KiB is cut there.
    """
    return _scrub(text, known, cut=len(text) > MAX_SCRUBBED)


def excerpt(body: bytes, charset: str | None, known: Iterable[str] = ()) -> str:
    """What is kept of a body: decoded, scrubbed, then cut to 8192 characters, the mark of the cut included.

    `body` may be up to EXCERPT_BYTES + 1 long, or longer: more than EXCERPT_BYTES means that there was more.
    """
    cut = len(body) > EXCERPT_BYTES
    text = body[:EXCERPT_BYTES].decode(_charset(charset), errors="replace")
    if cut:
        text = text.rstrip("\ufffd")  # half a character: what stands before it must be seen to be the end
    text = _scrub(text, known, cut=cut)
    if not cut and len(text) <= EXCERPT_CHARS:
        return text
    return text[: EXCERPT_CHARS - len(CUT_MARK)] + CUT_MARK


def _charset(declared: str | None) -> str:
    """A charset that is known to be one of plain text; anything else is read as UTF-8."""
    try:
        name = codecs.lookup((declared or "utf-8").strip("\"' ")).name
    except (LookupError, ValueError):
        return "utf-8"
    return name if name in _CHARSETS else "utf-8"


def _scrub(text: str, known: Iterable[str], *, cut: bool) -> str:
    forms = sorted({form for value in known for form in _forms(value)}, key=len, reverse=True)
    text = _CONTROL.sub("", text[:MAX_SCRUBBED])
    for form in forms:
        text = text.replace(form, MARK)
    return shapes_scrub(_without_tail(text, forms, least=1 if cut else MIN_KNOWN))


def _without_tail(text: str, forms: list[str], least: int) -> str:
    """`text` without the beginning of a known value at its very end; of one that is not cut, only from 4 characters."""
    start = len(text)
    for form in forms:
        at = max(0, len(text) - len(form) + 1)
        while 0 <= (at := text.find(form[:least], at)) < start:
            if form.startswith(text[at:]):
                start = at
            at += 1
    return text if start == len(text) else text[:start] + MARK


def _forms(value: str) -> Iterator[str]:
    """The spellings under which `value` may come back."""
    clean = _CONTROL.sub("", value).strip()
    if len(clean) < MIN_KNOWN:
        return
    yield clean
    yield from _json_forms(clean)
    yield html.escape(clean)
    yield html.escape(clean).replace("&#x27;", "&#39;")
    for encoded in (quote(clean, safe=""), quote(clean), quote_plus(clean)):
        yield encoded
        yield re.sub("%[0-9A-F]{2}", lambda match: match[0].lower(), encoded)
        yield quote(encoded, safe="")
    for piece in _base64_forms(clean.encode()):
        if len(piece) >= MIN_KNOWN:
            yield piece
            yield piece.replace("+", "-").replace("/", "_")
            yield quote(piece, safe="")


def _json_forms(value: str) -> Iterator[str]:
    """As a JSON string, and as one inside another."""
    for ascii_only in (True, False):
        once = json.dumps(value, ensure_ascii=ascii_only)[1:-1]
        yield once
        yield once.replace("/", "\\/")
        yield json.dumps(once, ensure_ascii=ascii_only)[1:-1]


def _base64_forms(value: bytes) -> Iterator[str]:
    """What base64 makes of `value` at each of three positions in a longer text, `id:secret` for one.

    Characters that also hold bits of the neighbours are left out at both ends.
    """
    for before in range(3):
        whole = base64.b64encode(bytes(before) + value)
        end = len(whole) if (before + len(value)) % 3 == 0 else 4 * ((before + len(value)) // 3)
        partial = (before + len(value)) % 3
        end += 0 if partial == 0 else partial
        yield whole[(0, 2, 3)[before] : end].decode()
