"""A canary secret, whole and cut at each offset, in each shape and spelling: nothing of it is left (issue 6: 5)."""

import base64
import html
import json
import re
import time
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.http.scrub import CUT_MARK, EXCERPT_BYTES, EXCERPT_CHARS, MAX_SCRUBBED, MIN_KNOWN, excerpt, scrub
from tasks.http.shapes import MARK

CANARY = "zQ7canaryXvW93hushKp"  # no piece of four occurs in any shape
ODD = "pä\"ss'/w+rd &%<\\\u20acx=42"
LEFT = 4  # characters of a secret that may not be left together


def pieces(secret):
    return {secret[at : at + LEFT] for at in range(len(secret) - LEFT + 1)}


def left(secret, text):
    return sorted(piece for piece in pieces(secret) if piece in text)


def basic(secret):
    return base64.b64encode(f"flowsched:{secret}".encode()).decode()


JWT = "eyJhbGciOiJub25lIn0.eyJjYW5hcnkiOiI%s.c2lnbmF0dXJl"
# Shapes whose value nobody knows: name, text before the secret, text behind it.
SHAPES = [
    ("bearer", "sent Bearer ", " to it"),
    ("bearer in a header", "GET / HTTP/1.1\r\nAuthorization: Bearer ", "\r\nHost: a\r\n"),
    ("bearer in lower case", "authorization: bearer ", ""),
    ("basic", "sent Basic ", " to it"),
    ("proxy", "Proxy-Authorization: Basic ", "\n"),
    ("cookie", "Cookie: a=", "; theme=dark\n"),
    ("second cookie", "Cookie: theme=dark; session=", "\n"),
    ("quoted cookie", 'Cookie: session="', '"; theme=dark\n'),
    ("set-cookie", "Set-Cookie: sid=", "; HttpOnly\n"),
    ("a header of a vendor", "X-Api-Key: ", "\n"),
    ("another", "X-Auth-Token: ", "\n"),
    ("ik", "key ik_", " refused"),
    ("AWS", "key AKIA", " refused"),
    ("GitHub", "key ghp_", " refused"),
    ("GitHub, fine-grained", "key github_pat_", " refused"),
    ("GitLab", "key glpat-", " refused"),
    ("Slack", "key xoxb-", " refused"),
    ("PEM", "-----BEGIN PRIVATE KEY-----\n", "\n-----END PRIVATE KEY-----\n"),
    ("PEM as JSON", '{"pem": "-----BEGIN RSA PRIVATE KEY-----\\n', '\\n-----END RSA PRIVATE KEY-----\\n"}'),
    ("JWT", "got eyJhbGciOiJub25lIn0.", ".c2ln back"),
    ("JWT signature", "got eyJhbGciOiJub25lIn0.eyJhIjoxfQ.", " back"),
    ("DSN", "postgres://flow:", "@db:5432/flow"),
    ("DSN with @ and /", "postgres://flow:a@b/", "@db:5432/flow"),
    ("URL with a password", "https://flow:", "@registry.example/x"),
    ("AMQP", "amqp://:", "@mq"),
    ("connection string", "Server=db;Password=", ";Database=x"),
    ("JSON", '{"password": "', '", "a": 1}'),
    ("JSON, longer key", '{"db_password_2": "', '", "a": 1}'),
    ("JSON, camel case", '{"clientSecret":"', '","a":1}'),
    ("JSON token", '{"access_token" : "', '"}'),
    ("JSON api key", '{"apiKey": "', '"}'),
    ("JSON with an escaped quote before", '{"password": "a\\"', '", "a": 1}'),
    ("JSON with an escaped backslash before", '{"password": "\\\\\\"', '", "a": 1}'),
    ("JSON in JSON", '{"body": "{\\"password\\": \\"', '\\", \\"a\\": 1}", "b": 2}'),
    ("JSON in JSON, escaped quote", '{"body": "{\\"secret\\": \\"a\\\\\\"', '\\"}"}'),
    ("JSON in JSON in JSON", '"{\\"b\\":\\"{\\\\\\"token\\\\\\":\\\\\\"', '\\\\\\"}\\"}"'),
    ("JSON list", '{"tokens": ["a", "', '"], "a": 1}'),
    ("JSON object", '{"credentials": {"user": "u", "x": ["', '"]}, "a": 1}'),
    ("JSON list in JSON", '{"b": "{\\"tokens\\": [\\"a\\", \\"', '\\"]}"}'),
    ("named value", '{"name": "DB_PASSWORD", "value": "', '"}'),
    ("pair", "[('X-Api-Key', '", "'), ('a', 'b')]"),
    ("pair of bytes", "[(b'Authorization', b'", "'), (b'a', b'b')]"),
    ("single quotes", "{'password': '", "', 'a': 1}"),
    ("Python bytes", "{'password': b'", "', 'a': 1}"),
    ("Ruby", '{"password" => "', '"}'),
    ("form", "user=u&password=", "&a=1"),
    ("form, nested", "user[password]=", "&a=1"),
    ("form, nested and encoded", "user%5Bpassword%5D=", "&a=1"),
    ("form inside a form", "q=password%3D", "%26a%3D1"),
    ("query", "GET /v1?access_token=", "&a=1 HTTP/1.1"),
    ("signed URL", "https://s3.example/x?X-Amz-Signature=", "&a=1"),
    ("shell", "export DB_PASSWORD=", "\n"),
    ("shell, quoted", 'export DB_PASSWORD="', '"\n'),
    ("option", "mysql --password ", " -v"),
    ("option with =", "mysql --password=", " -v"),
    ("option, quoted", 'mysql --password "horse ', '" -v'),
    ("YAML block", "password: |\n  ", "\nuser: u"),
    ("YAML, next line", "password:\n  ", "\nuser: u"),
    ("XML, CDATA", "<password><![CDATA[", "]]></password>"),
    ("YAML", "password: ", "\nuser: u"),
    ("YAML with blanks", "password: correct horse ", "\nuser: u"),
    ("XML", "<db:password>", "</db:password>"),
    ("XML with an attribute", '<secret kind="a">', "</secret>"),
    ("XML attribute", '<db password="', '"/>'),
]


