"""What the REST door refuses about a schedule: the field by its name in the body, and nothing is written."""

from __future__ import annotations

import json

import pytest

from schedules.models import TaskSchedule
from tests.dispatcher.helpers import racks, raw, row_held
from tests.rest.calls import NOBODY, call, ok, refused, schedule_body, trail
from tests.schedules.helpers import consumed

pytestmark = pytest.mark.django_db


@pytest.fixture
def made(planner):
    """A schedule, with its path."""
    body = ok(planner, "POST", "schedules/", schedule_body(*racks(1)))
    return body | {"path": f"schedules/{body['id']}/"}


CRON = {"type": "cron", "spec": "0 2 * * *"}
BAD_CREATE = {
    "no name": ({"name": None}, ["name"]),
    "name empty": ({"name": ""}, ["name"]),
    "name blank": ({"name": " x"}, ["name"]),
    "name long": ({"name": "x" * 256}, ["name"]),
    "name number": ({"name": 5}, ["name"]),
    "name control": ({"name": "a\nb"}, ["name"]),
    "spec text": ({"spec": "1h"}, ["spec"]),
    "spec type": ({"spec": {"type": "daily", "spec": "1h"}}, ["spec.type"]),
    "spec type list": ({"spec": {"type": [], "spec": "1h"}}, ["spec.type"]),
    "spec missing": ({"spec": {"type": "cron"}}, ["spec.spec"]),
    "spec empty": ({"spec": {"type": "cron", "spec": ""}}, ["spec.spec"]),
    "interval": ({"spec": {"type": "interval", "spec": "1d"}}, ["spec.spec"]),
    "cron": ({"spec": {"type": "cron", "spec": "0 0 30 2 *"}}, ["spec.spec"]),
    "instant": ({"spec": {"type": "one-time", "spec": "2026-06-01"}}, ["spec.spec"]),
    "zone": ({"spec": {**CRON, "timezone": "Local"}}, ["spec.timezone"]),
    "spec key": ({"spec": {**CRON, "zone": "UTC"}}, ["spec.zone"]),
    "policy": ({"overlap_policy": "SKIP"}, ["overlap_policy"]),
    "policy null": ({"overlap_policy": None}, ["overlap_policy"]),
    "grace number": ({"misfire_grace": 300}, ["misfire_grace"]),
    "grace text": ({"misfire_grace": "5 minutes"}, ["misfire_grace"]),
    "grace short": ({"misfire_grace": "19s"}, ["misfire_grace"]),
    "grace negative": ({"misfire_grace": "-1h"}, ["misfire_grace"]),
    "grace empty": ({"misfire_grace": ""}, ["misfire_grace"]),
    "operation": ({"operation": {"type": "explode"}}, ["operation.type"]),
    "operation text": ({"operation": "power_on"}, ["operation"]),
    "operation field": ({"operation": {"type": "power_on", "forced": True}}, ["operation.forced"]),
    "operation flag": ({"operation": {"type": "power_off", "forced": "yes"}}, ["operation.forced"]),
    "operation rule": ({"operation": {"type": "power_on", "rule_id": "x"}}, ["operation.rule_id"]),
    "secret": ({"operation": {"type": "power_on", "authentication_data": "x"}}, ["operation.authentication_data"]),
    "window": (
        {"operation": {"type": "upgrade_firmware", "start_time": "2030-01-01T00:00:00Z"}},
        ["operation"],
    ),
    "targets": ({"target_spec": {}}, ["target_spec"]),
    "no racks": ({"target_spec": {"racks": []}}, ["target_spec"]),
    "two kinds": ({"target_spec": {"racks": [], "components": []}}, ["target_spec"]),
    "target id": ({"target_spec": {"racks": [{"id": "x"}]}}, ["target_spec.racks.0.id"]),
    "target key": ({"target_spec": {"racks": [{"serial": "x"}]}}, ["target_spec.racks.0.serial"]),
    "target type": ({"target_spec": {"racks": [{"name": "a", "component_types": ["toaster"]}]}}, ["target_spec"]),
    "strategy": ({"queue_options": {"conflict_strategy": "queue"}}, ["queue_options.conflict_strategy"]),
    "timeout": ({"queue_options": {"queue_timeout_seconds": -1}}, ["queue_options.queue_timeout_seconds"]),
    "timeout text": ({"queue_options": {"queue_timeout_seconds": "60"}}, ["queue_options.queue_timeout_seconds"]),
    "unknown": ({"nmae": "x"}, ["nmae"]),
    "enabled": ({"enabled": False}, ["enabled"]),
    "id": ({"id": NOBODY, "version": 3}, ["id", "version"]),
    "several": ({"overlap_policy": "x", "spec": {"type": "x"}}, ["overlap_policy", "spec.type", "spec.spec"]),
}


