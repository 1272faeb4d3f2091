"""D-30: every limit, at the limit and one above, where no test beside the code does so already.

Elsewhere: scopes with the setting lowered (schedules, scopes, inventory), names of schedules, a grace below two polls,
the waiting queue and its timeout (tasks/admission), closed firings kept seven days (dispatcher/test_recover.py), and
what an import keeps that a file omits (inventory/test_import.py).
"""

from __future__ import annotations

import json
from datetime import timedelta
from uuid import UUID

import pytest
from django.conf import settings as django_settings
from django.core.exceptions import ImproperlyConfigured

from dispatcher import firing
from dispatcher.models import FiringScope
from flowsched import clock
from flowsched.environment import Environment
from flowsched.errors import InvalidInput
from inventory.document import parse
from inventory.models import Component, NVLDomain, Rack
from inventory.services import racks_attach, racks_import
from inventory.targets import ComponentTarget
from schedules.models import TaskSchedule
from schedules.services import schedule_pause
from scopes.models import TaskScheduleScope
from scopes.services import scopes_add, scopes_reconcile
from tasks.holding import hold_release, hold_set
from tasks.models import Run, Task
from tasks.retention import history_prune
from tasks.services import task_acknowledge, task_submit
from tests.dispatcher.helpers import due_schedule, holder, racks
from tests.dispatcher.test_schedule_command import run
from tests.factories import RackFactory
from tests.inventory.conftest import EXAMPLE
from tests.schedules.helpers import ALICE, NOW, POWER_ON, columns, make_racks, make_schedule, whole
from tests.tasks_runs.helpers import begin, make_rack, make_task

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)


def test_the_numbers():
    """Tests lower them; these are what a deployment that sets nothing has."""
    found = {name: getattr(django_settings, f"FLOWSCHED_{name}") for name in LIMITS}
    assert found == LIMITS


LIMITS = {
    "MAX_SCOPES_PER_SCHEDULE": 5000,
    "MAX_COMPONENTS_PER_RACK": 1000,
    "HISTORY_DAYS": 90,
    "MAX_WAITING_PER_RACK": 5,
    "QUEUE_TIMEOUT": timedelta(hours=1),
    "MIN_INTERVAL": timedelta(seconds=1),
    "POLL_INTERVAL": timedelta(seconds=10),
}


# Scopes -----------------------------------------------------------------------------------------------------------


def test_five_thousand_scopes_a_schedule_and_not_one_more():
    """Create, add, reconcile, each at the real number."""
    on = make_racks(5001)
    full = make_schedule(targets=whole(*on[:5000]))
    assert TaskScheduleScope.objects.filter(schedule=full).count() == 5000
    refused = [
        lambda: make_schedule(targets=whole(*on)),
        lambda: scopes_add(schedule_id=full.pk, targets=whole(on[5000]), by=ALICE, now=NOW),
        lambda: scopes_reconcile(schedule_id=full.pk, targets=whole(*on), by=ALICE, now=NOW),
    ]
    for too_many in refused:
        with pytest.raises(InvalidInput, match="5000"):
            too_many()
    assert len(scopes_reconcile(schedule_id=full.pk, targets=whole(*on[1:]), by=ALICE, now=NOW).scopes) == 5000
    assert TaskSchedule.objects.count() == 1


# Components of a rack ---------------------------------------------------------------------------------------------


def document(components: int, first: int = 0) -> bytes:
    """One rack whose components are numbered from `first`."""
    value = json.loads(EXAMPLE.read_text())
    one = {key: value["components"][0][key] for key in ("type", "info", "position")}
    value["components"] = []
    for n in range(first, first + components):
        names = {"id": str(UUID(int=n + 1)), "name": f"part-{n}", "serial_number": f"part-{n}"}
        value["components"].append(one | {"info": one["info"] | names})
    return json.dumps(value).encode()


def test_a_thousand_components_a_rack_are_imported_and_not_one_more(tmp_path):
    """Through the command, which reads the setting."""
    file = tmp_path / "rack.json"
    file.write_bytes(document(1001))
    answer = run(str(file), command="import_racks")
    assert answer.code == 2
    assert "limit of 1000 a rack" in answer.err
    assert not Rack.objects.exists()
    file.write_bytes(document(1000))
    answer = run(str(file), "--json", command="import_racks")
    assert answer.code == 0, answer.err
    assert answer.json["components"]["created"] == 1000