@pytest.mark.parametrize(("before", "after"), [row[1:] for row in SHAPES], ids=[row[0] for row in SHAPES])
def test_i98_a_shape_cut_at_each_offset(before, after):
    """Nobody knows the value here; and around it, text of no interest."""
    whole = f"answer 1: {before}{CANARY}{after}"
    assert left(CANARY, scrub(f"{whole} and more")) == []
    for end in range(len(whole) + 1):
        found = scrub(whole[:end])
        assert left(CANARY, found) == [], whole[:end]
        assert found.startswith("answer 1: "[:end])
        assert scrub(found) == found


@pytest.mark.parametrize("secret", [CANARY, ODD, "4711471147114711", "a-b_c.d~e f/g+h==", "~?>~?>?~>?~>"])
@pytest.mark.parametrize(
    "spelled",
    [
        str,
        lambda secret: json.dumps({"echo": secret}),
        lambda secret: json.dumps({"echo": secret}, ensure_ascii=False),
        lambda secret: json.dumps({"echo": json.dumps({"a": secret})}),
        lambda secret: json.dumps({"echo": secret}).replace("/", "\\/"),
        lambda secret: "a=" + quote(secret, safe=""),
        lambda secret: "a=" + quote(secret),
        lambda secret: "a=" + quote_plus(secret),
        lambda secret: "a=" + re.sub("%..", lambda found: found[0].lower(), quote(secret, safe="")),
        lambda secret: "a=" + quote(quote(secret, safe=""), safe=""),
        lambda secret: f"<p>{html.escape(secret)}</p>",
        lambda secret: base64.b64encode(secret.encode()).decode(),
        lambda secret: base64.urlsafe_b64encode(secret.encode()).decode(),
        *(lambda secret, n=n: base64.b64encode(b"x" * n + secret.encode() + b"tail").decode() for n in range(4)),
    ],
)
def test_a_known_secret_in_each_spelling_cut_at_each_offset(secret, spelled):
    """What the target echoes; nothing around it says that it is one."""
    whole = f"said {spelled(secret)} twice {spelled(secret)}"
    marked = scrub(whole, [secret])
    assert marked.count(MARK) == 2
    secrets = [secret, *(form for form in spellings(secret) if len(form) > LEFT)]
    begins = whole.index(spelled(secret)[:3])
    for end in range(begins, len(whole) + 1):
        found = scrub(whole[:end], [secret])
        for form in secrets:
            # Four characters at the end are taken for the beginning of a secret; three may be chance.
            assert not any(form[:size] in found for size in range(LEFT, len(form) + 1)), (end, found)