@pytest.mark.parametrize("case", BAD_CREATE)
def test_a_bad_body_creates_nothing(planner, case):
    fields, named = BAD_CREATE[case]
    [rack] = racks(1)
    refused(call(planner, "POST", "schedules/", schedule_body(rack, **fields)), 400, *named)
    assert not TaskSchedule.objects.exists()


@pytest.mark.parametrize("field", ["name", "spec", "operation", "target_spec"])
def test_what_a_schedule_needs_is_missed_by_name(planner, field):
    body = schedule_body(*racks(1))
    del body[field]
    refused(call(planner, "POST", "schedules/", body), 400, field)


@pytest.mark.parametrize("body", [[], "x", 7, True])
def test_a_body_that_is_no_object_is_refused(planner, made, body):
    for method, path in [("POST", "schedules/"), ("PATCH", made["path"]), ("POST", f"{made['path']}pause/")]:
        refused(call(planner, method, path, body), 400, "body")


def test_the_words_of_the_spec_parser_are_kept(planner):
    """T-7."""
    spec = {"type": "cron", "spec": "22-2 0 * * *"}
    problem = call(planner, "POST", "schedules/", schedule_body(*racks(1), spec=spec)).json()
    assert "range '22-2' is reversed" in problem["errors"][0]["message"]


def test_a_target_that_is_not_there_is_404_and_a_taken_name_409(planner, made):
    nowhere = schedule_body(*racks(1), target_spec={"racks": [{"name": "nowhere"}]})
    refused(call(planner, "POST", "schedules/", nowhere), 404, "target_spec")
    taken = refused(call(planner, "POST", "schedules/", schedule_body(*racks(1), name=made["name"])), 409, "name")
    assert taken["type"] == "urn:flowsched:problem:already_exists"
    other = ok(planner, "POST", "schedules/", schedule_body(*racks(1)))
    refused(call(planner, "PATCH", f"schedules/{other['id']}/", {"name": made["name"]}), 409, "name")


COLUMNS = [field.attname for field in TaskSchedule._meta.concrete_fields]
TAKEN = {"name", "overlap_policy", "misfire_grace"}  # and `spec`, which is an object here


NOT_COLUMNS = [
    "operation",
    "target_spec",
    "scopes",
    "racks",
    "description",
    "operation_type",
    "queue_options",
    "pk",
    "_state",
]


@pytest.mark.parametrize("column", [*sorted(set(COLUMNS) - TAKEN), *NOT_COLUMNS])
def test_no_other_column_is_changed_by_a_patch(planner, made, column):
    """TH-3: with a value that the column would take, alone and beside a field that may change."""
    value = TaskSchedule.objects.values().get().get(column, "x")
    before = TaskSchedule.objects.values().get()
    for beside in ({}, {"name": "sneaked in"}):
        sent = json.loads(json.dumps({column: value, **beside}, default=str))
        problem = refused(call(planner, "PATCH", made["path"], sent), 400, column)
        assert len(problem["errors"][0]["message"]) > 10
    assert TaskSchedule.objects.values().get() == before


def test_a_refusal_says_what_to_do_instead(planner, made):
    said = {
        "enabled": "…/pause/",
        "disabled_reason": "…/resume/",
        "version": "If-Match",
        "operation": "another schedule",
        "target_spec": "…/scopes/",
        "next_run_at": "spec",
        "timezone": "spec.timezone",
    }
    for field, words in said.items():
        problem = call(planner, "PATCH", made["path"], {field: None}).json()
        assert words in problem["errors"][0]["message"]


BAD_CHANGES = {
    "nothing": ({}, ["body"]),
    "no part of the spec": ({"spec": {}}, ["body"]),
    "null spec": ({"spec": None}, ["spec"]),
    "null name": ({"name": None}, ["name"]),
    "type alone": ({"spec": {"type": "cron"}}, ["spec.spec"]),
    "zone of an interval": ({"spec": {"timezone": "Europe/Berlin"}}, ["spec.timezone"]),
    "zone": ({"spec": {"spec": "2h", "timezone": "../../etc/passwd"}}, ["spec.timezone"]),
    "spec": ({"spec": {"spec": "never"}}, ["spec.spec"]),
    "name": ({"name": "x" * 256}, ["name"]),
    "policy": ({"overlap_policy": ""}, ["overlap_policy"]),
    "grace": ({"misfire_grace": "1s"}, ["misfire_grace"]),
    "one bad beside one good": ({"name": "good", "misfire_grace": "1s"}, ["misfire_grace"]),
}


@pytest.mark.parametrize("case", BAD_CHANGES)
def test_a_bad_change_changes_nothing(planner, made, case):
    change, named = BAD_CHANGES[case]
    before = TaskSchedule.objects.values().get()
    refused(call(planner, "PATCH", made["path"], change), 400, *named)
    assert TaskSchedule.objects.values().get() == before


