"""REST: whatever is sent, the answer says what is wrong, and a refusal leaves nothing behind (TH-10, TH-18, TH-25)."""

from __future__ import annotations

import json
import socket
from urllib.parse import quote, urlencode

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.doors.awkward import (
    BODIES,
    LARGE,
    NO_IDS,
    OWNED,
    PARAMETERS,
    REQUESTS,
    SPECS,
    SPELLINGS,
    TEXTS,
    ZONES,
    bounded,
    mutated,
    sound_name,
    values,
)
from tests.doors.calls import RESET, create, filled, path_of, racks
from tests.doors.routes import methods_of, path_to, routes
from tests.doors.world import fingerprint, make_racks, rack_id

pytestmark = pytest.mark.process
NAME, CREATE = (
    "standing",
    create("new", ("cron", "0 3 * * *", "Europe/Berlin"), RESET, racks(1), policy="queue").rest[2],
)
SCHEDULE = f"schedules/{{$schedule {NAME}}}/"
INFO = {"manufacturer": "M", "model": "X", "serial_number": "S9", "description": "d"}
PART = {"type": "compute", "info": {"name": "p", **INFO}, "component_id": "e", "position": {"slot_id": 1}}
CALL = {  # of an endpoint of tests/doors/servers.py
    "type": "http_call",
    "target": {
        "kind": "api", "endpoint": "inventory", "method": "POST", "path": "/v1/racks/{{ rack.name }}",
        "query": {"at": "{{ now }}"}, "body": {"deep": [{"of": "{{ task.id }}"}]}, "headers": {"X-Env": "lab"},
    },
    "identity": {"kind": "service_account"},
    "policy": {"timeout": 2.5, "retries": 3, "retry_backoff": "linear", "max_running_instances": 1},
}  # fmt: skip
SOUND = {  # a body that each path takes, to be made unsound
    ("POST", "schedules/"): CREATE | {"misfire_grace": "30m", "queue_options": {"queue_timeout_seconds": 60}},
    ("PATCH", SCHEDULE): {"name": NAME, "overlap_policy": "queue", "misfire_grace": None, "spec": CREATE["spec"]},
    ("POST", SCHEDULE + "pause/"): {"reason": "why"},
    ("POST", SCHEDULE + "scopes/"): {"target_spec": racks(1, types=["compute"])},
    ("PUT", SCHEDULE + "scopes/"): {
        "target_spec": {"components": [{"external": {"type": "compute", "id": "ext-1-0"}}]}
    },
    ("POST", "schedules/check-conflicts/"): {"operation": RESET, "target_spec": racks(1)},
    ("POST", "tasks/"): {"operation": RESET, "target_spec": racks(1), "queue_options": {"conflict_strategy": "queue"}},
    ("POST", f"tasks/{rack_id(404)}/acknowledge/"): {"as": "failed", "note": "seen"},
    ("POST", "racks/"): {"info": {"id": rack_id(9), "name": "r9", **INFO}, "components": [PART]},
    ("POST", "components/"): PART | {"rack_id": rack_id(1)},
    ("POST", "nvl-domains/"): {"id": rack_id(8), "name": "d"},
    ("POST", f"nvl-domains/{rack_id(404)}/attach/"): {"racks": ["rack-1"]},
    ("POST", f"nvl-domains/{rack_id(404)}/detach/"): {"racks": ["rack-1"]},
    ("POST", "schedules/preview/"): {"spec": CREATE["spec"]},
    ("POST", "schedules/dry-run/"): {"operation": CALL, "target_spec": racks(1), "name": "new"},
    ("POST", SCHEDULE + "dry-run/"): {"rack": "rack-1"},
}

HARMFUL = ("deep lists", "beyond a double", "NUL", "lone surrogate", "duplicate keys", "a list")  # of BODIES


@pytest.fixture
def rest(doors, people):
    """A client who may do everything; one rack and one schedule stand."""
    make_racks(1)
    client = doors.rest(people["superuser"])
    client.ok("POST", "schedules/", create(NAME, ("interval", "1h"), RESET, racks(1)).rest[2])
    client.rows = fingerprint()
    yield client
    assert fingerprint() == client.rows


def attempt(rest, method, path, body=None, **more):
    """The status of a call that may fail, but in no way that is our fault; refused, it has changed nothing."""
    answer = rest(method, path, body, **more)
    where = (method, path[:100], str(body)[:300], answer.raw[:500])
    assert answer.status < 500, where
    if method != "GET":  # which the fixture asks about once, at the end
        rows = fingerprint()
        assert answer.status < 400 or rows == rest.rows, where
        rest.rows = rows
    return answer


def bodies():
    """Every path that takes a body, with a sound one."""
    return [(method, path_of(path), body) for (method, path), body in SOUND.items()]


