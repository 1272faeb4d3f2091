"""What became of an attempt, whether to try again, and when (I-50 to I-52, D-16, D-26).

A wrong `failed` hides an effect, a wrong retry does it twice: an attempt whose bytes may have left and that may not be
repeated ends as `unknown`, for a person to decide.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Final

from tasks.http.call import Policy
from tasks.states import RunState

MAX_WAIT: Final = 300.0  # seconds
SPREAD: Final = 0.25  # at most this part of a wait is added to it
_DELTA_SECONDS: Final = re.compile(r"[0-9]{1,18}\Z")


@dataclass(frozen=True, slots=True)
class Verdict:
    """How an attempt ended: the state, a word for programs (empty when all is well), a sentence for people."""

    state: RunState
    error_type: str = ""
    message: str = ""


def classify(code: str, status: int) -> Verdict:
    """The verdict on an answer, by the call's code (I-50). A gateway says 202 for done, 204 for nothing to do."""
    said = f"the target answered {_status(status)}"
    if code == "gateway":
        if status == HTTPStatus.ACCEPTED:
            return Verdict(RunState.SUCCEEDED)
        if status == HTTPStatus.NO_CONTENT:
            return Verdict(RunState.NO_EFFECT, message="the gateway had nothing to do")
        if _success(status):  # I-95: with a reason
            return Verdict(RunState.FAILED, f"http_{status}", f"{said}: a gateway accepts with 202 or 204")
    elif _success(status):
        return Verdict(RunState.SUCCEEDED)
    return Verdict(RunState.FAILED, f"http_{status}", said)


def _success(status: int) -> bool:
    return HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES


def _status(status: int) -> str:
    try:
        return f"{status} ({HTTPStatus(status).phrase})"
    except ValueError:
        return str(status)


def timed_out(*, seconds: float, sent: bool, idempotent: bool) -> Verdict:
    """The verdict when the deadline passed. `sent`: whether a byte of the request may be on its way (D-26)."""
    if sent and not idempotent:
        return _unknown("timeout", f"no answer within {seconds:g} s")
    return Verdict(RunState.TIMED_OUT, "timeout", f"no answer within {seconds:g} s")


def broken(message: str, *, sent: bool, idempotent: bool) -> Verdict:
    """The verdict when the connection failed. After bytes were sent that is no more known than a timeout."""
    if sent and not idempotent:
        return _unknown("transport", message)
    return Verdict(RunState.FAILED, "transport", message)


def cancelled(*, sent: bool) -> Verdict:
    """The verdict when somebody asked to stop (I-34)."""
    how = "the request may already have been sent" if sent else "nothing was sent"
    return Verdict(RunState.CANCELLED, "cancelled", f"cancelled: {how}")


def _unknown(error_type: str, message: str) -> Verdict:
    return Verdict(RunState.UNKNOWN, error_type, f"{message}: the request was sent, it may have been carried out")


def retryable(verdict: Verdict, status: int, *, idempotent: bool) -> bool:
    """Whether another attempt may follow (I-51), `status` 0 being none. Only what may be repeated (D-26, I-92)."""
    if not idempotent:
        return False
    if verdict.state is RunState.TIMED_OUT:
        return True
    if verdict.state is not RunState.FAILED:
        return False
    if status == 0:
        return verdict.error_type == "transport"
    return status == HTTPStatus.TOO_MANY_REQUESTS or status >= HTTPStatus.INTERNAL_SERVER_ERROR


def backoff(policy: Policy, attempt: int, retry_after: str | None, jitter: random.Random, *, now: datetime) -> float:
    """Seconds to wait after attempt number `attempt` (from 1): I-52's, or what the target asks for if that is longer.

    At most five minutes (I-90), with up to a quarter added, so that calls that failed together do not return together.
    `retry_after` is the header as it came: seconds or a date; anything else is ignored.
    """
    wait = max(_base(policy.retry_backoff, attempt), _asked(retry_after, now))
    return min(MAX_WAIT, wait * (1 + SPREAD * jitter.random()))


def _base(kind: str, attempt: int) -> float:
    if kind == "none":
        return 0.0
    if kind == "linear":
        return min(MAX_WAIT, float(attempt))
    return min(MAX_WAIT, 2.0 ** min(attempt - 1, 10))


def _asked(header: str | None, now: datetime) -> float:
    """Seconds that the target asks for, from 0 to five minutes."""
    text = (header or "").strip()
    if _DELTA_SECONDS.match(text):
        return min(MAX_WAIT, float(text))
    try:
        at = parsedate_to_datetime(text)
    except (TypeError, ValueError, IndexError, OverflowError):
        return 0.0
    at = at.replace(tzinfo=UTC) if at.tzinfo is None else at
    return min(MAX_WAIT, max(0.0, (at - now).total_seconds()))
