"""Tokens of users by exchange, against the examples of RFC 8693 (its sections 2.3 and 4)."""

from __future__ import annotations

import base64
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import parse_qs, urlencode

import pytest
from joserfc import jwt
from joserfc.jwk import OctKey

from tasks.http.identity import IdentityError, Tokens
from tasks.http.transport import Response
from tests.http_servers.oauth import EXCHANGE, KEY, STANDARD
from tests.http_servers.parts import ROBOT, asking, endpoint, user
from tests.http_servers.servers import unique

SANE = 20
ACCESS_TOKEN = "urn:ietf:params:oauth:token-type:access_token"
# Section 2.3, the first example: rs08 got a token from its caller and exchanges it for one it may use further on.
FIGURE_1 = {
    "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange",
    "resource": "https://backend.example.com/api",
    "subject_token": "accVkjcJyb4BWCxGsndESCJQbdFMogUC5PbRDqceLTC",
    "subject_token_type": "urn:ietf:params:oauth:token-type:access_token",
}
FIGURE_1_AUTHORIZATION = "Basic cnMwODpsb25nLXNlY3VyZS1yYW5kb20tc2VjcmV0"
# Section 2.3, what is answered; the token itself is any.
FIGURE_2 = {"access_token": "any", "issued_token_type": ACCESS_TOKEN, "token_type": "Bearer", "expires_in": 60}
# Section 4.1, the claims of a token by which admin acts for user.
FIGURE_5 = {"sub": "user@example.com", "act": {"sub": "admin@example.com"}}


@pytest.fixture
def tokens(sender):
    return Tokens(lambda: sender)


@pytest.fixture
def client(monkeypatch):
    name = unique("client")
    monkeypatch.setenv("INVENTORY_SECRET", f"secret-of-{name}")
    return name


def inventory(oauth, client, token="/token", **more):
    return endpoint(
        f"{oauth.url}/resource",
        token_url=f"{oauth.url}/token",
        exchange_url=more.pop("exchange_url", f"{oauth.url}{token}"),
        client_id=client,
        client_secret={"env": "INVENTORY_SECRET"},
        **more,
    )


def post(sender, url, form, authorization=FIGURE_1_AUTHORIZATION) -> Response:
    """A form posted as it is."""
    where = endpoint("http://127.0.0.1:9", token_url=url, client_id="x", client_secret={"env": "X"})
    headers = {"Content-Type": "application/x-www-form-urlencoded", "Authorization": authorization}
    body = urlencode(form).encode()
    return sender.start_form(where, "token_url", headers=headers, body=body, deadline_seconds=SANE, read=65536).result(
        SANE
    )


def forms(oauth, client) -> list[dict]:
    """What a client has asked the OAuth server."""
    return [record["form"] for record in oauth.records(client_id=client)]


def test_the_server_answers_the_standards_example_as_the_standard_does(oauth, sender):
    """Else a client that agrees with it would agree with nobody else."""
    answer = post(sender, f"{oauth.url}/lifetime/60/token", FIGURE_1)
    assert answer.status == 200
    assert answer.headers["content-type"] == "application/json"
    assert "no-store" in answer.headers["cache-control"]
    told = json.loads(answer.excerpt_bytes)
    assert told | {"access_token": "any"} == FIGURE_2
    claims = jwt.decode(told["access_token"], KEY, algorithms=["HS256"]).claims
    example = {"aud": "https://backend.example.com/api", "iss": "https://as.example.com", "scope": "api"}
    assert {key: claims[key] for key in example} == example
    assert claims["sub"] == STANDARD[FIGURE_1["subject_token"]]["sub"]
    assert claims["exp"] - claims["iat"] == 60


@pytest.mark.parametrize(
    "change",
    [
        {"subject_token": "another"},
        {"subject_token": ""},
        {"subject_token_type": ""},
        {"subject_token_type": "urn:ietf:params:oauth:token-type:saml2"},
        {"actor_token": FIGURE_1["subject_token"]},
        {"actor_token_type": ACCESS_TOKEN},
    ],
)
def test_the_server_refuses_as_section_2_2_2_says(oauth, sender, change):
    answer = post(sender, f"{oauth.url}/token", FIGURE_1 | change)
    assert (answer.status, json.loads(answer.excerpt_bytes)["error"]) == (400, "invalid_request")


