"""The stored form: what is read, the normal form, and every error on its field (I-3, I-6, I-7, I-9, I-11, I-99)."""

import json
from dataclasses import FrozenInstanceError

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowsched.errors import InvalidInput
from tasks.http.call import HttpCall, Identity, Policy, call_parse

API = {"endpoint": "inventory", "method": "POST", "path": "/v1/racks/{{ rack.name }}"}
GATEWAY = {"endpoint": "hooks", "webhook_id": "night-report", "payload": {"rack": "{{ rack.name }}"}}
ACCOUNT = {"kind": "service_account"}
ADA = {"kind": "delegated_user", "subject": "ada", "consent_id": "c-1"}


def api(**target):
    return call_parse("api", {"target": {**API, **target}, "identity": ACCOUNT})


def policy(**given):
    return call_parse("api", {"target": API, "identity": ACCOUNT, "policy": given}).policy


def fields(code, information):
    with pytest.raises(InvalidInput) as caught:
        call_parse(code, information)
    return caught.value.fields


def test_the_normal_form_has_every_key():
    assert api().information() == {
        "target": {**API, "query": {}, "body": None, "headers": {}},
        "identity": {"kind": "service_account"},
        "policy": {
            "timeout": 120,
            "retries": 0,
            "retry_backoff": "exponential",
            "max_running_instances": None,
            "idempotency_key": None,
        },
    }
    gateway = call_parse("gateway", {"target": GATEWAY})
    assert gateway.information()["target"] == {**GATEWAY, "headers": {}}
    assert gateway.information()["identity"] == {"kind": "none"}


WHOLE = [
    ("api", {"target": {**API, "query": {"a": "{{ now }}"}, "body": {}, "headers": {"X-Env": "lab"}}, "identity": ADA}),
    ("api", {"target": {**API, "body": {"a": [1, None, {"b": "c"}]}}, "identity": {"kind": "none"}, "policy": {}}),
    ("api", {"target": API, "identity": ACCOUNT, "policy": {"timeout": 0.5, "retries": 10, "idempotency_key": "k"}}),
    ("gateway", {"target": GATEWAY, "policy": {"max_running_instances": 1000, "retry_backoff": "none"}}),
    ("gateway", {"target": {**GATEWAY, "webhook_id": "{{ rack.name|lower }}"}, "identity": {"kind": "none"}}),
]


@pytest.mark.parametrize(("code", "information"), WHOLE)
def test_the_normal_form_is_read_back_as_the_same(code, information):
    call = call_parse(code, information)
    stored = json.loads(json.dumps(call.information()))
    assert call_parse(call.code, stored) == call
    assert call_parse(call.code, stored).information() == stored


def test_i99_no_body_and_an_empty_body():
    assert api().target.body is None
    assert api(body=None).target.body is None
    assert api(body={}).target.body == {}
    assert api(body={}).information()["target"]["body"] == {}


def test_i7_i9_summary():
    assert api().summary == "POST /v1/racks/{{ rack.name }}"
    assert call_parse("gateway", {"target": GATEWAY}).summary == "POST /notifications/night-report"


def test_what_was_given_may_change_afterwards():
    given_body = {"a": ["b"]}
    call = api(body=given_body)
    given_body["a"].append("c")
    assert call.target.body == {"a": ["b"]}
    with pytest.raises(FrozenInstanceError):
        call.policy.retries = 5


@pytest.mark.parametrize(
    ("method", "key", "honours", "idempotent"),
    [
        *((method, None, False, True) for method in ("GET", "PUT", "DELETE")),
        *((method, None, True, False) for method in ("POST", "PATCH")),
        *((method, "k", False, False) for method in ("POST", "PATCH")),
        *((method, "k", True, True) for method in ("POST", "PATCH")),
    ],
)
def test_d16_what_may_be_repeated(method, key, honours, idempotent):
    information = {"target": {**API, "method": method}, "identity": ACCOUNT, "policy": {"idempotency_key": key}}
    assert call_parse("api", information).idempotent(honours) is idempotent


