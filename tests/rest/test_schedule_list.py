"""The list of schedules over REST: what narrows and orders it, what is refused, and what it costs."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from flowsched import clock
from schedules.answers import SchedulesOut
from schedules.models import TaskSchedule
from tasks.operations import operation
from tests.dispatcher.helpers import racks, raw
from tests.rest.calls import NOBODY, call, fits, ok, refused
from tests.schedules.helpers import POWER_ON as ON
from tests.schedules.helpers import consumed, make_schedule, whole

pytestmark = pytest.mark.django_db


def names(client, query="") -> list[str]:
    body = ok(client, "GET", f"schedules/?{query}")
    fits(SchedulesOut(), body)
    assert body["total"] == len(body["task_schedules"])
    return [row["name"] for row in body["task_schedules"]]


@pytest.fixture
def four():
    """Four schedules that differ in everything a filter looks at, the oldest first."""
    on = racks(2)
    now = clock.now()
    made = [
        make_schedule("Alpha", targets=whole(on[0]), spec="1h"),
        make_schedule("beta 50%", targets=whole(*on), spec_type="cron", spec="0 2 * * *", overlap_policy="queue",
                      operation=operation("power_off", forced=True)),
        make_schedule("gamma_x", targets=whole(on[1]), operation=operation("upgrade_firmware", target_version="2")),
        consumed(name="delta", targets=whole(on[1]), operation=operation("ingest")),
    ]  # fmt: skip
    for age, row in enumerate(reversed(made)):
        TaskSchedule.objects.filter(pk=row.pk).update(created_at=now - timedelta(days=age))
    TaskSchedule.objects.filter(name="Alpha").update(next_run_at="2030-01-03T00:00:00Z")
    TaskSchedule.objects.filter(name="beta 50%").update(next_run_at="2030-01-01T00:00:00Z")
    TaskSchedule.objects.filter(name="gamma_x").update(
        next_run_at="2030-01-02T00:00:00Z", enabled=False, disabled_kind="person", disabled_at=now
    )
    return on


FILTERS = {
    "": "Alpha, beta 50%, gamma_x, delta",
    "enabled=true": "Alpha, beta 50%",
    "enabled=false": "gamma_x, delta",
    "operation_type=power_on": "Alpha",
    "operation_type=power_off": "beta 50%",
    "operation_type=upgrade_firmware": "gamma_x",
    "operation_type=ingest": "delta",
    "operation_type=bring_up": "",
    "spec_type=cron": "beta 50%",
    "spec_type=one-time": "delta",
    "overlap_policy=queue": "beta 50%",
    "disabled_kind=person": "gamma_x",
    "disabled_kind=consumed": "delta",
    "disabled_kind=system": "",
    "rack_id={0}": "Alpha, beta 50%",
    "rack={1.name}": "beta 50%, gamma_x, delta",
    "rack_id={0}&rack={1.name}": "beta 50%",
    f"rack_id={NOBODY}": "",
    "rack=nowhere": "",
    "name=Alpha": "Alpha",
    "name=alpha": "",
    "q=ALPHA": "Alpha",
    "q=%25": "beta 50%",
    "q=_": "gamma_x",
    "q=a%20": "beta 50%",
    "due_after=2030-01-02T00:00:00Z": "Alpha, gamma_x",
    "due_before=2030-01-02T00:00:00Z": "beta 50%",
    "due_after=2030-01-01T01:00:00%2B02:00&due_before=2030-01-03T00:00:00Z": "beta 50%, gamma_x",
    "enabled=true&spec_type=interval": "Alpha",
    "ordering=created_at": "Alpha, beta 50%, gamma_x, delta",
    "ordering=-created_at": "delta, gamma_x, beta 50%, Alpha",
    "ordering=next_run_at": "beta 50%, gamma_x, Alpha, delta",
    "ordering=-next_run_at": "Alpha, gamma_x, beta 50%, delta",
}


@pytest.mark.parametrize("query", FILTERS)
def test_filters_and_orders(viewer, four, query):
    """Those without a next run come last, whatever the direction."""
    query, expected = query.format(four[0].pk, four[1]), FILTERS[query]
    assert names(viewer, query) == [name for name in expected.split(", ") if name]


def test_order_by_name(viewer, four):
    ordered = list(TaskSchedule.objects.order_by("name").values_list("name", flat=True))
    assert names(viewer, "ordering=name") == ordered
    assert names(viewer, "ordering=-name") == ordered[::-1]


def test_pages_follow_each_other_and_ties_go_by_id(viewer):
    on = whole(*racks(1))
    made = [make_schedule(targets=on) for _ in range(7)]
    TaskSchedule.objects.update(created_at="2026-01-01T00:00:00Z", next_run_at="2026-01-01T00:00:00Z")
    ids = sorted(str(row.pk) for row in made)
    for order, expected in {"": ids, "&ordering=-next_run_at": ids[::-1], "&ordering=next_run_at": ids}.items():
        seen = []
        for offset in (0, 3, 6):
            body = ok(viewer, "GET", f"schedules/?limit=3&offset={offset}{order}")
            assert (body["total"], body["limit"], body["offset"]) == (7, 3, offset)
            seen += [row["id"] for row in body["task_schedules"]]
        assert seen == expected
    beyond = ok(viewer, "GET", "schedules/?offset=100")
    assert (beyond["task_schedules"], beyond["total"]) == ([], 7)


BAD = {
    "enabled=yes": "enabled",
    "enabled=True": "enabled",
    "enabled=": "enabled",
    "enabled=true&enabled=false": "enabled",
    "operation_type=POWER_ON": "operation_type",
    "operation_type=power_on') OR 1=1 --": "operation_type",
    "spec_type=never": "spec_type",
    "overlap_policy=": "overlap_policy",
    "disabled_kind=": "disabled_kind",
    "rack_id=1": "rack_id",
    "rack_id=00000000-0000-0000-0000-000000000000": "rack_id",
    "rack_id=": "rack_id",
    f"name={'x' * 256}": "name",
    "q=%00": "q",
    "due_after=yesterday": "due_after",
    "due_after=2026-01-01": "due_after",
    "due_after=2026-01-01T00:00:00": "due_after",
    "due_before=0001-01-01T00:00:00%2B14:00": "due_before",
    "due_before=2026-02-30T00:00:00Z": "due_before",
    "ordering=version": "ordering",
    "ordering=id); --": "ordering",
    "ordering=name,id": "ordering",
    "ordering=?": "ordering",
    "limit=0": "limit",
    "limit=201": "limit",
    "limit=-1": "limit",
    "limit=1e2": "limit",
    "offset=x": "offset",
    "offset=99999999999999999999": "offset",
    "name__regex=.*": "name__regex",
    "scopes__rack__name=x": "scopes__rack__name",
    "operation_template__type=x": "operation_template__type",
    "owner__password__startswith=a": "owner__password__startswith",
    "_connector=OR": "_connector",
    "format=api": "format",
    "id=1": "id",
}


@pytest.mark.parametrize("query", BAD)
def test_what_cannot_be_a_parameter_is_refused_by_name(viewer, query):
    """TH-18, F-286: no lookup reaches a column that is not listed, and no filter is passed over in silence."""
    with CaptureQueriesContext(connection) as captured:
        refused(call(viewer, "GET", f"schedules/?{query}"), 400, BAD[query])
    assert not [q for q in captured.captured_queries if '"task_schedule"' in q["sql"]]


def test_all_faults_are_named_at_once(viewer):
    refused(call(viewer, "GET", "schedules/?enabled=1&rack_id=2&q="), 400, "enabled", "rack_id", "q")


def test_the_list_of_100_costs_4_queries_at_most(viewer):
    """Authentication, permissions and the clock included; as many for 20 as for 100, filtered or not."""
    on = whole(*racks(1))
    for number in range(120):
        make_schedule(f"nightly-{number:03}", targets=on)
    ok(viewer, "GET", "schedules/")  # the token's last use is noted once a minute
    counted = {}
    for query in ("limit=20", "limit=100", f"limit=100&rack_id={on[0].id}&q=nightly&ordering=-next_run_at"):
        with CaptureQueriesContext(connection) as captured:
            body = ok(viewer, "GET", f"schedules/?{query}")
        assert body["total"] == 120
        counted[query] = len(captured)
    assert set(counted.values()) == {3}, counted
    assert len(body["task_schedules"]) == 100


def test_one_unreadable_row_empties_no_list(viewer):
    """F-136, F-316, D-8: whatever the filter."""
    on = whole(*racks(1))
    bad, good = make_schedule("bad", targets=on), make_schedule("good", targets=on, operation=ON)
    raw("""UPDATE task_schedule SET operation_template = '{"type": ["x"], "code": {}}', spec = 'x', timezone = 'y'
           WHERE id = %s""", bad.pk)  # fmt: skip
    assert names(viewer, "ordering=name") == ["bad", "good"]
    assert names(viewer, "operation_type=power_on") == [good.name]
