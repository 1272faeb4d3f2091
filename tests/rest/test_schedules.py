"""One schedule over REST: every verb that works, what it answers, writes and records."""

from __future__ import annotations

import pytest

from audit.models import AuditEntry
from schedules.answers import ScheduleOut
from schedules.models import TaskSchedule
from scopes.models import TaskScheduleScope
from tests.dispatcher.helpers import racks, raw
from tests.rest.calls import call, fits, ok, racks_body, refused, schedule_body, trail

pytestmark = pytest.mark.django_db


def stored(body) -> TaskSchedule:
    return TaskSchedule.objects.get(pk=body["id"])


def test_create_answers_the_schedule_its_place_and_its_version(planner):
    [one, two] = racks(2)
    spec = {"type": "cron", "spec": "0 2 * * 1-5", "timezone": "Europe/Berlin"}
    asked = schedule_body(
        one,
        spec=spec,
        overlap_policy="queue",
        misfire_grace="1h30m",
        operation={"type": "power_reset", "forced": True},
        target_spec={"racks": [{"name": one.name, "component_types": ["compute"]}, {"id": str(two.pk)}]},
        queue_options={"queue_timeout_seconds": 90},
    )
    response = call(planner, "POST", "schedules/", asked, x_request_id="req-7")
    body = response.json()
    assert response.status_code == 201
    fits(ScheduleOut(), body)
    assert (response["Location"], response["ETag"]) == (f"/api/v1/schedules/{body['id']}/", '"1"')
    assert body["spec"] == spec
    assert (body["operation_type"], body["description"]) == ("power_reset", "Power Reset (forced)")
    assert (body["overlap_policy"], body["misfire_grace"], body["racks"]) == ("queue", "1h30m", 2)
    assert (body["enabled"], body["disabled_kind"], body["version"], body["last_run_at"]) == (True, None, 1, None)
    assert stored(body).operation_template["queue_timeout_secs"] == 90
    scopes = TaskScheduleScope.objects.filter(schedule_id=body["id"]).order_by("position")
    assert list(scopes.values_list("rack_id", "component_filter")) == [
        (one.pk, {"kind": "types", "types": ["Compute"]}),
        (two.pk, None),
    ]
    assert ok(planner, "GET", response["Location"].removeprefix("/api/v1/")) == body
    entry = AuditEntry.objects.get(object_id=body["id"])
    assert (entry.verb, entry.actor, entry.door) == ("schedule.create", "planner", "rest")
    assert (entry.request_id, response["X-Request-ID"]) == ("req-7", "req-7")


def test_create_fills_in_what_is_left_out(planner):
    """D-9, D-12: policy skip, no grace, UTC."""
    body = ok(planner, "POST", "schedules/", schedule_body(*racks(1)))
    assert (body["overlap_policy"], body["misfire_grace"], body["spec"]["timezone"]) == ("skip", None, "UTC")


def test_retrieve_takes_every_spelling_of_a_uuid(planner):
    """F-113."""
    body = ok(planner, "POST", "schedules/", schedule_body(*racks(1)))
    for spelling in (body["id"].upper(), body["id"].replace("-", ""), f"urn:uuid:{body['id']}", f"{{{body['id']}}}"):
        assert ok(planner, "GET", f"schedules/{spelling}/") == body
    response = call(planner, "GET", f"schedules/{body['id']}/")
    assert response["ETag"] == '"1"'


def test_patch_changes_exactly_the_fields_sent(planner):
    """F-137…F-140, D-12: each field alone; the others stay as they are."""
    zone = {"type": "cron", "spec": "0 2 * * *", "timezone": "Europe/Berlin"}
    before = ok(planner, "POST", "schedules/", schedule_body(*racks(1), spec=zone, misfire_grace="5m"))
    path = f"schedules/{before['id']}/"
    moving = {"updated_at", "version", "next_run_at"}
    for change, changed in [
        ({"name": "renamed"}, {"name": "renamed"}),
        ({"overlap_policy": "queue"}, {"overlap_policy": "queue"}),
        ({"misfire_grace": "20m0s"}, {"misfire_grace": "20m"}),
        ({"misfire_grace": None}, {"misfire_grace": None}),
        ({"spec": {"timezone": "Asia/Tokyo"}}, {"spec": {**zone, "timezone": "Asia/Tokyo"}}),
        ({"spec": {"spec": "0 3 * * *"}}, {"spec": {"type": "cron", "spec": "0 3 * * *", "timezone": "Asia/Tokyo"}}),
        ({"spec": {"timezone": ""}}, {"spec": {"type": "cron", "spec": "0 3 * * *", "timezone": "UTC"}}),
        (
            {"spec": {"type": "interval", "spec": "2h"}},
            {"spec": {"type": "interval", "spec": "2h", "timezone": "UTC"}},
        ),
    ]:
        response = call(planner, "PATCH", path, change, if_match=f'"{before["version"]}"')
        after = response.json()
        assert response.status_code == 200, after
        fits(ScheduleOut(), after)
        assert response["ETag"] == f'"{after["version"]}"' == f'"{before["version"] + 1}"'
        left = {key: value for key, value in after.items() if before[key] != value and key not in moving}
        assert left == changed
        assert ok(planner, "GET", path) == after
        before = after
    assert trail()[-1] == ("schedule.update", "planner", "rest")


