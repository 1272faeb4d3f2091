"""What the REST door reads as a body, and what it does not (TH-10): never 500, never half a write."""

from __future__ import annotations

import contextlib
import gzip
import json
import math
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from flowsched.errors import FlowschedError
from flowsched.rest import parsing
from tasks.models import Task
from tests.rest.helpers import fields, problem
from tests.tasks.admission.helpers import make_rack

pytestmark = pytest.mark.django_db
KIB = 1024


def nested(depth: int) -> bytes:
    return b'{"operation": ' + b"[" * (depth - 1) + b"]" * (depth - 1) + b"}"


def sized(size: int) -> bytes:
    """A body of exactly `size` bytes."""
    head, tail = b'{"description": "', b'"}'
    return head + b"x" * (size - len(head) - len(tail)) + tail


@pytest.mark.parametrize(
    ("body", "named"),
    [
        (b'{"description": NaN}', "description"),
        (b'{"description": Infinity}', "description"),
        (b'{"description": -Infinity}', "description"),
        (b'{"description": 1e400}', "description"),
        (b'{"description": [1, -1e999]}', "description.1"),
        (b'{"description": ' + b"9" * 65 + b"}", "description"),
        (b'{"description": ' + b"9" * 5000 + b"}", "body"),
        (b'{"description": "a\\u0000b"}', "description"),
        (b'{"a\\u0000b": 1}', "body"),
        (b'{"target_spec": {"racks": [{"na\\u0000me": 1}]}}', "target_spec.racks.0"),
        (b'{"description": "\\ud800"}', "description"),
        (b'{"description": "\\udc00\\ud800"}', "description"),
        (b'{"\\ud800": 1}', "body"),
        (b'{"\\ud800": {"a": NaN}}', "\\ud800.a"),
        (b'{"description": "a", "description": "b"}', "description"),
        (b'{"operation": {"type": "a", "x": 1, "type": "b"}}', "operation.type"),
        (b'{"\\ud800": 1, "\\ud800": 2}', "\\ud800"),
        (b'{"description": "caf\xe9"}', "body"),
        (b'{"description": "\xed\xa0\x80"}', "body"),
        ("{}".encode("utf-16"), "body"),
        (b"{", "body"),
        (b"{'a': 1}", "body"),
        (b'{"a": 1,}', "body"),
        (b'{"a": "\t"}', "body"),
        (b"{} {}", "body"),
        (b"   ", "body"),
        (b"[]", "body"),
        (b"null", "body"),
        (b'"text"', "body"),
        (b"7", "body"),
        (b"true", "body"),
    ],
)
def test_what_is_no_body_is_400_and_says_where(operator, body, named):
    answer = problem(operator.post("tasks/", body), 400)
    assert named in {error["field"] for error in answer["errors"]}, answer
    assert not Task.objects.exists()


def test_no_body_is_an_empty_one(operator):
    assert fields(operator.post("tasks/")) == {"operation", "target_spec"}
    assert fields(operator.post("tasks/", b"")) == {"operation", "target_spec"}


def test_a_byte_order_mark_and_blanks_are_fine(operator):
    make_rack()
    body = {"operation": {"type": "power_on"}, "target_spec": {"racks": [{"name": "r01"}]}}
    assert operator.post("tasks/", b"\xef\xbb\xbf \n" + json.dumps(body).encode()).status_code == 201


def test_size_at_the_limit_and_above(operator):
    """256 KiB; what is above is not read."""
    assert fields(operator.post("tasks/", sized(256 * KIB))) == {"operation", "target_spec", "description"}
    assert "256 KiB" in problem(operator.post("tasks/", sized(256 * KIB + 1)), 413)["detail"]
    problem(operator.post("tasks/", sized(5000 * KIB)), 413)


def test_depth_at_the_limit_and_above(operator):
    """32 levels, brackets in strings not counted; 100,000 levels are no recursion."""
    assert "operation" in fields(operator.post("tasks/", nested(32)))
    for depth in (33, 2_000, 100_000):
        assert "32 levels" in problem(operator.post("tasks/", nested(depth)), 400)["detail"]
    assert "description" not in fields(operator.post("tasks/", {"description": "[{" * 400 + '"\\'}))


