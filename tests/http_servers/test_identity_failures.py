"""Token servers that fail, lie, or repeat what they were sent: no token, a sentence, and no secret (I-36, TH-19)."""

from __future__ import annotations

import base64
import json
import logging
import socket
import traceback
from urllib.parse import quote

import pytest

from tasks.http.identity import IdentityError, Tokens
from tests.http_servers.parts import ROBOT, endpoint, user
from tests.http_servers.servers import unique

SECRET = "c4nary-of-the-token-server"
BASIC = base64.b64encode(f"robot:{SECRET}".encode()).decode()
GOOD = {"access_token": "t0ken", "token_type": "Bearer", "expires_in": 60}


@pytest.fixture
def tokens(sender, monkeypatch, caplog):
    caplog.set_level(logging.DEBUG)
    for name in ("httpcore", "httpx"):  # at that level they log every header they send
        logging.getLogger(name).setLevel(logging.INFO)
    monkeypatch.setenv("INVENTORY_SECRET", SECRET)
    return Tokens(lambda: sender)


def where(url, key="token_url", good="", **more):
    """An endpoint whose tokens come from there."""
    urls = {"token_url": good or url, key: url}
    return endpoint("http://127.0.0.1:9", client_id="robot", client_secret={"env": "INVENTORY_SECRET"}, **urls | more)


def say(sink, answer, status=200):
    """The URL where the sink answers so."""
    text = answer if isinstance(answer, str) else json.dumps(answer)
    return f"{sink.url}/say/{status}/{text.encode().hex()}/{unique()}"


def refused(tokens, caplog, endpoint_, identity=ROBOT, **more):
    """The sentence of the failure; nothing secret is in it, nor in what a program that crashes on it would print."""
    with pytest.raises(IdentityError) as caught:
        tokens.bearer(endpoint_, identity, **more)
    error = caught.value
    trace = traceback.TracebackException.from_exception(error, capture_locals=True)
    frames = [frame for frame in trace.stack if "/tests/" not in frame.filename]
    printed = "".join(traceback.StackSummary.from_list(frames).format()) + "".join(trace.format_exception_only())
    for text in (str(error), repr(error), error.message, printed, caplog.text, str(error.__dict__)):
        for secret in (SECRET, BASIC, quote(SECRET), SECRET[:12]):
            assert secret not in text
    assert error.__cause__ is None
    assert error.__context__ is None
    return error.message


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("/status/503", "answered 503, and that is no token"),
        ("/status/400", "answered 400, and that is no token"),
        ("/status/200", "answered 200, and that is no token"),
        ("/redirect/307", "answered 307, and that is no token"),
        ("/reset-before-apply", "gave no answer: the connection broke"),
        ("/reset-after-apply", "gave no answer: the connection broke"),
        ("/reset-in-body", "gave no answer: the connection broke"),
        ("/huge", "answered 200, and that is no token"),
        ("/bomb/gzip", "answered 200, and that is no token"),
        ("/many-headers/100000", "gave no answer"),
        ("/endless-1xx", "gave no answer: more than"),
        ("/echo/200", "answered without an access token"),
        ("/echo/400", "answered 400, and a token comes with 200"),
        ("/echo-raw", "gave no answer"),
    ],
)
def test_a_token_server_that_fails(sink, tokens, caplog, path, told):
    assert told in refused(tokens, caplog, where(f"{sink.url}{path}/{unique()}"))
    if path == "/echo/200":  # the secret was sent, so it could have been repeated
        assert f"Basic {BASIC}" in {record["headers"].get("authorization") for record in sink.records(path="/echo/200")}


