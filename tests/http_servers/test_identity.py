"""Tokens of service accounts, from a real OAuth 2 server (I-35…I-39, TH-19)."""

from __future__ import annotations

import base64
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from tasks.http.identity import IdentityError, Tokens
from tasks.http.transport import Cancel, Cancelled
from tests.http_servers.parts import ROBOT, asking, endpoint, user
from tests.http_servers.servers import unique

SANE = 20


class Clock:
    """Monotonic seconds, moved by hand."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def tokens(sender, clock):
    return Tokens(lambda: sender, clock)


@pytest.fixture
def client(monkeypatch):
    """A client of this test's own, whose secret is in the environment."""
    name = unique("client")
    monkeypatch.setenv("INVENTORY_SECRET", f"secret-of-{name}")
    return name


def inventory(oauth, client, token="/token", **more):
    """The resource of the OAuth server as an endpoint."""
    return endpoint(
        f"{oauth.url}/resource",
        token_url=f"{oauth.url}{token}",
        client_id=client,
        client_secret={"env": "INVENTORY_SECRET"},
        **more,
    )


def test_a_token_is_fetched_and_counts(oauth, sender, tokens, client):
    where = inventory(oauth, client)
    token = tokens.bearer(where, ROBOT)
    assert token.actor == ""
    answer = sender.send(where, asking("/racks"), deadline_seconds=SANE, bearer=token.value)
    assert answer.status == 200
    assert sender.send(where, asking("/racks"), deadline_seconds=SANE, bearer="another").status == 401
    (asked,) = oauth.records(client_id=client)
    assert asked["form"] == {"grant_type": "client_credentials"}


def test_the_secret_goes_into_the_form_where_the_server_wants_it_there(oauth, tokens, client):
    where = inventory(oauth, client, client_auth="client_secret_post", scope="racks:read", audience="inventory")
    assert tokens.bearer(where, ROBOT).value
    (asked,) = oauth.records(client_id=client)
    assert asked["form"] == {
        "grant_type": "client_credentials",
        "scope": "racks:read",
        "audience": "inventory",
        "client_id": client,
        "client_secret": f"secret-of-{client}",
    }


def test_client_id_and_secret_may_be_in_files_and_change(oauth, tokens, client, tmp_path, clock):
    (tmp_path / "id").write_text(f"{client}\n")
    secret = tmp_path / "secret"
    secret.write_text("an old one\n")
    where = endpoint(
        oauth.url,
        token_url=f"{oauth.url}/token",
        client_id={"file": str(tmp_path / "id")},
        client_secret={"file": str(secret)},
    )
    with pytest.raises(IdentityError, match="401: invalid_client"):
        tokens.bearer(where, ROBOT)
    secret.write_text(f"secret-of-{client}\n")
    assert tokens.bearer(where, ROBOT).value


def test_twenty_threads_fetch_one_token(oauth, tokens, client):
    where = inventory(oauth, client, "/delay/0.5/token")
    barrier = threading.Barrier(20)

    def fetch(_):
        barrier.wait()
        return tokens.bearer(where, ROBOT).value

    with ThreadPoolExecutor(20) as pool:
        values = set(pool.map(fetch, range(20)))
    assert len(values) == 1
    assert len(oauth.records(client_id=client)) == 1


@pytest.mark.parametrize(
    ("lifetime", "ages"),
    [(3600, (3539, 3541)), (200, (139, 141)), (100, (49, 51)), (2, (0.9, 1.1))],
)
def test_a_token_is_renewed_before_it_is_over(oauth, tokens, client, lifetime, ages):
    where = inventory(oauth, client, f"/lifetime/{lifetime}/token")
    clock, (fresh, stale) = tokens._clock, ages
    began = clock.now
    first = tokens.bearer(where, ROBOT).value
    clock.now = began + fresh
    assert tokens.bearer(where, ROBOT).value == first
    clock.now = began + stale
    assert tokens.bearer(where, ROBOT).value != first
    assert len(oauth.records(client_id=client)) == 2


def test_a_token_that_cannot_be_renewed_is_used_until_it_is_over(oauth, tokens, client, clock, monkeypatch):
    where = inventory(oauth, client, "/lifetime/600/token")
    began = clock.now
    first = tokens.bearer(where, ROBOT).value
    monkeypatch.setenv("INVENTORY_SECRET", "wrong")
    clock.now = began + 570
    assert tokens.bearer(where, ROBOT).value == first
    clock.now = began + 601
    with pytest.raises(IdentityError):
        tokens.bearer(where, ROBOT)


