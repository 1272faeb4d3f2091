"""Schedules of calls: with racks or one call without any, how late, and what their calls' ends do to them."""

from __future__ import annotations

from datetime import timedelta

import pytest

from flowsched import clock
from flowsched.errors import InvalidInput, NotFound, PreconditionFailed
from inventory.targets import RackTarget
from schedules.models import TaskSchedule
from schedules.services import schedule_resume
from schedules.streaks import call_ended
from schedules.template import summary
from scopes.dry_run import operation_dry_run, schedule_dry_run
from scopes.models import TaskScheduleScope
from scopes.services import scope_remove, scopes_add, scopes_reconcile
from tasks.models import Task
from tasks.operations import Operation, operation_label, operation_name
from tasks.states import RunState
from tests.calls.helpers import call, hook, scheduled
from tests.dispatcher.helpers import BY
from tests.tasks_runs.helpers import make_rack

pytestmark = pytest.mark.django_db


def scopes(schedule):
    return list(TaskScheduleScope.objects.filter(schedule=schedule).order_by("position"))


def test_without_racks_it_has_the_one_scope_without_a_rack(site):
    """D-1."""
    schedule = scheduled(call())
    assert [scope.rack_id for scope in scopes(schedule)] == [None]


def test_hardware_still_needs_a_rack(site):
    with pytest.raises(InvalidInput) as refused:
        scheduled(Operation("power_control", "power_on", {"operation": 1, "forced": False}))
    assert refused.value.field == "target_spec"
    assert not TaskSchedule.objects.exists()


def test_racks_are_not_added_beside_the_one_call_but_replace_it(site):
    schedule, rack = scheduled(call()), make_rack(1)
    with pytest.raises(PreconditionFailed) as refused:
        scopes_add(schedule_id=schedule.id, targets=[RackTarget(id=rack.id)], by=BY, now=clock.now())
    assert refused.value.reason == "RACKLESS"
    scopes_reconcile(schedule_id=schedule.id, targets=[RackTarget(id=rack.id)], by=BY, now=clock.now())
    assert [scope.rack_id for scope in scopes(schedule)] == [rack.id]


def test_the_last_scope_stays(site):
    schedule = scheduled(call())
    with pytest.raises(PreconditionFailed):
        scope_remove(scope_id=scopes(schedule)[0].id, by=BY, now=clock.now())


@pytest.mark.parametrize(
    ("given", "poll", "expected"),
    [
        ({}, 10, timedelta(seconds=300)),
        ({}, 200, timedelta(seconds=400)),  # never below two poll intervals
        ({"misfire_grace": None}, 10, None),
        ({"misfire_grace": timedelta(minutes=2)}, 10, timedelta(minutes=2)),
    ],
)
def test_how_late_a_call_may_be(site, settings, given, poll, expected):
    """D-9, I-11."""
    settings.FLOWSCHED_POLL_INTERVAL = timedelta(seconds=poll)
    assert scheduled(call(), **given).misfire_grace == expected


def test_hardware_runs_however_late_unless_said(site):
    schedule = scheduled(Operation("power_control", "power_on", {"operation": 1, "forced": False}), [make_rack(1)])
    assert schedule.misfire_grace is None


@pytest.mark.parametrize(
    ("operation", "error", "field"),
    [
        (call(endpoint="nowhere"), NotFound, "target.endpoint"),
        (call(endpoint="hooks-202"), InvalidInput, "target.endpoint"),
        (hook("night", endpoint="api"), InvalidInput, "target.endpoint"),
        (call("relative"), InvalidInput, "target.path"),
        (call("/x/{{ rack.name | attr('x') }}"), InvalidInput, "target.path"),
        (call(timeout=0), InvalidInput, "policy.timeout"),
        (call(retries=11), InvalidInput, "policy.retries"),
    ],
)
def test_what_cannot_be_called_is_refused_on_its_field_and_nothing_is_stored(site, operation, error, field):
    with pytest.raises(error) as refused:
        scheduled(operation)
    assert field in (getattr(refused.value, "fields", None) or {refused.value.field: ""})
    assert not TaskSchedule.objects.exists()


