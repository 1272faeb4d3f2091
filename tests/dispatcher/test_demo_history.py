"""`demo_history` leaves what the services could have left, and only where there is nothing to spoil."""

from __future__ import annotations

import json
from io import StringIO

import pytest
from django.core.management import call_command
from django.db.models import F

from audit.models import AuditEntry
from dispatcher.models import Firing, FiringScope
from flowsched import clock
from schedules.models import TaskSchedule
from schedules.specs import spec_of
from tasks.models import Task
from tests.schedules.helpers import make_schedule

pytestmark = pytest.mark.django_db


def run(*words: str) -> tuple[int, str, str]:
    out, err = StringIO(), StringIO()
    try:
        call_command("demo_history", *words, stdout=out, stderr=err)
    except SystemExit as left:
        return int(left.code or 0), out.getvalue(), err.getvalue()
    return 0, out.getvalue(), err.getvalue()


@pytest.fixture
def _racks():
    call_command("demo_racks", racks=6, components=4, domains=1, verbosity=0, stdout=StringIO())


@pytest.mark.usefixtures("_racks")
def test_it_fills_a_database_that_has_racks_once():
    before = clock.now()
    code, out, err = run("--schedules", "200", "--firings", "900", "--json")
    assert (code, err) == (0, "")
    made = json.loads(out)
    assert (made["schedules"], made["firings"]) == (200, 900)
    assert made["tasks"] == FiringScope.objects.filter(state="submitted").count() > 1000
    assert AuditEntry.objects.get(verb="history.demo").after["firings"] == 900
    assert set(TaskSchedule.objects.values_list("disabled_kind", flat=True)) == {"", "person", "system"}
    assert not Task.objects.filter(progress_total__lt=4).exists()
    assert set(Task.objects.values_list("status", flat=True)) == {"completed", "failed", "terminated"}
    total = F("submitted_count") + F("skipped_count") + F("rejected_count") + F("missed_count") + F("failed_count")
    for firing in Firing.objects.annotate(total=total).prefetch_related("scopes")[:100]:
        assert firing.scopes.count() == firing.total
    for row in TaskSchedule.objects.filter(enabled=True, spec_type="cron"):
        assert row.next_run_at == spec_of(row).next_after(before), row.spec
    assert run()[0] == 1
    assert "there are schedules or firings already" in run()[2]


def test_it_is_refused_without_racks_and_in_production(settings):
    assert "there are no racks" in run()[2]
    make_schedule("Nightly")
    assert "there are schedules or firings already" in run()[2]
    settings.PRODUCTION = True
    code, _, said = run()
    assert code == 1
    assert "not for production" in said
    assert TaskSchedule.objects.count() == 1


@pytest.mark.parametrize("words", [("--schedules", "0"), ("--firings", "-1"), ("--days", "2000000")])
def test_numbers_out_of_range_are_wrong_usage(words):
    assert run(*words)[0] == 2
