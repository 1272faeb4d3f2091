"""How a request can end without an answer, and in what words (I-57, TH-19).

The words are ours. What libraries and targets say may repeat what was sent, and so a credential: of their errors only
the kind is told, and the operating system's own reason.
"""

from __future__ import annotations

import os
import re
import ssl

import httpcore
import httpx

from tasks.http.network import TooMuch, Unresolved

NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,255}")
VALUE = re.compile(r"[\x20-\x7e]*")
VALUE_BYTES = 32 * 1024


class NotAnswered(Exception):
    """No complete answer. `sent`: the request may have arrived. `status`: of the answer that began, if one did."""

    def __init__(self, message: str, *, sent: bool, status: int | None = None) -> None:
        begun = f" (an answer with status {status} had begun)" if status is not None else ""
        super().__init__(f"{message}{begun}")
        self.message = f"{message}{begun}"
        self.sent = sent
        self.status = status


class Timeout(NotAnswered):
    """The deadline passed."""

    def __init__(self, *, sent: bool, status: int | None = None) -> None:
        what = "the answer was not complete in time" if sent else "nothing could be sent in time"
        super().__init__(what, sent=sent, status=status)


class Broken(NotAnswered):
    """The network or the other side failed."""


class Refused(NotAnswered):
    """We refuse to send this, or to send it there. Nothing was sent."""

    def __init__(self, message: str) -> None:
        super().__init__(message, sent=False)


class Cancelled(NotAnswered):
    """Somebody asked for it."""

    def __init__(self, *, sent: bool, status: int | None = None) -> None:
        what = "cancelled; the request may have arrived" if sent else "cancelled before anything was sent"
        super().__init__(what, sent=sent, status=status)


def refused(name: str, value: str) -> str:
    """Why a header is not sent; empty where it is. The library below looks at these only as it writes (TH-6)."""
    if not NAME.fullmatch(name):
        return "a header's name has characters that no header has"
    if len(value) > VALUE_BYTES:
        return f"the header {name} is longer than {VALUE_BYTES} characters"
    if not VALUE.fullmatch(value):
        return f"the header {name} has characters other than printable ASCII"
    return ""


def told(error: BaseException) -> str:
    """A sentence about a failure, without anything that was sent or received."""
    if isinstance(error, TooMuch | Unresolved):
        return str(error)
    chain = list(_chain(error))
    for inner in chain:
        if isinstance(inner, ssl.SSLCertVerificationError):
            return f"its certificate is not accepted: {inner.verify_message}"
        if isinstance(inner, ssl.SSLError):
            return f"TLS failed: {inner.reason or 'the other side does not speak it'}"
    for inner in chain:
        if isinstance(inner, OSError) and inner.errno and inner.errno > 0:
            return f"{_where(error)}: {os.strerror(inner.errno)}"
    return _where(error)


def _where(error: BaseException) -> str:
    kinds = {
        httpcore.ConnectError: "it cannot be connected to",
        httpcore.ConnectTimeout: "it cannot be connected to: no answer",
        httpcore.WriteError: "the connection broke while the request was sent",
        httpcore.ReadError: "the connection broke before the answer was complete",
        httpcore.RemoteProtocolError: "it closed the connection early, or what it answers is no HTTP",
        httpcore.LocalProtocolError: "the request is no valid HTTP",
        httpx.InvalidURL: "the request's URL is not valid",
    }
    return next((told for kind, told in kinds.items() if isinstance(error, kind)), f"{type(error).__name__}")


def _chain(error: BaseException | None) -> list[BaseException]:
    found: list[BaseException] = []
    while error is not None and error not in found:
        found.append(error)
        inner = error.__cause__ or error.__context__
        error = inner.exceptions[0] if isinstance(inner, BaseExceptionGroup) else inner
    return found
