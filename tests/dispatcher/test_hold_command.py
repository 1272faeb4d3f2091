"""The `dispatch` command, and every place that shows a hold."""

from __future__ import annotations

import json

import pytest

from audit.models import AuditEntry
from flowsched import clock
from tasks.models import Hold
from tests.dispatcher.helpers import due_schedule, racks
from tests.dispatcher.test_schedule_command import run

pytestmark = pytest.mark.django_db


def dispatch(*words: str):
    return run(*words, command="dispatch")


def test_hold_status_release():
    assert dispatch("status").out.startswith("Not held.\nIt has never been held.")
    begun = dispatch("hold", "--reason", "chiller work")
    assert begun.code == 0
    assert "by cli:" in begun.out
    assert ": chiller work. Nothing new begins from now on" in begun.out
    assert ": chiller work. Nothing new begins until manage.py dispatch release." in dispatch("status").out
    released = dispatch("release")
    assert (released.code, released.out[:14]) == (0, "Released after")
    assert dispatch("status").out.startswith("Not held.\nHELD ")
    assert [entry.verb for entry in AuditEntry.objects.order_by("id")] == ["dispatch.hold", "dispatch.release"]
    assert AuditEntry.objects.filter(actor__startswith="cli:", door="cli").count() == 2


def test_holding_again_changes_the_reason_and_says_so():
    dispatch("hold", "--reason", "one")
    assert "already: the reason is changed" in dispatch("hold", "--reason", "two").out
    assert "already, for this reason" in dispatch("hold", "--reason", "two").out
    assert Hold.objects.get().reason == "two"


def test_json():
    begun = dispatch("hold", "--reason", "one", "--json").json
    assert (begun["held"]["reason"], begun["news"]) == ("one", "begun")
    assert dispatch("hold", "--reason", "two", "--json").json["news"] == "reason"
    assert dispatch("status", "--json").json["held"]["reason"] == "two"
    released = dispatch("release", "--json").json
    assert (released["held"], released["released"]["reason"], released["waiting"]) == (None, "two", 0)
    status = dispatch("status", "--json").json
    assert (status["held"], len(status["holds"])) == (None, 1)
    assert status["holds"][0]["released_by"].startswith("cli:")


def test_releasing_what_is_not_held_is_refused():
    answer = dispatch("release", "--json")
    assert answer.code == 1
    assert json.loads(answer.err)["error"]["reason"] == "NOT_HELD"


@pytest.mark.parametrize("words", [["hold"], ["hold", "--reason", " "], ["hold", "--reason", "a\nb"], ["pause"]])
def test_wrong_usage(words):
    assert dispatch(*words).code == 2
    assert not Hold.objects.exists()


def test_the_newest_holds_first_and_no_more_than_asked_for():
    for n in range(3):
        dispatch("hold", "--reason", f"r{n}")
        dispatch("release")
    assert [hold["reason"] for hold in dispatch("status", "--limit", "2", "--json").json["holds"]] == ["r2", "r1"]
    assert [dispatch("status", "--limit", n).code for n in ("0", "1", "500", "501")] == [2, 0, 0, 2]


LISTS = [
    ("schedule", ["list"]),
    ("schedule", ["history"]),
    ("task", ["list"]),
    ("run_dispatcher", ["--status"]),
]


@pytest.mark.parametrize(("command", "words"), LISTS)
def test_a_hold_is_shown(command, words):
    """A line above the table, and a field of the JSON that is null without a hold."""
    due_schedule("nightly", racks(1), now=clock.now())
    assert run(*words, "--json", command=command).json["held"] is None
    assert "Held since" not in run(*words, command=command).out
    dispatch("hold", "--reason", "chiller work")
    assert run(*words, "--json", command=command).json["held"]["reason"] == "chiller work"
    first = run(*words, command=command).out.splitlines()[0]
    assert first.startswith("Held since ")
    assert ": chiller work." in first


def test_once_says_why_it_fired_nothing():
    due_schedule("nightly", racks(1), now=clock.now())
    dispatch("hold", "--reason", "chiller work")
    assert "chiller work" in run("--once", command="run_dispatcher").out
    assert run("--once", "--json", command="run_dispatcher").json["claimed"] == 0


def test_a_refused_trigger_ends_with_one():
    due_schedule("nightly", racks(1), now=clock.now())
    dispatch("hold", "--reason", "chiller work")
    answer = run("trigger", "nightly", "--json")
    assert answer.code == 1
    assert json.loads(answer.err)["error"]["reason"] == "HELD"