def spellings(secret):
    yield quote(secret, safe="")
    yield quote_plus(secret)
    yield json.dumps(secret)[1:-1]
    yield base64.b64encode(secret.encode()).decode().rstrip("=")[:-1]


@pytest.mark.parametrize("charset", [None, "utf-8", "latin-1", "utf-16-le", "utf-16"])
@pytest.mark.parametrize("secret", [CANARY, "pässwörd€canary"])
def test_a_body_cut_off_by_the_transport_at_each_byte(secret, charset):
    """The transport reads 8193 bytes; the secret lies across the end, and not one character of it stays."""
    encoding = charset or "utf-8"
    encoded = secret.encode(encoding, errors="replace")
    secret = encoded.decode(encoding)
    for inside in range(len(encoded) + 1):
        body = ("." * EXCERPT_BYTES).encode(encoding)[: EXCERPT_BYTES - inside] + encoded + b"more"
        found = excerpt(body[: EXCERPT_BYTES + 1], charset, [secret])
        assert not set(found) & (set(secret) - set(MARK + CUT_MARK + ".")), (inside, found[-40:])
        assert found.endswith(CUT_MARK)


def test_an_excerpt_is_cut_after_it_is_scrubbed():
    """I-57: 8192 characters with the mark of the cut; and whole if nothing had to go."""
    assert excerpt(b"a" * EXCERPT_BYTES, None) == "a" * EXCERPT_CHARS
    cut = excerpt(b"a" * (EXCERPT_BYTES + 1), None)
    assert len(cut) == EXCERPT_CHARS
    assert cut == "a" * (EXCERPT_CHARS - len(CUT_MARK)) + CUT_MARK
    grown = excerpt(b"pin=1&" * 1365, None)
    assert len(grown) == EXCERPT_CHARS
    assert grown.endswith(CUT_MARK)
    assert "1" not in grown


@pytest.mark.parametrize(
    ("body", "charset", "expected"),
    [
        ("ä".encode(), None, "ä"),
        ("ä".encode("latin-1"), "ISO-8859-1", "ä"),
        ("ä".encode("latin-1"), '"iso-8859-1"', "ä"),
        ("ä".encode("latin-1"), None, "\ufffd"),
        ("ä".encode("utf-16"), "utf-16", "ä"),
        (b"abc", "rot13", "abc"),
        (b"abc", "zlib", "abc"),
        (b"\\d", "unicode_escape", "\\d"),
        (b"+AGE-", "utf-7", "+AGE-"),
        (b"abc", "no-such-thing", "abc"),
        (b"abc", "\x00", "abc"),
        (b"a\x00b\x1b[2Jc\x7f\xc2\x85d\r\n\te", None, "ab[2Jcd\r\n\te"),
        (b"", None, ""),
    ],
)
def test_i53_decoded_by_its_charset(body, charset, expected):
    """Only charsets of plain text; control characters go, since NUL fits no row and the rest drives terminals."""
    assert excerpt(body, charset) == expected