def test_keys_at_the_limit_and_above(operator):
    for keys, refused in ((parsing.MAX_KEYS, False), (parsing.MAX_KEYS + 1, True)):
        answer = problem(operator.post("tasks/", {str(n): 0 for n in range(keys)}), 400)
        assert (f"{parsing.MAX_KEYS} keys" in answer["detail"]) is refused
        assert len(answer["errors"]) <= 100


@pytest.mark.parametrize(
    ("content_type", "status"),
    [
        ("application/json", 400),
        ("application/json; charset=utf-8", 400),
        ('application/json; charset="UTF-8"', 400),
        ("application/json; charset=utf-16", 415),
        ("application/json; charset=bz2", 415),
        ("text/plain", 415),
        ("application/x-www-form-urlencoded", 415),
        ("multipart/form-data; boundary=x", 415),
        ("application/merge-patch+json", 415),
        ("nonsense", 415),
        ("", 415),
    ],
)
def test_content_types(operator, content_type, status):
    """400 here means that it was read."""
    answer = problem(operator.post("tasks/", b'{"a": 1}', content_type=content_type), status)
    assert answer["type"] == f"urn:flowsched:problem:{'invalid_input' if status == 400 else 'unsupported_media_type'}"


@pytest.mark.parametrize("encoding", ["gzip", "br", "identity, gzip"])
def test_content_encodings_are_not_read(operator, encoding):
    """No bomb is unpacked: 10 MB of zeros are 10 KB."""
    bomb = gzip.compress(b"0" * 10_000_000)
    problem(operator.post("tasks/", bomb, headers={"Content-Encoding": encoding}), 415)


def test_chunks_without_a_length_are_refused_not_ignored(operator):
    """WSGI would read them as no body at all: a PATCH would change nothing and say 200."""
    chunked = {"Transfer-Encoding": "chunked"}
    response = operator.client.generic(
        "POST", "/api/v1/tasks/", headers={"Authorization": f"Bearer {operator.token}", **chunked}
    )
    assert problem(response, 400)["reason"] == "NO_LENGTH"


@pytest.mark.parametrize(
    "body",
    [
        b'"' + b'\\"' * 130_000,
        b'{"":0,' * 1 + b'"":0,' * 52_000 + b'"a":0}',
        b"[" + b"{}," * 87_000 + b"0]",
        b"[" + b'"\\u0000",' * 29_000 + b"0]",
        b"[" + b"9," * 131_000 + b"0]",
        b'"' + b"\\u0041" * 43_000 + b'"',
    ],
    ids=["open string", "repeated keys", "objects", "faults", "numbers", "escapes"],
)
def test_any_body_within_the_limit_is_read_in_linear_time(body):
    """A quarter of a megabyte must not cost minutes: an unterminated string did, and so did a key given often."""
    assert len(body) <= parsing.MAX_BODY
    began = time.process_time()
    with contextlib.suppress(FlowschedError):
        parsing.parse_body(body)
    assert time.process_time() - began < 3


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


def storable(value) -> bool:
    """Whether PostgreSQL would take it."""
    if isinstance(value, dict):
        return all(storable(key) and storable(item) for key, item in value.items())
    if isinstance(value, list):
        return all(map(storable, value))
    if isinstance(value, str):
        return "\x00" not in value and value.encode(errors="ignore").decode() == value
    return not isinstance(value, float) or math.isfinite(value)


@given(JSON)
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_what_can_be_stored_is_read_as_it_is_and_nothing_else(value):
    body = json.dumps(value).encode()
    if storable(value):
        assert parsing.parse_body(body) == value
    else:
        with pytest.raises(FlowschedError):
            parsing.parse_body(body)


@given(st.binary(max_size=200) | st.text(alphabet='{}[]",:\\u0d8e1-+.null \n', max_size=60).map(str.encode))
@settings(max_examples=300, deadline=None)
def test_any_bytes_are_a_value_or_a_refusal(body):
    try:
        value = parsing.parse_body(body)
    except FlowschedError:
        return
    assert storable(value)
