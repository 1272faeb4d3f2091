"""As whom a request is made, found out when it is made (D-24, I-35…I-40). Tokens are in memory only.

A service account's token comes by client credentials (RFC 6749, 4.4). For a user, that token and a statement of ours,
signed with the client's secret (RFC 7523: the user, the consent, a minute), are exchanged for one of theirs (RFC 8693):
nothing here ever holds a user's own token, and the server decides by its record of the consent, anew each time.

authlib writes the requests and reads the answers; what carries them is our own transport, with all its rules. What goes
wrong is told in sentences of ours: a token server may repeat in its error what it was sent.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from tasks.http import grants
from tasks.http.call import Identity
from tasks.http.endpoints import Endpoint
from tasks.http.failures import Cancelled
from tasks.http.grants import Failed, Grant
from tasks.http.transport import Cancel, Sender, sender

logger = logging.getLogger(__name__)

MARGIN = 60.0  # seconds before its end in which a token is not used any more, or half its life if that is shorter
WAIT = 30.0  # seconds for a token, unless the caller has less
REMEMBERED = 256  # tokens of an endpoint that scrubbing knows, the latest


class IdentityError(Exception):
    """There is no token, so no request is made (I-36). `message` holds nothing secret."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


@dataclass(frozen=True, slots=True)
class Token:
    """What authorizes a request, and who acts if it is not the one it is for: the service account, or nobody (I-39)."""

    value: str = field(repr=False)
    actor: str = ""


@dataclass(frozen=True, slots=True)
class _Whose:
    """A token's place: an endpoint's service account, or a user under a consent."""

    endpoint: Endpoint
    subject: str = ""
    consent_id: str = ""

    @classmethod
    def of(cls, endpoint: Endpoint, identity: Identity) -> _Whose:
        if identity.kind == "delegated_user":
            return cls(endpoint, identity.subject or "", identity.consent_id or "")
        return cls(endpoint)


@dataclass(frozen=True, slots=True)
class _Held:
    token: Token
    fresh_until: float
    valid_until: float


# A token, or the sentence why there is none.
_Outcome = Token | str


