"""What may stand in a request: paths, query values, headers, webhook ids, idempotency keys, texts of a body.

The same checks hold for what is written and for what a template made of it, so that no value reaches another host,
another header or another resource than the endpoint's owner allowed (TH-4, TH-6, I-8). Each raises InvalidInput whose
`fields` names every item at fault; a refused value is described, never repeated.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from flowsched.errors import InvalidInput
from tasks.http.hosts import names_metadata

MAX_PATH: Final = 2048
MAX_ITEMS: Final = 100
MAX_NAME: Final = 255
MAX_VALUE: Final = 4096
MAX_KEY: Final = 255

_NOT_IN_PATH: Final = re.compile(r"[^A-Za-z0-9._~!$&'()*+,;=:/-]")
_SLUG: Final = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?\Z")
_TOKEN: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+\Z")
_NOT_PRINTABLE: Final = re.compile(r"[^\x20-\x7e]")
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
_LINE: Final = re.compile(r"[\t\r\n]")
_JSON_TYPE: Final = re.compile(r"application/(?:json|[a-z0-9.+-]{1,64}\+json)(?:; ?charset=utf-8)?\Z", re.IGNORECASE)

# What frames the request, says who asks or whom it is for, or lets a proxy read another method or path into it.
_RESERVED: Final = frozenset(
    (
        # framing
        *("host", "content-length", "transfer-encoding", "connection", "keep-alive", "te", "trailer", "upgrade"),
        *("expect", "http2-settings", "accept-encoding", "content-encoding", "date"),
        # who asks
        *("authorization", "idempotency-key", "cookie", "cookie2", "set-cookie"),
        *("forwarded", "via", "x-real-ip", "x-client-ip", "client-ip", "true-client-ip"),
        # another target or method than the endpoint allows
        *("x-host", "x-original-host", "x-original-url", "x-rewrite-url"),
        *("x-http-method", "x-http-method-override", "x-method-override"),
    )
)
_RESERVED_STARTS: Final = ("proxy-", "x-forwarded-", "sec-", ":")
_CREDENTIAL: Final = re.compile(
    r"(?:^|-)(?:api-?key|apikey|(?:auth|access|private|session|security|secret|vault|gitlab|refresh|id)-?token|token"
    r"|secret(?:-?key)?|password|passwd|authorization|credentials?)\Z"
)


def check_path(path: str, *, field: str = "path") -> None:
    """A relative path of plain characters: no query, no `%`, no `//`, no dot segments, nothing that names a host."""
    if not path.startswith("/"):
        raise InvalidInput("the path must begin with one /", field=field)
    check_path_part(path, field=field)
    for segment in path.split("/"):
        name = segment.partition(";")[0]
        if name and not name.strip("."):
            raise InvalidInput("the path may not have a segment of dots: write the path it leads to", field=field)


def check_path_part(text: str, *, field: str = "path") -> None:
    """A piece of a path, such as the text between two templates: its characters, `//` and its length."""
    if len(text) > MAX_PATH:
        raise InvalidInput(f"the path is longer than {MAX_PATH} characters", field=field)
    bad = _NOT_IN_PATH.search(text)
    if bad:
        hint = {"?": ": use query", "#": ": a fragment is never sent", "%": ": write the character itself"}
        raise InvalidInput(f"the path may not have {_found(bad)}{hint.get(bad[0], '')}", field=field)
    if "//" in text:
        raise InvalidInput("the path may not have //", field=field)


def _found(bad: re.Match[str]) -> str:
    """The character at fault and where it is; never what stands around it."""
    name = f"'{bad[0]}'" if "!" <= bad[0] <= "~" else f"U+{ord(bad[0]):04X}"
    return f"{name}, at character {bad.start() + 1}"


def control_in(text: str) -> str | None:
    """What makes `text` unfit for a request or a row: control characters, halves of a surrogate pair."""
    bad = _CONTROL.search(text)
    return f"may not have {_found(bad)}" if bad else None


def check_text(text: str, *, field: str) -> None:
    """A text of a document: any characters but control characters; no metadata service."""
    cause = control_in(text)
    if cause:
        raise InvalidInput(f"the text {cause}", field=field)
    if names_metadata(text):
        raise InvalidInput("the text names a cloud's metadata service or a link-local URL", field=field)


def _collected(items: Mapping[str, str], field: str, check: Callable[[str, str, str], None]) -> None:
    """Run `check(name, value, field)` for each item, and raise once with every refusal."""
    if len(items) > MAX_ITEMS:
        raise InvalidInput(f"{field} has {len(items)} entries: at most {MAX_ITEMS}", field=field)
    fields: dict[str, str] = {}
    for name, value in items.items():
        place = f"{field}.{shown(name)}"
        try:
            check(name, value, place)
        except InvalidInput as error:
            fields[place] = error.message
    if fields:
        place, message = next(iter(fields.items()))
        raise InvalidInput(f"{place}: {message}", fields=fields)


def shown(name: str) -> str:
    """A name as it may stand in a field's name or a message."""
    return "".join(char if char.isprintable() else "?" for char in name[:64])


