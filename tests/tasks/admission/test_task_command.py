import json
from io import StringIO

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from audit.models import AuditEntry
from tasks.models import Run, Task
from tests.tasks.admission.helpers import NOW, admit_one, make_rack, start_run, status

pytestmark = pytest.mark.django_db


def task_command(*words):
    """Exit code, standard output, standard error."""
    out, err = StringIO(), StringIO()
    code = 0
    try:
        call_command("task", *words, stdout=out, stderr=err)
    except SystemExit as end:
        code = end.code
    return code, out.getvalue(), err.getvalue()


def test_list_is_a_table_and_says_how_many_more_there_are():
    rack = make_rack()
    first = admit_one(rack, schedule_name="Nightly")
    for _ in range(3):
        admit_one(rack, queue=True)
    code, out, _ = task_command("list", "--limit", "2", "--offset", "1")
    lines = out.splitlines()
    assert (code, len(lines)) == (0, 4)
    assert lines[0].split() == ["ID", "RACK", "OPERATION", "SCHEDULE", "STATUS", "CREATED", "MESSAGE"]
    assert lines[3] == "1 more: --offset 3"
    _, out, _ = task_command("list", "--offset", "3")
    assert out.splitlines()[1].startswith(f"{str(first.id)[:8]}  r01   power reset  Nightly   pending")
    assert "more" not in out


def test_list_filters():
    rack, other = make_rack(), make_rack("r02")
    admit_one(rack, schedule_name="Nightly")
    waiting = admit_one(rack, queue=True)
    admit_one(other)

    def ids(*words):
        return {t["id"] for t in json.loads(task_command("list", "--json", *words)[1])["tasks"]}

    assert len(ids("--rack", "r01")) == 2
    assert ids("--rack", "r01", "--status", "waiting") == {str(waiting.id)}
    assert len(ids("--schedule", "Nightly")) == 1
    Task.objects.filter(status="pending").update(status="completed", finished_at=NOW)
    assert ids("--active") == {str(waiting.id)}


def test_empty_lists_say_so():
    assert task_command("list")[1] == "no tasks\n"
    admit_one(make_rack())
    assert task_command("list", "--offset", "5")[1] == "no tasks at offset 5; there are 1\n"


def test_show_prints_the_run_with_its_attempts():
    task = admit_one(make_rack(Compute=2, UMS=1), schedule_name="Nightly")
    run = start_run(task, state="unknown")
    Run.objects.filter(id=run.id).update(attempts=[{"attempt": 1, "outcome": "timed out"}, {"attempt": 2, "why": "x"}])
    code, out, _ = task_command("show", str(task.id)[:8])
    assert code == 0
    for words in (str(task.id), "2 Compute, 1 UMS", "Nightly", str(run.id), "timed out", "OUTCOME", "w1"):
        assert words in out
    assert f"outcome unknown: manage.py task acknowledge {str(task.id)[:8]} --as completed|failed" in out
    shown = json.loads(task_command("show", str(task.id), "--json")[1])
    assert (shown["id"], shown["rack_name"], shown["created_at"]) == (str(task.id), "r01", "2026-12-01T12:00:00Z")
    assert shown["runs"][0]["attempts"][0]["outcome"] == "timed out"
    assert "lease_token" not in shown["runs"][0]


def test_show_without_a_run():
    task = admit_one(make_rack())
    code, out, _ = task_command("show", str(task.id))
    assert (code, "ATTEMPT" in out) == (0, False)


def test_cancel():
    task = admit_one(make_rack())
    code, out, _ = task_command("cancel", str(task.id)[:8])
    assert (code, status(task)) == (0, "terminated")
    assert out.startswith(f"task {task.id} is terminated: Cancelled by cli:")
    entry = AuditEntry.objects.get()
    assert (entry.door, entry.actor.startswith("cli:")) == ("cli", True)


def test_acknowledge():
    task = admit_one(make_rack())
    start_run(task, state="unknown")
    code, out, _ = task_command("acknowledge", str(task.id), "--as", "failed", "--note", "tray dark", "--json")
    assert (code, status(task)) == (0, "failed")
    assert json.loads(out)["message"].endswith(": tray dark")


def test_refused_is_one():
    task = admit_one(make_rack())
    Task.objects.update(status="completed", finished_at=NOW)
    code, out, err = task_command("cancel", str(task.id))
    assert (code, out) == (1, "")
    assert err.startswith(f"precondition failed: task {task.id} is completed already")
    assert task_command("show", "abcd1234")[0] == 1
    assert task_command("list", "--rack", "nowhere")[0] == 1
    assert task_command("acknowledge", str(task.id), "--as", "failed")[0] == 1


def test_wrong_usage_is_two():
    assert task_command("show", "zz")[0] == 2
    assert task_command("list", "--limit", "0")[0] == 2
    code, _, err = task_command("show", "zz", "--json")
    assert (code, json.loads(err)["error"]["kind"]) == (2, "invalid_input")
    for words in (["nonsense"], [], ["acknowledge", "abcd"], ["list", "--status", "odd"]):
        with pytest.raises(CommandError):
            task_command(*words)
