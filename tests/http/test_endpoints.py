"""FLOWSCHED_ENDPOINTS: what is read, what is refused when a process starts, what an endpoint takes (D-23, TH-21)."""

from __future__ import annotations

import json

import pytest
from django.core.exceptions import ImproperlyConfigured

from flowsched.errors import InvalidInput, NotFound
from tasks.http.call import call_parse
from tasks.http.endpoint_parsing import endpoints_parse
from tasks.http.endpoints import (
    Endpoint,
    Reference,
    Unreadable,
    Url,
    call_check,
    endpoint_of,
    endpoints,
    request_check,
)
from tests.http.test_addresses import DISGUISED, SPELLINGS
from tests.http_servers.parts import asking, endpoint

CREDENTIALS = {
    "token_url": "https://login.example/token",
    "client_id": "flowsched",
    "client_secret": {"env": "INVENTORY_SECRET"},
}


def faults(**entry) -> dict[str, str]:
    """What is wrong with an endpoint of a kind and a base URL that are fine unless given."""
    text = json.dumps({"inventory": {"kind": "api", "base_url": "https://inventory.example"} | entry})
    with pytest.raises(InvalidInput) as caught:
        endpoints_parse(text)
    return {key.removeprefix("inventory."): why for key, why in caught.value.fields.items()}


def test_everything_that_can_be_said_of_an_endpoint():
    found = endpoint(
        "https://Inventory.Example:8443/api/",
        ca_bundle="/etc/ca.pem",
        token_url="https://login.example/token/",
        exchange_url="https://login.example/exchange",
        client_id={"file": "/run/secrets/id"},
        client_secret={"env": "INVENTORY_SECRET"},
        client_auth="client_secret_post",
        scope="racks:read racks:write",
        audience="inventory",
        methods=["POST", "GET"],
        path_prefixes=["/v1/racks", "/v2/"],
        honours_idempotency_key=True,
        plain_http=True,
        allow_private_addresses=False,
        max_connections=3,
        excerpt=False,
    )
    assert found == Endpoint(
        name="inventory",
        kind="api",
        base_url=Url("https", "inventory.example", 8443, "/api"),
        ca_bundle="/etc/ca.pem",
        client_id=Reference(file="/run/secrets/id"),
        client_secret=Reference(variable="INVENTORY_SECRET"),
        client_auth="client_secret_post",
        token_url=Url("https", "login.example", 443, "/token/"),
        exchange_url=Url("https", "login.example", 443, "/exchange"),
        scope="racks:read racks:write",
        audience="inventory",
        methods=("GET", "POST"),
        path_prefixes=("/v1/racks", "/v2/"),
        honours_idempotency_key=True,
        plain_http=True,
        allow_private_addresses=False,
        max_connections=3,
        excerpt=False,
    )


def test_what_is_not_said_is_what_can_do_least():
    found = endpoint("https://inventory.example")
    assert (found.methods, found.path_prefixes, found.honours_idempotency_key) == (("GET",), ("/",), False)
    assert (found.plain_http, found.max_connections, found.has_credentials) == (False, 8, False)
    hooks = endpoint("https://hooks.example", kind="gateway")
    assert (hooks.methods, hooks.path_prefixes) == (("POST",), ("/notifications/",))


@pytest.mark.parametrize(
    "url",
    [
        "http://localhost:8080",
        "http://127.0.0.1",
        "http://[::1]:80/x",
        "https://10.0.0.1",
        "https://[fd12::1]:1",
        "http://169.254.169.254",  # spelled out by whoever runs the installation, who means it
    ],
)
def test_urls_that_are_fine(url):
    assert str(endpoint(url, plain_http="169" in url).base_url) == url.replace(":80/", "/")


@pytest.mark.parametrize(
    "url",
    [
        "",
        "inventory.example",
        "ftp://inventory.example",
        "HTTPS://inventory.example",
        "https://",
        "https:///v1",
        "https://user@inventory.example",
        "https://user:pass@inventory.example",
        "https://inventory.example?x=1",
        "https://inventory.example/#x",
        "https://inventory.example/a//b",
        "https://inventory.example/a/../b",
        "https://inventory.example/a/..;/b",
        "https://inventory.example/%2e%2e",
        "https://inventory.example/a\\b",
        "https://inventory.example\\@evil.example",
        "https://inventory.example:0",
        "https://inventory.example:65536",
        "https://inventory.example:",
        "https://inventory..example",
        "https://-inventory.example",
        "https://inventory.example\n",
        " https://inventory.example",
        "https://inventory。example",
        "https://" + "a" * 64 + ".example",
        "https://[::1",
        "https://::1",
        None,
        7,
        ["https://inventory.example"],
    ],
)
@pytest.mark.parametrize("key", ["base_url", "token_url"])
def test_urls_that_are_refused(key, url):
    assert key in faults(**{key: url})


