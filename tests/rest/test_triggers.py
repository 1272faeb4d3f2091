"""Trigger and preview over REST."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from dispatcher.answers import PreviewOut, TriggeredOut
from dispatcher.models import Firing
from flowsched import clock
from flowsched.actor import SYSTEM
from schedules.answers import TimingOut
from schedules.models import TaskSchedule
from tasks.holding import hold_set
from tasks.models import Task
from tests.dispatcher.helpers import finish_tasks, racks, raw
from tests.factories import RackFactory
from tests.rest.calls import call, fits, ok, refused, schedule_body, trail

pytestmark = pytest.mark.django_db


@pytest.fixture
def made(planner):
    """A schedule on two racks, with its path."""
    on = racks(2)
    body = ok(planner, "POST", "schedules/", schedule_body(*on))
    return body | {"path": f"schedules/{body['id']}/", "on": on}


def test_a_trigger_submits_every_rack(planner, made):
    """F-150, D-13: ids in scope order, the version stays, the next run counts from now."""
    response = call(planner, "POST", f"{made['path']}trigger/", x_request_id="req-9")
    body = response.json()
    assert response.status_code == 200
    fits(TriggeredOut(), body)
    assert [scope["rack_name"] for scope in body["scopes"]] == [rack.name for rack in made["on"]]
    assert [scope["task_id"] for scope in body["scopes"]] == body["task_ids"]
    assert {scope["outcome"] for scope in body["scopes"]} == {"submitted"}
    assert body["refusals"] == []
    assert Task.objects.filter(pk__in=body["task_ids"], schedule_id=made["id"]).count() == 2
    after = ok(planner, "GET", made["path"])
    assert (after["version"], after["last_run_at"] is not None) == (1, True)
    assert trail()[-1] == ("schedule.trigger", "planner", "rest")
    assert Firing.objects.get(pk=body["firing_id"]).actor == "planner"


def test_racks_that_refuse_are_named_beside_those_that_accept(planner, made):
    """D-13."""
    ok(planner, "POST", f"{made['path']}trigger/")
    finish_tasks(rack_id=made["on"][1].pk)
    body = ok(planner, "POST", f"{made['path']}trigger/")
    fits(TriggeredOut(), body)
    busy, free = body["scopes"]
    assert ((busy["outcome"], busy["task_id"]), free["outcome"]) == (("rejected", None), "submitted")
    assert body["task_ids"] == [free["task_id"]]
    [refusal] = body["refusals"]
    assert (refusal["rack_name"], refusal["reason_code"]) == (made["on"][0].name, "rack_busy")
    assert refusal["reason"] == busy["reason"]
    assert f"rack {made['on'][0].name} is busy" in refusal["reason"]


def test_if_all_refuse_the_call_fails_and_names_them_all(planner, made):
    """D-13: the firing stays recorded."""
    ok(planner, "POST", f"{made['path']}trigger/")
    problem = call(planner, "POST", f"{made['path']}trigger/").json()
    assert (problem["status"], problem["reason"]) == (409, "ALL_REFUSED")
    assert [refusal["rack_name"] for refusal in problem["refusals"]] == [rack.name for rack in made["on"]]
    history = ok(planner, "GET", f"{made['path']}firings/")
    assert [scope["outcome"] for scope in history["firings"][0]["scopes"]] == ["rejected", "rejected"]


def test_full_queues_are_429(planner, settings):
    settings.FLOWSCHED_MAX_WAITING_PER_RACK = 0
    body = ok(planner, "POST", "schedules/", schedule_body(*racks(1), overlap_policy="queue"))
    ok(planner, "POST", f"schedules/{body['id']}/trigger/")
    problem = call(planner, "POST", f"schedules/{body['id']}/trigger/").json()
    assert (problem["status"], problem["type"]) == (429, "urn:flowsched:problem:queue_full")
    assert [refusal["reason_code"] for refusal in problem["refusals"]] == ["queue_full"]


def test_a_hold_refuses_a_trigger_with_its_reason(planner, made, transactional_db):
    """D-29."""
    body = ok(planner, "POST", "schedules/", schedule_body(*racks(1)))
    hold_set(reason="the cooling is being mended", by=SYSTEM, now=clock.now())
    problem = call(planner, "POST", f"schedules/{body['id']}/trigger/").json()
    assert (problem["status"], problem["reason"]) == (409, "HELD")
    assert "the cooling is being mended" in problem["detail"]
    assert not Firing.objects.exists()


def test_a_trigger_takes_no_body(planner, made):
    for body in ({"scopes": []}, [1], "x"):
        refused(call(planner, "POST", f"{made['path']}trigger/", body), 400, "body")
        refused(call(planner, "POST", f"{made['path']}resume/", body), 400, "body")
    assert not Firing.objects.exists()


def test_a_trigger_of_100_racks_costs_no_query_per_rack(planner):
    counted = []
    for count in (10, 100):
        body = ok(planner, "POST", "schedules/", schedule_body(*racks(count, components=1)))
        with CaptureQueriesContext(connection) as captured:
            ok(planner, "POST", f"schedules/{body['id']}/trigger/")
        counted.append(len(captured))
    assert counted[1] <= counted[0] + 2, counted


def test_a_preview_names_runs_in_both_clocks_and_racks_with_what_they_reach(planner):
    """DST: the fold of 2026 in Berlin lies between the first two runs."""
    [whole, part] = RackFactory(components=3, types=["Compute", "PowerShelf", "Compute"]), RackFactory(components=1)
    spec = {"type": "cron", "spec": "30 2 24-26 10 *", "timezone": "Europe/Berlin"}
    targets = {"racks": [{"name": whole.name, "component_types": ["compute"]}, {"name": part.name}]}
    body = ok(planner, "POST", "schedules/", schedule_body(spec=spec, target_spec=targets))
    preview = ok(planner, "GET", f"schedules/{body['id']}/preview/?runs=4")
    fits(PreviewOut(), preview)
    assert (preview["enabled"], preview["problem"], preview["timezone"]) == (True, None, "Europe/Berlin")
    assert len(preview["runs"]) == 4
    assert preview["runs"][0]["at"] == body["next_run_at"]
    for run in preview["runs"]:
        at, local = datetime.fromisoformat(run["at"]), datetime.fromisoformat(run["local"])
        assert at == local
        assert (local.hour, local.minute, local.utcoffset()) in {(2, 30, timedelta(hours=n)) for n in (1, 2)}
    reached = [(scope["rack_name"], scope["components"], scope["reaches"]) for scope in preview["scopes"]]
    assert reached == [(whole.name, 2, "Compute"), (part.name, 1, "whole rack")]
    assert preview["scopes"][0]["component_filter"] == {"types": ["compute"]}
    assert len(ok(planner, "GET", f"schedules/{body['id']}/preview/")["runs"]) == 10


def test_a_preview_of_a_paused_schedule_says_why_and_what_would_be(planner, made):
    ok(planner, "POST", f"{made['path']}pause/", {"reason": "because"})
    preview = ok(planner, "GET", f"{made['path']}preview/?runs=1")
    fits(PreviewOut(), preview)
    assert (preview["enabled"], preview["disabled_kind"], preview["disabled_reason"]) == (False, "person", "because")
    assert len(preview["runs"]) == 1


UNREADABLE = {
    "spec = 'never'": (0, "invalid duration"),
    "timezone = 'Mars/Base'": (0, "Mars/Base"),
    "spec_type = 'cron'": (0, "expected exactly 5 fields"),
    "spec = '2562047h'": (27, "no next run before the year 9999"),
}


@pytest.mark.parametrize("enabled", [True, False])
@pytest.mark.parametrize("column", UNREADABLE)
def test_a_preview_of_what_cannot_be_read_says_so(planner, made, column, enabled):
    """F-316: it never fails."""
    runs, words = UNREADABLE[column]
    raw(f"UPDATE task_schedule SET {column}")
    if not enabled:
        raw("UPDATE task_schedule SET enabled = false, disabled_kind = 'system', disabled_at = now()")
    preview = ok(planner, "GET", f"{made['path']}preview/?runs=100")
    fits(PreviewOut(), preview)
    assert len(preview["runs"]) == runs + (enabled and runs > 0)  # its next run still is of the spec it had
    assert words in preview["problem"]


def test_a_preview_shows_a_rack_that_is_gone(planner, made):
    raw("UPDATE rack SET deleted_at = now() WHERE id = %s", made["on"][0].pk)
    raw("UPDATE task_schedule_scope SET component_filter = '7' WHERE rack_id = %s", made["on"][1].pk)
    gone, unreadable = ok(planner, "GET", f"{made['path']}preview/")["scopes"]
    assert (gone["components"], "removed" in gone["reaches"]) == (0, True)
    assert (unreadable["components"], unreadable["component_filter"]) == (0, {"types": []})
    assert unreadable["reaches"].startswith("nothing")


def test_a_spec_can_be_tried_without_storing_anything(planner):
    spec = {"type": "cron", "spec": "0 2 * * *", "timezone": "Asia/Tokyo"}
    body = ok(planner, "POST", "schedules/preview/?runs=100", {"spec": spec})
    fits(TimingOut(), body)
    assert (len(body["runs"]), body["timezone"]) == (100, "Asia/Tokyo")
    assert all(run["local"].endswith("T02:00:00+09:00") for run in body["runs"])
    once = ok(planner, "POST", "schedules/preview/", {"spec": {"type": "one-time", "spec": "2030-01-01T00:00:00Z"}})
    assert [run["at"] for run in once["runs"]] == ["2030-01-01T00:00:00Z"]
    far = ok(planner, "POST", "schedules/preview/", {"spec": {"type": "interval", "spec": "2000000h"}})
    assert 1 <= len(far["runs"]) <= 40
    for bad, named in [
        ({"spec": {"type": "cron", "spec": "x"}}, "spec.spec"),
        ({"spec": {**spec, "timezone": "x"}}, "spec.timezone"),
        ({"spec": {**spec, "type": "x"}}, "spec.type"),
        ({"spec": spec, "name": "x"}, "name"),
        ({}, "spec"),
    ]:
        refused(call(planner, "POST", "schedules/preview/", bad), 400, named)
    assert not TaskSchedule.objects.exists()
    assert not trail()


@pytest.mark.parametrize("runs", ["0", "101", "-1", "x", ""])
def test_runs_are_bounded(planner, made, runs):
    refused(call(planner, "GET", f"{made['path']}preview/?runs={runs}"), 400, "runs")
    refused(call(planner, "POST", f"schedules/preview/?runs={runs}"), 400, "runs")