def test_in_words(site):
    made = scheduled(call("/v1/racks/{{ rack.name }}", "POST")).operation_template
    assert summary(made) == ("HTTP_CALL", "HTTP POST /v1/racks/{{ rack.name }}")
    operation = hook("night-report")
    said = operation_label(operation.type, operation.code, operation.information)
    assert said == "HTTP call POST /notifications/night-report"
    assert operation_name(operation.type, operation.code, operation.information).startswith("HTTP call, POST ")


# Streaks -----------------------------------------------------------------------------------------------------------


def ended(schedule, *states):
    for state in states:
        call_ended(schedule.id, RunState(state), "no token: the token server says no", clock.now())
    schedule.refresh_from_db()


def test_five_skips_in_a_row_disable_it_with_the_reason(site):
    """D-24, I-32, I-102."""
    schedule = scheduled(call())
    ended(schedule, *["skipped"] * 4)
    assert schedule.enabled
    ended(schedule, "skipped")
    assert (schedule.enabled, schedule.disabled_kind) == (False, "system")
    assert "5 calls in a row" in schedule.disabled_reason
    assert "the token server says no" in schedule.disabled_reason


def test_any_other_end_begins_the_count_anew(site):
    schedule = scheduled(call())
    ended(schedule, *["skipped"] * 4, "succeeded", *["skipped"] * 4)
    assert schedule.enabled
    assert schedule.consecutive_skips == 4


def test_resume_begins_the_count_anew(site):
    """I-87: one more skip after a resume disables nothing."""
    schedule = scheduled(call())
    ended(schedule, *["skipped"] * 5)
    schedule_resume(schedule_id=schedule.id, by=BY, now=clock.now())
    ended(schedule, "skipped")
    assert schedule.enabled
    assert schedule.consecutive_skips == 1


def test_calls_without_effect_are_spoken_of_and_go_on(site, caplog):
    schedule = scheduled(call())
    ended(schedule, *["no_effect"] * 5)
    assert schedule.enabled
    assert schedule.consecutive_no_effect == 5
    assert "5 calls in a row changed nothing" in caplog.text


# Dry run -----------------------------------------------------------------------------------------------------------


def test_a_dry_run_renders_for_a_rack_and_sends_nothing(site):
    """I-73, I-89."""
    path, word = site.path("ok")
    racks = [make_rack(2, name="r-01"), make_rack(1, name="r-02")]
    schedule = scheduled(call(f"{path}/{{{{ rack.name }}}}/{{{{ components[0].name }}}}", "POST"), racks)
    first = schedule_dry_run(schedule_id=schedule.id, now=clock.now())
    second = schedule_dry_run(schedule_id=schedule.id, rack="r-02", now=clock.now())
    assert first.would_run
    assert first.url.endswith(f"{path}/r-01/tray-0")
    assert second.url.endswith(f"{path}/r-02/tray-0")
    assert first.method == "POST"
    assert first.body.startswith('{"at":')
    assert not site.arrived(word)
    assert not Task.objects.exists()


def test_a_dry_run_says_why_a_call_would_not_be_made(site):
    schedule = scheduled(call("/ok/{{ rack.name }}"))
    seen = schedule_dry_run(schedule_id=schedule.id, now=clock.now())
    assert not seen.would_run
    assert "target.path" in seen.fields


def test_a_dry_run_of_what_is_not_there_yet(site):
    seen = operation_dry_run(operation=call("/ok/{{ task.schedule_name }}"), name="night", now=clock.now())
    assert seen.would_run
    assert seen.url.endswith("/ok/night")


def test_there_is_no_dry_run_of_hardware(site):
    schedule = scheduled(Operation("power_control", "power_on", {"operation": 1, "forced": False}), [make_rack(1)])
    with pytest.raises(PreconditionFailed):
        schedule_dry_run(schedule_id=schedule.id, now=clock.now())
