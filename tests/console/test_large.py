"""Every page on a large database: few statements, as many for one row as for fifty, and a page that is not heavy.

A reduced one here (`bench.pages` measures the full one: 10,000 schedules, 2,000 racks, 100,000 firings).
"""

from __future__ import annotations

from io import StringIO

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext

from bench.pages import some
from dispatcher.models import FiringScope
from inventory.models import Rack
from schedules.models import TaskSchedule
from tasks.models import Task
from tests.console.helpers import BUDGET
from tests.console.people import browse

MOST_BYTES = 350_000


@pytest.fixture(scope="module")
def large(django_db_setup, django_db_blocker):
    """The rows, made once and rolled back at the end of the module."""
    with django_db_blocker.unblock(), transaction.atomic():
        call_command("demo_racks", racks=300, components=9, domains=4, stdout=StringIO())
        call_command("demo_history", schedules=1500, firings=5000, stdout=StringIO())
        browse(name="looker")
        yield some()
        transaction.set_rollback(True)


@pytest.fixture
def client(large, db):
    made = Client()
    made.force_login(User.objects.get(username="looker"))
    return made


def cost(client: Client, path: str) -> tuple[int, int]:
    """(statements, bytes) of a page."""
    with CaptureQueriesContext(connection) as queries:
        response = client.get(path)
    assert response.status_code == 200, path
    return len(queries), len(response.content)


def test_every_page_keeps_its_budget(large, client):
    costs = {name: cost(client, path) for name, path in large.items()}
    assert {name: statements for name, (statements, _) in costs.items() if statements > BUDGET} == {}
    assert {name: size for name, (_, size) in costs.items() if size >= MOST_BYTES} == {}
    assert len(costs) > 20


@pytest.mark.parametrize(
    ("path", "model", "column"),
    [
        ("/admin/schedules/?q={}", TaskSchedule, "name"),
        ("/admin/racks/?q={}", Rack, "name"),
        ("/admin/tasks/?view=all&rack={}", Task, "rack_name"),
    ],
)
def test_a_list_takes_as_many_statements_for_one_row_as_for_fifty(client, path, model, column):
    word = model.objects.order_by("pk").values_list(column, flat=True)[0]
    full = path.partition("&rack")[0] if "rack=" in path else path.partition("?")[0]
    few, many = cost(client, path.format(word)), cost(client, full)
    assert few[1] < many[1]
    assert few[0] <= many[0] <= few[0] + 1  # a list that does not fit on one page is counted


def test_what_became_of_racks_takes_as_many_for_one_as_for_fifty(client):
    schedule = FiringScope.objects.select_related("firing").order_by("pk")[0].firing.schedule_id
    few, many = cost(client, f"/admin/outcomes/?schedule={schedule}"), cost(client, "/admin/outcomes/")
    assert few[1] < many[1]
    assert few[0] <= many[0] <= few[0] + 1  # a list that does not fit on one page is counted
