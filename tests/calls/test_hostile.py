"""What must not be sent is refused when the call is made, too, however it came to be stored (TH-4, TH-6 to TH-8).

Rows are written past every check, as by SQL, so that what is left is the run's own refusal. The guard is what every
request passes right before it leaves: it is never reached, and the target hears nothing.
"""

from __future__ import annotations

import uuid

import pytest

from flowsched import clock
from inventory.models import Rack
from schedules.models import TaskSchedule
from scopes.dry_run import schedule_dry_run
from scopes.models import TaskScheduleScope
from tasks.executors.base import StepState
from tasks.executors.http import HttpExecutor
from tasks.models import Task
from tests.calls.helpers import call, hook, scheduled
from tests.http.corpus import CORPUS, VALUES, carried, information
from tests.tasks_runs.helpers import make_rack

pytestmark = pytest.mark.django_db
ENDPOINTS = {"api": "api", "gateway": "hooks-202"}


class NeverReached:
    """The context of a step that must not get as far as its effect."""

    key = "k"
    task_id = uuid.UUID(int=1)
    repeated = False

    def guard(self) -> None:
        raise AssertionError("a request was about to leave")


def named(entries):
    return pytest.mark.parametrize("entry", entries, ids=lambda entry: ascii(entry.name))


def stored(code: str, told: dict) -> dict:
    """The information as a row would hold it, for an endpoint that there is."""
    return told | {"target": told["target"] | {"endpoint": ENDPOINTS[code]}, "identity": {"kind": "none"}}


def storable(entry) -> bool:
    """Whether PostgreSQL takes the text at all: no NUL, no half of a surrogate pair."""
    return "\x00" not in entry.text and not any("\ud800" <= char <= "\udfff" for char in entry.text)


def outcome(code: str, told: dict, *, rack: Rack | None = None):
    task = Task(
        id=uuid.UUID(int=1), type="http_call", code=code, information=stored(code, told), created_at=clock.now(),
        rack_id=rack.id if rack else None, rack_name=rack.name if rack else "",
    )  # fmt: skip
    executor = HttpExecutor()
    (step,) = executor.plan(task)
    return executor.apply(step, NeverReached())


@named(CORPUS)
def test_refused_when_it_runs(site, entry):
    result = outcome(*information(entry), rack=make_rack(1, name="rack-1"))
    assert result.state is StepState.FAILED
    assert result.facts["error_type"] in {"configuration", "render"}
    assert not result.retryable
    assert result.facts["http_status"] == 0
    assert entry.why in result.message


@named([entry for entry in VALUES if storable(entry) and len(entry.text) <= 255])
def test_refused_when_a_rack_brings_it_to_a_run(site, entry):
    rack = Rack.objects.create(name=entry.text, serial_number="s")
    result = outcome(*carried(entry), rack=rack)
    assert result.state is StepState.FAILED
    assert result.facts["error_type"] == "render"


@named([entry for entry in CORPUS if storable(entry)])
def test_refused_by_the_dry_run_of_what_is_stored(site, entry):
    code, told = information(entry)
    schedule = scheduled(call("/ok/x") if code == "api" else hook("x"), [make_rack(1, name="rack-1")])
    template = schedule.operation_template | {"code": code, "information": stored(code, told)}
    TaskSchedule.objects.filter(pk=schedule.pk).update(operation_template=template)
    assert TaskScheduleScope.objects.filter(schedule=schedule).exists()
    seen = schedule_dry_run(schedule_id=schedule.id, now=clock.now())
    assert not seen.would_run
    assert not seen.url
    assert seen.reason
