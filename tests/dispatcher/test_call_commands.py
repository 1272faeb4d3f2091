"""HTTP calls at the command line: create, show, dry run; runs of them."""

from __future__ import annotations

import json

import pytest

from schedules.models import TaskSchedule
from tasks.models import Run
from tests.dispatcher.helpers import racks
from tests.dispatcher.test_schedule_command import run
from tests.doors.world import fingerprint
from tests.rest.endpoints import door, endpoints
from tests.rest.test_runs import called, hardware

__all__ = ["door", "endpoints"]
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("endpoints")]
CALL = ["--http", "POST", "--endpoint", "inventory", "--path", "/v1/racks", "--identity", "service_account"]
HOOK = ["--webhook", "night-report", "--endpoint", "hooks", "--payload", '{"at": "{{ now }}"}']


def create(*words: str, name: str = "call"):
    return run("create", name, "--every", "1h", *words)


def test_create_with_everything():
    [rack] = racks(1)
    made = create(
        "--http", "PATCH", "--endpoint", "inventory", "--path", "/v1/racks/{{ rack.name }}", "--query", "a=b=c",
        "--query", "d=", "--header", "X-Env=lab", "--body", '{"on": [true, null, 1.5]}', "--identity", "delegated_user",
        "--subject", "ada", "--consent", "c-1", "--timeout", "2.5", "--retries", "3", "--backoff", "linear",
        "--max-running", "1", "--idempotency-key", "k-{{ task.id }}", "--rack", rack.name, "--grace", "none",
    )  # fmt: skip
    assert (made.code, made.err) == (0, "")
    shown = run("show", "call", "--json").json
    assert shown["operation"] == {
        "type": "http_call",
        "target": {
            "kind": "api", "endpoint": "inventory", "method": "PATCH", "path": "/v1/racks/{{ rack.name }}",
            "query": {"a": "b=c", "d": ""}, "headers": {"X-Env": "lab"}, "body": {"on": [True, None, 1.5]},
        },
        "identity": {"kind": "delegated_user", "subject": "ada", "consent_id": "c-1"},
        "policy": {
            "timeout": 2.5, "retries": 3, "retry_backoff": "linear", "max_running_instances": 1,
            "idempotency_key": "k-{{ task.id }}",
        },
    }  # fmt: skip
    assert (shown["operation_type"], shown["misfire_grace"]) == ("HTTP_CALL", None)
    assert [scope["rack"] for scope in shown["scopes"]] == [rack.name]


def test_show_says_it_in_words():
    create(*CALL, "--timeout", "30", "--retries", "1", "--max-running", "2")
    TaskSchedule.objects.update(consecutive_skips=3)
    lines = {line.split(":")[0]: line.split(":", 1)[1].strip() for line in run("show", "call").out.splitlines()[:12]}
    assert lines["operation"] == "HTTP POST /v1/racks"
    assert lines["endpoint"] == "inventory"
    assert lines["called as"] == "the endpoint's service account"
    assert lines["policy"] == "30 s an attempt; 1 retry, exponential back-off; at most 2 at a time"
    assert lines["calls in a row"] == "3 not made"
    assert lines["grace"] == "5m"


def test_a_webhook_and_a_body_from_a_file(tmp_path):
    """Without racks; as nobody."""
    assert create(*HOOK).code == 0
    assert run("show", "call", "--json").json["operation"]["identity"] == {"kind": "none"}
    path = tmp_path / "body.json"
    path.write_text('{"from": "a file"}')
    assert create(*CALL, "--body", f"@{path}", name="file").code == 0
    assert run("show", "file", "--json").json["operation"]["target"]["body"] == {"from": "a file"}
    assert "nobody" in run("show", "call").out


@pytest.mark.parametrize(
    ("words", "field", "says"),
    [
        ([*CALL, "--payload", "{}"], "payload", "--body"),
        ([*HOOK, "--path", "/x"], "path", "not with --webhook"),
        ([*CALL, "--forced"], "forced", "--forced"),
        (["--operation", "power_on", "--rack", "r", "--endpoint", "inventory"], "endpoint", "--http and --webhook"),
        ([*CALL, "--query", "a"], "target.query", "no '='"),
        ([*CALL, "--header", "A=1", "--header", "A=2"], "target.headers", "given twice"),
        ([*CALL, "--body", "{"], "target.body", "not JSON"),
        ([*CALL, "--body", "[]"], "target.body", "object"),
        ([*CALL, "--body", '{"a": 1, "a": 2}'], "target.body.a", "given twice"),
        ([*CALL, "--body", '{"a": NaN}'], "target.body.a", "NaN"),
        ([*CALL, "--body", "@/nowhere/at/all"], "target.body", "No such file"),
        ([*CALL, "--body", "\udc80"], "target.body", "UTF-8"),
        ([*CALL, "--timeout", "nan"], "policy.timeout", "seconds"),
        (CALL[:-2], "identity.kind", "is called as somebody"),
        (["--http", "GET", "--path", "/v1"], "target.endpoint", "missing"),
        (HOOK[:-2], "target.payload", "missing"),
        ([*CALL, "--subject", "ada"], "identity.subject", "delegated_user"),
    ],
)
def test_what_is_wrong(words, field, says):
    answer = run("--json", "create", "call", "--every", "1h", *words)
    assert answer.code == 2
    fields = json.loads(answer.err)["error"]["fields"]
    assert list(fields) == [field]
    assert says in fields[field]
    assert not TaskSchedule.objects.exists()