@pytest.mark.parametrize(
    ("answered", "told"),
    [
        (({"error": "invalid_client"}, 401), "answered 401: invalid_client"),
        (({"error": "invalid_scope", "error_description": SECRET}, 400), "answered 400: invalid_scope"),
        (
            ({"error": SECRET, "error_description": SECRET, "error_uri": SECRET}, 400),
            "an error that no standard defines",
        ),
        (({"error": {"x": SECRET}}, 400), "no token"),
        (({"error": "invalid_client"}, 200), "answered 200: invalid_client"),
        ((GOOD, 201), "a token comes with 200"),
        ((GOOD, 500), "answered 500"),
        (([GOOD], 200), "no token"),
        ((" ", 200), "no token"),
        (('{"access_token": "' + SECRET, 200), "no token"),
        (({}, 200), "without an access token"),
        ((GOOD | {"access_token": ""}, 200), "without an access token"),
        ((GOOD | {"access_token": None}, 200), "without an access token"),
        ((GOOD | {"access_token": ["t"]}, 200), "without an access token"),
        ((GOOD | {"access_token": "a\r\nX: 1"}, 200), "without an access token"),
        ((GOOD | {"access_token": "a b"}, 200), "without an access token"),
        ((GOOD | {"access_token": "t\u00e9"}, 200), "without an access token"),
        ((GOOD | {"access_token": "a\0b"}, 200), "without an access token"),
        ((GOOD | {"token_type": "mac"}, 200), "no bearer token"),
        ((GOOD | {"expires_in": "soon"}, 200), "no token"),
        ((GOOD | {"expires_in": -1}, 200), "no number of seconds"),
        ((GOOD | {"expires_in": True}, 200), "no number of seconds"),
        ((GOOD | {"expires_in": {}}, 200), "no token"),
    ],
)
def test_an_answer_that_is_no_token(sink, tokens, caplog, answered, told):
    assert told in refused(tokens, caplog, where(say(sink, *answered)))


@pytest.mark.parametrize("missing", ["token_type", "expires_in"])
def test_what_an_answer_may_leave_out(sink, tokens, missing):
    answer = {key: value for key, value in GOOD.items() if key != missing}
    assert tokens.bearer(where(say(sink, answer)), ROBOT).value == "t0ken"


def test_seconds_may_be_written_as_text(sink, tokens):
    """RFC 6749 says a number; servers that write it as text are common."""
    assert tokens.bearer(where(say(sink, GOOD | {"expires_in": "60"})), ROBOT).value == "t0ken"


def test_a_redirect_takes_no_credential_with_it(sink, tls_sink, tokens, caplog):
    part = unique()
    message = refused(tokens, caplog, where(f"{sink.url}/redirect/307/{part}"))
    assert "answered 307" in message
    assert [record["headers"]["authorization"] for record in sink.records(path=part)] == [f"Basic {BASIC}"]
    assert tls_sink.records(path=part) == []


def test_nobody_there_and_nothing_to_say(tokens, caplog, monkeypatch):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        nobody = where(f"http://127.0.0.1:{taken.getsockname()[1]}/token")
        assert "Connection refused" in refused(tokens, caplog, nobody)
        monkeypatch.delenv("INVENTORY_SECRET")
        assert "the environment's INVENTORY_SECRET holds nothing" in refused(tokens, caplog, nobody)
        monkeypatch.setenv("INVENTORY_SECRET", f"{SECRET}\u2603")  # no header has that
        assert "was not asked" in refused(tokens, caplog, nobody)


def test_a_hung_token_server(sink, tokens, caplog):
    message = refused(tokens, caplog, where(f"{sink.url}/hang/{unique()}"), deadline_seconds=0.5)
    assert "did not answer within 0.5 s" in message


EXCHANGED = GOOD | {"issued_token_type": "urn:ietf:params:oauth:token-type:access_token"}


@pytest.mark.parametrize(
    ("answered", "told"),
    [
        (({"error": "invalid_request", "error_description": SECRET}, 400), "answered 400: invalid_request"),
        (({"error": "invalid_target"}, 400), "answered 400: invalid_target"),
        ((GOOD, 200), "another kind of token"),
        ((EXCHANGED | {"issued_token_type": "urn:ietf:params:oauth:token-type:saml2"}, 200), "another kind of token"),
        ((EXCHANGED | {"token_type": "N_A"}, 200), "no bearer token"),
    ],
)
def test_an_exchange_that_fails(sink, tokens, caplog, answered, told):
    there = where(say(sink, *answered), "exchange_url", good=say(sink, GOOD))
    assert told in refused(tokens, caplog, there, user("ada"))


def test_a_failed_exchange_fetches_the_actors_token_anew_next_time(sink, tokens, caplog):
    account = say(sink, GOOD)
    there = where(say(sink, {"error": "invalid_request"}, 400), "exchange_url", good=account)
    for count in (1, 2):
        refused(tokens, caplog, there, user("ada"))
        assert len(sink.records(path=account.removeprefix(sink.url))) == count


def test_an_echo_of_everything_that_was_sent_to_exchange(sink, tokens, caplog):
    there = where(f"{sink.url}/echo/400/{unique()}", "exchange_url", good=say(sink, GOOD))
    message = refused(tokens, caplog, there, user("ada"))
    assert "t0ken" not in message
