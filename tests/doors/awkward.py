"""What clients send who mean no good, or whose code is wrong: texts, ids, numbers, bodies, masks, names of columns."""

from __future__ import annotations

import json
import unicodedata
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from tests.doors.world import rack_id

bounded = settings(
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture, HealthCheck.data_too_large],
)

GOOD = rack_id(1)
SPELLINGS = (GOOD.upper(), GOOD.replace("-", ""), f"{{{GOOD}}}", f"urn:uuid:{GOOD}", f"URN:UUID:{GOOD}".lower())
NO_IDS = (
    "", " ", "0", "1", "x", "null", "None", "00000000-0000-0000-0000-000000000000", "0" * 32, GOOD[:-1], GOOD + "0",
    f" {GOOD}", f"{GOOD}\n", GOOD.replace("-", "_"), f"{{{GOOD}", f"({GOOD})", f"urn:{GOOD}", f"uuid:{GOOD}", "g" * 32,
    "\u0660" * 32, "a" * 33, "-" * 36, GOOD.replace("-", "--"), "a" * 10_000, "\x00", "🜏", "../x",
    "'; DROP TABLE rack; --",
)  # fmt: skip
TEXTS = (
    "", " ", "a", "\x00", "a\x00b", "\n", "\r\n", "\x1b[31m", "\x7f", "\u0085", "\u2028", "\u202e", "\ufeff", "\ufffe",
    "🜏" * 5, "e\u0301", "\u00a0x", "x ", "'", '"', "\\", "%", "%s", "{}", "${x}", "{{7*7}}", "<script>", "--", ";",
    "NaN", "null", "1e400", "../../etc/passwd", "a" * 255, "a" * 256, "🜏" * 255, "a" * 100_000, "İ", "ß", "\U0010ffff",
)  # fmt: skip
ZONES = (
    "../../etc/passwd", "localtime", "posixrules", "Local", "UTC+8", "europe/berlin", "Factory", "a" * 10_000, "\x00",
    "Europe/Berlin\n", "/usr/share/zoneinfo/UTC", "posix/UTC", "right/UTC",
)  # fmt: skip
SPECS = (
    "", " ", "0s", "-1h", "1d", "1ns", "9" * 400 + "h", "1h" * 5_000, "@every 1ns", "@reboot", "* * * * * *",
    "R R * * *", "0 0 30 2 *", "TZ=UTC 0 0 * * *", "60 * * * *", "*/0 * * * *", "* * * * 7", "0000-01-01T00:00:00Z",
    "9999-12-31T23:59:59Z", "2026-02-30T00:00:00Z", "2026-01-01T00:00:60Z", "2026-01-01 00:00:00Z",
    "a" * 10_000, "\x00",
)  # fmt: skip
PATHS = (
    "*", "", " ", "schedule", "schedule.", "schedule.spec.", ".schedule.name", "schedule..name", "Schedule.name",
    "SCHEDULE.NAME", "name", "id", "schedule.id", "schedule.enabled", "schedule.next_run_at", "schedule.spec.type",
    "schedule.spec.spec", "schedule.operation", "enabled", "update_mask", "schedule.name ",
    "schedule.name,schedule.spec",
    "schedule.name\x00", "`schedule`.name", "schedule.*", "a" * 10_000,
)  # fmt: skip
ALLOWED = ("schedule.name", "schedule.overlap_policy", "schedule.spec", "schedule.spec.timezone")
# TH-18: what reaches a column that nobody listed, or SQL, wherever a parameter is passed on unread.
PARAMETERS = (
    ("ordering", "id); --"), ("ordering", "-password"), ("ordering", "owner__password"), ("ordering", "?"),
    ("ordering", "name;"), ("ordering", '"id"'), ("order_by", "id"), ("name__regex", "^(a+)+$"),
    ("name__contains", "a"),
    ("owner__password__startswith", "p"), ("_connector", "OR 1=1 OR"), ("_negated", "true"), ("pk__in", "1"),
    ("operation_template__type", "x"), ("format", "api"), ("limit", "0"), ("limit", "-1"), ("limit", "201"),
    ("limit", "1e3"), ("limit", "\u0663"), ("limit", "9" * 5_000), ("offset", "-1"), ("offset", "1 OR 1=1"),
    ("offset", "NaN"),
    ("offset", "9" * 30), ("page", "2"), ("rack_id", "x"), ("rack_id", "' OR 1=1 --"), ("enabled", "maybe"),
    ("status", "x'"), ("name", "a\x00"), ("a" * 500, "x"), ("", "x"), ("limit[]", "3"),
)  # fmt: skip
BODIES = {
    "empty": b"",
    "blank": b"  \n",
    "not JSON": b"{'a': 1}",
    "cut off": b'{"name": "x"',
    "two values": b"{}{}",
    "trailing comma": b'{"name": "x",}',
    "deep lists": b"[" * 2000 + b"]" * 2000,
    "deep objects": b'{"a":' * 2000 + b"1" + b"}" * 2000,
    "33 levels": b'{"a":' * 33 + b"1" + b"}" * 33,
    "unclosed": b"[" * 100_000,
    "beyond a double": b'{"name": 1e400}',
    "NaN": b'{"name": NaN}',
    "Infinity": b'{"name": -Infinity}',
    "NUL": b'{"name": "a\\u0000b"}',
    "NUL in a key": b'{"a\\u0000": 1}',
    "raw NUL": b'{"name": "a\x00b"}',
    "lone surrogate": b'{"name": "\\ud800"}',
    "lone surrogate in a key": b'{"\\udfff": 1}',
    "duplicate keys": b'{"name": "a", "name": "b"}',
    "duplicate keys inside": b'{"spec": {"type": "cron", "type": "interval"}}',
    "many digits": b'{"name": ' + b"9" * 5_000 + b"}",
    "not UTF-8": b'{"name": "\xff\xfe"}',
    "UTF-16": '{"name": "x"}'.encode("utf-16"),
    "latin 1": '{"name": "é"}'.encode("latin-1"),
    "many keys": json.dumps({f"k{n}": n for n in range(6_000)}).encode(),
    "a list": b"[]",
    "a list of one": b'[{"name": "x"}]',
    "a number": b"7",
    "a text": b'"name"',
    "null": b"null",
    "true": b"true",
    "a form": b"name=x&spec=y",
}
REQUESTS = (  # smuggling, foreign hosts, and lines beyond any limit
    b"GET /api/v1/me/ HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
    b"POST /api/v1/tasks/ HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    b"GET /api/v1/me/ HTTP/1.1\r\nHost: evil.example\r\n\r\n",
    b"GET " + b"a" * 9_000 + b" HTTP/1.1\r\n\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
)
LARGE = b'{"name": "' + b"x" * (5 << 20) + b'"}'

