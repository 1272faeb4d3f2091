"""No secret of a call is found anywhere afterwards: not in the log, a table, an answer or a page (TH-19, I-57, I-98).

The secrets are real: a client secret, and the tokens that the OAuth 2 server gave for it. Targets send back whatever
they were sent, whole and cut at the excerpt's end, as an error, as what is no HTTP, and after the worker has failed.
"""

from __future__ import annotations

import json

import pytest
from django.core.management import call_command
from django.db import connection

from tasks.models import Run, Task
from tasks.operations import Operation
from tests.calls.helpers import fired, scheduled
from tests.console.people import browse
from tests.faults.harness import Product, terminate, wait_for
from tests.http_servers.servers import oauth, unique
from tests.rest.helpers import rest

__all__ = ["oauth"]
pytestmark = [pytest.mark.process, pytest.mark.django_db(transaction=True)]
WINDOW = 12  # characters of a token that are a find
ENDED = ["completed", "failed", "terminated"]


def called(path: str, *, query: dict | None = None, method: str = "GET"):
    body = {"note": "{{ now }}"} if method == "POST" else None
    target = {"endpoint": "api", "method": method, "path": path, "query": query or {}, "body": body}
    policy = {"timeout": 3, "retries": 1, "retry_backoff": "none"}
    operation = Operation(
        "http_call", "api", {"target": target, "identity": {"kind": "service_account"}, "policy": policy}
    )
    schedule = scheduled(operation)
    fired(schedule)
    return schedule


def paddings() -> list[dict[str, str]]:
    """Queries so long that the cut falls before, in and after the token that the target sends back."""
    return [{"pad": "x" * 4000, "more": "y" * 3000, "last": "z" * last} for last in range(480, 1000, 40)]


def windows(secret: str) -> list[str]:
    return [secret[start : start + WINDOW] for start in range(len(secret) - WINDOW + 1)]


def found(secrets: list[str], text: str) -> list[str]:
    return [piece for secret in secrets for piece in windows(secret) if piece in text]


def everything_stored() -> str:
    with connection.cursor() as cursor:
        tables = connection.introspection.table_names(cursor)
        rows = []
        for table in tables:
            cursor.execute(f'SELECT t::text FROM "{table}" t')
            rows += [row[0] for row in cursor.fetchall()]
    return "\n".join(rows)


def everything_answered(schedules, capsys) -> str:
    client, pages = rest(name="robot", superuser=True), browse("admin")
    texts = [client.get(path).content.decode() for path in ("runs/", "tasks/", "schedules/", "firings/")]
    for run in Run.objects.all():
        texts.append(client.get(f"runs/{run.id}/").content.decode())
        texts.append(client.get(f"tasks/{run.task_id}/").content.decode())
        texts.append(pages.get(f"/admin/tasks/{run.task_id}/").content.decode())
        call_command("run", "show", str(run.id))
    for schedule in schedules:
        texts.append(client.get(f"schedules/{schedule.id}/").content.decode())
        texts.append(client.post(f"schedules/{schedule.id}/dry-run/", {}).content.decode())
        texts.append(pages.get(f"/admin/schedules/{schedule.id}/?tab=firings").content.decode())
    return "\n".join([*texts, capsys.readouterr().out])


def test_no_secret_is_left_anywhere(sink, oauth, settings, monkeypatch, tmp_path, capsys):  # noqa: PLR0917
    name = unique("client")
    secret = f"secret-of-{name}"
    monkeypatch.setenv("CANARY_SECRET", secret)
    settings.FLOWSCHED_ENDPOINTS = json.dumps(
        {
            "api": {
                "kind": "api", "base_url": sink.url, "plain_http": True, "methods": ["GET", "POST"],
                "token_url": f"{oauth.url}/token", "client_id": name, "client_secret": {"env": "CANARY_SECRET"},
            }
        }
    )  # fmt: skip
    word = unique()
    schedules = [
        called(f"/echo/200/{word}"),
        called(f"/echo/500/{word}"),
        called(f"/echo/401/{word}"),
        called(f"/echo-raw/{word}"),
        called(f"/slow/5/{word}"),
        called(f"/hang/{word}", method="POST"),
        called(f"/reset-in-body/{word}"),
        called(f"/echo/200/{word}/{{{{ rack.name }}}}"),
        *(called(f"/echo/200/{word}", query=query) for query in paddings()),
    ]
    product = Product(tmp_path)
    try:
        worker = product.worker("call.after_answer:raise@3", FLOWSCHED_ENDPOINTS=settings.FLOWSCHED_ENDPOINTS)
        wait_for(
            lambda: not Task.objects.exclude(status__in=ENDED).exclude(runs__state="unknown").exists(),
            60,
            "every call has ended",
        )
        assert terminate(worker) == 0
        log = product.said(worker)
    finally:
        product.stop()
    tokens = {r["headers"]["authorization"].removeprefix("Bearer ") for r in sink.records(path=word)}
    assert len(tokens) >= 2  # the second after a 401
    secrets = [secret, *(token.rpartition(".")[2] for token in tokens), *(token.split(".")[1] for token in tokens)]
    assert "Traceback" in log  # the failure was told
    assert len(sink.records(path=word)) >= len(schedules) - 1
    cut = [
        run.call["response_excerpt"] for run in Run.objects.all() if len(run.call.get("response_excerpt", "")) > 8000
    ]
    assert len(cut) >= len(paddings()) // 2  # answers as long as those were cut, some within the token
    for place, text in {
        "the log": log,
        "a table": everything_stored(),
        "an answer": everything_answered(schedules, capsys),
    }.items():
        assert not found(secrets, text), place
