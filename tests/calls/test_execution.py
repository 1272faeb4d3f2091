"""Calls carried out by a worker against a real target: what is sent, how often, and what is said of it.

The number of requests is the sink's count, never our own.
"""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from tests.calls.helpers import call, fired, hook, runs_of, scheduled, tasks_of, work
from tests.tasks_runs.helpers import make_rack

pytestmark = pytest.mark.django_db(transaction=True)

FAST = {"timeout": 0.6, "retry_backoff": "none"}


def carried_out(operation, racks=()):
    schedule = scheduled(operation, racks)
    fired(schedule)
    work()
    return schedule, runs_of(schedule)[0]


# I-50, I-51, D-26 ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mode", "method", "endpoint", "state", "error_type", "requests"),
    [
        ("ok", "GET", "api", "succeeded", "", 1),
        ("status/201", "POST", "api", "succeeded", "", 1),
        ("status/204", "DELETE", "api", "succeeded", "", 1),
        ("status/301", "GET", "api", "failed", "http_301", 1),
        ("redirect/302", "GET", "api", "failed", "http_302", 1),
        ("status/400", "GET", "api", "failed", "http_400", 1),
        ("status/404", "PUT", "api", "failed", "http_404", 1),
        ("status/409", "GET", "keyed", "failed", "http_409", 1),
        ("status/429", "GET", "api", "failed", "http_429", 3),
        ("status/500", "GET", "api", "failed", "http_500", 3),
        ("status/503", "PUT", "api", "failed", "http_503", 3),
        ("status/503", "POST", "api", "failed", "http_503", 1),  # no key that the endpoint honours: never twice
        ("status/503", "PATCH", "api", "failed", "http_503", 1),
        ("status/503", "POST", "keyed", "failed", "http_503", 3),
        ("hang", "GET", "api", "timed_out", "timeout", 3),
        ("hang", "POST", "api", "unknown", "timeout", 1),
        ("hang", "POST", "keyed", "timed_out", "timeout", 3),
        ("drip-headers", "GET", "api", "timed_out", "timeout", 3),
        ("drip-body", "DELETE", "api", "timed_out", "timeout", 3),
        ("reset-after-apply", "GET", "api", "failed", "transport", 3),
        ("reset-after-apply", "POST", "api", "unknown", "transport", 1),
        ("reset-after-apply", "PATCH", "keyed", "failed", "transport", 3),
    ],
)
def test_every_ending_and_how_many_requests_arrived(site, *, mode, method, endpoint, state, error_type, requests):
    path, word = site.path(mode)
    _, run = carried_out(call(path, method, endpoint=endpoint, retries=2, **FAST))
    arrived = site.arrived(word)
    assert (run.state, run.call["error_type"], len(arrived)) == (state, error_type, requests), run.message
    keys = {record["key"] for record in arrived}
    assert len(keys) == 1  # all attempts carry the same one
    assert (keys != {None}) == (endpoint == "keyed")


@pytest.mark.parametrize(
    ("endpoint", "state", "error_type", "requests"),
    [
        ("hooks-202", "succeeded", "", 1),
        ("hooks-204", "no_effect", "", 1),
        ("hooks-200", "failed", "http_200", 1),  # I-95: with a reason
        ("hooks-404", "failed", "http_404", 1),
        ("hooks-500", "failed", "http_500", 1),
        ("hooks-hang", "unknown", "timeout", 1),
    ],
)
def test_every_ending_of_a_gateway(site, endpoint, state, error_type, requests):
    _, word = site.path("x")
    _, run = carried_out(hook(word, endpoint=endpoint, retries=2, **FAST))
    arrived = site.arrived(word)
    assert (run.state, run.call["error_type"], len(arrived)) == (state, error_type, requests), run.message
    assert run.call["principal_name"] == f"gateway:{word}"
    assert run.message


