"""The OpenAPI document and its page: what they say, that they are open, and that nothing comes from elsewhere."""

from __future__ import annotations

import json
import re

import pytest
import yaml

from flowsched.rest.pages import document
from tests.rest.helpers import Rest, problem

METHODS = {"get", "post", "put", "patch", "delete"}


@pytest.fixture(scope="module")
def described():
    return document()


def operations(described):
    return [
        (path, method, operation)
        for path, item in described["paths"].items()
        for method, operation in item.items()
        if method in METHODS
    ]


@pytest.mark.django_db
def test_the_document_is_open_to_all_in_yaml_and_json(described):
    """Who has no token learns here how to get one."""
    nobody = Rest()
    for query, accept, kind in (
        ({}, "*/*", "yaml"), ({"format": "yaml"}, "application/json", "yaml"), ({"format": "json"}, "*/*", "json"),
        ({}, "application/json,*/*", "json"), ({}, "application/json, application/yaml", "yaml"),
    ):  # fmt: skip
        response = nobody.call("GET", "schema/", query=query, headers={"Accept": accept})
        assert (response.status_code, response["Content-Type"]) == (200, f"application/{kind}")
        read = json.loads if kind == "json" else yaml.safe_load
        assert read(response.content)["paths"].keys() == described["paths"].keys()
    problem(nobody.get("schema/", format="xml"), 400)
    problem(nobody.post("schema/"), 405)
    assert "manage.py token create" in response.content.decode()


def test_what_it_is(described):
    assert described["openapi"].startswith("3.1.")
    assert described["servers"] == [{"url": "/"}]
    assert set(described["components"]["securitySchemes"]) == {"token", "session"}
    assert all(path.startswith("/api/v1/") and path.endswith("/") for path in described["paths"])


def test_every_operation_is_told_in_full(described):
    """Names that are one word each, a summary and a tag, who may, and what can go wrong."""
    found = operations(described)
    assert len(found) >= 6
    ids = [operation["operationId"] for _, _, operation in found]
    assert len(set(ids)) == len(ids)
    for path, method, operation in found:
        assert re.fullmatch(r"[a-z_]+", operation["operationId"]), path
        assert operation["summary"], path
        assert len(operation["tags"]) == 1, path
        assert {"token": []} in operation["security"], path
        statuses = set(operation["responses"])
        assert {"400", "401", "429", "503"} <= statuses, path
        assert statuses & {"200", "201", "204"}, path
        if "{id}" in path:
            assert "404" in statuses, path
        if method != "get":
            assert {"403", "409"} <= statuses, path
        if "requestBody" in operation:
            assert {"413", "415"} <= statuses, path


def test_keys_and_versions_go_together_with_their_failures(described):
    """Idempotency-Key with 422, If-Match with 412: derived from what the handler calls."""
    with_key = set()
    for _, _, operation in operations(described):
        named = {one["name"] for one in operation.get("parameters", []) if one["in"] == "header"}
        assert ("Idempotency-Key" in named) is ("422" in operation["responses"])
        assert ("If-Match" in named) is ("412" in operation["responses"])
        if "Idempotency-Key" in named:
            with_key.add(operation["operationId"])
    assert "tasks_create" in with_key


def test_every_failure_is_a_problem(described):
    for name, response in described["components"]["responses"].items():
        assert list(response["content"]) == ["application/problem+json"], name
        assert "X-Request-ID" in response["headers"], name
    for path, _, operation in operations(described):
        for status, response in operation["responses"].items():
            assert (int(status) >= 400) is ("$ref" in response), path


def test_bodies_are_closed(described):
    """TH-3: what is not listed is refused, and the document says so."""
    requests = {name: one for name, one in described["components"]["schemas"].items() if name.endswith("Request")}
    assert "TaskSubmitRequest" in requests
    for name, schema in requests.items():
        if schema.get("type") == "object":
            assert schema["additionalProperties"] is False, name


def test_links_lead_to_operations_and_their_parameters(described):
    by_id = {operation["operationId"]: operation for _, _, operation in operations(described)}
    count = 0
    for path, _, operation in operations(described):
        for response in operation["responses"].values():
            for link in response.get("links", {}).values():
                target = by_id[link["operationId"]]
                assert set(link["parameters"]) <= {one["name"] for one in target["parameters"]}, path
                count += 1
    assert count >= 3


def test_its_words_are_for_readers(described):
    """No rule numbers, and no line of it that only we understand."""
    text = json.dumps(described)
    assert re.findall(r"\b(?:F|D|T|TH|I)-\d+", text) == []
    assert "#" in text


@pytest.mark.django_db
def test_the_page_works_without_any_other_server(client):
    """No CDN: every address on the page is ours and answers; nothing is inline, so a strict policy lets it run."""
    page = client.get("/api/v1/docs/")
    assert page.status_code == 200
    assert page["Content-Type"].startswith("text/html")
    assert page["X-Frame-Options"] == "DENY"
    html = page.content.decode()
    assert "://" not in html
    assert not re.search(r"<style|<script>|\son\w+=|\sstyle=|href=\"//|src=\"//", html)
    addresses = re.findall(r'(?:src|href)="([^"]+)"', html)
    assert len(addresses) == 4
    for address in addresses:
        answer = client.get(address.replace("&amp;", "&"))
        assert answer.status_code == 200, address
        body = b"".join(answer.streaming_content) if answer.streaming else answer.content
        assert body, address
        if address.endswith(".css"):
            assert not re.search(rb"url\(['\"]?(https?:)?//|@import", body)
        if "script" in address:
            script = body.decode()
            assert "://" not in script
            assert '"validatorUrl": null' in script
            assert "/api/v1/schema/" in script or "schema" in script


@pytest.mark.django_db
def test_a_static_file_that_is_not_there_is_404(client):
    assert client.get("/static/nothing.js").status_code == 404
    assert client.get("/static/../flowsched/settings.py").status_code == 404
