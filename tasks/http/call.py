"""The call as it is stored: target, identity, policy. Read as a whole, with every error on its field.

What passes `call_parse` can be rendered and sent unless a rendered value is refused when the call is made; whether the
endpoint exists and allows it is the endpoints' question. Rules: I-3, I-6, I-7, I-9, I-11, I-99.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, cast

from flowsched.errors import InvalidInput
from tasks.http.documents import document_map
from tasks.http.reading import Reader
from tasks.http.templates import is_template, literals, template_check
from tasks.http.values import (
    check_headers,
    check_key,
    check_path,
    check_path_part,
    check_query,
    check_text,
    check_webhook_id,
    shown,
)

METHODS: Final = ("GET", "POST", "PUT", "PATCH", "DELETE")
IDEMPOTENT_METHODS: Final = frozenset({"GET", "PUT", "DELETE"})
BACKOFFS: Final = ("none", "linear", "exponential")
MAX_TIMEOUT: Final = 3600
MAX_RETRIES: Final = 10
MAX_INSTANCES: Final = 1000

Backoff = Literal["none", "linear", "exponential"]


@dataclass(frozen=True, slots=True)
class Api:
    """A request to an endpoint's API. Path, query values, headers and strings of the body may be templates.

    `body` None sends no body; {} sends an empty object (I-99).
    """

    endpoint: str
    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    body: Mapping[str, Any] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Gateway:
    """A notification of a webhook at a gateway: POST /notifications/<id> (I-9)."""

    endpoint: str
    webhook_id: str
    payload: Mapping[str, Any]
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Identity:
    """As whom the call is made; subject and consent are those of a delegated user only (I-6)."""

    kind: Literal["none", "service_account", "delegated_user"] = "none"
    subject: str = ""
    consent_id: str = ""

    def information(self) -> dict[str, Any]:
        """The stored form."""
        if self.kind != "delegated_user":
            return {"kind": self.kind}
        return {"kind": self.kind, "subject": self.subject, "consent_id": self.consent_id}


@dataclass(frozen=True, slots=True)
class Policy:
    """How long and how often. `timeout` is seconds for one attempt in all, connect to last byte (D-26)."""

    timeout: float = 120
    retries: int = 0
    retry_backoff: Backoff = "exponential"
    max_running_instances: int | None = None
    idempotency_key: str | None = None

    def information(self) -> dict[str, Any]:
        """The stored form."""
        return {
            "timeout": self.timeout,
            "retries": self.retries,
            "retry_backoff": self.retry_backoff,
            "max_running_instances": self.max_running_instances,
            "idempotency_key": self.idempotency_key,
        }


@dataclass(frozen=True, slots=True)
class HttpCall:
    """One call, read and checked."""

    target: Api | Gateway
    identity: Identity
    policy: Policy

    @property
    def code(self) -> str:
        """The operation's code: `api` or `gateway`."""
        return "api" if isinstance(self.target, Api) else "gateway"

    @property
    def method(self) -> str:
        """The request's method; a gateway is always posted to."""
        return self.target.method if isinstance(self.target, Api) else "POST"

    @property
    def summary(self) -> str:
        """`POST /v1/racks/{{ rack.name }}`: the template's text, not rendered (I-7, I-9)."""
        target = self.target
        return f"{self.method} {target.path if isinstance(target, Api) else f'/notifications/{target.webhook_id}'}"

    @property
    def principal_name(self) -> str:
        """For whom the call is made: a delegated user, or a webhook (I-5)."""
        return f"gateway:{self.target.webhook_id}" if isinstance(self.target, Gateway) else self.identity.subject

    def idempotent(self, honours_key: bool) -> bool:
        """Whether the call may be repeated: by its method, or since the endpoint refuses a key it has seen (D-16)."""
        return self.method in IDEMPOTENT_METHODS or (honours_key and self.policy.idempotency_key is not None)

    def information(self) -> dict[str, Any]:
        """The normal form that is stored: every key there, defaults written out. `call_parse` reads it back."""
        target = self.target
        common = {"endpoint": target.endpoint, "headers": dict(target.headers)}
        if isinstance(target, Api):
            body = None if target.body is None else dict(target.body)
            own = {"method": target.method, "path": target.path, "query": dict(target.query), "body": body}
        else:
            own = {"webhook_id": target.webhook_id, "payload": dict(target.payload)}
        return {
            "target": {**common, **own},
            "identity": self.identity.information(),
            "policy": self.policy.information(),
        }


def call_parse(code: str, information: Mapping[str, Any]) -> HttpCall:
    """The call of an operation `http_call`. Raises one InvalidInput whose `fields` names everything that is wrong."""
    if code not in ("api", "gateway"):
        raise InvalidInput(f"unknown code '{str(code)[:64]}' of an HTTP call: use api or gateway", field="code")
    reader = Reader()
    top = reader.mapping(information, "", ("target", "identity", "policy"))
    target = (_api if code == "api" else _gateway)(reader, top.get("target"))
    identity = _identity(reader, code, top.get("identity"))
    policy = _policy(reader, top.get("policy"))
    reader.finish("the HTTP call cannot be accepted")
    return HttpCall(target, identity, policy)