def test_what_a_file_omits_counts_too(tmp_path):
    """It is kept: file after file a rack must not grow beyond the limit; with --prune it does not."""
    file = tmp_path / "rack.json"
    file.write_bytes(document(1000))
    assert run(str(file), command="import_racks").code == 0
    file.write_bytes(document(1000, first=1))  # one kept, one new
    answer = run(str(file), command="import_racks")
    assert answer.code == 1
    assert "'r01' would have 1001 components" in answer.err
    assert "--prune" in answer.err
    assert run(str(file), "--prune", command="import_racks").code == 0
    file.write_bytes(document(999, first=1))  # one kept, none new
    assert run(str(file), "--json", command="import_racks").json["components"]["kept"] == 1
    assert Component.objects.filter(deleted_at=None).count() == 1000


def test_a_filter_names_a_thousand_components_and_not_one_more():
    rack = RackFactory(components=1001)
    targets = [ComponentTarget(id=part) for part in Component.objects.filter(rack=rack).values_list("id", flat=True)]
    made = make_schedule(targets=targets[:1000])
    assert len(TaskScheduleScope.objects.get(schedule=made).component_filter["components"]) == 1000
    refused = [
        lambda: make_schedule(targets=targets),
        lambda: scopes_add(schedule_id=made.pk, targets=targets[1000:], by=ALICE, now=NOW),
        lambda: scopes_reconcile(schedule_id=made.pk, targets=targets, by=ALICE, now=NOW),
    ]
    for too_many in refused:
        with pytest.raises(InvalidInput, match="1000"):
            too_many()


# Names ------------------------------------------------------------------------------------------------------------

BAD = ["", " x", "x ", "\u00a0x", "x\n", "a\x00b", "a\x1fb", "a\x7fb", "a\u0085b", "a\u2028b", "x" * 256]
GOOD = ["x", "ü" * 255, "two words"]


def named_rack(name: str) -> str:
    value = json.loads(EXAMPLE.read_text())
    value["info"]["name"] = name
    imported(value)
    return Rack.objects.get().name


def named_component(name: str) -> str:
    value = json.loads(EXAMPLE.read_text())
    value["components"] = value["components"][:1]
    value["components"][0]["info"]["name"] = name
    imported(value)
    return Component.objects.get().name


def named_domain(name: str) -> str:
    value = json.loads(EXAMPLE.read_text())
    value["nvl_domain"] = name
    imported(value)
    return NVLDomain.objects.get().name


def named_schedule(name: str) -> str:
    return make_schedule(name).name if name else make_schedule_without_name()


def make_schedule_without_name() -> str:
    from schedules.services import schedule_create  # noqa: PLC0415  the helper gives names to those without

    return schedule_create(
        name="", spec_type="interval", spec="1h", operation=POWER_ON, targets=whole(*make_racks(1)), by=ALICE, now=NOW
    ).name


def imported(value: object) -> None:
    read = parse(json.dumps(value).encode(), source="racks.json", max_components=1000)
    racks_import(document=read, by=ALICE, now=NOW)


NAMED = [named_schedule, named_rack, named_component, named_domain]


@pytest.mark.parametrize("name", GOOD, ids=range(len(GOOD)))
@pytest.mark.parametrize("thing", NAMED)
def test_names_of_1_to_255_characters_are_kept_as_given(thing, name):
    assert thing(name) == name


@pytest.mark.parametrize(
    ("thing", "name"),
    [(thing, name) for thing in NAMED for name in BAD if name or thing is not named_domain],  # there "" is no domain
)
def test_empty_and_long_names_blanks_around_and_control_characters_are_refused(thing, name):
    with pytest.raises(InvalidInput):
        thing(name)
    assert not TaskSchedule.objects.exists()
    assert not NVLDomain.objects.exists()


@pytest.mark.parametrize("name", BAD, ids=range(len(BAD)))
def test_a_domain_that_is_named_to_attach_racks(name):
    rack = RackFactory()
    with pytest.raises(InvalidInput):
        racks_attach(domain=name, racks=[rack.name], by=ALICE, now=NOW)


# History ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("days", "fine"), [("6", False), ("7", True)])
def test_the_setting_keeps_at_least_seven_days(days, fine):
    read = Environment({"FLOWSCHED_HISTORY_DAYS": days})
    if fine:
        assert read.int("FLOWSCHED_HISTORY_DAYS", default=90, minimum=7) == 7
    else:
        with pytest.raises(ImproperlyConfigured, match="at least 7"):
            read.int("FLOWSCHED_HISTORY_DAYS", default=90, minimum=7)


def test_tasks_are_kept_seven_days_whatever_the_setting_says(settings):
    settings.FLOWSCHED_HISTORY_DAYS = 1
    now = clock.now()
    make_task(make_rack(1), status="completed", finished_at=now, job=False)
    assert history_prune(now=now + 7 * DAY) == 0
    assert history_prune(now=now + 7 * DAY + timedelta(microseconds=1)) == 1


# Pages ------------------------------------------------------------------------------------------------------------

