"""`python -m tests.http_servers.oauth LOG`: an OAuth 2 server, authlib's, with a token exchange of ours (RFC 8693).

Prints its port when it listens, on 127.0.0.1. Each request for a token is one line of JSON in LOG, on disk before the
answer: {client_id, form, status, claims}. Clients are called `client-…` and have the secret `secret-of-client-…`, so
that each test has its own; `rs08` is the standard's. A user agrees to a consent called `consent-of-USER`, no other.

    POST /token, /lifetime/SECONDS/token, /delay/SECONDS/token    both grants
    GET|POST /resource/…       200 with the token's claims, 401 without a token that counts
    POST /forget/CLIENT        tokens issued to CLIENT so far count no more
"""

from __future__ import annotations

import os
import sys
import threading
import time

from authlib.integrations.flask_oauth2 import AuthorizationServer
from authlib.oauth2.rfc6749 import BaseGrant, ClientMixin, InvalidRequestError, TokenEndpointMixin
from authlib.oauth2.rfc6749.grants import ClientCredentialsGrant
from authlib.oauth2.rfc8693 import __name__ as rfc8693  # noqa: F401  what is missing there is here
from flask import Flask, Response, g, jsonify, request
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import OctKey
from werkzeug.serving import make_server

from tests.http_servers.sink import Log

EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"
ACCESS_TOKEN = "urn:ietf:params:oauth:token-type:access_token"
JWT = "urn:ietf:params:oauth:token-type:jwt"
ISSUER = "https://as.example.com"
KEY = OctKey.import_key("the key of the authorization server, which nobody else has")
# The access token of RFC 8693's example, figure 1, and whose it is.
STANDARD = {"accVkjcJyb4BWCxGsndESCJQbdFMogUC5PbRDqceLTC": {"sub": "bdc@example.com", "scope": "api"}}
STANDARD_CLIENT = ("rs08", "long-secure-random-secret")

app = Flask(__name__)
forgotten: dict[str, float] = {}
lock = threading.Lock()


class Client(ClientMixin):
    """Any client with the name of one."""

    def __init__(self, name: str) -> None:
        self.name = name

    def get_client_id(self) -> str:
        return self.name

    def get_allowed_scope(self, scope: str) -> str:
        return scope

    def check_client_secret(self, secret: str) -> bool:
        return secret == secret_of(self.name)

    def check_endpoint_auth_method(self, method: str, endpoint: str) -> bool:
        return method in {"client_secret_basic", "client_secret_post"}

    def check_grant_type(self, grant_type: str) -> bool:
        return True


def secret_of(name: str) -> str:
    """What a client proves itself with."""
    return STANDARD_CLIENT[1] if name == STANDARD_CLIENT[0] else f"secret-of-{name}"


def issue(claims: dict) -> str:
    """A signed access token."""
    now = clock()
    common = {"iss": ISSUER, "iat": int(now), "exp": int(now + lifetime()), "jti": os.urandom(8).hex(), "at": now}
    g.claims = common | claims
    return jwt.encode({"alg": "HS256"}, g.claims, KEY)


def clock() -> float:
    """Seconds since 1970: what a token's claims are in."""
    return time.time()  # noqa: TID251


def lifetime() -> int:
    return (request.view_args or {}).get("seconds", 3600)


def claims_of(token: str, key: OctKey = KEY) -> dict:
    """The claims of a token that is signed and not over. Raises ValueError."""
    try:
        claims = jwt.decode(token, key, algorithms=["HS256"]).claims
    except (JoseError, ValueError) as error:
        raise ValueError("no token of ours") from error
    if claims.get("exp", 0) <= clock():
        raise ValueError("the token is over")
    return claims


class Credentials(ClientCredentialsGrant):
    """authlib's, with both ways to show a secret."""

    TOKEN_ENDPOINT_AUTH_METHODS = ["client_secret_basic", "client_secret_post"]