def test_a_secret_with_nul_between_its_characters_is_seen():
    """A body in UTF-16 that says nothing of it."""
    assert left(CANARY, excerpt(CANARY.encode("utf-16-le"), None, [CANARY])) == []


KEPT = [
    "connect to http://10.0.0.1:8080",
    "connect to https://inventory.example:8443/v1/racks?limit=5",
    "Unexpected token < in JSON at position 0",
    "Basic authentication failed",
    "the target answered 404 (Not Found)",
    '{"token": null, "password": "", "secret": false}',
    '{"keyboard": "qwerty", "monkey": 1, "compass": "n", "opinion": "x", "spin": 3, "design": "y"}',
    "mailto:ada@example.com",
    "racks: 5, sessions: 7, signed: yes",
    "bearer",
    "a: b\nc: d",
    "",
]


@pytest.mark.parametrize("text", KEPT)
def test_what_is_no_secret_stays(text):
    assert scrub(text, ["", "abc", CANARY]) == text


def test_what_stands_beside_a_secret_stays():
    text = '{"id": 5, "password": "%s", "state": "on", "token": %s, "list": [1]}'
    assert (
        scrub(text % (CANARY, 4711))
        == '{"id": 5, "password": "[redacted]", "state": "on", "token": [redacted], "list": [1]}'
    )
    inside = '{"b": "{\\"tokens\\": [\\"%s\\"], \\"c\\": 1}", "d": 2}'
    assert scrub(inside % CANARY) == inside.replace('[\\"%s\\"]', MARK)
    assert scrub(f"user=u&password={CANARY}&state=on") == "user=u&password=[redacted]&state=on"
    assert scrub(f"postgres://flow:{CANARY}@db/flow failed") == "postgres://[redacted]@db/flow failed"


def test_the_longest_known_value_goes_first():
    """A client secret that begins with the client's id leaves nothing behind."""
    assert scrub("abcdefgh", ["abcd", "abcdefgh"]) == MARK


def test_a_known_value_that_is_too_short_to_look_for():
    assert scrub("aaa aaaa", ["a" * (MIN_KNOWN - 1)]) == "aaa aaaa"


def test_a_known_value_read_from_a_file_with_its_line_end():
    assert scrub(f"said {CANARY}!", [f"{CANARY}\n"]) == f"said {MARK}!"


def test_a_long_text_is_cut_before_it_is_searched():
    found = scrub("." * (MAX_SCRUBBED - 2) + CANARY, [CANARY])
    assert found == "." * (MAX_SCRUBBED - 2) + MARK


HOSTILE = [
    "\\",
    '"',
    "'",
    "[",
    "{",
    "://",
    "a://b:",
    "-----BEGIN",
    'password="',
    "password",
    "password:[",
    "Bearer ",
    "eyJ",
    "<a ",
    "<token ",
]
HOSTILE += [
    "token=>",
    '"name":"',
    "--token ",
    "a.",
    "%3D",
    "pass",
    "a" * 64,
    "password\\" * 3,
    "\ud800",
    "\x00",
    "token\\\\\\'",
    "[token]",
]


@pytest.mark.parametrize("part", HOSTILE, ids=ascii)
def test_no_text_takes_long(part):
    """16 KiB of the worst: a target must not hold a worker. The better of two, by this thread's clock."""
    text = (part * (MAX_SCRUBBED // len(part) + 1))[:MAX_SCRUBBED]
    took = []
    for _ in range(2):
        began = time.thread_time()
        scrub(text, [CANARY, ODD])
        took.append(time.thread_time() - began)
    assert min(took) < 0.5


@given(
    parts=st.lists(
        st.sampled_from([*HOSTILE, *(row[1] for row in SHAPES), *(row[2] for row in SHAPES), CANARY, " ", "\n"])
        | st.text(max_size=5),
        max_size=12,
    )
)
def test_a_known_secret_never_survives_any_surroundings(parts):
    found = scrub("".join(parts), [CANARY])
    assert CANARY not in found
    assert scrub(found, [CANARY]).count(CANARY[:LEFT]) == 0
