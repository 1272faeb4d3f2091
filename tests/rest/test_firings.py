"""The history of firings over REST."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from dispatcher import api
from dispatcher.answers import FiringOut, FiringsOut
from dispatcher.models import Firing, FiringScope
from flowsched import clock
from schedules.models import TaskSchedule
from tests.dispatcher.helpers import due_schedule, fire, racks, raw
from tests.rest.calls import NOBODY, call, fits, ok, refused, schedule_body

pytestmark = pytest.mark.django_db


@pytest.fixture
def history(planner):
    """Three firings, oldest first: a tick that all racks took, one that skipped them, a trigger of another schedule."""
    on = racks(2)
    now = clock.now()
    one = due_schedule("one", on, now=now)
    fire(now)
    TaskSchedule.objects.update(next_run_at=now + timedelta(seconds=30))
    fire(now + timedelta(minutes=1))
    [third] = racks(1)
    two = ok(planner, "POST", "schedules/", schedule_body(third, name="two", operation={"type": "power_off"}))
    ok(planner, "POST", f"schedules/{two['id']}/trigger/")
    raw("UPDATE task SET status = 'running', message = 'step 2 of 3' WHERE schedule_id = %s", two["id"])
    return {"on": on, "third": third, "one": str(one.pk), "two": two["id"], "now": now}


def told(body) -> list[tuple[str, str, set]]:
    fits(FiringsOut(), body)
    rows = body["firings"]
    return [(row["schedule_name"], row["cause"], {scope["outcome"] for scope in row["scopes"]}) for row in rows]


SKIPPED, TICK, BY_HAND = (
    ("one", "automatic", {"skipped"}),
    ("one", "automatic", {"submitted"}),
    ("two", "manual", {"submitted"}),
)


def test_the_history_says_how_it_went_and_how_the_tasks_stand(planner, history):
    """D-5: outcome and task status side by side, newest first."""
    body = ok(planner, "GET", "firings/")
    assert told(body) == [BY_HAND, SKIPPED, TICK]
    assert (body["total"], body["offset"], body["limit"]) == (3, 0, 50)
    by_hand, skipped, _ = body["firings"]
    [scope] = by_hand["scopes"]
    assert (scope["outcome"], scope["task_status"], scope["task_message"]) == ("submitted", "running", "step 2 of 3")
    assert (by_hand["operation_type"], by_hand["actor"]) == ("power_off", "planner")
    assert all(scope["reason"] and scope["task_id"] is None for scope in skipped["scopes"])
    assert (skipped["counts"]["skipped"], skipped["scopes_total"], skipped["state"]) == (2, 2, "done")
    single = ok(planner, "GET", f"firings/{by_hand['id']}/")
    fits(FiringOut(), single)
    assert single == by_hand


def test_the_history_of_a_schedule_outlives_it(planner, history):
    path = f"schedules/{history['one']}/"
    body = ok(planner, "GET", f"{path}firings/")
    assert told(body) == [SKIPPED, TICK]
    ok(planner, "DELETE", path)
    assert told(ok(planner, "GET", f"{path}firings/")) == [SKIPPED, TICK]
    assert told(ok(planner, "GET", f"firings/?schedule_id={history['one']}")) == [SKIPPED, TICK]
    assert told(ok(planner, "GET", f"{path}firings/?offset=1&limit=1")) == [TICK]
    assert ok(planner, "GET", f"{path}firings/?offset=7") == {"firings": [], "total": 2, "offset": 7, "limit": 50}


def test_a_schedule_that_never_fired_has_an_empty_history(planner):
    made = ok(planner, "POST", "schedules/", schedule_body(*racks(1)))
    assert ok(planner, "GET", f"schedules/{made['id']}/firings/")["firings"] == []
    assert call(planner, "GET", f"schedules/{NOBODY}/firings/").status_code == 404
    assert call(planner, "GET", f"schedules/{NOBODY}/firings/?cause=manual").status_code == 404


FILTERS = {
    "cause=automatic": [SKIPPED, TICK],
    "cause=manual": [BY_HAND],
    "state=done": [BY_HAND, SKIPPED, TICK],
    "state=open": [],
    "outcome=submitted": [BY_HAND, TICK],
    "outcome=skipped": [SKIPPED],
    "outcome=rejected": [],
    "outcome=pending": [],
    "rack_id={on[0].pk}": [SKIPPED, TICK],
    "rack_id={third.pk}": [BY_HAND],
    "rack_id={third.pk}&outcome=skipped": [],
    "rack_id={on[1].pk}&outcome=skipped": [SKIPPED],
    f"rack_id={NOBODY}": [],
    "schedule_id={two}": [BY_HAND],
    "schedule_id={one}&outcome=submitted": [TICK],
    f"schedule_id={NOBODY}": [],
    "fired_after={soon}": [SKIPPED],
    "fired_before={now:%Y-%m-%dT%H:%M:%S.%fZ}": [],
    "fired_after={now:%Y-%m-%dT%H:%M:%S.%fZ}&fired_before={soon}": [BY_HAND, TICK],
}


@pytest.mark.parametrize("query", FILTERS)
def test_filters_of_the_history(planner, history, query):
    soon = f"{history['now'] + timedelta(seconds=50):%Y-%m-%dT%H:%M:%SZ}"
    body = ok(planner, "GET", f"firings/?{query.format(**history, soon=soon)}")
    assert told(body) == FILTERS[query]
    assert body["total"] == len(FILTERS[query])


def test_outcomes_of_a_firing_that_is_still_open_are_found(planner, history):
    """Its counts are written when it is closed."""
    firing = Firing.objects.order_by("id").first()
    raw("UPDATE firing SET state = 'open', closed_at = NULL, submitted_count = 0 WHERE id = %s", firing.pk)
    raw("UPDATE firing_scope SET state = 'pending', task_id = NULL WHERE id = %s", firing.scopes.earliest("id").pk)
    for outcome in ("pending", "submitted"):
        found = ok(planner, "GET", f"schedules/{history['one']}/firings/?outcome={outcome}")
        assert [row["id"] for row in found["firings"]] == [str(firing.pk)]
        fits(FiringsOut(), found)


@pytest.mark.parametrize(
    "query",
    ["cause=person", "state=closed", "outcome=completed", "rack_id=x", "schedule_id=", "fired_after=now",
     "ordering=id", "task_id=1", "scopes__state=failed", "limit=500", "actor=x"],
)  # fmt: skip
def test_what_cannot_be_a_parameter_of_the_history(planner, query):
    refused(call(planner, "GET", f"firings/?{query}"), 400, query.partition("=")[0])
    if "schedule_id" not in query:
        refused(call(planner, "GET", f"schedules/{NOBODY}/firings/?{query}"), 400, query.partition("=")[0])


def test_a_firing_that_is_not_there(planner):
    assert call(planner, "GET", "firings/1234567/").status_code == 404
    assert call(planner, "GET", f"firings/{10**30}/").status_code == 404
    assert call(planner, "GET", "firings/abc/").status_code == 404


def wide(count: int, scopes: int) -> list[Firing]:
    """Closed firings of one schedule with many racks each."""
    now = clock.now()
    made = Firing.objects.bulk_create(
        Firing(key=f"{n:032x}", schedule_id=NOBODY, schedule_name="wide", cause="manual", due_at=now, fired_at=now,
               actor="x", state="done", closed_at=now, operation_template=None)
        for n in range(count)
    )  # fmt: skip
    FiringScope.objects.bulk_create(
        FiringScope(firing=firing, scope_id=f"{n:032x}", rack_name=f"r{n}", position=scopes - n, state="skipped",
                    key=f"{n:032x}")
        for firing in made
        for n in range(scopes)
    )  # fmt: skip
    return made


def test_a_list_shows_the_first_racks_of_each_firing_and_one_firing_all(planner):
    [firing] = wide(1, 230)
    [shown] = ok(planner, "GET", "firings/")["firings"]
    assert (len(shown["scopes"]), shown["scopes_total"]) == (200, 230)
    everything = ok(planner, "GET", f"firings/{firing.pk}/")
    assert (len(everything["scopes"]), everything["scopes_total"]) == (230, 230)
    assert everything["scopes"][:200] == shown["scopes"]
    assert [scope["rack_name"] for scope in shown["scopes"]] == [f"r{n}" for n in range(229, 29, -1)]
    [few] = ok(planner, "GET", "firings/?limit=200")["firings"]
    assert len(few["scopes"]) == 50


def test_a_page_of_history_costs_as_much_for_one_firing_as_for_many(planner, history):
    wide(30, 3)
    counted = {}
    for query in (
        "firings/?limit=1",
        "firings/?limit=30",
        f"schedules/{NOBODY}/firings/?limit=20",
        "firings/?limit=200",
    ):
        with CaptureQueriesContext(connection) as captured:
            ok(planner, "GET", query)
        counted[query] = len(captured)
    assert list(counted.values()) == [4, 4, 4, 3]  # the caller, the page, its total unless it ends here, the racks


def test_the_total_is_counted_up_to_a_bound(planner, monkeypatch):
    wide(9, 0)
    monkeypatch.setattr(api, "MOST_COUNTED", 5)
    assert [ok(planner, "GET", f"firings/?limit=2&offset={offset}")["total"] for offset in (0, 4, 6, 8)] == [5, 6, 8, 9]