def test_our_request_is_of_the_standards_form(sink, tokens, client):
    """Sent to where it is only written down, and answered as in the standard."""
    answers = [FIGURE_2 | {"access_token": value} for value in ("of-the-account", "of-ada")]
    account, exchange = (f"{sink.url}/say/200/{json.dumps(a).encode().hex()}/{unique()}" for a in answers)
    where = endpoint(
        "https://backend.example.com/api",
        token_url=account,
        exchange_url=exchange,
        client_id=client,
        client_secret={"env": "INVENTORY_SECRET"},
    )
    token = tokens.bearer(where, user("ada", "c-1"))
    assert (token.value, token.actor) == ("of-ada", client)
    (asked,) = sink.records(path=exchange.removeprefix(sink.url))
    assert asked["method"] == "POST"
    assert asked["headers"]["content-type"].startswith("application/x-www-form-urlencoded")
    assert asked["headers"]["authorization"].startswith("Basic ")
    form = {key: value for key, (value,) in parse_qs(asked["body"], strict_parsing=True).items()}
    statement = form.pop("subject_token")
    assert set(FIGURE_1) - {"subject_token"} <= set(form)
    assert form == {
        "grant_type": FIGURE_1["grant_type"],
        "resource": FIGURE_1["resource"],
        "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
        "actor_token": "of-the-account",
        "actor_token_type": ACCESS_TOKEN,
        "requested_token_type": ACCESS_TOKEN,
    }
    said = jwt.decode(statement, OctKey.import_key(f"secret-of-{client}"), algorithms=["HS256"])
    assert said.header["alg"] == "HS256"
    assert {key: said.claims[key] for key in ("iss", "sub", "aud", "consent_id")} == {
        "iss": client,
        "sub": "ada",
        "aud": exchange,
        "consent_id": "c-1",
    }
    assert said.claims["exp"] - said.claims["iat"] == 60
    assert said.claims["jti"]


def test_an_audience_takes_the_resources_place(oauth, tokens, client):
    tokens.bearer(inventory(oauth, client, audience="inventory", scope="racks:read"), user("ada"))
    (asked,) = [form for form in forms(oauth, client) if form["grant_type"] == EXCHANGE]
    assert (asked["audience"], asked["scope"]) == ("inventory", "racks:read")
    assert "resource" not in asked


def test_the_token_names_the_user_and_who_acts(oauth, sender, tokens, client):
    """Section 4.1: sub is the user, act is the scheduler; and it counts at the resource."""
    where = inventory(oauth, client)
    token = tokens.bearer(where, user("user@example.com"))
    assert token.actor == client
    answer = sender.send(where, asking("/racks"), deadline_seconds=SANE, bearer=token.value)
    claims = json.loads(answer.excerpt_bytes)
    assert answer.status == 200
    assert {key: claims[key] for key in FIGURE_5} == FIGURE_5 | {"act": {"sub": client}}
    assert claims["client_id"] == client
    assert claims["aud"] == f"{oauth.url}/resource"


def test_a_subject_token_may_say_who_may_act(oauth, sender, tokens, client):
    """Section 4.4 of the server: another actor than the one named is refused."""
    actor = tokens.bearer(inventory(oauth, client), ROBOT).value
    for name, status in ((client, 200), ("admin@example.com", 400)):
        claims = {"sub": "user@example.com", "may_act": {"sub": name}, "exp": 1 << 33}
        form = FIGURE_1 | {"subject_token": jwt.encode({"alg": "HS256"}, claims, KEY)}
        form |= {"actor_token": actor, "actor_token_type": ACCESS_TOKEN}
        assert post(sender, f"{oauth.url}/token", form).status == status


def test_a_user_who_did_not_agree_is_not_called_for(oauth, tokens, client):
    where = inventory(oauth, client)
    with pytest.raises(IdentityError, match="answered 400: invalid_request"):
        tokens.bearer(where, user("ada", "consent-of-bob"))


def test_a_statement_is_for_one_server_and_one_client(oauth, sender, tokens, client):
    """Whoever comes to see one can do nothing with it elsewhere, nor as somebody else."""
    tokens.bearer(inventory(oauth, client), user("ada"))
    (form,) = [form for form in forms(oauth, client) if form["grant_type"] == EXCHANGE]
    form = {key: value for key, value in form.items() if not key.startswith("actor_")}
    own = f"Basic {base64.b64encode(f'{client}:secret-of-{client}'.encode()).decode()}"
    for url, authorization, status in (("/token", own, 200), ("/lifetime/60/token", own, 400), ("/token", None, 400)):
        answer = post(sender, f"{oauth.url}{url}", form, authorization or FIGURE_1_AUTHORIZATION)
        assert answer.status == status


def test_users_have_tokens_of_their_own_and_share_the_actors(oauth, tokens, client):
    where = inventory(oauth, client)
    barrier = threading.Barrier(20)

    def fetch(number):
        barrier.wait()
        return tokens.bearer(where, user(f"user{number % 4}")).value

    with ThreadPoolExecutor(20) as pool:
        values = list(pool.map(fetch, range(20)))
    assert len(set(values)) == 4
    grants = [form["grant_type"] for form in forms(oauth, client)]
    assert sorted(grants) == ["client_credentials"] + [EXCHANGE] * 4


def test_a_refused_token_is_thrown_away_with_the_actors(oauth, sender, tokens, client):
    where, ada = inventory(oauth, client), user("ada")
    old = tokens.bearer(where, ada).value
    sender.send(endpoint(oauth.url), asking(f"/forget/{client}", "POST"), deadline_seconds=SANE)
    assert sender.send(where, asking("/racks"), deadline_seconds=SANE, bearer=old).status == 401
    tokens.discard(where, ada, old)
    new = tokens.bearer(where, ada).value
    assert sender.send(where, asking("/racks"), deadline_seconds=SANE, bearer=new).status == 200
    tokens.discard(where, ada, old)  # somebody who is late
    assert tokens.bearer(where, ada).value == new