class Tokens:
    """The tokens of a process. `clock` is monotonic, in seconds."""

    def __init__(self, sender_of: Callable[[], Sender] = sender, clock: Callable[[], float] = time.monotonic) -> None:
        self._sender_of = sender_of
        self._clock = clock
        self._lock = threading.Lock()
        self._held: dict[_Whose, _Held] = {}
        self._flights: dict[_Whose, concurrent.futures.Future[_Outcome]] = {}
        self._seen: dict[Endpoint, deque[str]] = {}

    def bearer(
        self, endpoint: Endpoint, identity: Identity, *, deadline_seconds: float = WAIT, cancelled: Cancel | None = None
    ) -> Token:
        """A token that is good for a while. Raises IdentityError; Cancelled when `cancelled` is thrown meanwhile.

        Whoever needs the same one at the same time waits for the same fetch.
        """
        if problem := _impossible(endpoint, identity):
            raise IdentityError(problem)
        outcome = self._token(_Whose.of(endpoint, identity), deadline_seconds, cancelled)
        if isinstance(outcome, str):
            raise IdentityError(outcome)
        return outcome

    def discard(self, endpoint: Endpoint, identity: Identity, value: str) -> None:
        """Forget the token `value`, which the target did not accept; one that has replaced it meanwhile stays.

        With a user's token goes the service account's that it was got by.
        """
        whose = _Whose.of(endpoint, identity)
        with self._lock:
            held = self._held.get(whose)
            if held is not None and held.token.value == value:
                del self._held[whose]
                self._held.pop(_Whose(endpoint), None)

    def known_secrets(self, endpoint: Endpoint) -> tuple[str, ...]:
        """What must appear nowhere: the endpoint's secret and the latest tokens got with it."""
        with self._lock:
            seen = tuple(self._seen.get(endpoint, ()))
        return (*grants.secrets_of(endpoint), *seen)

    def _token(self, whose: _Whose, seconds: float, cancelled: Cancel | None) -> _Outcome:
        with self._lock:
            held = self._held.get(whose)
            if held is not None and self._clock() < held.fresh_until:
                return held.token
            flight = self._flights.get(whose)
            if flight is None:
                self._flights[whose] = flight = concurrent.futures.Future()
                threading.Thread(target=self._fetch, args=(whose, flight), name="token", daemon=True).start()
        return _wait(flight, seconds, cancelled)

    def _fetch(self, whose: _Whose, flight: concurrent.futures.Future[_Outcome]) -> None:
        """Fetch for whoever waits; in a thread of its own, so that one of them who gives up stops no other."""
        grant: Grant | None = None
        sentence = ""
        try:
            grant = self._grant(whose)
        except Failed as failure:
            sentence = str(failure)
        except Exception as error:  # noqa: BLE001  its text may hold what was sent; its kind does not
            sentence = f"no token for {whose.endpoint.name}: {type(error).__name__}"
            logger.error("%s", sentence)  # noqa: TRY400  likewise
        with self._lock:
            outcome = self._keep(whose, grant) if grant is not None else self._kept(whose) or sentence
            del self._flights[whose]
        flight.set_result(outcome)

    def _grant(self, whose: _Whose) -> Grant:
        endpoint = whose.endpoint
        if not whose.subject:
            return grants.client_credentials(self._sender_of(), endpoint)
        account = _Whose(endpoint)
        actor = self._token(account, grants.FETCH_SECONDS, None)
        if isinstance(actor, str):
            raise Failed(actor)
        try:
            return grants.exchanged(
                self._sender_of(),
                endpoint,
                subject=whose.subject,
                consent_id=whose.consent_id,
                actor_token=actor.value,
            )
        except Failed:
            with self._lock:  # it may be the actor's token that is not good any more
                self._held.pop(account, None)
            raise

    def _keep(self, whose: _Whose, grant: Grant) -> Token:
        now = self._clock()
        token = Token(grant.value, grants.client_id_of(whose.endpoint) if whose.subject else "")
        over = now + grant.lifetime
        for other in [other for other, held in self._held.items() if held.valid_until <= now]:
            del self._held[other]
        self._held[whose] = _Held(token, over - min(MARGIN, grant.lifetime / 2), over)
        self._seen.setdefault(whose.endpoint, deque(maxlen=REMEMBERED)).append(grant.value)
        return token

    def _kept(self, whose: _Whose) -> Token | None:
        """The one there is, where no newer is to be had yet and it is still good."""
        held = self._held.get(whose)
        return held.token if held is not None and self._clock() < held.valid_until else None


def _impossible(endpoint: Endpoint, identity: Identity) -> str:
    """Why this endpoint has no token for that identity; what was possible when it was written may not be now."""
    if identity.kind not in {"service_account", "delegated_user"}:
        return f"{endpoint.name}: identity {identity.kind} has no token"
    if not endpoint.has_credentials:
        return f"{endpoint.name} has no credentials configured (token_url, client_id, client_secret)"
    if identity.kind == "delegated_user":
        if endpoint.exchange_url is None:
            return f"{endpoint.name} has no exchange_url configured, so nobody can be called for"
        if not identity.subject or not identity.consent_id:
            return "delegated_user needs a subject and a consent_id"
    return ""


def _wait(flight: concurrent.futures.Future[_Outcome], seconds: float, cancelled: Cancel | None) -> _Outcome:
    """The outcome, or why it is not waited for any longer. Raises Cancelled."""
    woken = threading.Event()
    flight.add_done_callback(lambda _: woken.set())
    with cancelled.calling(woken.set) if cancelled is not None else contextlib.nullcontext():
        woken.wait(seconds)
    if flight.done():
        return flight.result()
    if cancelled is not None and cancelled.is_set():
        raise Cancelled(sent=False)
    return f"no token: the token server did not answer within {seconds:g} s"


_tokens = Tokens()
bearer = _tokens.bearer
discard = _tokens.discard
known_secrets = _tokens.known_secrets


def problem_of(endpoint: Endpoint, identity: Identity) -> str:
    """Why no token could be asked for, as far as that can be told without asking; empty where it could."""
    return _impossible(endpoint, identity) or grants.credentials_problem(endpoint)
