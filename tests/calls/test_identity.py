"""As whom a call is made: tokens of a real OAuth 2 server, and what happens without one (D-24, I-36, I-38)."""

from __future__ import annotations

import json

import httpx
import pytest

from schedules.models import TaskSchedule
from tasks.operations import Operation
from tests.calls.helpers import fired, runs_of, scheduled, work
from tests.http_servers.servers import oauth, unique

__all__ = ["oauth"]
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def login(oauth, settings, monkeypatch):
    """The server as an endpoint with a login of its own; `secret` decides whether it is the right one."""

    def endpoint(name: str, secret: str = "", **more) -> None:
        monkeypatch.setenv("CLIENT_SECRET", secret or f"secret-of-{name}")
        settings.FLOWSCHED_ENDPOINTS = json.dumps(
            {
                "api": {
                    "kind": "api",
                    "base_url": oauth.url,
                    "plain_http": True,
                    "token_url": f"{oauth.url}/token",
                    "client_id": name,
                    "client_secret": {"env": "CLIENT_SECRET"},
                    **more,
                }
            }
        )

    return endpoint


def called(name: str, *, identity: dict | None = None, path: str = "/resource/x"):
    operation = Operation(
        "http_call",
        "api",
        {
            "target": {"endpoint": "api", "method": "GET", "path": path},
            "identity": identity or {"kind": "service_account"},
            "policy": {"timeout": 10, "retries": 2},
        },
    )
    schedule = scheduled(operation)
    fired(schedule)
    work()
    return schedule, runs_of(schedule)[0]


def test_a_service_account_is_who_calls(oauth, login):
    """I-37, I-39."""
    name = unique("client")
    login(name)
    schedule, run = called(name)
    assert run.state == "succeeded", run.message
    assert f'"sub":"{name}"' in run.call["response_excerpt"].replace(" ", "")
    assert (run.call["identity_kind"], run.call["principal_name"], run.call["actor_name"]) == (
        "service_account",
        "",
        "",
    )
    fired(schedule)
    work()
    assert len(oauth.records(client_id=name)) == 1  # the token is still good


def test_a_user_is_called_for_with_the_account_as_actor(oauth, login):
    """D-24, RFC 8693."""
    name = unique("client")
    login(name, exchange_url=f"{oauth.url}/token")
    _, run = called(name, identity={"kind": "delegated_user", "subject": "ada", "consent_id": "consent-of-ada"})
    assert run.state == "succeeded", run.message
    said = json.loads(run.call["response_excerpt"])
    assert (said["sub"], said["act"]["sub"]) == ("ada", name)
    assert (run.call["principal_name"], run.call["actor_name"], run.call["consent_id"]) == (
        *("ada", name),
        "consent-of-ada",
    )


def test_without_an_identity_nothing_is_sent_and_nothing_is_tried_again(oauth, login):
    """I-36."""
    name = unique("client")
    login(name, secret="wrong-but-secret")
    schedule, run = called(name)
    assert (run.state, run.call["error_type"], run.attempt) == ("skipped", "skipped", 1)
    assert run.call["http_status"] == 0
    assert "wrong-but-secret" not in str(run.message) + str(run.call) + str(run.results)
    assert TaskSchedule.objects.get(pk=schedule.pk).consecutive_skips == 1


def test_five_in_a_row_stop_the_schedule(oauth, login):
    name = unique("client")
    login(name, secret="wrong")
    schedule, _ = called(name)
    for _ in range(4):
        fired(schedule)
        work()
    schedule.refresh_from_db()
    assert (schedule.enabled, schedule.disabled_kind) == (False, "system")
    assert "5 calls in a row" in schedule.disabled_reason


def test_a_token_that_counts_no_more_is_replaced_once_without_a_retry(oauth, login):
    """I-38."""
    name = unique("client")
    login(name)
    schedule, _ = called(name)
    httpx.post(f"{oauth.url}/forget/{name}", trust_env=False)
    fired(schedule)
    work()
    second = runs_of(schedule)[1]
    assert (second.state, second.attempt) == ("succeeded", 1)
    assert len(oauth.records(client_id=name)) == 2


def test_a_target_that_refuses_the_second_token_too_has_the_last_word(sink, oauth, login):
    name = unique("client")
    word = unique()
    login(name, base_url=sink.url)
    _, run = called(name, path=f"/status/401/{word}")
    assert (run.state, run.call["error_type"], run.attempt) == ("failed", "http_401", 1)
    assert len(sink.records(path=word)) == 2
    assert len(oauth.records(client_id=name)) == 2