@pytest.mark.parametrize(
    "host", [*(s for s in SPELLINGS if "[" not in s), *(text for text in DISGUISED if ":" in text)]
)
def test_disguised_addresses_are_refused_when_a_process_starts(host):
    url = f"https://[{host}]" if ":" in host else f"https://{host}"
    assert "base_url" in faults(base_url=url)


@pytest.mark.parametrize(
    "host", ["169.254.169.254", "[fd00:ec2::254]", "[fe80::1]", "0.0.0.0", "224.0.0.1", "[ff02::1]"]
)
def test_no_credential_is_sent_to_metadata_even_where_it_is_spelled_out(host):
    assert "token_url" in faults(**CREDENTIALS | {"token_url": f"https://{host}/token"})


@pytest.mark.parametrize(
    ("entry", "key", "told"),
    [
        ({"basee_url": "x"}, "basee_url", "there is no such key; there are: kind, base_url"),
        ({"kind": "soap"}, "kind", "api, gateway"),
        ({"base_url": "http://inventory.example"}, "base_url", "plain_http"),
        ({"methods": ["GET", "TRACE"]}, "methods", "TRACE"),
        ({"methods": []}, "methods", "at least one"),
        ({"methods": "GET"}, "methods", "list"),
        ({"path_prefixes": ["v1"]}, "path_prefixes", "plain absolute path"),
        ({"path_prefixes": ["/v1/../x"]}, "path_prefixes", "plain absolute path"),
        ({"max_connections": 0}, "max_connections", "1 to 1000"),
        ({"max_connections": True}, "max_connections", "1 to 1000"),
        ({"excerpt": "yes"}, "excerpt", "true or false"),
        ({"ca_bundle": "ca.pem"}, "ca_bundle", "absolute"),
        ({"client_auth": "basic"}, "client_auth", "client_secret_basic"),
        ({"scope": "a\nb"}, "scope", "printable"),
        ({"token_url": "https://login.example/"}, "client_secret", "go together"),
        ({"client_id": "x"}, "client_secret", "go together"),
        ({"exchange_url": "https://login.example/"}, "exchange_url", "token_url"),
        (CREDENTIALS | {"token_url": "http://login.example/"}, "token_url", "plain_http"),
        (CREDENTIALS | {"kind": "gateway"}, "token_url", "gateway"),
        ({"kind": "gateway", "methods": ["POST"]}, "methods", "gateway"),
        (CREDENTIALS | {"client_secret": {"env": "A B"}}, "client_secret", '{"env": "NAME"}'),
        (CREDENTIALS | {"client_secret": {"env": "A", "file": "/b"}}, "client_secret", '{"env": "NAME"}'),
        (CREDENTIALS | {"client_secret": {"file": "b"}}, "client_secret", "absolute"),
    ],
)
def test_entries_that_are_refused(entry, key, told):
    assert told in faults(**entry)[key]


def test_a_secret_written_where_its_name_belongs_is_not_repeated():
    for value in ("hunter2-hunter2", {"env": "hunter2 hunter2"}, ["hunter2"], {"value": "hunter2"}):
        assert "hunter2" not in str(faults(**CREDENTIALS | {"client_secret": value}))
    assert "hunter2" not in str(faults(base_url="https://me:hunter2@inventory.example"))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "not JSON"),
        ("[]", "an object of endpoints by name, not a list"),
        ('{"a": 1}', "it must be an object, not a number"),
        ('{"A b": {"kind": "api", "base_url": "https://x"}}', "lower-case"),
        ('{"a": {"kind": "api", "kind": "api", "base_url": "https://x"}}', "given twice"),
        ('{"a": {"kind": "api", "base_url": "https://x", "max_connections": NaN}}', "whole number"),
        ('{"a": {}}', "kind: it is missing"),
    ],
)
def test_documents_that_are_refused(text, told):
    with pytest.raises(InvalidInput) as caught:
        endpoints_parse(text)
    assert told in caught.value.message


def test_every_fault_is_told_at_once():
    assert set(faults(kind="x", base_url="x", methods=[], spam=1)) == {"kind", "base_url", "methods", "spam"}


def test_the_setting_is_json_or_a_file_and_a_process_with_a_bad_one_does_not_start(settings, tmp_path):
    entry = {"kind": "api", "base_url": "https://inventory.example"}
    file = tmp_path / "endpoints.json"
    file.write_text(json.dumps({"from-file": entry}))
    for text, name in ((json.dumps({"inline": entry}), "inline"), (str(file), "from-file")):
        settings.FLOWSCHED_ENDPOINTS = text
        assert endpoint_of(name).base_url.host == "inventory.example"
    settings.FLOWSCHED_ENDPOINTS = ""
    assert endpoints() == {}
    for text, told in (('{"a": {"b": 1}}', "a.b"), (str(tmp_path / "none.json"), "none.json cannot be read")):
        settings.FLOWSCHED_ENDPOINTS = text
        with pytest.raises(ImproperlyConfigured, match="FLOWSCHED_ENDPOINTS") as caught:
            endpoints()
        assert told in str(caught.value)