def test_d16_a_gateway_call_is_a_post():
    assert not call_parse("gateway", {"target": GATEWAY}).idempotent(honours_key=True)
    assert call_parse("gateway", {"target": GATEWAY, "policy": {"idempotency_key": "k"}}).idempotent(honours_key=True)


@pytest.mark.parametrize("timeout", [1, 3600, 0.001, 120.0])
def test_i11_timeouts(timeout):
    assert policy(timeout=timeout).timeout == timeout


BAD_POLICIES = [
    *(("timeout", value) for value in (0, -1, 3600.1, float("inf"), float("nan"), "5", None, True, 10**400)),
    *(("retries", value) for value in (-1, 11, 1.0, "1", None, True)),
    *(("retry_backoff", value) for value in ("", "None", None, 1, ["none"])),
    *(("max_running_instances", value) for value in (0, 1001, 1.5, "1", False)),
    *(("idempotency_key", value) for value in ("", 5, "k" * 256, "a\n", "{{ x }}", ["k"])),
    ("coalesce", True),
]


@pytest.mark.parametrize(("key", "value"), BAD_POLICIES, ids=lambda value: str(value)[:20])
def test_i11_limits_of_the_policy(key, value):
    found = fields("api", {"target": API, "identity": ACCOUNT, "policy": {key: value}})
    assert list(found) == [f"policy.{key}"]


BAD_IDENTITIES = [
    ("api", None, "identity"),
    ("api", {}, "identity.kind"),
    ("api", [], "identity"),
    ("api", {"kind": "admin"}, "identity.kind"),
    ("api", {"kind": ["none"]}, "identity.kind"),
    ("api", {**ACCOUNT, "subject": "ada"}, "identity.subject"),
    ("api", {**ACCOUNT, "consent_id": "c"}, "identity.consent_id"),
    ("api", {"kind": "none", "subject": "ada"}, "identity.subject"),
    ("api", {**ADA, "subject": ""}, "identity.subject"),
    ("api", {**ADA, "subject": None}, "identity.subject"),
    ("api", {**ADA, "subject": "a\nb"}, "identity.subject"),
    ("api", {**ADA, "consent_id": "c" * 256}, "identity.consent_id"),
    ("api", {"kind": "delegated_user", "subject": "ada"}, "identity.consent_id"),
    ("api", {**ADA, "scope": "*"}, "identity.scope"),
    ("gateway", ACCOUNT, "identity.kind"),
    ("gateway", ADA, "identity.kind"),
    ("gateway", "none", "identity"),
]


@pytest.mark.parametrize(("code", "identity", "place"), BAD_IDENTITIES)
def test_i3_i6_identities(code, identity, place):
    found = fields(code, {"target": API if code == "api" else GATEWAY, "identity": identity})
    assert place in found
    assert all(name.startswith("identity") for name in found)


