"""Every hostile text through every door that takes a call: refused by its field, before anything of it is evaluated."""

from __future__ import annotations

import json
from io import StringIO

import pytest
from django.core.management import call_command

from tasks.http import templates
from tests.doors.world import BESIDES, fingerprint
from tests.http.corpus import HEADER_NAMES, WRITTEN, Hostile, information
from tests.rest.calls import call
from tests.rest.endpoints import api_call, call_body, door, endpoints, in_body
from tests.rest.helpers import Rest, problem, rest

__all__ = ["door", "endpoints"]
pytestmark = pytest.mark.django_db
FIELDS = {
    "path": "target.path", "query": "target.query.q", "header": "target.headers.X-Env",
    "body": "target.body.outer.0.inner", "webhook_id": "target.webhook_id", "key": "policy.idempotency_key",
}  # fmt: skip


@pytest.fixture
def root(endpoints) -> Rest:
    """May do everything."""
    return rest(superuser=True)


@pytest.fixture
def untouched(endpoints, monkeypatch):
    """`untouched()` at the end: no template was compiled or rendered, nothing stored, nobody called."""
    begun = []
    for name in ("_compiled", "_generate"):
        real = getattr(templates, name)
        monkeypatch.setattr(templates, name, lambda *args, real=real: (begun.append(args), real(*args))[1])
    before = fingerprint()

    def check():
        assert begun == []
        assert {table: one for table, one in fingerprint().items() if table not in BESIDES} == {
            table: one for table, one in before.items() if table not in BESIDES
        }
        assert endpoints.visits == 0

    return check


def named(entries):
    return pytest.mark.parametrize("entry", entries, ids=lambda entry: ascii(entry.name))


@named(WRITTEN)
def test_by_create_and_by_dry_run(root, untouched, entry: Hostile):
    """Issue 6, must be true 4."""
    operation = in_body(*information(entry))
    for path, body in (("schedules/", call_body(operation)), ("schedules/dry-run/", {"operation": operation})):
        answer = problem(call(root, "POST", path, body), 400)
        assert [one["field"] for one in answer["errors"]] == [f"operation.{FIELDS[entry.where]}"], answer
        if answer["reason"] != "BAD_JSON":
            assert entry.why in answer["errors"][0]["message"]
        assert answer["detail"].isprintable()
    untouched()


@pytest.mark.parametrize(("name", "why"), HEADER_NAMES, ids=lambda value: ascii(value)[:40])
def test_header_names_by_create(root, untouched, name, why):
    """TH-6."""
    response = call(root, "POST", "schedules/", call_body(api_call(headers={name: "x", "X-Env": "good"})))
    (error,) = problem(response, 400)["errors"]
    assert error["field"].startswith("operation.target.headers")
    assert why in error["message"] or error["code"] == "BAD_JSON"
    untouched()


def command(entry: Hostile) -> list[str]:
    """The words that put the text where it goes."""
    if entry.where == "webhook_id":
        return [f"--webhook={entry.text}", "--endpoint", "hooks", "--payload", "{}"]
    words = ["--http", "POST", "--endpoint", "inventory", "--identity", "service_account"]
    words += [] if entry.where == "path" else ["--path", "/v1/racks"]
    return words + {
        "path": [f"--path={entry.text}"], "query": ["--query", f"q={entry.text}"],
        "header": ["--header", f"X-Env={entry.text}"], "key": [f"--idempotency-key={entry.text}"],
        "body": ["--body", json.dumps({"outer": [{"inner": entry.text}]})],
    }[entry.where]  # fmt: skip


@named(WRITTEN)
def test_by_the_command_line(untouched, entry: Hostile):
    """The same reader, the same words."""
    err = StringIO()
    with pytest.raises(SystemExit) as ended:
        call_command(
            "schedule", "--json", "create", "hostile", "--every=1h", *command(entry), stdout=StringIO(), stderr=err
        )
    assert ended.value.code == 2
    (field, message), *others = json.loads(err.getvalue())["error"]["fields"].items()
    assert (field.replace("[0]", ".0"), others) == (FIELDS[entry.where], [])
    assert entry.why in message
    untouched()
