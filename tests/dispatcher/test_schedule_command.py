"""The `schedule` command: every verb, tables and JSON, exit codes, and what it says when something is wrong."""

from __future__ import annotations

import json
import logging
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from dispatcher import firing
from dispatcher.models import Firing
from flowsched import clock
from inventory.models import Rack
from schedules.models import TaskSchedule
from scopes.models import TaskScheduleScope
from tasks.models import Task
from tests.dispatcher.helpers import due_schedule, finish_tasks, holder, racks
from tests.factories import ComponentFactory, DomainFactory, RackFactory

pytestmark = pytest.mark.django_db


class Answer:
    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    @property
    def json(self):
        return json.loads(self.out)


def run(*words: str, command: str = "schedule") -> Answer:
    out, err = StringIO(), StringIO()
    try:
        call_command(command, *words, stdout=out, stderr=err)
        code = 0
    except SystemExit as ended:
        code = ended.code
    except CommandError as refused:  # argparse, as called from Python
        code = refused.returncode if refused.returncode != 1 else 2
        err.write(str(refused))
    return Answer(code, out.getvalue(), err.getvalue())


def create(name: str, *words: str) -> Answer:
    return run("create", name, "--every", "1h", "--operation", "power_reset", *words)


def test_create_show_and_list():
    [rack] = racks(1, components=4)
    made = create("nightly", "--rack", f"{rack.name}=compute", "--grace", "5m", "--overlap", "queue")
    assert (made.code, made.err) == (0, "")
    assert "created schedule 'nightly', next run 2" in made.out
    shown = run("show", "nightly")
    assert "every 1h" in shown.out
    assert "Power Reset" in shown.out
    assert "5m" in shown.out
    assert "Compute" in shown.out
    listed = run("list", "--json").json
    assert listed["total"] == 1
    assert listed["schedules"][0]["name"] == "nightly"
    by_id = run("show", listed["schedules"][0]["id"], "--json").json
    assert by_id["overlap_policy"] == "queue"
    assert by_id["misfire_grace"] == "300s"
    assert [scope["rack"] for scope in by_id["scopes"]] == [rack.name]


def test_empty_states_say_what_to_do():
    assert "schedule create" in run("list").out
    assert "Nothing has fired yet" in run("history").out
    assert run("list", "--json").json == {"held": None, "total": 0, "schedules": []}


def test_cron_at_component_and_domain():
    domain = DomainFactory()
    inside = RackFactory(components=2, nvl_domain=domain)
    part = ComponentFactory(rack=inside)
    cron = run(
        "create", "cron", "--cron", "0 2 * * *", "--timezone", "America/New_York", "--operation", "power_on",
        "--domain", domain.name,
    )  # fmt: skip
    assert cron.code == 0, cron.err
    once = run(
        "create", "once", "--at", "2030-06-01T04:00:00Z", "--operation", "upgrade_firmware", "--target-version", "1.2",
        "--component", str(part.id),
    )  # fmt: skip
    assert once.code == 0, once.err
    preview = run("preview", "cron", "--runs", "3")
    assert preview.out.count("02:00:00 E") == 3
    assert inside.name in preview.out
    assert len(run("preview", "cron", "--runs", "2", "--json").json["runs"]) == 2
    assert run("preview", "once", "--json").json["runs"] == ["2030-06-01T04:00:00Z"]
    assert "1 named components" in run("show", "once").out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["create", "x", "--operation", "power_on", "--rack", "r"], "--every"),
        (["create", "x", "--every", "1h", "--operation", "explode", "--rack", "r"], "explode"),
        (["create", "x", "--every", "1h", "--operation", "power_on"], "--rack, --component or --domain"),
        (["create", "x", "--every", "1d", "--operation", "power_on", "--rack", "RACK"], "unknown unit 'd'"),
        (["create", "x", "--cron", "99 * * * *", "--operation", "power_on", "--rack", "RACK"], "out of range 0-59"),
        (["create", "x", "--every", "1h", "--operation", "power_on", "--rack", "RACK=toaster"], "toaster"),
        (["create", "x", "--every", "1h", "--operation", "power_on", "--rack", "RACK="], "ends in '='"),
        (["create", "x", "--every", "1h", "--operation", "power_on", "--forced", "--rack", "RACK"], "--forced"),
        (["create", "x", "--every", "1h", "--operation", "power_on", "--rack", "RACK", "--grace", "1s"], "grace"),
        (["create", "x", "--every", "1h", "--operation", "power_on", "--rack", "RACK", "--rack", "RACK"], "RACK"),
        (["create", " x", "--every", "1h", "--operation", "power_on", "--rack", "RACK"], "blank"),
        (["create", "x", "--every", "1h", "--operation", "power_on", "--component", "seven"], "'seven'"),
        (["preview", "nightly", "--runs", "0"], "use 1 to 100"),
        (["history", "--limit", "501"], "use 1 to 500"),
        (["update", "nightly"], "at least one"),
        (["explode"], "explode"),
        ([], "VERB"),
    ],
)
def test_wrong_usage_is_exit_code_2_and_changes_nothing(words, says):
    [rack] = racks(1)
    create("nightly", "--rack", rack.name)
    answer = run(*[word.replace("RACK", rack.name) for word in words])
    assert answer.code == 2, answer.err
    assert says.replace("RACK", rack.name) in answer.err
    assert TaskSchedule.objects.count() == 1


