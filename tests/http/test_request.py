"""The request that is sent: rendered once, checked, the same bytes for every attempt (I-43, I-47, I-48, I-99)."""

import json

import pytest

from tasks.http.call import call_parse
from tasks.http.request import Request, request_render
from tasks.http.templates import RenderError
from tests.http.corpus import context

API = {
    "endpoint": "inventory",
    "method": "POST",
    "path": "/v1/racks/{{ rack.name }}",
    "query": {"at": "{{ now }}", "plain": "a b"},
    "headers": {"X-Env": "{{ task.schedule_name }}"},
    "body": {"{{ now }}": "{{ rack.name }}", "n": [1, None, "{{ components|length }}"]},
}


def request(target, policy=None, values=None, code="api"):
    information = {"target": target, "policy": policy or {}}
    if code == "api":
        information["identity"] = {"kind": "none"}
    return request_render(call_parse(code, information), values or context())


def test_an_api_call():
    assert request(API, {"idempotency_key": "{{ run.id }}"}) == Request(
        method="POST",
        path="/v1/racks/rack-1",
        query={"at": "2026-03-01T12:00:00+00:00", "plain": "a b"},
        headers={"X-Env": "nightly", "Content-Type": "application/json"},
        body=b'{"{{ now }}":"rack-1","n":[1,null,"2"]}',
        key="7f3c2f60-0000-4000-8000-000000000001",
    )


def test_i47_a_gateway_call():
    target = {"endpoint": "hooks", "webhook_id": "{{ rack.name }}", "payload": {"a": "{{ rack.name }}"}}
    found = request(target, code="gateway")
    assert (found.method, found.path, found.query, found.key) == ("POST", "/notifications/rack-1", {}, None)
    assert json.loads(found.body) == {"a": "rack-1"}


@pytest.mark.parametrize(("body", "sent"), [(None, None), ({}, b"{}")])
def test_i99_no_body_and_an_empty_one(body, sent):
    found = request({**API, "body": body})
    assert found.body == sent
    assert ("Content-Type" in found.headers) is (sent is not None)


def test_a_content_type_of_ones_own():
    found = request({**API, "headers": {"content-type": "application/merge-patch+json"}})
    assert found.headers == {"content-type": "application/merge-patch+json"}


def test_a_call_without_a_rack():
    values = {**context(), "rack": {}, "components": []}
    assert (
        request({**API, "path": "/v1/all", "body": {"a": "{{ components|length }}"}}, values=values).path == "/v1/all"
    )
    with pytest.raises(RenderError, match=r"^target\.path: there is no 'name' here") as caught:
        request(API, values=values)
    assert caught.value.field == "target.path"


def test_i48_rendered_once_is_rendered_the_same():
    assert request(API) == request(API)


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"path": "/{{ rack.missing|default('x') }}"}, None),
        ({"query": {"at": "{{ components[7].name }}"}}, "target.query.at"),
        ({"headers": {"X-Env": "{{ rack.name|int }}"}}, "target.headers.X-Env"),
        ({"body": {"a": [0, {"b": "{{ rack }}"}]}}, "target.body.a[1].b"),
    ],
)
def test_the_place_of_a_failure_is_named(change, place):
    if place is None:
        with pytest.raises(Exception, match=r"rack has no 'missing'"):
            request({**API, **change})
        return
    with pytest.raises(RenderError, match="^" + place.replace("[", r"\[")) as caught:
        request({**API, **change})
    assert caught.value.field == place


def test_a_rendered_body_has_the_limit_of_a_document():
    values = {**context(), "task": {**context()["task"], "description": "a" * 4000}}
    body = {"a": ["{{ task.description }}"] * 16}
    assert len(request({**API, "body": body}, values=values).body) > 64_000
    with pytest.raises(RenderError, match=r"^target\.body\.a\[16\]: the document has more than 64 KiB"):
        request({**API, "body": {"a": ["{{ task.description }}"] * 17}}, values=values)