def test_nobody_listens(site, settings):
    """Nothing was sent: even a POST may be tried again."""
    config = json.loads(settings.FLOWSCHED_ENDPOINTS)
    settings.FLOWSCHED_ENDPOINTS = json.dumps(config | {"api": config["api"] | {"base_url": "http://127.0.0.1:1"}})
    _, run = carried_out(call("/x", "POST", retries=2, **FAST))
    assert (run.state, run.call["error_type"], run.attempt) == ("failed", "transport", 3)


def test_a_target_that_asks_to_be_left_alone_is(site):
    """D-26: `none` would try again at once."""
    path, word = site.path("status/503")
    operation = call(path, retries=1, timeout=5, retry_backoff="none")
    operation.information["target"]["query"] = {"retry_after": "1"}
    _, run = carried_out(operation)
    assert len(site.arrived(word)) == 2
    assert run.finished_at - run.started_at >= timedelta(seconds=1)


# What is sent and what is recorded ----------------------------------------------------------------------------------


def test_what_a_target_gets_and_what_the_run_says(site):
    """I-54."""
    path, word = site.path("ok")
    rack = make_rack(2, name="r-07")
    target = f"{path}/{{{{ rack.name }}}}/{{{{ components | length }}}}"
    schedule, run = carried_out(call(target, "POST", idempotency_key="night-{{ now | date('%Y%m%d') }}"), [rack])
    record = site.arrived(word)[0]
    fired_at = tasks_of(schedule)[0].attributes["fired_at"]
    assert record["path"] == f"{path}/r-07/2"
    assert json.loads(record["body"]) == {"at": f"{fired_at[:19]}Z"}
    assert record["key"] == f"night-{fired_at[:10].replace('-', '')}"
    assert record["headers"]["content-type"] == "application/json"
    said = dict(run.call)
    assert said.pop("fired_at")
    assert said.pop("trace_id") == tasks_of(schedule)[0].id.hex
    assert said == {
        "endpoint": "api",
        "identity_kind": "none",
        "principal_name": "",
        "actor_name": "",
        "consent_id": "",
        "target_kind": "api",
        "target_summary": f"POST {target}",
        "http_status": 200,
        "response_excerpt": '{"ok": true}',
        "error_type": "",
    }
    assert run.queued_at <= run.started_at <= run.finished_at
    assert tasks_of(schedule)[0].status == "completed"


def test_the_call_before_is_told(site):
    path, word = site.path("ok")
    schedule, _ = carried_out(call(f"{path}/{{{{ last_run | default('never', true) | lower }}}}"))
    fired(schedule)
    work()
    first, second = site.arrived(word)
    assert first["path"].endswith("/never")
    assert not second["path"].endswith("/never")


def test_what_cannot_be_rendered_sends_nothing(site):
    """I-44."""
    path, word = site.path("ok")
    schedule, run = carried_out(call(f"{path}/{{{{ rack.name }}}}", retries=3))
    assert (run.state, run.call["error_type"], run.attempt) == ("failed", "render", 1)
    assert "target.path" in run.message
    assert not site.arrived(word)
    assert tasks_of(schedule)[0].status == "failed"


def test_an_endpoint_that_is_gone_sends_nothing(site, settings):
    path, word = site.path("ok")
    schedule = scheduled(call(path))
    fired(schedule)
    settings.FLOWSCHED_ENDPOINTS = ""
    work()
    run = runs_of(schedule)[0]
    assert (run.state, run.call["error_type"]) == ("failed", "configuration")
    assert "no endpoint" in run.message
    assert not site.arrived(word)


def test_a_long_answer_is_cut(site):
    path, _ = site.path("huge")
    _, run = carried_out(call(path, timeout=5))
    assert run.state == "succeeded"
    assert 8000 < len(run.call["response_excerpt"]) < 8300


def test_no_excerpt_where_the_endpoint_wants_none(site, settings):
    config = json.loads(settings.FLOWSCHED_ENDPOINTS)
    settings.FLOWSCHED_ENDPOINTS = json.dumps(config | {"api": config["api"] | {"excerpt": False}})
    path, _ = site.path("ok")
    _, run = carried_out(call(path))
    assert run.call["response_excerpt"] == ""