def test_a_patch_that_changes_nothing_counts_nothing(planner):
    before = ok(planner, "POST", "schedules/", schedule_body(*racks(1), overlap_policy="skip"))
    assert ok(planner, "PATCH", f"schedules/{before['id']}/", {"overlap_policy": "skip"}) == before
    assert [verb for verb, *_ in trail()] == ["schedule.create"]


def test_pause_and_resume_say_who_why_and_when(planner):
    """D-14."""
    before = ok(planner, "POST", "schedules/", schedule_body(*racks(1)))
    path = f"schedules/{before['id']}/"
    response = call(planner, "POST", f"{path}pause/", {"reason": "the cooling is being mended"})
    paused = response.json()
    fits(ScheduleOut(), paused)
    assert (paused["enabled"], paused["disabled_kind"], paused["disabled_by"]) == (False, "person", "planner")
    assert (paused["disabled_reason"], response["ETag"]) == ("the cooling is being mended", '"2"')
    assert paused["disabled_at"] == paused["updated_at"]
    assert paused["next_run_at"] == before["next_run_at"]
    resumed = ok(planner, "POST", f"{path}resume/")
    assert (resumed["enabled"], resumed["disabled_kind"], resumed["disabled_reason"]) == (True, None, None)
    assert (resumed["disabled_by"], resumed["disabled_at"], resumed["version"]) == (None, None, 3)
    assert [verb for verb, *_ in trail()] == ["schedule.create", "schedule.pause", "schedule.resume"]


def test_pause_without_a_reason_has_one_all_the_same(planner):
    body = ok(planner, "POST", "schedules/", schedule_body(*racks(1)))
    for sent in (None, {}, {"reason": ""}):
        assert ok(planner, "POST", f"schedules/{body['id']}/pause/", sent)["disabled_reason"] == "paused by planner"
        ok(planner, "POST", f"schedules/{body['id']}/resume/", {})


def test_delete_leaves_no_schedule_and_no_scope(planner):
    body = ok(planner, "POST", "schedules/", schedule_body(*racks(2)))
    path = f"schedules/{body['id']}/"
    response = call(planner, "DELETE", path, if_match='"1"')
    assert (response.status_code, response.content) == (204, b"")
    assert call(planner, "GET", path).status_code == 404
    assert not TaskScheduleScope.objects.exists()
    assert trail()[-1] == ("schedule.delete", "planner", "rest")


@pytest.mark.parametrize("verb", ["PATCH", "DELETE", "pause", "resume", "PUT", "POST", "DELETE scope"])
def test_a_stale_version_is_412_and_changes_nothing(planner, verb):
    """The message says who changed what meanwhile; the same call with the version of now works."""
    [one, two] = racks(2)
    body = ok(planner, "POST", "schedules/", schedule_body(one, two))
    path = f"schedules/{body['id']}/"
    ok(planner, "PATCH", path, {"name": "changed meanwhile"})
    if verb == "resume":
        TaskSchedule.objects.update(enabled=False, disabled_kind="person", disabled_at=body["created_at"])
    scope = TaskScheduleScope.objects.filter(schedule_id=body["id"]).first()
    method, target, sent = {
        "PATCH": ("PATCH", path, {"overlap_policy": "queue"}),
        "DELETE": ("DELETE", path, None),
        "pause": ("POST", f"{path}pause/", None),
        "resume": ("POST", f"{path}resume/", None),
        "PUT": ("PUT", f"{path}scopes/", racks_body(one)),
        "POST": ("POST", f"{path}scopes/", racks_body(*racks(1))),
        "DELETE scope": ("DELETE", f"scopes/{scope.pk}/", None),
    }[verb]
    before = TaskSchedule.objects.values().get(), list(TaskScheduleScope.objects.order_by("id").values())
    for stale in ('"1"', '"99999999999"', 'W/"2"', '"²"', '"two"', '""'):
        response = call(planner, method, target, sent, if_match=stale)
        assert (response.status_code, response.json()["reason"]) == (412, "VERSION")
    for none in ("2", '"2', "two", '"1", "2"', '"a b"', ""):
        refused(call(planner, method, target, sent, if_match=none), 400, "If-Match")
    assert "planner: schedule.update (name)" in call(planner, method, target, sent, if_match='"1"').json()["detail"]
    assert (TaskSchedule.objects.values().get(), list(TaskScheduleScope.objects.order_by("id").values())) == before
    assert call(planner, method, target, sent, if_match='"2"').status_code in {200, 204}


def test_if_match_star_asks_for_any_version_and_a_list_of_tags_is_refused(planner):
    body = ok(planner, "POST", "schedules/", schedule_body(*racks(1)))
    path = f"schedules/{body['id']}/"
    assert call(planner, "PATCH", path, {"name": "a"}, if_match='"1", "2"').status_code == 400
    assert ok(planner, "PATCH", path, {"name": "a"}, if_match="*")["name"] == "a"


def test_an_operation_that_cannot_be_read_is_shown_empty(planner):
    """F-136, F-316."""
    body = ok(planner, "POST", "schedules/", schedule_body(*racks(1)))
    for template in ("7", "null", "[]", '{"type": 1}', '{"type": "power_control", "code": 2}'):
        raw("UPDATE task_schedule SET operation_template = %s::jsonb", template)
        shown = ok(planner, "GET", f"schedules/{body['id']}/")
        fits(ScheduleOut(), shown)
        assert (shown["operation_type"], shown["description"]) == ("", "")
        assert ok(planner, "GET", "schedules/")["task_schedules"] == [shown]