def test_no_path_that_takes_a_body_is_missing():
    """A new one has to be given a sound body here, or it would go untested."""
    silent = {"resume", "trigger", "cancel"}  # take none
    known = {(method, path.partition("{")[0].split("/")[0], path.rstrip("/").split("/")[-1]) for method, path in SOUND}
    for route, view in routes().items():
        parts = route.rstrip("/").split("/")
        last = f"{{$schedule {NAME}}}" if parts[-1].startswith("<") else parts[-1]
        for method in methods_of(view) & {"POST", "PUT", "PATCH"}:
            assert last in silent or (method, parts[0], last) in known, f"{method} {route}"


def test_bodies_that_are_no_json_of_ours(rest):
    """TH-10: a 400 that says where, everywhere that a body is read; 413 beyond the limit."""
    for number, (method, path, _) in enumerate(bodies()):
        for what, raw in BODIES.items() if number < 2 else [(word, BODIES[word]) for word in HARMFUL]:
            answer = attempt(rest, method, path, raw=raw)
            assert answer.status == 400 or (answer.status == 200 and raw in {b"", b"  \n"}), (method, path, what)
    for method, path, _ in bodies()[:2]:
        assert attempt(rest, method, path, raw=LARGE).status == 413


def test_bodies_in_another_dress(rest):
    """TH-10: another charset, encoding or type is 415, never a guess."""
    raw = json.dumps(CREATE).encode()
    for kind in (
        "application/json; charset=utf-16",
        "application/json; charset=bz2",
        "application/json; charset=x",
    ):
        assert attempt(rest, "POST", "schedules/", raw=raw, headers={"Content-Type": kind}).status == 415, kind
    for kind in (
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/xml",
    ):
        assert attempt(rest, "POST", "schedules/", raw=raw, headers={"Content-Type": kind}).status == 415, kind
    for encoding in ("gzip", "br", "identity, gzip"):
        assert attempt(rest, "POST", "schedules/", raw=raw, headers={"Content-Encoding": encoding}).status == 415


def test_sound_bodies_made_unsound(rest):
    """One part of a sound body replaced, dropped or joined by another: refused by its field, or done."""

    @settings(bounded, max_examples=12)
    @given(st.data())
    def run(data):
        for method, path, sound in bodies():
            attempt(rest, method, path, data.draw(mutated(sound)))

    run()


def test_any_json(rest):
    """Any value as a body."""

    @settings(bounded, max_examples=10)
    @given(values)
    def run(body):
        for method, path, _ in bodies():
            attempt(rest, method, path, raw=json.dumps(body).encode())

    run()


def test_what_the_server_owns_is_refused_by_name(rest):
    """TH-3: columns of the row, the operation and the racks are not changed by PATCH, and each is named."""
    columns = {*OWNED, "operation", "target_spec", "operation_template", "last_run_at", "disabled_kind", "updated_at"}
    for name in sorted(columns):
        answer = attempt(rest, "PATCH", path_of(SCHEDULE), {"name": "changed", name: "x"})
        assert (answer.status, answer.fields) == (400, [name]), name
    for name in sorted(set(OWNED) | {"disabled_kind", "updated_at", "schedule"}):
        answer = attempt(rest, "POST", "schedules/", CREATE | {name: "x"})
        assert (answer.status, answer.fields) == (400, [name]), name


def test_ids_of_every_spelling(rest):
    """TH-25: in a path, what is no id is 400 or 404; in a body, 400 naming the field; others are looked up."""
    found = [route for route in routes() if "<" in route]
    texts = [text for text in NO_IDS if 0 < len(text) < 1000]
    for number, route in enumerate(found):
        for text in texts if not number else texts[number % 4 :: 4]:
            status = attempt(rest, "GET", path_to(route, quote(text, safe=""))).status
            assert status in {400, 404, 405}, (route, text)
    for text in NO_IDS:
        body = CREATE | {"target_spec": {"racks": [{"id": text}]}}
        answer = attempt(rest, "POST", "schedules/", body)
        assert answer.status == 400, text
        assert "target_spec" in str(answer.fields), answer.fields
    for text in SPELLINGS:
        assert attempt(rest, "GET", f"racks/{quote(text, safe='')}/").status == 200, text


def test_awkward_values_of_a_schedule(rest):
    """D-30, T-6, F-219: names, specs and zones are stored as they are or refused by their field."""
    for text in TEXTS:
        body = CREATE | {"name": text}
        answer = attempt(rest, "POST", "schedules/", body)
        sound = sound_name(text)
        assert answer.status == (201 if sound else 400), (text[:20], answer.body)
        assert answer.body["name"] == text if sound else "name" in str(answer.fields) or "\x00" in text
    for zone in ZONES:
        answer = attempt(rest, "POST", "schedules/", CREATE | {"spec": CREATE["spec"] | {"timezone": zone}})
        assert answer.status == 400, zone
    for kind in ("interval", "cron", "one-time", "cronn", ""):
        for spec in SPECS:
            answer = attempt(rest, "POST", "schedules/", CREATE | {"name": "s", "spec": {"type": kind, "spec": spec}})
            assert answer.status in {201, 400}, (kind, spec[:30])
            if answer.status == 201:
                assert attempt(rest, "DELETE", f"schedules/{answer.body['id']}/").status == 204