def test_an_endpoints_token_is_no_others(oauth, tokens, client):
    one, other = inventory(oauth, client), inventory(oauth, client, name="other")
    assert tokens.bearer(one, ROBOT).value != tokens.bearer(other, ROBOT).value


def test_after_401_one_token_is_fetched_by_whoever_had_the_old_one(oauth, sender, tokens, client):
    """I-38: each of twenty callers throws the refused token away; only the first throws one away that is there."""
    where = inventory(oauth, client)
    old = tokens.bearer(where, ROBOT).value
    sender.send(endpoint(oauth.url, methods=["POST"]), asking(f"/forget/{client}", "POST"), deadline_seconds=SANE)

    def call(_):
        answer = sender.send(where, asking("/racks"), deadline_seconds=SANE, bearer=old)
        assert answer.status == 401
        tokens.discard(where, ROBOT, old)
        new = tokens.bearer(where, ROBOT).value
        return sender.send(where, asking("/racks"), deadline_seconds=SANE, bearer=new).status

    with ThreadPoolExecutor(20) as pool:
        assert set(pool.map(call, range(20))) == {200}
    assert len(oauth.records(client_id=client)) == 2


def test_the_sink_that_refuses_the_first_call_takes_the_second(oauth, sink, sender, tokens, client):
    where = endpoint(
        f"{sink.url}/401-then-ok/{unique()}",
        token_url=f"{oauth.url}/token",
        client_id=client,
        client_secret={"env": "INVENTORY_SECRET"},
    )
    statuses = []
    for _ in range(2):
        value = tokens.bearer(where, ROBOT).value
        statuses.append(sender.send(where, asking("/x"), deadline_seconds=SANE, bearer=value).status)
        tokens.discard(where, ROBOT, value)
    assert statuses == [401, 200]
    assert len(oauth.records(client_id=client)) == 2


def test_whoever_waits_gives_up_alone(sink, tokens, client):
    """A token server that hangs: one is cancelled, one has no time left, and both asked by one request."""
    path, cancel = f"/hang/{unique()}", Cancel()
    where = inventory(sink, client, path)
    with ThreadPoolExecutor(2) as pool:
        hurried = pool.submit(tokens.bearer, where, ROBOT, deadline_seconds=0.5)
        cancelled = pool.submit(tokens.bearer, where, ROBOT, cancelled=cancel)
        with pytest.raises(IdentityError, match="did not answer within"):
            hurried.result(SANE)
        cancel.set()
        with pytest.raises(Cancelled) as caught:
            cancelled.result(SANE)
    assert caught.value.sent is False
    assert len(sink.records(path=path)) == 1


@pytest.mark.parametrize(
    ("identity", "more", "told"),
    [
        (ROBOT, {}, "no credentials configured"),
        (user("ada"), {}, "no credentials configured"),
        (user("ada"), {"token_url": "http://127.0.0.1:9/"}, "no exchange_url configured"),
    ],
)
def test_what_is_not_configured_any_more_is_told(tokens, monkeypatch, identity, more, told):
    """A schedule was written when it was."""
    with_secret = {"client_id": "x", "client_secret": {"env": "INVENTORY_SECRET"}} if more else {}
    with pytest.raises(IdentityError, match=told):
        tokens.bearer(endpoint("http://127.0.0.1:9", **more, **with_secret), identity)


def test_known_secrets_are_the_secret_and_the_tokens_and_no_repr_shows_them(oauth, tokens, client):
    where = inventory(oauth, client, "/lifetime/2/token")
    secret = f"secret-of-{client}"
    assert secret in tokens.known_secrets(where)
    token = tokens.bearer(where, ROBOT)
    tokens.discard(where, ROBOT, token.value)
    second = tokens.bearer(where, ROBOT)
    basic = base64.b64encode(f"{client}:{secret}".encode()).decode()
    assert {secret, basic, token.value, second.value} == set(tokens.known_secrets(where))
    for thing in (token, where, tokens, where.client_secret):
        assert not any(known in repr(thing) for known in tokens.known_secrets(where))
    assert tokens.known_secrets(endpoint("http://127.0.0.1:9")) == ()


def test_a_fetch_under_way_ends_for_those_who_wait_when_the_sender_is_closed(sink, sender, tokens, client):
    path = f"/hang/{unique()}"
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(tokens.bearer, inventory(sink, client, path), ROBOT)
        end = time.monotonic() + SANE
        while not sink.records(path=path):
            assert time.monotonic() < end
            time.sleep(0.01)
        sender.close()
        with pytest.raises(IdentityError, match="cancelled"):
            waiting.result(SANE)