def test_refusals_are_exit_code_1_and_name_the_thing():
    [rack] = racks(1)
    create("nightly", "--rack", rack.name)
    taken = create("nightly", "--rack", rack.name)
    assert (taken.code, "nightly" in taken.err) == (1, True)
    unknown = run("pause", "weekly")
    assert (unknown.code, "weekly" in unknown.err) == (1, True)
    nowhere = create("other", "--rack", "atlantis")
    assert (nowhere.code, "atlantis" in nowhere.err) == (1, True)
    as_json = run("pause", "weekly", "--json")
    assert json.loads(as_json.err)["error"]["kind"] == "not_found"


def test_pause_resume_update_delete_and_their_log():
    """D-22: each verb leaves its row, refused ones too, and the log outlives the schedule."""
    [rack] = racks(1)
    create("nightly", "--rack", rack.name)
    assert "paused" in run("pause", "nightly", "--reason", "chiller work").out
    assert "chiller work" in run("list").out
    assert "enabled" in run("resume", "nightly").out
    assert run("update", "nightly", "--every", "2h", "--name", "weekly", "--grace", "1h").code == 0
    row = TaskSchedule.objects.get()
    assert (row.name, row.spec, row.misfire_grace) == ("weekly", "2h", timedelta(hours=1))
    assert run("update", "weekly", "--grace", "none").code == 0
    assert run("update", "weekly", "--name", "late", "--version", "1").code == 1
    assert run("delete", "weekly").code == 0
    log = run("log", str(row.id), "--json").json
    assert [entry["verb"] for entry in reversed(log)] == [
        "schedule.create", "schedule.pause", "schedule.resume", "schedule.update", "schedule.update",
        "schedule.update", "schedule.delete",
    ]  # fmt: skip
    assert sum(bool(entry["refused"]) for entry in log) == 1
    assert all(entry["actor"].startswith("cli:") for entry in log)
    assert "chiller work" in run("log", str(row.id)).out
    assert "schedule.delete" in run("log", "weekly").out
    assert "Nothing is recorded" in run("log", "no such thing").out


def test_trigger_prints_each_rack():
    on = racks(2)
    row = due_schedule("nightly", on, kind="power_reset", late=timedelta(days=-1), now=clock.now())
    fired = run("trigger", row.name)
    assert fired.code == 0
    assert "2 tasks submitted, 0 refused" in fired.out
    again = run("trigger", row.name)
    assert again.code == 1
    assert all(rack.name in again.err for rack in on)
    finish_tasks(rack_id=on[0].id)
    some = run("trigger", row.name, "--json")
    assert some.code == 0
    assert [scope["outcome"] for scope in some.json["scopes"]] == ["submitted", "rejected"]
    assert some.json["scopes"][1]["reason_code"] == "rack_busy"


def test_history_shows_outcome_and_task_side_by_side(caplog):
    """D-5: never one word for the two."""
    caplog.set_level(logging.CRITICAL, "dispatcher")
    on = racks(3)
    now = clock.now()
    row = due_schedule("nightly", on, now=now)
    firing.fire_due(now, 10, holder=holder())
    Task.objects.filter(rack_id=on[0].id).update(status="failed", finished_at=now, message="BMC does not answer")
    TaskSchedule.objects.filter(id=row.id).update(next_run_at=now)
    firing.fire_due(now + timedelta(seconds=1), 10, holder=holder())
    table = run("history", "nightly")
    assert "failed" in table.out
    assert "BMC does not answer" in table.out
    assert "previous task of this schedule" in table.out
    entries = run("history", "nightly", "--json").json
    assert entries["total"] == 2
    assert [s["outcome"] for s in entries["firings"][0]["scopes"]] == ["submitted", "skipped", "skipped"]
    assert [s["task_status"] for s in entries["firings"][1]["scopes"]] == ["failed", "pending", "pending"]
    assert "… 2 more" in run("history", "--racks", "1").out
    assert "… and 1 more: --offset 1" in run("history", "--limit", "1").out