OWNED = ("id", "pk", "enabled", "next_run_at", "version", "created_at")  # columns that the server writes alone

texts = st.one_of(st.sampled_from(TEXTS), st.text(max_size=40))
ids = st.one_of(st.sampled_from([GOOD, *SPELLINGS, *NO_IDS]), st.uuids().map(str), st.text(max_size=40))
masks = st.lists(st.one_of(st.sampled_from(PATHS + ALLOWED), st.text(max_size=30)), max_size=20)
values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), texts, ids),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(texts, inner, max_size=4)),
    max_leaves=8,
)


def sound_name(text: str) -> bool:
    """D-30: 1 to 255 characters, no control characters, no blanks around it."""
    controls = any(unicodedata.category(character) in {"Cc", "Cs", "Zl", "Zp"} for character in text)
    return 0 < len(text) <= 255 and text == text.strip() and not controls


@st.composite
def mutated(draw: Any, body: Any) -> Any:
    """`body` with one of its parts replaced, left out, or joined by one that nobody asked for."""
    copy = json.loads(json.dumps(body))
    places = list(_places(copy))
    holder, key = draw(st.sampled_from(places))
    action = draw(st.sampled_from(["replace", "replace", "drop", "join"]))
    if action == "replace":
        holder[key] = draw(values)
    elif action == "drop":
        del holder[key]
    elif isinstance(holder, dict):
        holder[draw(st.one_of(texts, st.sampled_from(["id", "enabled", "next_run_at", "version", "pk"])))] = draw(
            values
        )
    else:
        holder.append(draw(values))
    return copy


def _places(value: Any) -> Any:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in items:
        yield value, key
        yield from _places(part)