def test_an_unknown_name_is_told_the_known_ones(settings):
    entry = {"kind": "api", "base_url": "https://inventory.example"}
    settings.FLOWSCHED_ENDPOINTS = json.dumps({"beta": entry, "alpha": entry})
    with pytest.raises(NotFound) as caught:
        endpoint_of("gamma")
    assert "alpha, beta" in caught.value.message
    assert caught.value.field == "target.endpoint"


def test_references_are_read_when_used_and_say_what_is_missing(monkeypatch, tmp_path):
    monkeypatch.setenv("INVENTORY_SECRET", " s3cret\n")
    assert Reference(variable="INVENTORY_SECRET").read() == "s3cret"
    file = tmp_path / "secret"
    file.write_text("first\n")
    assert Reference(file=str(file)).read() == "first"
    file.write_text("second\n")
    assert Reference(file=str(file)).read() == "second"
    monkeypatch.delenv("INVENTORY_SECRET")
    file.write_bytes(b"\xff\xfe")
    empty, large = tmp_path / "empty", tmp_path / "large"
    empty.touch()
    large.write_text("x" * 70_000)
    odd = [
        Reference(variable="INVENTORY_SECRET"),
        *(Reference(file=str(path)) for path in (file, empty, large, tmp_path)),
    ]
    for reference in odd:
        with pytest.raises(Unreadable) as caught:
            reference.read()
        assert str(reference) in str(caught.value)
        assert "xxx" not in str(caught.value)


def api(method="GET", path="/v1/racks/r1", identity="none"):
    """A call of an api."""
    who = {"kind": identity} | ({"subject": "ada", "consent_id": "c-1"} if identity == "delegated_user" else {})
    target = {"endpoint": "inventory", "method": method, "path": path}
    return call_parse("api", {"target": target, "identity": who, "policy": {}})


HOOK = call_parse("gateway", {"target": {"endpoint": "hooks", "webhook_id": "night", "payload": {}}})
OPEN = endpoint("https://i.example", methods=["GET", "POST"], path_prefixes=["/v1/racks", "/v2/"])
LOCKED = endpoint("https://i.example", **CREDENTIALS)
EXCHANGING = endpoint("https://i.example", **CREDENTIALS, exchange_url="https://login.example/x")
HOOKS = endpoint("https://h.example", name="hooks", kind="gateway")


@pytest.mark.parametrize(
    ("call", "where", "fields"),
    [
        (api(), OPEN, set()),
        (api("POST", "/v1/racks"), OPEN, set()),
        (api(path="/v1/racks/{{ rack.name }}"), OPEN, set()),
        (api(path="/v2/x"), OPEN, set()),
        (api("DELETE"), OPEN, {"target.method"}),
        (api(path="/v1/racksmith"), OPEN, {"target.path"}),
        (api(path="/v1/{{ rack.name }}"), OPEN, {"target.path"}),
        (api(path="/{{ rack.name }}"), OPEN, {"target.path"}),
        (api("DELETE", "/v3", "service_account"), OPEN, {"target.method", "target.path", "identity.kind"}),
        (api(path="/{{ rack.name }}"), endpoint("https://i.example"), set()),
        (HOOK, HOOKS, set()),
        (HOOK, OPEN, {"target.endpoint"}),
        (api(), HOOKS, {"target.endpoint"}),
        (api(), LOCKED, {"identity.kind"}),
        (api(identity="service_account"), LOCKED, set()),
        (api(identity="delegated_user"), LOCKED, {"identity.kind"}),
        (api(identity="delegated_user"), EXCHANGING, set()),
        (api(identity="delegated_user"), OPEN, {"identity.kind"}),
    ],
)
def test_what_an_endpoint_takes(call, where, fields):
    if not fields:
        call_check(call, where)
        return
    with pytest.raises(InvalidInput) as caught:
        call_check(call, where)
    assert set(caught.value.fields) == fields
    assert where.name in caught.value.message


@pytest.mark.parametrize(
    ("request_", "where", "field"),
    [
        (asking("/v1/racks/r1"), OPEN, ""),
        (asking("/v1/racks"), OPEN, ""),
        (asking("/v1/racksmith"), OPEN, "target.path"),
        (asking("/v1/racks/r1", "PUT"), OPEN, "target.method"),
        (asking("/notifications/night", "POST"), HOOKS, ""),
        (asking("/notificationsx/night", "POST"), HOOKS, "target"),
        (asking("/notifications/night", "GET"), HOOKS, "target"),
    ],
)
def test_what_a_template_made_of_the_path_counts(request_, where, field):
    if not field:
        request_check(request_, where)
        return
    with pytest.raises(InvalidInput) as caught:
        request_check(request_, where)
    assert set(caught.value.fields) == {field}
