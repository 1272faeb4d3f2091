"""The two requests for tokens: client credentials, and an exchange for a user's (RFC 6749 4.4, RFC 8693).

authlib writes what is asked and reads what is answered; our transport carries it. Every failure is a sentence that
holds nothing of what was sent or received but the status and one of the error codes that the standards define.
"""

from __future__ import annotations

import base64
import contextlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from authlib.oauth2.auth import ClientAuth
from authlib.oauth2.base import OAuth2Error
from authlib.oauth2.client import OAuth2Client
from authlib.oauth2.rfc7523 import JWTBearerGrant
from joserfc.jwk import OctKey

from tasks.http.endpoints import Endpoint, Reference, Unreadable
from tasks.http.failures import NotAnswered, refused
from tasks.http.transport import Sender

EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"
ACCESS_TOKEN = "urn:ietf:params:oauth:token-type:access_token"  # noqa: S105  a kind of token
JWT = "urn:ietf:params:oauth:token-type:jwt"
FETCH_SECONDS = 30.0  # the deadline of one request for a token
ANSWER_BYTES = 64 * 1024
LIFETIME = 900.0  # seconds, where the answer says none (I-37)
LONGEST = 366 * 86400.0
STATEMENT_SECONDS = 60
# What RFC 6749 5.2 and RFC 8693 2.2.2 define. Any other word may be something that was sent.
CODES = frozenset(
    {"invalid_request", "invalid_client", "invalid_grant", "unauthorized_client", "unsupported_grant_type"}
    | {"invalid_scope", "invalid_target", "temporarily_unavailable", "server_error", "access_denied"}
)


class Failed(Exception):
    """There is no token. The sentence says why, and holds no secret."""


@dataclass(frozen=True, slots=True)
class Grant:
    """A bearer token and for how many seconds it is good."""

    value: str = field(repr=False)
    lifetime: float


def client_credentials(sender: Sender, endpoint: Endpoint) -> Grant:
    """The service account's token. Raises Failed."""
    answer = _ask(sender, endpoint, "token_url", "client_credentials", _target(endpoint))
    return _read(answer, endpoint, "token_url")


def exchanged(sender: Sender, endpoint: Endpoint, *, subject: str, consent_id: str, actor_token: str) -> Grant:
    """A token for `subject` with the service account as actor, under the consent. Raises Failed (RFC 8693 2.1)."""
    parameters = _target(endpoint) or {"resource": str(endpoint.base_url)}
    parameters |= {
        "subject_token": _statement(endpoint, subject, consent_id),
        "subject_token_type": JWT,
        "actor_token": actor_token,
        "actor_token_type": ACCESS_TOKEN,
        "requested_token_type": ACCESS_TOKEN,
    }
    answer = _ask(sender, endpoint, "exchange_url", EXCHANGE, parameters)
    if answer.get("issued_token_type") not in {ACCESS_TOKEN, JWT}:
        raise _failed(endpoint, "exchange_url", "answered with another kind of token than an access token")
    return _read(answer, endpoint, "exchange_url")


def secrets_of(endpoint: Endpoint) -> tuple[str, ...]:
    """The endpoint's secret and the header that it makes; nothing where it cannot be read."""
    if endpoint.client_secret is None:
        return ()
    with contextlib.suppress(Unreadable):
        client_id, secret = _credentials(endpoint)
        return secret, base64.b64encode(f"{client_id}:{secret}".encode()).decode()
    return ()


def credentials_problem(endpoint: Endpoint) -> str:
    """Why client id and secret cannot be read; empty where they can."""
    try:
        _credentials(endpoint)
    except Unreadable as error:
        return f"{endpoint.name}: {error}"
    return ""


def client_id_of(endpoint: Endpoint) -> str:
    """The service account's name; empty where it cannot be read."""
    with contextlib.suppress(Unreadable):
        return _client_id(endpoint)
    return ""


def _client_id(endpoint: Endpoint) -> str:
    client_id = endpoint.client_id
    return client_id.read() if isinstance(client_id, Reference) else client_id


def _credentials(endpoint: Endpoint) -> tuple[str, str]:
    """Client id and secret. Raises Unreadable."""
    assert endpoint.client_secret is not None
    return _client_id(endpoint), endpoint.client_secret.read()


def _target(endpoint: Endpoint) -> dict[str, str]:
    return {"audience": endpoint.audience} if endpoint.audience else {}