def test_history_of_a_deleted_schedule_is_found_by_its_name():
    """D-11: deleting keeps history readable."""
    row = due_schedule("gone", racks(1), now=clock.now())
    firing.fire_due(clock.now(), 10, holder=holder())
    run("delete", "gone")
    assert "submitted" in run("history", "gone").out
    assert run("history", str(row.id)).code == 0
    assert Firing.objects.count() == 1


def test_scope_verbs():
    on = racks(4)
    create("nightly", "--rack", on[0].name)
    assert "1 racks added" in run("scope", "add", "nightly", "--rack", f"{on[1].name}=compute").out
    assert "0 racks added, 1 widened" in run("scope", "add", "nightly", "--rack", on[1].name).out
    swapped = run("scope", "set", "nightly", "--rack", on[1].name, "--rack", on[2].name, "--rack", on[3].name)
    assert "2 added, 1 removed, 0 changed" in swapped.out
    assert run("scope", "remove", "nightly", "--rack", on[2].name, "--rack", str(on[3].id)).code == 0
    assert [scope["rack"] for scope in run("scope", "list", "nightly", "--json").json] == [on[1].name]
    run("scope", "add", "nightly", "--rack", on[0].name)
    by_id = run("scope", "list", "nightly", "--json").json[1]["scope_id"]
    assert run("scope", "remove", "nightly", "--rack", by_id).code == 0
    last = run("scope", "remove", "nightly", "--rack", on[1].name)
    assert (last.code, "delete the schedule instead" in last.err) == (1, True)
    absent = run("scope", "remove", "nightly", "--rack", on[0].name)
    assert (absent.code, on[0].name in absent.err) == (1, True)


def test_removing_several_racks_is_all_or_nothing():
    """Bad input changes nothing: the second rack is not a scope, so the first stays."""
    on = racks(3)
    create("nightly", "--rack", on[0].name, "--rack", on[1].name)
    refused = run("scope", "remove", "nightly", "--rack", on[0].name, "--rack", on[2].name)
    assert (refused.code, on[2].name in refused.err) == (1, True)
    assert TaskScheduleScope.objects.count() == 2


def test_a_removed_rack_can_still_be_taken_out_of_the_scopes():
    """D-30: its scope stays and fails; the operator must be able to remove it."""
    on = racks(2)
    create("nightly", "--rack", on[0].name, "--rack", on[1].name)
    Rack.objects.filter(id=on[0].id).update(deleted_at=clock.now())
    assert "removed from the inventory" in run("show", "nightly").out
    assert run("scope", "remove", "nightly", "--rack", on[0].name).code == 0


def test_list_filters_and_long_lists():
    """F-134."""
    on = racks(2)
    for number in range(3):
        create(f"s{number}", "--rack", on[number % 2].name)
    run("pause", "s0")
    assert {s["name"] for s in run("list", "--rack", on[0].name, "--json").json["schedules"]} == {"s0", "s2"}
    assert {s["name"] for s in run("list", "--enabled", "--json").json["schedules"]} == {"s1", "s2"}
    assert "… and 1 more: --offset 2" in run("list", "--limit", "2").out


def test_names_with_terminal_escapes_are_shown_harmless():
    """TH-17: a name written past our checks must not drive the operator's terminal."""
    row = due_schedule("nightly", racks(1))
    TaskSchedule.objects.filter(id=row.id).update(name="bad\x1b[2J")
    out = run("list").out
    assert "\x1b" not in out
    assert "bad\\x1b[2J" in out


def test_demo_fills_an_empty_database_once():
    done = run("--json", command="demo")
    assert done.code == 0, done.err
    assert len(TaskSchedule.objects.all()) == 5
    assert Rack.objects.count() == 41
    assert {row.spec_type for row in TaskSchedule.objects.all()} == {"interval", "cron", "one-time"}
    again = run(command="demo")
    assert (again.code, "FLOWSCHED_DATA_DIR" in again.err) == (1, True)
    assert run("--first-start", command="demo").code == 0
    assert TaskSchedule.objects.count() == 5


def test_run_dispatcher_once_and_status():
    assert run("--once", command="run_dispatcher").out == "0 schedules fired\n"
    due_schedule("nightly", racks(1), now=clock.now())
    assert run("--once", "--json", command="run_dispatcher").json == {"claimed": 1, "held": None}
    status = run("--status", command="run_dispatcher")
    assert status.code == 1
    assert "No dispatcher or worker is alive" in status.out
    assert run("--status", "--json", command="run_dispatcher").json["enabled"] == 1


@pytest.mark.parametrize(
    ("words", "says"), [(["--poll-interval", "11"], "may only be shorter"), (["--batch-size", "0"], "use 1 to 1000")]
)
def test_run_dispatcher_refuses_numbers_out_of_range(words, says):
    """D-9: the poll interval that grace is checked against is the longest."""
    answer = run(*words, command="run_dispatcher")
    assert (answer.code, says in answer.err) == (2, True)