PAGES = [
    ("schedule", ["list"], 50, 500),
    ("schedule", ["history"], 20, 500),
    ("schedule", ["log", "s"], 50, 500),
    ("task", ["list"], 50, 1000),
    ("rack", ["list"], 50, 10_000),
    ("dispatch", ["status"], 10, 500),
]


@pytest.mark.parametrize(("command", "words", "default", "most"), PAGES, ids=str)
def test_a_page_has_a_limit(command, words, default, most):
    make_schedule("s")
    codes = {limit: run(*words, "--limit", str(limit), command=command).code for limit in (0, 1, most, most + 1)}
    assert codes == {0: 2, 1: 0, most: 0, most + 1: 2}


def one_more_rack(_like: Rack) -> None:
    RackFactory()


@pytest.mark.parametrize(
    ("command", "noun", "make"),
    [
        ("schedule", "schedules", lambda on: make_schedule(targets=whole(on))),
        ("task", "tasks", lambda on: make_task(make_rack(1), job=False)),
        ("rack", "racks", one_more_rack),
    ],
)
def test_a_page_has_fifty_rows_unless_asked_for_more(command, noun, make):
    [rack] = make_racks(1)
    while run("list", "--json", command=command).json["total"] < 51:
        make(rack)
    page = run("list", "--json", command=command).json
    assert (len(page[noun]), page["total"]) == (50, 51)
    assert len(run("list", "--limit", "51", "--json", command=command).json[noun]) == 51
    assert "1 more" in run("list", command=command).out


# Soft delete ------------------------------------------------------------------------------------------------------


def test_the_scopes_of_a_removed_rack_stay_and_fail_with_the_reason():
    """Racks leave by soft delete; the other rack of the schedule is not kept from its task."""
    now = clock.now()
    gone, there = racks(2)
    row = due_schedule("nightly", [gone, there], now=now)
    assert run("remove", gone.name, command="rack").code == 0
    assert Rack.objects.get(id=gone.id).deleted_at is not None
    assert TaskScheduleScope.objects.filter(schedule=row).count() == 2
    firing.fire_due(now, 10, holder=holder())
    first, second = FiringScope.objects.order_by("position")
    assert (first.state, first.reason_code, second.state) == ("failed", "rack_gone", "submitted")
    assert f"rack {gone.name} is no longer in the inventory" in first.reason
    row.refresh_from_db()
    assert row.enabled
    assert TaskScheduleScope.objects.filter(schedule=row).count() == 2


# Times ------------------------------------------------------------------------------------------------------------


def test_the_shortest_interval_is_a_second():
    assert columns(make_schedule(spec="1s"))["spec"] == "1s"
    with pytest.raises(InvalidInput, match="at least 1s"):
        make_schedule(spec="999999999ns")


def test_the_longest_wait_for_a_rack_is_a_year():
    rack = RackFactory(components=1)
    [target] = resolved(rack)
    longest = timedelta(days=365)
    task_submit(operation=POWER_ON, targets=[target], by=ALICE, now=NOW, queue_timeout=longest)
    with pytest.raises(InvalidInput, match="365 days"):
        task_submit(
            operation=POWER_ON, targets=[target], by=ALICE, now=NOW, queue_timeout=longest + timedelta(microseconds=1)
        )


def resolved(*on: Rack):
    from inventory.selectors import targets_resolve  # noqa: PLC0415  one use

    return targets_resolve(whole(*on))


# Texts ------------------------------------------------------------------------------------------------------------


def reason_of_a_pause(text: str) -> str:
    return schedule_pause(schedule_id=make_schedule().pk, reason=text, by=ALICE, now=NOW).disabled_reason


def reason_of_a_hold(text: str) -> str:
    hold_set(reason=text, by=ALICE, now=NOW)
    return hold_release(by=ALICE, now=NOW).hold.reason


def description_of_a_task(text: str) -> str:
    task_submit(operation=POWER_ON, targets=resolved(RackFactory(components=1)), by=ALICE, now=NOW, description=text)
    return Task.objects.get().description


def note_of_an_acknowledgement(text: str) -> str:
    task = make_task(make_rack(1))
    begin(task)
    Run.objects.update(state="unknown")
    message = task_acknowledge(task_id=task.id, as_="failed", by=ALICE, now=NOW, note=text).message
    assert message.startswith("Acknowledged as failed by alice: x")
    return text


TEXTS = [
    (reason_of_a_pause, 1000),
    (reason_of_a_hold, 1000),
    (description_of_a_task, 1000),
    (note_of_an_acknowledgement, 500),
]


@pytest.mark.parametrize(("said", "most"), TEXTS)
def test_a_text_has_a_longest_length(said, most):
    assert said("x" * most) == "x" * most
    with pytest.raises(InvalidInput, match=str(most)):
        said("x" * (most + 1))