BAD_TARGETS = [
    ("api", {**API, "url": "http://evil.example"}, "target.url"),
    ("api", {**API, "organization": "acme"}, "target.organization"),
    ("api", {**API, "endpoint": "http://evil.example"}, "target.endpoint"),
    ("api", {**API, "endpoint": ""}, "target.endpoint"),
    ("api", {**API, "endpoint": "{{ rack.name }}"}, "target.endpoint"),
    ("api", {**API, "endpoint": 5}, "target.endpoint"),
    ("api", {**API, "method": "post"}, "target.method"),
    ("api", {**API, "method": "CONNECT"}, "target.method"),
    ("api", {**API, "method": None}, "target.method"),
    ("api", {**API, "path": None}, "target.path"),
    ("api", {**API, "path": ""}, "target.path"),
    ("api", {**API, "path": "v1/{{ rack.name }}"}, "target.path"),
    ("api", {**API, "path": "/v1//{{ rack.name }}"}, "target.path"),
    ("api", {**API, "path": "/v1/../{{ rack.name }}"}, "target.path"),
    ("api", {**API, "path": "/{{ rack.name }}/%2e%2e/x"}, "target.path"),
    ("api", {**API, "path": "/{{ rack.name }}?a=b"}, "target.path"),
    ("api", {**API, "path": "/{% if rack %}a@b{% endif %}"}, "target.path"),
    ("api", {**API, "query": []}, "target.query"),
    ("api", {**API, "query": None}, "target.query"),
    ("api", {**API, "query": {"a": 1}}, "target.query.a"),
    ("api", {**API, "query": {"a": "{{ x }}"}}, "target.query.a"),
    ("api", {**API, "query": {1: "a"}}, "target.query.1"),
    ("api", {**API, "query": {f"q{n}": "{{ now }}" for n in range(101)}}, "target.query"),
    ("api", {**API, "headers": {"X-A": None}}, "target.headers.X-A"),
    ("api", {**API, "body": []}, "target.body"),
    ("api", {**API, "body": "text"}, "target.body"),
    ("api", {**API, "body": {"a": ["{{ x }}"]}}, "target.body.a[0]"),
    ("api", {**API, "body": {"a": ["x"] * 1001}}, "target.body.a[1000]"),
    ("api", {**API, "body": {"a": float("inf")}}, "target.body.a"),
    ("api", GATEWAY, "target.webhook_id"),
    ("api", None, "target"),
    ("api", [], "target"),
    ("gateway", {**GATEWAY, "payload": None}, "target.payload"),
    ("gateway", {**GATEWAY, "payload": ["a"]}, "target.payload"),
    ("gateway", {**GATEWAY, "payload": {"a": "\x00"}}, "target.payload.a"),
    ("gateway", {**GATEWAY, "webhook_id": 5}, "target.webhook_id"),
    ("gateway", {**GATEWAY, "path": "/v1"}, "target.path"),
    ("gateway", {"endpoint": "hooks"}, "target.webhook_id"),
]


@pytest.mark.parametrize(("code", "target", "place"), BAD_TARGETS)
def test_targets(code, target, place):
    information = {"target": target} if code == "gateway" else {"target": target, "identity": ACCOUNT}
    assert place in fields(code, information)


def test_everything_that_is_wrong_is_said_at_once():
    found = fields(
        "api",
        {
            "target": {
                **API,
                "endpoint": "/",
                "method": "TRACE",
                "path": "//x",
                "query": {"a": "\n", "b": "{{ x }}"},
                "headers": {"Host": "evil", "X-A": "\r"},
                "body": {"a": "\x00", "b": ["{{ x }}"]},
                "url": "",
            },
            "identity": {"kind": "root"},
            "policy": {"timeout": 0, "retries": 99},
            "extra": 1,
        },
    )
    assert sorted(found) == [
        "extra",
        "identity.kind",
        "policy.retries",
        "policy.timeout",
        "target.body.a",
        "target.body.b[0]",
        "target.endpoint",
        "target.headers.Host",
        "target.headers.X-A",
        "target.method",
        "target.path",
        "target.query.a",
        "target.query.b",
        "target.url",
    ]


def test_the_message_names_the_first_and_counts_the_rest():
    with pytest.raises(InvalidInput, match=r"cannot be accepted: extra: unknown key: use .*; and 2 more$"):
        call_parse("api", {"target": {"url": ""}, "identity": ACCOUNT, "extra": 1})


@pytest.mark.parametrize("code", ["", "Api", "http", None, 5])
def test_an_unknown_code(code):
    assert list(fields(code, {"target": API})) == ["code"]


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(["{{ now }}", "/v1"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from([*API, *GATEWAY, "query", "body", "headers", "kind", "subject", "timeout"])
            | st.text(max_size=3),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(
    code=st.sampled_from(["api", "gateway"]),
    target=json_values | st.dictionaries(st.sampled_from([*API, *GATEWAY, "query", "body", "headers"]), json_values),
    identity=json_values | st.sampled_from([ACCOUNT, ADA]),
    policy=json_values | st.fixed_dictionaries({"timeout": json_values, "retries": json_values}),
)
def test_any_json_is_a_call_or_an_invalid_input(code, target, identity, policy):
    try:
        call = call_parse(code, {"target": target, "identity": identity, "policy": policy})
    except InvalidInput as error:
        assert error.fields  # noqa: PT017
        assert error.message.isprintable()  # noqa: PT017
    else:
        assert isinstance(call, HttpCall)


def test_defaults():
    assert Policy() == policy()
    assert Identity().information() == {"kind": "none"}