def test_a_consumed_schedule_is_409(planner):
    path = f"schedules/{consumed().pk}/"
    for method, target, body in [
        ("POST", f"{path}pause/", None),
        ("POST", f"{path}resume/", None),
        ("PATCH", path, {"spec": {"spec": "2030-01-01T00:00:00Z"}}),
        ("POST", f"{path}trigger/", None),
    ]:
        assert call(planner, method, target, body).json()["reason"] == "CONSUMED"
    assert [entry[0] for entry in trail()[1:]] == [
        "schedule.pause", "schedule.resume", "schedule.update", "schedule.trigger",
    ]  # fmt: skip


def test_what_the_system_disabled_is_resumed_only_when_mended(planner, made):
    """D-14."""
    raw("UPDATE task_schedule SET enabled = false, disabled_kind = 'system', disabled_at = now(), spec = 'x'")
    assert call(planner, "POST", f"{made['path']}resume/").json()["reason"] == "SPEC_UNREADABLE"
    ok(planner, "PATCH", made["path"], {"spec": {"spec": "2h"}})
    assert ok(planner, "POST", f"{made['path']}resume/")["enabled"]


@pytest.mark.parametrize(
    ("method", "tail", "body"),
    [
        ("GET", "", None),
        ("PATCH", "", {"name": "x"}),
        ("DELETE", "", None),
        ("POST", "pause/", None),
        ("POST", "resume/", None),
        ("POST", "trigger/", None),
        ("GET", "preview/", None),
        ("GET", "firings/", None),
        ("GET", "scopes/", None),
        ("POST", "scopes/", {"target_spec": {"racks": [{"name": "a"}]}}),
        ("PUT", "scopes/", {"target_spec": {"racks": [{"name": "a"}]}}),
    ],
)
def test_an_id_that_names_nothing(planner, method, tail, body):
    """404 for an id, 400 for what is none; TH-25."""
    assert call(planner, method, f"schedules/{NOBODY}/{tail}", body).status_code == 404
    for none in ("x", "00000000-0000-0000-0000-000000000000", f"{NOBODY}0", "%00", "1;DROP"):
        refused(call(planner, method, f"schedules/{none}/{tail}", body), 400, "id")


def test_a_held_row_is_503_and_nothing_is_changed(planner, transactional_db):
    """Busy: with Retry-After, and without a row in the audit trail, since nothing was decided."""
    body = ok(planner, "POST", "schedules/", schedule_body(*racks(1)))
    path = f"schedules/{body['id']}/"
    raw("SET lock_timeout = '100ms'")
    before, written = TaskSchedule.objects.values().get(), trail()
    with row_held("SELECT 1 FROM task_schedule WHERE id = %s", body["id"]):
        for method, target, sent in [
            ("PATCH", path, {"name": "x"}),
            ("DELETE", path, None),
            ("POST", f"{path}pause/", None),
            ("POST", f"{path}trigger/", None),
        ]:
            response = call(planner, method, target, sent)
            assert (response.status_code, response["Retry-After"]) == (503, "2")
    assert (TaskSchedule.objects.values().get(), trail()) == (before, written)


def test_methods_that_are_not_there_are_405(planner, made):
    for method, path in [
        ("PUT", made["path"]),
        ("POST", made["path"]),
        ("PATCH", "schedules/"),
        ("DELETE", "schedules/"),
        ("GET", f"{made['path']}pause/"),
        ("GET", "schedules/preview/"),
        ("GET", "schedules/check-conflicts/"),
        ("POST", "firings/"),
        ("DELETE", "firings/1/"),
    ]:
        assert call(planner, method, path).status_code == 405


def test_no_verb_takes_a_query_parameter_that_it_does_not_know(planner, made):
    path = made["path"]
    for method, target in [
        ("POST", "schedules/"), ("GET", path), ("PATCH", path), ("DELETE", path), ("POST", f"{path}pause/"),
        ("POST", f"{path}resume/"), ("POST", f"{path}trigger/"), ("GET", f"{path}preview/"), ("GET", f"{path}firings/"),
        ("GET", f"{path}scopes/"), ("POST", f"{path}scopes/"), ("PUT", f"{path}scopes/"), ("GET", f"scopes/{NOBODY}/"),
        ("DELETE", f"scopes/{NOBODY}/"), ("POST", "schedules/check-conflicts/"), ("POST", "schedules/preview/"),
        ("GET", "firings/"), ("GET", "firings/1/"),
    ]:  # fmt: skip
        refused(call(planner, method, f"{target}?force=1"), 400, "force")
    assert TaskSchedule.objects.filter(pk=made["id"], version=1).exists()
