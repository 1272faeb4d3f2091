"""The list of tasks over REST: filters, order, pages, what is refused, what it costs."""

from __future__ import annotations

from datetime import timedelta
from urllib.parse import quote
from uuid import UUID, uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tasks.models import Task
from tests.rest.helpers import fields, problem
from tests.tasks.admission.helpers import NOW, make_rack, parts
from tests.tasks_runs.helpers import begin, make_task

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)


@pytest.fixture
def tasks(db):
    """Four tasks an hour apart on two racks: waiting, pending, completed, failed; the first by a schedule."""
    racks = make_rack("r01"), make_rack("r02")
    made = [
        make_task(racks[0], "restart", job=False, status="waiting", schedule_id=uuid4(), schedule_name="nightly"),
        make_task(racks[1], "power_on", job=False),
        make_task(racks[0], "upgrade", job=False, status="completed", finished_at=NOW),
        make_task(racks[1], "ingest", job=False, status="failed", finished_at=NOW),
    ]
    for hours, task in enumerate(made):
        Task.objects.filter(id=task.id).update(created_at=NOW + hours * HOUR)
    return made


def found(caller, tasks, **query):
    """The positions of the tasks that a query finds."""
    response = caller.get("tasks/", **query)
    assert response.status_code == 200, response.content
    ids = [UUID(task["id"]) for task in response.json()["tasks"]]
    assert response.json()["total"] == len(ids)
    return [[task.id for task in tasks].index(one) for one in ids]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({}, [3, 2, 1, 0]),
        ({"status": "waiting"}, [0]),
        ({"status": "completed,failed"}, [3, 2]),
        ({"active": "true"}, [1, 0]),
        ({"active": "false"}, [3, 2]),
        ({"active": "true", "status": "failed"}, []),
        ({"rack": "r02"}, [3, 1]),
        ({"schedule": "nightly"}, [0]),
        ({"schedule": "weekly"}, []),
        ({"type": "power_control"}, [1, 0]),
        ({"code": "upgrade"}, [2]),
        ({"created_after": "2026-12-01T14:00:00Z"}, [3, 2]),
        ({"created_before": "2026-12-01T15:00:00+02:00"}, [0]),
        ({"ordering": "created_at"}, [0, 1, 2, 3]),
        ({"ordering": "-created_at", "limit": "2"}, None),
        ({"rack_id": str(uuid4())}, []),
    ],
)
def test_filters(viewer, tasks, query, expected):
    if expected is None:
        answer = viewer.get("tasks/", **query).json()
        assert (len(answer["tasks"]), answer["total"], answer["offset"], answer["limit"]) == (2, 4, 0, 2)
    else:
        assert found(viewer, tasks, **query) == expected


def test_filters_by_id_in_any_spelling(viewer, tasks):
    """F-113; a component is looked for in all its types (F-170)."""
    assert found(viewer, tasks, rack_id=f"{{{tasks[0].rack_id}}}") == [2, 0]
    assert found(viewer, tasks, schedule_id=tasks[0].schedule_id.hex.upper()) == [0]
    component = Task.objects.get(id=tasks[1].id).attributes["components_by_type"]["Compute"][0]
    assert found(viewer, tasks, component_id=f"urn:uuid:{component}") == [3, 1]


def test_a_rack_nobody_ever_had_is_404(viewer, tasks):
    assert "r99" in problem(viewer.get("tasks/", rack="r99"), 404)["detail"]


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ("status=waiting,done", "status"),
        ("status=", "status"),
        ("status=waiting&status=failed", "status"),
        ("active=ture", "active"),
        ("active=1", "active"),
        ("active=", "active"),
        ("rack_id=r01", "rack_id"),
        ("rack_id=00000000-0000-0000-0000-000000000000", "rack_id"),
        ("schedule_id=%FF", "schedule_id"),
        ("component_id=1' || '", "component_id"),
        ("type=POWER", "type"),
        ("code=id); --", "code"),
        ("created_after=yesterday", "created_after"),
        ("created_after=2026-12-01", "created_after"),
        ("created_after=2026-12-01T14:00:00", "created_after"),
        ("created_before=0001-01-01T00:00:00%2B14:00", "created_before"),
        ("created_before=9999-12-31T23:59:59-14:00", "created_before"),
        ("ordering=name", "ordering"),
        ("ordering=created_at,id", "ordering"),
        ("ordering=schedule__owner", "ordering"),
        ("limit=0", "limit"),
        ("limit=201", "limit"),
        ("limit=99999999999999999999", "limit"),
        ("offset=-1", "offset"),
        ("offset=1e3", "offset"),
        ("rack=%00", "rack"),
        ("rack=", "rack"),
        ("rack_name__regex=.*", "rack_name__regex"),
        ("rack_id__in=1", "rack_id__in"),
        ("information__password__startswith=a", "information__password__startswith"),
        ("_connector=OR 1=1", "_connector"),
        ("status__ne=failed", "status__ne"),
        ("message=x", "message"),
    ],
)
def test_parameters_are_closed(viewer, tasks, query, named):
    """TH-18, TH-11: no lookup, column or order but those declared; everything else is named."""
    assert fields(viewer.get(f"tasks/?{quote(query, safe='=&%')}")) == {named}


def test_ties_are_ordered_by_id(viewer):
    ids = {make_task(make_rack(f"r{n}"), job=False, created_at=NOW).id for n in range(5)}
    for ordering, expected in (("created_at", sorted(ids)), ("-created_at", sorted(ids, reverse=True))):
        pages = [viewer.get("tasks/", ordering=ordering, limit=2, offset=n).json()["tasks"] for n in (0, 2, 4)]
        assert [UUID(task["id"]) for page in pages for task in page] == expected


def test_a_page_beyond_the_end_is_empty_and_knows_the_total(viewer, tasks):
    answer = viewer.get("tasks/", offset=100).json()
    assert answer == {"tasks": [], "total": 4, "offset": 100, "limit": 50}


@pytest.mark.parametrize("query", [{}, {"rack": "r000"}, {"status": "pending", "ordering": "created_at"}])
def test_a_hundred_tasks_cost_four_queries(viewer, query):
    """Who asks and the clock, the page, the total; a rack's name is one more."""
    first = make_rack("r000")
    for n in range(101):
        make_task(first if query.get("rack") else make_rack(f"r{n:03}") if n else first, job=False)
    begin(Task.objects.first())
    viewer.get("me/")  # notes the token's use, once a minute
    with CaptureQueriesContext(connection) as captured:
        answer = viewer.get("tasks/", limit=100, **query).json()
    assert len(answer["tasks"]) == 100
    assert len(captured) <= 4


def test_the_newest_run_is_named(viewer):
    rack = make_rack()
    task = make_task(rack)
    assert viewer.get("tasks/").json()["tasks"][0]["execution_id"] is None
    handle = begin(task)
    shown = viewer.get("tasks/").json()["tasks"][0]
    assert shown["execution_id"] == str(handle.run_id)
    assert sorted(shown["component_ids"]) == sorted(map(str, parts(rack)))