def _statement(endpoint: Endpoint, subject: str, consent_id: str) -> str:
    """For whom we ask, by which consent: signed, for this server, for a minute, once."""
    try:
        client_id, secret = _credentials(endpoint)
    except Unreadable as error:
        raise _failed(endpoint, "exchange_url", f"is not asked: {error}") from None
    statement: str = JWTBearerGrant.sign(
        key=OctKey.import_key(secret),
        issuer=client_id,
        audience=str(endpoint.exchange_url),
        subject=subject,
        claims={"consent_id": consent_id},
        header={"alg": "HS256"},
        expires_in=STATEMENT_SECONDS,
    )
    return statement


def _ask(
    sender: Sender, endpoint: Endpoint, key: str, grant_type: str, parameters: Mapping[str, str]
) -> Mapping[str, Any]:
    session = _Session(sender, endpoint, key)
    try:
        client_id, secret = _credentials(endpoint)
        client = OAuth2Client(
            session,
            client_id=client_id,
            client_secret=secret,
            token_endpoint_auth_method=endpoint.client_auth,
            scope=endpoint.scope or None,
        )
        answer: Mapping[str, Any] = client.fetch_token(str(endpoint.urls()[key]), grant_type=grant_type, **parameters)
    except Unreadable as error:
        raise _failed(endpoint, key, f"is not asked: {error}") from None
    except NotAnswered as error:
        raise _failed(endpoint, key, f"gave no answer: {error.message}") from None
    except OAuth2Error as error:
        code = error.error if error.error in CODES else "an error that no standard defines"
        raise _failed(endpoint, key, f"answered {session.status}: {code}") from None
    except Exception as error:  # noqa: BLE001  whatever it says may hold what was sent
        if session.status is None:
            raise _failed(endpoint, key, f"was not asked: {type(error).__name__}") from None
        raise _failed(endpoint, key, f"answered {session.status}, and that is no token") from None
    if session.status != 200:  # noqa: PLR2004  what RFC 6749 5.1 says
        raise _failed(endpoint, key, f"answered {session.status}, and a token comes with 200")
    return answer


def _read(answer: Mapping[str, Any], endpoint: Endpoint, key: str) -> Grant:
    value = answer.get("access_token")
    if not isinstance(value, str) or not value or refused("Authorization", value) or " " in value:
        raise _failed(endpoint, key, "answered without an access token")
    if str(answer.get("token_type", "Bearer")).lower() != "bearer":
        raise _failed(endpoint, key, "answered with a token that is no bearer token")
    lifetime = answer.get("expires_in", LIFETIME)
    if isinstance(lifetime, str) and lifetime.isascii() and lifetime.isdecimal():
        lifetime = float(lifetime)  # the standard says a number, and many write it as text
    if isinstance(lifetime, bool) or not isinstance(lifetime, int | float) or not lifetime > 0:
        raise _failed(endpoint, key, "answered with an expires_in that is no number of seconds")
    return Grant(value, min(float(lifetime), LONGEST))


def _failed(endpoint: Endpoint, key: str, what: str) -> Failed:
    return Failed(f"no token for {endpoint.name}: {endpoint.urls()[key]} {what}")


class _Session:
    """What authlib's client posts with."""

    def __init__(self, sender: Sender, endpoint: Endpoint, key: str) -> None:
        self._sender = sender
        self._endpoint = endpoint
        self._key = key
        self.status: int | None = None

    def post(self, url: str, data: Mapping[str, str], headers: Mapping[str, str], auth: ClientAuth) -> _Answer:
        """Post a form with the client's authentication."""
        _, headers, form = auth.prepare("POST", url, dict(headers), urlencode(data))
        call = self._sender.start_form(
            self._endpoint,
            self._key,
            headers=headers,
            body=form.encode(),
            deadline_seconds=FETCH_SECONDS,
            read=ANSWER_BYTES + 1,
        )
        response = call.result()
        self.status = response.status
        return _Answer(response.status, response.excerpt_bytes)


@dataclass(frozen=True, slots=True)
class _Answer:
    """What authlib's client reads of an answer."""

    status_code: int
    content: bytes = field(repr=False)

    def json(self) -> Any:
        return json.loads(self.content)

    def raise_for_status(self) -> None:
        if self.status_code >= 400:  # noqa: PLR2004
            raise ValueError(self.status_code)
