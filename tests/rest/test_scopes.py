"""The racks of a schedule over REST: list, merge, replace, take out; and the coarse check for conflicts."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from inventory.components import ComponentType
from schedules.models import TaskSchedule
from scopes.answers import ConflictsOut, ScopeOut, ScopesAddedOut, ScopesOut, ScopesReplacedOut
from scopes.models import TaskScheduleScope
from tests.dispatcher.helpers import racks, raw
from tests.factories import ComponentFactory, RackFactory
from tests.rest.calls import call, fits, ok, racks_body, refused, schedule_body, trail

pytestmark = pytest.mark.django_db


@pytest.fixture
def pair(planner):
    """A schedule on two racks: its path and the racks."""
    on = racks(2)
    body = ok(planner, "POST", "schedules/", schedule_body(*on))
    return f"schedules/{body['id']}/", on


def filters(body) -> dict:
    return {scope["rack_name"]: scope["component_filter"] for scope in body["scopes"]}


def test_the_list_shows_racks_in_their_order(planner, pair):
    """D-20; types in lower case, ids as strings, null for the whole rack."""
    path, [one, two] = pair
    third = RackFactory()
    parts = [str(ComponentFactory(rack=third).pk) for _ in range(2)]
    ok(planner, "POST", f"{path}scopes/", {"target_spec": {"components": [{"id": part} for part in parts]}})
    fourth = RackFactory()
    ok(planner, "POST", f"{path}scopes/", racks_body(fourth, component_types=["NVLSwitch", "compute"]))
    response = call(planner, "GET", f"{path}scopes/")
    body = response.json()
    fits(ScopesOut(), body)
    assert response["ETag"] == '"3"'
    assert (body["total"], body["offset"], body["limit"]) == (4, 0, 50)
    assert list(filters(body).items()) == [
        (one.name, None),
        (two.name, None),
        (third.name, {"components": parts}),
        (fourth.name, {"types": ["nvswitch", "compute"]}),
    ]
    page = ok(planner, "GET", f"{path}scopes/?limit=1&offset=2")
    assert (page["scopes"], page["total"]) == (body["scopes"][2:3], 4)
    single = call(planner, "GET", f"scopes/{body['scopes'][3]['id']}/")
    assert (single.json(), single["ETag"]) == (body["scopes"][3], '"3"')
    fits(ScopeOut(), single.json())


def test_every_component_type_is_shown_in_the_word_that_is_taken(planner, pair):
    path, _ = pair
    words = [kind.value.lower() for kind in ComponentType]
    body = ok(planner, "POST", f"{path}scopes/", racks_body(*racks(1), component_types=words))
    assert body["scopes"][0]["component_filter"] == {"types": words}


def test_adding_merges_and_answers_what_is_new_then_what_grew(planner, pair):
    """F-157…F-160, F-208…F-213."""
    path, [one, _] = pair
    [three, four] = racks(2)
    ok(planner, "PUT", f"{path}scopes/", racks_body(one, three, component_types=["compute"]))
    sent = {"target_spec": {"racks": [
        {"id": str(one.pk), "component_types": ["powershelf"]}, {"name": four.name}, {"name": three.name,
         "component_types": ["compute"]},
    ]}}  # fmt: skip
    response = call(planner, "POST", f"{path}scopes/", sent, if_match='"2"')
    body = response.json()
    fits(ScopesAddedOut(), body)
    assert (body["created"], body["updated"], response["ETag"]) == (1, 1, '"3"')
    assert list(filters(body).items()) == [(four.name, None), (one.name, {"types": ["compute", "powershelf"]})]
    again = ok(planner, "POST", f"{path}scopes/", sent)
    assert (again["scopes"], again["created"], again["updated"]) == ([], 0, 0)
    assert [verb for verb, *_ in trail()] == ["schedule.create", "scope.reconcile", "scope.add"]
    assert trail()[-1] == ("scope.add", "planner", "rest")


def test_replacing_answers_all_and_counts(planner, pair):
    """F-161, F-162, F-214: rows that stay keep their ids."""
    path, [one, two] = pair
    before = {scope["rack_name"]: scope["id"] for scope in ok(planner, "GET", f"{path}scopes/")["scopes"]}
    [three] = racks(1)
    sent = {"target_spec": {"racks": [{"name": three.name}, {"name": two.name, "component_types": ["compute"]}]}}
    response = call(planner, "PUT", f"{path}scopes/", sent, if_match='"1"')
    body = response.json()
    fits(ScopesReplacedOut(), body)
    assert (body["added"], body["removed"], body["updated"], response["ETag"]) == (1, 1, 1, '"2"')
    assert filters(body) == {two.name: {"types": ["compute"]}, three.name: None}
    assert body["scopes"][0]["id"] == before[two.name]
    assert one.name not in filters(ok(planner, "GET", f"{path}scopes/"))
    assert ok(planner, "GET", path)["racks"] == 2


def test_taking_out_leaves_the_last(planner, pair):
    path, _ = pair
    [first, last] = ok(planner, "GET", f"{path}scopes/")["scopes"]
    assert call(planner, "DELETE", f"scopes/{first['id']}/", if_match='"1"').status_code == 204
    assert trail()[-1] == ("scope.remove", "planner", "rest")
    assert call(planner, "GET", f"scopes/{first['id']}/").status_code == 404
    problem = call(planner, "DELETE", f"scopes/{last['id']}/").json()
    assert (problem["status"], problem["reason"]) == (409, "LAST_SCOPE")
    assert "delete the schedule" in problem["detail"]
    assert TaskScheduleScope.objects.count() == 1


def test_filters_of_two_kinds_are_409_and_undo_the_whole_request(planner, pair):
    """F-212."""
    path, [one, two] = pair
    part = ComponentFactory(rack=two)
    ok(planner, "PUT", f"{path}scopes/", racks_body(one, two, component_types=["compute"]))
    before = list(TaskScheduleScope.objects.order_by("id").values()), TaskSchedule.objects.values().get()
    [new] = racks(1)
    other = ComponentFactory(rack=new)
    sent = {"target_spec": {"components": [{"id": str(other.pk)}, {"id": str(part.pk)}]}}
    problem = call(planner, "POST", f"{path}scopes/", sent).json()
    assert (problem["status"], problem["reason"]) == (409, "FILTER_KIND")
    assert (list(TaskScheduleScope.objects.order_by("id").values()), TaskSchedule.objects.values().get()) == before


BAD = {
    "nothing": ({}, ["target_spec"]),
    "null": ({"target_spec": None}, ["target_spec"]),
    "no kind": ({"target_spec": {}}, ["target_spec"]),
    "no racks": ({"target_spec": {"racks": []}}, ["target_spec"]),
    "nameless": ({"target_spec": {"racks": [{}]}}, ["target_spec"]),
    "rack_ids": ({"rack_ids": []}, ["rack_ids"]),
    "id": ({"target_spec": {"racks": [{"id": 7}]}}, ["target_spec.racks.0.id"]),
    "zero id": ({"target_spec": {"racks": [{"id": "0" * 32}]}}, ["target_spec.racks.0.id"]),
    "type": ({"target_spec": {"components": [{"external": {"id": "a", "type": "toaster"}}]}}, ["target_spec"]),
}


@pytest.mark.parametrize("method", ["POST", "PUT"])
@pytest.mark.parametrize("case", BAD)
def test_targets_that_are_none_change_nothing(planner, pair, method, case):
    path, _ = pair
    body, named = BAD[case]
    before = list(TaskScheduleScope.objects.order_by("id").values()), TaskSchedule.objects.values().get()
    refused(call(planner, method, f"{path}scopes/", body), 400, *named)
    assert (list(TaskScheduleScope.objects.order_by("id").values()), TaskSchedule.objects.values().get()) == before


def test_a_rack_named_twice_is_400_and_one_that_is_not_there_404(planner, pair):
    path, [one, _] = pair
    twice = {"target_spec": {"racks": [{"id": str(one.pk)}, {"name": one.name}]}}
    for method in ("POST", "PUT"):
        refused(call(planner, method, f"{path}scopes/", twice), 400, "target_spec")
        nowhere = {"target_spec": {"racks": [{"name": "nowhere"}]}}
        refused(call(planner, method, f"{path}scopes/", nowhere), 404, "target_spec")


@pytest.mark.parametrize("stored", ["7", '{"kind": "types", "types": ["Toaster"]}', '{"types": ["Compute"]}', "[]"])
def test_a_filter_that_cannot_be_read_is_never_shown_as_the_whole_rack(planner, pair, stored):
    """F-204: it fails its scope at every firing, so it is shown as reaching nothing, with the reason."""
    path, _ = pair
    raw("UPDATE task_schedule_scope SET component_filter = %s::jsonb", stored)
    body = ok(planner, "GET", f"{path}scopes/")
    fits(ScopesOut(), body)
    assert all(scope["component_filter"] == {"types": []} and scope["filter_problem"] for scope in body["scopes"])


def test_a_page_of_scopes_costs_as_much_for_one_as_for_many(planner):
    counted = set()
    for count in (2, 60):
        body = ok(planner, "POST", "schedules/", schedule_body(*racks(count, components=0)))
        path = f"schedules/{body['id']}/scopes/"
        with CaptureQueriesContext(connection) as captured:
            ok(planner, "GET", f"{path}?limit=2")
        counted.add(len(captured))
    assert counted == {4}  # the caller, the schedule, the page, its total


def test_the_check_finds_enabled_schedules_on_the_same_racks(planner, pair):
    """F-264, D-21: oldest first; times and filters do not count; a paused one does not appear."""
    path, [one, two] = pair
    other = ok(planner, "POST", "schedules/", schedule_body(two, racks(1)[0], operation={"type": "bring_up"}))
    sent = {"operation": {"type": "power_off", "forced": True}, **racks_body(one, two)}
    body = ok(planner, "POST", "schedules/check-conflicts/", sent)
    fits(ConflictsOut(), body)
    mine = ok(planner, "GET", path)
    assert (body["conflicts"], body["total"]) == ([mine, other], 2)
    coarse = ok(planner, "POST", "schedules/check-conflicts/?mode=coarse&limit=1&offset=1", sent)
    assert (coarse["conflicts"], coarse["total"]) == ([other], 2)
    without = ok(planner, "POST", "schedules/check-conflicts/", {**sent, "exclude_schedule_id": mine["id"]})
    assert without["conflicts"] == [other]
    ok(planner, "POST", f"schedules/{other['id']}/pause/")
    assert ok(planner, "POST", "schedules/check-conflicts/", sent)["conflicts"] == [mine]
    assert ok(planner, "POST", "schedules/check-conflicts/", {**sent, **racks_body(*racks(1))})["total"] == 0


def test_what_the_check_cannot_do_is_refused(planner):
    sent = {"operation": {"type": "power_off"}, **racks_body(*racks(1))}
    problem = refused(call(planner, "POST", "schedules/check-conflicts/?mode=forecast", sent), 400, "mode")
    assert "coarse" in problem["detail"]
    for fields, named in [
        ({"exclude_schedule_id": "x"}, "exclude_schedule_id"),
        ({"operation": {"type": "power_on", "forced": True}}, "operation.forced"),
        ({"operation": None}, "operation"),
        ({"target_spec": {}}, "target_spec"),
        ({"name": "x"}, "name"),
    ]:
        refused(call(planner, "POST", "schedules/check-conflicts/", {**sent, **fields}), 400, named)
