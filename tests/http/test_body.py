"""What is read of an answer's body (I-53, TH-20)."""

from __future__ import annotations

import gzip
import zlib

import pytest

from tasks.http.body import Body, charset_of

TEXT = b"0123456789" * 10


@pytest.mark.parametrize(
    ("encoding", "pack", "read"),
    [
        ("", bytes, TEXT),
        ("identity", bytes, TEXT),
        ("gzip", gzip.compress, TEXT),
        (" X-GZIP ", gzip.compress, TEXT),
        ("deflate", zlib.compress, TEXT),
        ("gzip", bytes, b""),  # it is none
        ("br", bytes, b""),
        ("gzip, gzip", gzip.compress, b""),
    ],
)
@pytest.mark.parametrize("step", [1, 7, 1000])
def test_a_body_is_read_in_whatever_pieces_it_comes(encoding, pack, read, step):
    data = pack(TEXT)
    body = Body(encoding, 1000)
    for start in range(0, len(data), step):
        if body.feed(data[start : start + step]):
            break
    assert body.taken() == read


@pytest.mark.parametrize(("encoding", "pack"), [("", bytes), ("gzip", gzip.compress), ("deflate", zlib.compress)])
def test_no_more_is_kept_than_was_asked_for(encoding, pack):
    body = Body(encoding, 33)
    assert body.feed(pack(bytes(1_000_000))) is True
    assert body.taken() == bytes(33)


@pytest.mark.parametrize(
    ("content_type", "charset"),
    [
        ("", "utf-8"),
        ("text/plain", "utf-8"),
        ("text/plain; charset=ISO-8859-1", "iso8859-1"),
        ('text/plain;charset="Windows-1252"', "cp1252"),
        ("text/plain; charset=latin1; x=y", "iso8859-1"),
        ("text/plain; charset=zip", "utf-8"),
        ("text/plain; charset=idna", "utf-8"),
        ("text/plain; charset=rot13", "utf-8"),
        ("text/plain; charset=unicode_escape", "utf-8"),
        ("text/plain; charset=no-such", "utf-8"),
        ("text/plain; charset=utf-7", "utf-8"),
    ],
)
def test_only_usual_charsets_are_believed(content_type, charset):
    assert charset_of(content_type) == charset
    b"\xff+AGE-".decode(charset, errors="replace")