def _api(reader: Reader, given: Any) -> Api:
    keys = ("endpoint", "method", "path", "query", "body", "headers")
    values = reader.mapping(given, "target", keys, required=("endpoint", "method", "path"))
    return Api(
        endpoint=reader.name(values, "target.endpoint"),
        method=reader.choice(values, "target.method", METHODS),
        path=_path(reader, values),
        query=_items(reader, values, "target.query"),
        body=_document(reader, values, "target.body"),
        headers=_items(reader, values, "target.headers"),
    )


def _gateway(reader: Reader, given: Any) -> Gateway:
    keys = ("endpoint", "webhook_id", "payload", "headers")
    values = reader.mapping(given, "target", keys, required=("endpoint", "webhook_id", "payload"))
    webhook_id = reader.text(values, "target.webhook_id")
    if webhook_id is not None:
        reader.run("target.webhook_id", _template_or, webhook_id, check_webhook_id)
    payload = _document(reader, values, "target.payload")
    if payload is None and "payload" in values:
        reader.add("target.payload", "must be an object")
    return Gateway(
        endpoint=reader.name(values, "target.endpoint"),
        webhook_id=webhook_id or "",
        payload=payload or {},
        headers=_items(reader, values, "target.headers"),
    )


def _template_or(text: str, check: Callable[..., None]) -> None:
    """Check a template's syntax, or else what stands there as it is."""
    if is_template(text):
        template_check(text)
    else:
        check(text, field="")


def _path(reader: Reader, values: Mapping[str, Any]) -> str:
    path = reader.text(values, "target.path")
    if path is not None:
        reader.run("target.path", check_path_source, path)
    return path or ""


def check_path_source(path: str) -> None:
    """A path as it is written: whole without templates, else each piece of text around them (I-8, I-96)."""
    if not is_template(path):
        check_path(path)
        return
    pieces = literals(path)
    if not path.startswith(("/", "{")):
        raise InvalidInput("the path must begin with one /", field="path")
    for piece in pieces:
        check_path_part(piece)
        for segment in piece.split("/")[1:-1]:
            check_path(f"/{segment}")


def _items(reader: Reader, values: Mapping[str, Any], place: str) -> dict[str, str]:
    """Query or headers: an object of texts, each a template or checked as it is."""
    items = reader.strings(values, place)
    headers = place.endswith("headers")
    static = {name: "" if is_template(text) else text for name, text in items.items()}
    reader.run(place, check_headers if headers else check_query, static, field=place)
    for name, text in items.items():
        reader.run(f"{place}.{shown(name)}", template_check, text)
    return items


def _document(reader: Reader, values: Mapping[str, Any], place: str) -> dict[str, Any] | None:
    given = values.get(place.rpartition(".")[2])
    if given is None:
        return None
    if not isinstance(given, Mapping):
        reader.add(place, "must be an object")
        return None

    def check(text: str, where: str) -> str:
        reader.run(where, _template_or, text, check_text)
        return text

    copy: dict[str, Any] | None = reader.run(place, document_map, given, place, check)
    return copy


def _identity(reader: Reader, code: str, given: Any) -> Identity:
    if code == "gateway" and given is None:
        return Identity()
    values = reader.mapping(given, "identity", ("kind", "subject", "consent_id"), required=("kind",))
    kinds = ("none",) if code == "gateway" else ("none", "service_account", "delegated_user")
    kind = reader.choice(values, "identity.kind", kinds)
    texts = {}
    for key in ("subject", "consent_id"):
        place = f"identity.{key}"
        if kind == "delegated_user":
            texts[key] = reader.label(values, place)
        elif values.get(key) is not None:
            reader.add(place, "belongs to the kind delegated_user only")
    return Identity(cast("Any", kind), **texts)


def _policy(reader: Reader, given: Any) -> Policy:
    if given is None:
        return Policy()
    keys = ("timeout", "retries", "retry_backoff", "max_running_instances", "idempotency_key")
    values = reader.mapping(given, "policy", keys)
    key = reader.text(values, "policy.idempotency_key") if values.get("idempotency_key") is not None else None
    if key is not None:
        reader.run("policy.idempotency_key", _template_or, key, check_key)
    instances = values.get("max_running_instances")
    return Policy(
        timeout=_timeout(reader, values.get("timeout", 120)),
        retries=reader.whole(values.get("retries", 0), "policy.retries", 0, MAX_RETRIES),
        retry_backoff=cast(
            "Backoff", reader.choice({"retry_backoff": "exponential", **values}, "policy.retry_backoff", BACKOFFS)
        ),
        max_running_instances=None
        if instances is None
        else reader.whole(instances, "policy.max_running_instances", 1, MAX_INSTANCES),
        idempotency_key=key,
    )


def _timeout(reader: Reader, given: Any) -> float:
    number = isinstance(given, (int, float)) and not isinstance(given, bool)
    if not number or not 0 < given <= MAX_TIMEOUT:
        reader.add("policy.timeout", f"must be seconds, more than 0 and at most {MAX_TIMEOUT}")
        return MAX_TIMEOUT
    return int(given) if given == int(given) else float(given)
