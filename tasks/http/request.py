"""The request a call becomes: templates rendered, every rendered value checked again where it stands.

Nothing is sent here and no identity is needed, so a dry run shows exactly what a run would send. Rendered once a run:
all attempts carry the same bytes and the same key (I-48).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from flowsched.errors import InvalidInput
from tasks.http.call import Api, HttpCall
from tasks.http.documents import json_bytes
from tasks.http.filters import RenderError
from tasks.http.templates import render, render_value
from tasks.http.values import (
    check_headers,
    check_key,
    check_path,
    check_query,
    check_webhook_id,
)

JSON_TYPE: Final = "application/json"


@dataclass(frozen=True, slots=True)
class Request:
    """What is sent, but for where to and as whom. `body` None is none at all; `key` becomes Idempotency-Key."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes | None
    key: str | None


def request_render(call: HttpCall, context: Mapping[str, Any]) -> Request:
    """The request of one run. Raises RenderError that names the field, before anything is sent."""
    try:
        return _rendered(call, context)
    except RenderError:
        raise
    except InvalidInput as error:
        place, message = next(iter(error.fields.items()), (error.field, error.message))
        raise RenderError(f"{place}: {message}" if place else message, field=place) from None


def _rendered(call: HttpCall, context: Mapping[str, Any]) -> Request:
    target = call.target
    if isinstance(target, Api):
        path = _text(target.path, context, "target.path", check_path)
        query = _items(target.query, context, "target.query")
        check_query(query, field="target.query")
        document, place = target.body, "target.body"
    else:
        path = f"/notifications/{_text(target.webhook_id, context, 'target.webhook_id', check_webhook_id)}"
        query, document, place = {}, target.payload, "target.payload"
    headers = _items(target.headers, context, "target.headers")
    check_headers(headers, field="target.headers")
    body = None if document is None else json_bytes(render_value(document, context, field=place))
    if body is not None and not any(name.lower() == "content-type" for name in headers):
        headers["Content-Type"] = JSON_TYPE
    key = call.policy.idempotency_key
    if key is not None:
        key = _text(key, context, "policy.idempotency_key", check_key)
    return Request(call.method, path, query, headers, body, key)


def _text(source: str, context: Mapping[str, Any], field: str, check: Callable[..., None]) -> str:
    text = render(source, context, field=field)
    check(text, field=field)
    return text


def _items(items: Mapping[str, str], context: Mapping[str, Any], field: str) -> dict[str, str]:
    return {name: render(text, context, field=f"{field}.{name}") for name, text in items.items()}