def test_parameters_that_nobody_listed(rest):
    """TH-18: no lookup reaches a column that is not listed; what is misspelled is 400 and named, never passed over."""
    lists = [route for route, view in routes().items() if "GET" in methods_of(view)]
    for route in lists:
        path = path_of(route.replace("<str:id>", f"{{$schedule {NAME}}}")) if "schedules" in route else route
        if "<" in path or route in {"schema/", "docs/"}:
            continue
        for name, value in PARAMETERS:
            answer = attempt(rest, "GET", f"{path}?{urlencode({name: value})}")
            assert answer.status in {400, 404}, (path, name, value[:30], answer.raw[:200])
        assert attempt(rest, "GET", f"{path}?limit=1&limit=2").status == 400
        assert attempt(rest, "GET", f"{path}?ordering=%00").status == 400
        assert attempt(rest, "GET", f"{path}?%ff=%ff").status == 400


def test_long_lists(rest):
    """TH-11: 10,000 entries are refused, by the body's size or by the field."""
    many = {"racks": [{"name": "rack-1"}] * 10_000}
    for method, path, body in bodies():
        for key in ("target_spec", "racks", "components"):
            if key in body:
                long = many if key == "target_spec" else [body[key][0]] * 10_000
                assert attempt(rest, method, path, body | {key: long}).status in {400, 413}, path
    types = {"racks": [{"name": "rack-1", "component_types": ["compute"] * 10_000}]}
    assert attempt(rest, "POST", "schedules/", CREATE | {"target_spec": types}).status == 400


def test_headers_of_any_kind(rest):
    """Versions, keys, request ids and tokens that are none."""
    path = path_of(SCHEDULE)
    for tag in ('"x"', "1", 'W/"1"', '"' + "9" * 400 + '"', '"1", "2"', '""', "\x7f"):
        assert attempt(rest, "PATCH", path, {"name": "n"}, headers={"If-Match": tag}).status in {400, 412}, tag
    for key in ("", "a" * 256, "\x7f", "\xe9"):
        assert attempt(rest, "POST", "schedules/", CREATE, headers={"Idempotency-Key": key}).status == 400, key
    for given_id in ("a b", "x" * 65, "<script>", "\xff"):
        answer = attempt(rest, "GET", "me/", headers={"X-Request-ID": given_id})
        assert answer.headers["X-Request-ID"] != given_id
    for header in ("Bearer", "Bearer ", "Basic eDp5", "Bearer " + "x" * 4_000, "Bearer \xff", rest.token):
        answer = attempt(rest, "GET", "me/", headers={"Authorization": header})
        assert answer.status == 401, header[:20]
    for accept in ("text/html", "application/xml", "*/*;q=" + "0" * 2_000, ",".join(["a/b"] * 900)):
        assert attempt(rest, "GET", "me/", headers={"Accept": accept}).status == 200, "JSON, whatever was asked for"


def test_paths_that_are_none(rest):
    """Never HTML from /api/."""
    odd = (
        "nope/",
        "schedules",
        "schedules//",
        "SCHEDULES/",
        "../admin/",
        "me/../../x/",
        "%00/",
        "%ff%fe/",
        "a" * 3_000,
    )
    for path in odd:
        for method in ("GET", "POST", "DELETE"):
            assert attempt(rest, method, path).status in {301, 404, 405}, path
    assert attempt(rest, "GET", "/api/").status == 404
    assert attempt(rest, "GET", "/api").status == 404


def test_bytes_into_the_port(rest, doors):
    """What is no HTTP is hung up on or told so, and whoever speaks properly is served as before."""

    @settings(bounded, max_examples=40)
    @given(
        st.one_of(
            st.binary(max_size=200),
            st.binary(max_size=60).map(lambda data: b"POST /api/v1/schedules/ HTTP/1.1\r\n" + data + b"\r\n\r\n"),
            st.sampled_from(REQUESTS),
        )
    )
    def run(data):
        with socket.create_connection(("127.0.0.1", doors.rest_port), timeout=5) as one:
            one.sendall(data)
            one.shutdown(socket.SHUT_WR)
            said = one.recv(4_096)
            assert not said.startswith((b"HTTP/1.1 5", b"HTTP/1.1 2")) or b" 501 " in said[:16], said

    run()
    assert rest("GET", "me/").status == 200
    assert filled("$schedule standing")
