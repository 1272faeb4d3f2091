"""HTTP calls on the pages beside the form: dry run, schedule, task, runs, and every place that shows racks."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse

from access.services import feed_create
from audit.models import AuditEntry
from console.call_shown import sent_words
from dispatcher.models import Firing
from flowsched import clock
from inventory.targets import RackTarget
from schedules.models import TaskSchedule
from tasks.models import Run, Task
from tasks.operations import Operation
from tests.console.calls import API, SECRET, call_run, call_schedule, call_task, configure, report
from tests.console.form import ADD, full_rack
from tests.console.helpers import BUDGET, hidden, queries_of, stored, text_of
from tests.console.people import MARKUP, browse, statements, writes
from tests.dispatcher.helpers import BY, fire
from tests.http_servers.servers import sink, unique
from tests.schedules.helpers import make_schedule
from tests.tasks_runs.helpers import make_task

__all__ = ["sink"]
pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def configured(settings, monkeypatch):
    configure(settings, monkeypatch)


@pytest.fixture
def client(signed_in):
    return signed_in("admin")


def page(row: TaskSchedule, query: str = "") -> str:
    return reverse("admin:schedule", args=[row.pk]) + query


def dry_run(row: TaskSchedule, query: str = "") -> str:
    return reverse("admin:schedule_dry_run", args=[row.pk]) + query


def verb(row: TaskSchedule, name: str) -> str:
    return reverse("admin:schedule_verb", args=[row.pk, name])


# Nothing is sent ---------------------------------------------------------------------------------------------------


def test_preview_and_dry_run_send_nothing_and_fetch_no_token(client, settings, monkeypatch, sink):
    word = unique()
    configure(
        settings, monkeypatch,
        seen={
            "kind": "api", "base_url": sink.url, "methods": ["GET", "POST"], "path_prefixes": ["/"],
            "token_url": f"{sink.url}/token/{word}", "exchange_url": f"{sink.url}/exchange/{word}",
            "client_id": "robot", "client_secret": {"env": "CANARY_SECRET"},
        },
    )  # fmt: skip
    target = {"endpoint": "seen", "method": "POST", "path": f"/ok/{word}", "body": {}}
    row = call_schedule(
        "Seen", Operation("http_call", "api", {"target": target, "identity": {"kind": "service_account"}})
    )
    before = len(sink.records())
    shown = client.get(dry_run(row))
    preview = client.post(
        f"{ADD}preview/",
        {
            "operation": "http_call", "call_endpoint": "seen", "call_method": "POST", "call_path": f"/ok/{word}",
            "call_identity": "delegated_user", "call_subject": "ada", "call_consent_id": "c-1", "overlap": "skip",
        },
    )  # fmt: skip
    for answer in (shown, preview):
        assert f"POST {sink.url}/ok/{word}" in text_of(answer)
        assert "(redacted)" in text_of(answer)
    assert sink.records()[before:] == []


# Dry run -----------------------------------------------------------------------------------------------------------


def test_a_dry_run_of_each_rack(client):
    racks = [full_rack("r01"), full_rack("r02")]
    row = call_schedule(
        operation=report("/v1/racks/{{ rack.name }}"), targets=[RackTarget(id=rack.pk) for rack in racks]
    )  # fmt: skip
    before = stored()
    with statements() as found:
        first = client.get(dry_run(row))
    assert writes(found) == []
    assert f"POST {API}/v1/racks/r01?day=" in text_of(first)
    assert f"POST {API}/v1/racks/r02?day=" in text_of(client.get(dry_run(row, "?rack=r02")))
    assert client.get(dry_run(row, "?rack=nothing")).status_code == 404
    assert stored() == before
    assert queries_of(client, dry_run(row)) <= BUDGET


def test_a_dry_run_says_why_a_call_would_not_be_made(client, settings):
    row = call_schedule(operation=report("/v1/{{ rack.name }}"))
    said = text_of(client.get(dry_run(row)))
    assert "It would not be made:" in said
    assert "rack" in said
    settings.FLOWSCHED_ENDPOINTS = ""
    assert "there is no endpoint 'inventory'" in text_of(client.get(dry_run(row)))


def test_a_dry_run_shows_no_secret(client, monkeypatch):
    row = call_schedule(operation=report(f"/v1/{SECRET}"))
    body = client.get(dry_run(row)).content.decode()
    assert SECRET not in re.search(r'<div class="request">(.*?)</div>', body, re.DOTALL)[1]
    monkeypatch.delenv("CANARY_SECRET")
    assert "CANARY_SECRET" in text_of(client.get(dry_run(row)))  # which variable holds nothing


def test_hardware_has_no_dry_run(client):
    row = make_schedule("Nightly")
    assert client.get(dry_run(row)).status_code == 409
    assert "/dry-run/" not in client.get(page(row)).content.decode()


@pytest.mark.parametrize(("role", "offered"), [("viewer", False), ("operator", False), ("admin", True)])
def test_dry_run_is_for_who_may_change_it_and_use_the_endpoint(signed_in, role, offered):
    row = call_schedule()
    client = signed_in(role)
    assert ("/dry-run/" in client.get(page(row)).content.decode()) == offered
    assert client.get(dry_run(row)).status_code == (200 if offered else 403)
    if not offered:
        entry = AuditEntry.objects.latest("pk")
        assert (entry.door, bool(entry.refused), entry.object_id) == ("admin", True, str(row.pk))


# The schedule's page -----------------------------------------------------------------------------------------------


def test_the_schedule_says_its_call_in_words(client):
    row = call_schedule(operation=report(timeout=30, retries=1))
    said = text_of(client.get(page(row)))
    for words in (
        "HTTP POST /v1/reports", "Endpoint inventory", "Called as the endpoint's service account",
        "Policy 30 s an attempt; 1 retry, exponential back-off", "skip if later than 5m", "no rack one call each time",
    ):  # fmt: skip
        assert words in said
    assert "in a row" not in said
    assert f'href="{reverse("admin:runs")}?schedule={row.pk}"' in client.get(page(row)).content.decode()
    assert queries_of(client, page(row)) <= BUDGET


def test_streaks_are_shown_while_there_are_any(client):
    row = call_schedule()
    TaskSchedule.objects.filter(pk=row.pk).update(consecutive_skips=4, consecutive_no_effect=2)
    said = text_of(client.get(page(row)))
    assert "Not made 4 in a row" in said
    assert "No effect 2 in a row" in said


# Verbs -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("count", "words"), [(0, "Make 1 HTTP call"), (1, "Make 1 HTTP call"), (3, "Make 3 HTTP calls")]
)
def test_a_trigger_counts_calls(client, count, words):
    racks = [full_rack(f"r{n}") for n in range(count)]
    row = call_schedule(targets=[RackTarget(id=rack.pk) for rack in racks])
    shown = client.get(verb(row, "trigger"))
    said = text_of(shown)
    assert f"{words} now?" in said
    assert "no rack" not in said
    assert "overlap policy" not in said
    answer = text_of(client.post(verb(row, "trigger"), hidden(shown)))
    calls = max(1, count)
    assert f"{calls} of {calls} calls submitted." in answer
    assert Task.objects.filter(schedule_id=row.pk).count() == calls


def test_a_call_is_not_told_to_meet_a_busy_rack_and_counts_its_own_tasks(client):
    rack = full_rack("r01")
    make_task(rack, "restart")
    row = call_schedule(targets=[RackTarget(id=rack.pk)])
    assert "is busy" not in text_of(client.get(verb(row, "trigger")))
    client.post(verb(row, "trigger"), hidden(client.get(verb(row, "trigger"))))
    assert "1 task already submitted keeps running." in text_of(client.get(verb(row, "pause")))


def test_deleting_a_call_on_no_rack_speaks_of_no_racks(client):
    said = text_of(client.get(verb(call_schedule(), "delete")))
    assert "rack entr" not in said
    assert "History and audit stay." in said


def test_calls_and_hardware_together(client):
    ids = [str(call_schedule().pk), str(make_schedule("Nightly").pk)]
    said = text_of(client.post("/admin/schedules/do/trigger/", {"id": ids}))
    assert "Trigger 2 schedules now?" in said
    assert "racks with a conflicting task will refuse" in said
    assert '"Report" makes 1 call' in said


# Tasks -------------------------------------------------------------------------------------------------------------


def task_page(task: Task) -> str:
    return reverse("admin:task", args=[task.pk])


def test_a_task_says_what_became_of_its_call(client):
    task = call_task(call_schedule())
    call_run(task, attempt=3)
    answer = client.get(task_page(task))
    said = text_of(answer)
    for words in (
        "HTTP call POST /v1/reports", "Request POST /v1/reports at inventory",
        "Called as user ada, by the service account · acting: robot · consent c-1",
        "Answer HTTP 503 · error type http_503", "Attempts 3", "Was it sent? Yes, and it was answered.",
        f"{MARKUP}{{{{ 7*7 }}}}", "Rack no rack",
    ):  # fmt: skip
        assert words in said
    assert "<img" not in answer.content.decode()
    assert "on no rack" not in said
    assert queries_of(client, task_page(task)) <= BUDGET


@pytest.mark.parametrize(
    ("state", "call", "more", "words"),
    [
        ("succeeded", {"http_status": 200}, {}, "Yes, and it was answered."),
        ("failed", {"http_status": 0, "error_type": "render"}, {}, "No."),
        ("failed", {"http_status": 0, "error_type": "configuration"}, {}, "No."),
        ("failed", {"http_status": 0, "error_type": "refused"}, {}, "No."),
        ("skipped", {"http_status": 0, "error_type": "skipped"}, {}, "No."),
        ("skipped", {"http_status": 0, "error_type": "skipped"}, {"attempts": [{}, {}]}, "It may have been."),
        ("timed_out", {"http_status": 0, "error_type": "timeout"}, {}, "It may have been."),
        ("failed", {"http_status": 0, "error_type": "transport"}, {}, "It may have been."),
        ("cancelled", {"http_status": 0, "error_type": "cancelled"}, {}, "It may have been."),
        ("unknown", {"http_status": 0, "error_type": "timeout"}, {}, "Yes, and nobody knows what came of it."),
        ("running", {"http_status": 0, "error_type": ""}, {"in_flight": "x"}, "It may be on its way."),
        ("running", {"http_status": 0, "error_type": ""}, {}, "Not yet."),
    ],
)
def test_whether_it_was_sent(state, call, more, words):
    assert sent_words(Run(**{"state": state, "call": call, "attempts": [{}], **more})) == words


def test_a_call_in_doubt_asks_to_look_at_the_endpoint(client):
    task = call_task(call_schedule(), status="running", started_at=clock.now())
    call_run(task, "unknown", finished_at=None)
    said = text_of(client.get(task_page(task)))
    assert "Look at inventory, then say what happened. Until then the call counts as under way." in said
    asked = text_of(client.get(reverse("admin:task_decide", args=[task.pk])))
    assert "What happened to the HTTP call POST /v1/reports?" in asked
    assert "Until then the call counts as under way." in asked
    answer = client.post(
        reverse("admin:task_decide", args=[task.pk]), {"answer": "failed", "note": "looked"}, follow=True
    )
    assert "Recorded." in text_of(answer)
    assert "rack is free" not in text_of(answer)


@pytest.mark.parametrize(("status", "words"), [("running", "Break the call off."), ("pending", "it has not been sent")])
def test_cancelling_a_call_says_what_that_means(client, status, words):
    task = call_task(call_schedule(), status=status)
    said = text_of(client.get(reverse("admin:task_cancel", args=[task.pk])))
    assert words in said
    assert "no rack" not in said


def test_a_record_that_is_none_is_shown_as_far_as_it_goes(client):
    task = call_task(call_schedule())
    run = call_run(task)
    for call in ({}, {"http_status": "x"}, {"error_type": None}, [1]):
        Run.objects.filter(pk=run.pk).update(call=call)
        assert client.get(task_page(task)).status_code == 200
        assert client.get(reverse("admin:runs")).status_code == 200


# Runs --------------------------------------------------------------------------------------------------------------


def runs(query: str = "") -> str:
    return reverse("admin:runs") + query


def test_runs_are_listed_and_narrowed(client):
    first, second = call_schedule("Report"), call_schedule("Other")
    call_run(call_task(first))
    call_run(call_task(second), "no_effect", call={"http_status": 204, "error_type": ""})
    said = text_of(client.get(runs()))
    assert "2 runs" in said
    assert "Failed the target answered 503" in said
    assert "HTTP 204" in said
    assert "no rack" in said
    assert "1 run " in text_of(client.get(runs("?state=no_effect")))
    for name in (str(first.pk), "Report"):
        narrowed = text_of(client.get(runs(f"?schedule={name}")))
        assert "1 run " in narrowed
        assert "HTTP 503" in narrowed
    assert "No run matches State: strange" in text_of(client.get(runs("?state=strange")))
    assert "No run yet." in text_of(browse("viewer").get(runs("?page=99999")))


def test_runs_are_paged_in_a_constant_number_of_queries(client):
    row = call_schedule()
    call_run(call_task(row))
    few = queries_of(client, runs())
    for _ in range(50):
        call_run(call_task(row))
    assert queries_of(client, runs()) == few <= BUDGET
    first = client.get(runs()).content.decode()
    assert first.count("/admin/tasks/") >= 50
    assert "page=2" in first
    assert client.get(runs("?page=2")).content.decode().count('data-label="Answer"') == 1


def test_runs_are_found_from_tasks_and_are_for_who_may_see_tasks(client, signed_in):
    assert f'href="{runs()}"' in client.get(reverse("admin:tasks")).content.decode()
    assert browse(verbs=["schedule.read"]).get(runs()).status_code == 403


# Places of racks ---------------------------------------------------------------------------------------------------


def fired() -> TaskSchedule:
    """A call on no rack that fired a minute ago, and will again."""
    row = call_schedule("Report", now=clock.now() - timedelta(hours=1, minutes=1))
    fire(clock.now())
    return row


def test_lists_and_charts_cope_with_no_rack(client):
    row = fired()
    listed = text_of(client.get(reverse("admin:schedules")))
    assert "HTTP POST /v1/reports · no rack" in listed
    assert "Report" in text_of(client.get(reverse("admin:schedules") + "?operation=http_call"))
    assert "No schedule matches" in text_of(client.get(reverse("admin:schedules") + "?operation=power_on"))
    assert "no rack" in text_of(client.get(reverse("admin:tasks")))
    assert "HTTP call" in text_of(client.get(reverse("admin:tasks") + "?operation=http_call"))
    firing = Firing.objects.get(schedule_id=row.pk)
    assert "no rack" in text_of(client.get(page(row, f"?tab=firings&firing={firing.pk}")))
    assert "no rack" in text_of(client.get(reverse("admin:outcomes")))
    board = client.get(reverse("admin:index")).content.decode()
    assert "Report, 1 call" in board
    assert "Report, 0 racks" not in board
    assert "1 of 1 call submitted." in text_of(client.get(reverse("admin:index")))


@pytest.mark.parametrize("view", ["month", "week", "list"])
def test_the_calendar_counts_calls(client, view):
    fired()
    body = client.get(reverse("admin:calendar") + f"?view={view}").content.decode()
    assert "1 call" in body
    assert "0 racks" not in body
    assert "1 rack<" not in body
    assert "1 rack," not in body


def test_the_feed_counts_calls(client):
    fired()
    user = client.get(reverse("admin:index")).wsgi_request.user
    _, token = feed_create(user_id=user.pk, name="Plan", shows={}, by=BY, now=clock.now())
    text = Client().get(f"/calendar/{token}.ics").content.replace(b"\r\n ", b"").decode()
    assert "SUMMARY:Report (1 call)" in text
    assert "DESCRIPTION:Planned: HTTP POST /v1/reports\\, 1 call" in text
    assert not re.search(r"^(SUMMARY|DESCRIPTION):.*(1 rack|0 racks)", text, re.MULTILINE)