def check_query(query: Mapping[str, str], *, field: str = "query") -> None:
    """Names and values of the query; httpx encodes them, so only control characters and lengths matter here."""
    _collected(query, field, _query_item)


def _query_item(name: str, value: str, field: str) -> None:
    if not 1 <= len(name) <= MAX_NAME or control_in(name) or not name.isprintable():
        raise InvalidInput(f"the name must have 1 to {MAX_NAME} printable characters", field=field)
    if len(value) > MAX_VALUE:
        raise InvalidInput(f"the value is longer than {MAX_VALUE} characters", field=field)
    bad = _LINE.search(value)
    if bad:
        raise InvalidInput(f"the value may not have {_found(bad)}", field=field)
    check_text(value, field=field)


def check_headers(headers: Mapping[str, str], *, field: str = "headers") -> None:
    """Names are tokens and not reserved, values printable ASCII; no name twice in other letters."""
    seen: set[str] = set()

    def item(name: str, value: str, place: str) -> None:
        check_header_name(name, field=place)
        if name.lower() in seen:
            raise InvalidInput("the header is there twice", field=place)
        seen.add(name.lower())
        _header_value(name, value, place)

    _collected(headers, field, item)


def check_header_name(name: str, *, field: str) -> None:
    """A header's name on its own: a token of at most 255 characters that an operation may set."""
    if not _TOKEN.match(name) or len(name) > MAX_NAME:
        raise InvalidInput("the header's name must be letters, digits and hyphens", field=field)
    # Servers that hand headers on as variables read `_` as `-`.
    lower = name.lower().replace("_", "-")
    if lower in _RESERVED or lower.startswith(_RESERVED_STARTS):
        raise InvalidInput("the header is reserved: the system or the endpoint sets it", field=field)
    if _CREDENTIAL.search(lower):
        raise InvalidInput("the header carries a credential: that is the endpoint's business", field=field)


def _header_value(name: str, value: str, field: str) -> None:
    if len(value) > MAX_VALUE:
        raise InvalidInput(f"the value is longer than {MAX_VALUE} characters", field=field)
    bad = _NOT_PRINTABLE.search(value)
    if bad:
        raise InvalidInput(f"the value may not have {_found(bad)}", field=field)
    if value != value.strip():
        raise InvalidInput("the value may not begin or end with a blank", field=field)
    if name.lower() == "content-type" and not _JSON_TYPE.match(value):
        raise InvalidInput("the body is JSON: use application/json or application/…+json", field=field)
    check_text(value, field=field)


def check_webhook_id(text: str, *, field: str = "webhook_id") -> None:
    """I-2: 1 to 64 lower-case letters and digits, hyphens inside only."""
    if not _SLUG.match(text):
        raise InvalidInput(
            "a webhook id has 1 to 64 lower-case letters and digits, with hyphens inside only", field=field
        )


def check_key(text: str, *, field: str = "idempotency_key") -> None:
    """An idempotency key: it becomes a header, and two runs with one key are one effect."""
    if not 1 <= len(text) <= MAX_KEY or _NOT_PRINTABLE.search(text) or text != text.strip():
        raise InvalidInput(
            f"an idempotency key has 1 to {MAX_KEY} printable ASCII characters, no outer blanks", field=field
        )