@pytest.mark.parametrize("words", [[*CALL, "--operation", "power_on"], [*CALL, *HOOK], [], ["--http", "TRACE"]])
def test_it_does_one_thing(words):
    assert create(*words).code == 2


def test_hardware_still_names_its_racks():
    answer = create("--operation", "power_on")
    assert answer.code == 2
    assert "--rack, --component or --domain" in answer.err
    create(*CALL)
    assert run("scope", "add", "call").code == 2


def test_an_unknown_endpoint_is_refused():
    answer = create("--http", "GET", "--path", "/v1", "--endpoint", "nosuch")
    assert (answer.code, "hooks, inventory, open" in answer.err) == (1, True)


def test_dry_run(endpoints):
    """Nothing is sent, fetched or written."""
    first, second = racks(2)
    create(
        *CALL[:4], "--path", "/v1/{{ rack.name }}", *CALL[6:], "--query", "a=1",
        "--body", '{"of": "{{ task.schedule_name }}"}', "--rack", first.name, "--rack", second.name,
    )  # fmt: skip
    before = fingerprint()
    lines = run("dry-run", "call", "--rack", second.name).out.splitlines()
    assert lines[:3] == [f"POST {endpoints.url}/base/v1/{second.name}", "query:", "  a = 1"]
    assert "Authorization: Bearer (redacted)" in lines
    assert '{"of":"call"}' in lines
    assert lines[-1].endswith("It would be called as the endpoint's service account.")
    told = run("dry-run", "call", "--json").json
    assert (told["url"], told["bearer_resolved"]) == (f"{endpoints.url}/base/v1/{first.name}", False)
    assert run("dry-run", "call", "--rack", "nowhere").code == 1
    assert fingerprint() == before
    assert endpoints.visits == 0


def test_a_dry_run_that_would_not_run_is_a_refusal():
    create(*CALL[:4], "--path", "/v1/{{ rack.name }}", *CALL[6:])
    answer = run("dry-run", "call")
    assert answer.code == 1
    assert "It would not be made: target.path: " in answer.out
    [rack] = racks(1)
    run("create", "hardware", "--every", "1h", "--operation", "power_on", "--rack", rack.name)
    assert "makes no HTTP call" in run("dry-run", "hardware").err


def test_runs():
    """list, show, and what is narrowed."""
    assert run("list", command="run").out.strip() == "no runs"
    failed, other = called(), hardware()
    listed = run("list", command="run").out
    assert listed.index(str(other.pk)[:8]) < listed.index(str(failed.pk)[:8])
    assert "HTTP call POST /v1" in listed
    assert "503" in listed
    for words in (["--state", "failed"], ["--schedule", "nightly"], ["--task", str(failed.task_id)[:8]]):
        found = run("list", "--json", *words, command="run").json
        assert [one["id"] for one in found["runs"]] == [str(failed.pk)], words
    assert "1 more: --offset 1" in run("list", "--limit", "1", command="run").out
    shown = run("show", str(failed.pk)[:8], command="run").out
    for words in ("POST /v1/racks/{{ rack.name }}", "try later", "http_503", "ada", "1234"):
        assert words in shown
    assert run("show", str(other.pk), "--json", command="run").json["call"] is None
    assert run("show", "0000", command="run").code == 1
    assert run("show", "x", command="run").code == 2
    assert run("list", "--limit", "0", command="run").code == 2


def test_run_cancel():
    under_way, ended = hardware(), called()
    answer = run("cancel", str(under_way.pk), command="run")
    assert (answer.code, answer.out.strip()) == (
        0, f"run {under_way.pk} is running; its worker has been told",
    )  # fmt: skip
    assert Run.objects.get(pk=under_way.pk).cancel_requested_at
    assert run("cancel", str(ended.pk), command="run").code == 1