class Exchange(BaseGrant, TokenEndpointMixin):
    """RFC 8693: a token for a subject, with whoever asks as the actor (section 4.1)."""

    GRANT_TYPE = EXCHANGE
    TOKEN_ENDPOINT_AUTH_METHODS = ["client_secret_basic", "client_secret_post"]

    def validate_token_request(self) -> None:
        self.request.client = self.authenticate_token_endpoint_client()
        form = self.request.form
        for name in ("subject_token", "subject_token_type"):
            if not form.get(name):
                raise InvalidRequestError(f"Missing {name}")
        if bool(form.get("actor_token")) != bool(form.get("actor_token_type")):
            raise InvalidRequestError("actor_token and actor_token_type go together")
        try:
            self.subject = self._subject(form["subject_token"], form["subject_token_type"])
            self.actor = self._actor(form.get("actor_token"), form.get("actor_token_type"))
        except ValueError as error:
            raise InvalidRequestError(str(error)) from error  # section 2.2.2
        allowed = self.subject.get("may_act", {}).get("sub")  # section 4.4
        if allowed is not None and allowed != (self.actor or {}).get("sub"):
            raise InvalidRequestError("the actor may not act for the subject")

    def _subject(self, token: str, kind: str) -> dict:
        if kind == ACCESS_TOKEN:
            return STANDARD.get(token) or claims_of(token)
        if kind != JWT:
            raise ValueError("this kind of subject_token is not accepted")
        name = self.request.client.get_client_id()
        claims = claims_of(token, OctKey.import_key(secret_of(name)))
        if (claims.get("iss"), claims.get("aud")) != (name, request.base_url):
            raise ValueError("the statement is by another or for another")
        if claims.get("consent_id") != f"consent-of-{claims.get('sub')}":
            raise ValueError("the user did not agree")
        return {"sub": claims["sub"]}

    def _actor(self, token: str | None, kind: str | None) -> dict | None:
        if token is None:
            return None
        if kind != ACCESS_TOKEN:
            raise ValueError("this kind of actor_token is not accepted")
        claims = claims_of(token)
        if not counts(claims):
            raise ValueError("the actor_token does not count any more")
        return {"sub": claims["sub"]} | ({"act": claims["act"]} if "act" in claims else {})

    def create_token_response(self) -> tuple[int, dict, list]:
        form = self.request.form
        claims = {"sub": self.subject["sub"], "client_id": self.request.client.get_client_id()}
        claims |= {"act": self.actor} if self.actor else {}
        claims |= {"scope": scope} if (scope := form.get("scope") or self.subject.get("scope")) else {}
        claims |= {"aud": audience} if (audience := form.get("audience") or form.get("resource")) else {}
        token = {"access_token": issue(claims), "issued_token_type": ACCESS_TOKEN, "token_type": "Bearer"}
        return 200, token | {"expires_in": lifetime()}, self.TOKEN_RESPONSE_HEADER


def counts(claims: dict) -> bool:
    """Whether a token of these claims was not forgotten."""
    return claims.get("at", 0) > forgotten.get(claims.get("client_id", ""), 0)


def bearer_token(client, grant_type, user=None, scope=None, **_rest) -> dict:
    """What a client credentials grant answers."""
    name = client.get_client_id()
    value = issue({"sub": name, "client_id": name} | ({"scope": scope} if scope else {}))
    return {"access_token": value, "token_type": "Bearer", "expires_in": lifetime()}


server = AuthorizationServer(
    query_client=lambda name: Client(name) if name == STANDARD_CLIENT[0] or name.startswith("client-") else None,
    save_token=lambda token, oauth_request: None,
)


@app.post("/token")
@app.post("/lifetime/<int:seconds>/token")
@app.post("/delay/<float:delay>/token")
def token(seconds: int = 0, delay: float = 0) -> Response:
    time.sleep(delay)
    response = server.create_token_response()
    name = request.authorization.username if request.authorization else request.form.get("client_id")
    record = {"client_id": name, "form": request.form.to_dict(), "status": response.status_code}
    app.config["LOG"].append(record | {"claims": g.get("claims")})
    return response


@app.route("/resource/<path:_rest>", methods=["GET", "POST", "PUT", "DELETE"])
def resource(_rest: str) -> tuple[Response, int]:
    kind, _, value = request.headers.get("Authorization", "").partition(" ")
    try:
        claims = claims_of(value)
    except ValueError:
        claims = {}
    if kind != "Bearer" or not claims or not counts(claims):
        return jsonify(error="invalid_token"), 401
    return jsonify(claims), 200


@app.post("/forget/<name>")
def forget(name: str) -> tuple[str, int]:
    with lock:
        forgotten[name] = clock()
    return "", 204


def main(log: str) -> None:
    """Serve until killed."""
    os.environ["AUTHLIB_INSECURE_TRANSPORT"] = "1"
    app.config["LOG"] = Log(log)
    server.init_app(app)
    server.register_token_generator("default", bearer_token)
    server.register_grant(Credentials)
    server.register_grant(Exchange)
    listening = make_server("127.0.0.1", 0, app, threaded=True)
    print(listening.server_port, flush=True)  # noqa: T201  whoever started it waits for this line
    listening.serve_forever()


if __name__ == "__main__":
    main(*sys.argv[1:])
