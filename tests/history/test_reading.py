"""Doors read both stores as one: a run that only ClickHouse holds looks like any other (D-27)."""

from __future__ import annotations

from datetime import timedelta

import pytest

from flowsched import clock
from tasks.answers import RunOut
from tasks.history.outbox import Exporter, outbox_fill
from tasks.history.reading import ONE_STATE, run_read, runs_read
from tasks.history.selectors import OlderState
from tasks.models import Run, Task
from tests.history.helpers import stored
from tests.rest.helpers import rest

pytestmark = pytest.mark.django_db
CALL = {
    "endpoint": "inventory", "identity_kind": "delegated_user", "principal_name": "ada", "actor_name": "robot",
    "consent_id": "c-1", "target_kind": "api", "target_summary": "POST /v1/x", "http_status": 503,
    "response_excerpt": "busy", "error_type": "http_503", "trace_id": "t",
}  # fmt: skip


def told(run: Run) -> dict:
    return dict(RunOut(run).data)


@pytest.fixture
def forgotten(clickhouse):
    """A call's run and one of hardware, exported and forgotten here: as they were told before."""
    runs = [stored(clock.now() - timedelta(days=days), state="failed") for days in (1, 2)]
    Run.objects.update(attempts=[], call={})
    Run.objects.filter(pk=runs[0].pk).update(call=CALL | {"fired_at": runs[0].queued_at.isoformat()})
    Task.objects.filter(pk=runs[1].task_id).update(type="power_control", code="power_on", information={})
    before = [told(run) for run in Run.objects.select_related("task").order_by("-queued_at")]
    outbox_fill()
    Exporter().run_once()
    Task.objects.all().delete()
    assert not Run.objects.exists()
    return before


def test_they_look_as_they_did(forgotten):
    page = runs_read()
    assert page.older is OlderState.INCLUDED
    for run, before in zip(page.runs, forgotten, strict=True):
        assert {k: (v, before[k]) for k, v in told(run).items() if v != before[k]} == {}
    assert told(run_read(page.runs[0].id)) == forgotten[0]
    assert told(run_read(str(page.runs[1].id))) == forgotten[1]


def test_the_rest_door_answers_them(forgotten):
    client = rest(superuser=True)
    answer = client.get("runs/").json()
    assert (answer["older"], answer["note"], answer["total"]) == ("included", "", 2)
    shown = client.get(f"runs/{answer['runs'][0]['id']}/").json()
    assert shown == answer["runs"][0]
    assert shown["call"]["http_status"] == 503
    assert client.post(f"runs/{shown['id']}/cancel/", {}).status_code == 404


def test_a_list_that_cannot_include_them_says_so(forgotten):
    page = runs_read(states=["failed", "succeeded"])
    assert (page.runs, page.total, page.note) == ([], 0, ONE_STATE)


def test_away_is_said_and_no_error(forgotten, server):
    recent = stored(clock.now(), attempts=[])
    server.kill()
    try:
        answer = rest(superuser=True).get("runs/").json()
    finally:
        server.start()
    assert [run["id"] for run in answer["runs"]] == [str(recent.id)]
    assert answer["older"] == "away"
    assert "not to be had now" in answer["note"]
