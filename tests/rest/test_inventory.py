"""Racks over REST, and what all lists of the inventory share: F-173…F-175, D-22, D-30, TH-18."""

from __future__ import annotations

import copy
from urllib.parse import quote
from uuid import UUID, uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from audit.models import AuditEntry
from inventory.answers import ComponentOut, DomainDetailOut, RackCreatedOut, RackOut
from inventory.models import Bmc, Component, Rack
from tests.factories import DomainFactory, RackFactory
from tests.inventory.conftest import _EXAMPLE, RACK2
from tests.rest.helpers import fields, problem, rest

pytestmark = pytest.mark.django_db

RACK_ID = _EXAMPLE["info"]["id"]
NOWHERE = "9b1f1c34-6d1e-4b52-9b39-000000000404"
COMPONENT = {"type": "CDU", "info": {"name": "cdu", "serial_number": "CDU1"}}


@pytest.fixture
def keeper(db):
    """May change the inventory."""
    return rest("inventory", name="ines")


@pytest.fixture
def example():
    return copy.deepcopy(_EXAMPLE)


@pytest.fixture
def rack2():
    return copy.deepcopy(RACK2)


def ok(response, status=200):
    assert response.status_code == status, response.content
    return response.json()


def names(response, noun):
    body = ok(response)
    assert body["total"] == len(body[noun])
    return [row.get("info", row)["name"] for row in body[noun]]


def keys(serializer):
    """The names of what a serializer describes, inside too."""
    found = {}
    for name, field in serializer().fields.items():
        inner = getattr(field, "child", field)
        found[name] = keys(type(inner)) if hasattr(inner, "fields") else None
    return found


def shape(value):
    """The names of an answer's values, inside too; of a list those of its first entry."""
    if isinstance(value, list):
        value = value[0] if value else None
    return {name: shape(part) for name, part in value.items()} if isinstance(value, dict) else None


# Racks ----------------------------------------------------------------------------------------------------------


def test_f173_a_rack_file_is_created_as_it_is(keeper, example):
    response = keeper.post("racks/", example, headers={"X-Request-ID": "abc-1"})
    body = ok(response, 201)
    assert response["Location"] == f"/api/v1/racks/{RACK_ID}/"
    assert body["warnings"] == ["logins of 6 BMCs are dropped: user and password are never stored"]
    assert ok(keeper.get(f"racks/{RACK_ID}/")) == {key: value for key, value in body.items() if key != "warnings"}
    for key in ("info", "location"):
        assert body[key] == example[key]
    given = {component["info"]["id"]: component for component in example["components"]}
    assert len(body["components"]) == len(given) == 8
    for component in body["components"]:
        sent = given[component["info"]["id"]]
        assert (component["info"], component["position"]) == (sent["info"], sent["position"])
        assert component["type"] == sent["type"].replace("nvl", "nv")
        assert sorted(bmc["mac_address"] for bmc in component["bmcs"]) == sorted(bmc["mac"] for bmc in sent["bmcs"])
        assert (component["rack_id"], component["rack_name"], component["power_state"]) == (RACK_ID, "r01", "")
    assert "changeme" not in response.content.decode()
    entry = AuditEntry.objects.get(verb="rack.create")
    assert (entry.actor, entry.door, entry.request_id, entry.object_id) == ("ines", "rest", "abc-1", RACK_ID)


def test_answers_have_the_fields_that_are_described(keeper, example):
    example["components"] = [next(c for c in example["components"] if c["bmcs"])]
    created = ok(keeper.post("racks/", example, headers={}), 201)
    assert shape(created) == keys(RackCreatedOut)
    assert shape(ok(keeper.get(f"racks/{RACK_ID}/"))) == keys(RackOut)
    assert shape(ok(keeper.get("components/"))["components"]) == keys(ComponentOut)
    domain = ok(keeper.post("nvl-domains/", {"name": "d"}), 201)["id"]
    ok(keeper.post(f"nvl-domains/{domain}/attach/", {"racks": [RACK_ID]}))
    assert shape(ok(keeper.get(f"nvl-domains/{domain}/"))) == keys(DomainDetailOut)


def test_f173_created_again_is_409_and_changes_nothing(keeper, rack2):
    ok(keeper.post("racks/", rack2), 201)
    rack2["info"]["description"] = "other"
    body = problem(keeper.post("racks/", rack2), 409)
    assert (body["type"], body["reason"]) == ("urn:flowsched:problem:already_exists", "TAKEN")
    assert "is taken by rack 'r02'" in body["detail"]
    assert body["errors"][0]["field"] == "info.id"
    assert Rack.objects.get().description == ""


@pytest.mark.parametrize(
    ("change", "field"),
    [
        (lambda r: r["info"].pop("id"), "info.id"),
        (lambda r: r["components"][0]["info"].pop("id"), "components.0.info.id"),
        (lambda r: r["components"][0].update(type="toaster"), "components.0.type"),
        (lambda r: r["components"][0]["bmcs"][0].update(mac="zz"), "components.0.bmcs.0.mac"),
        (lambda r: r["info"].update(id=str(UUID(int=0))), "info.id"),
        (lambda r: r["info"].update(name="x" * 256), "info.name"),
        (lambda r: r["info"].update(name=7), "info.name"),
        (lambda r: r.update(status="ingested"), "status"),
        (lambda r: r["components"][0].update(power_state="on"), "components.0.power_state"),
        (lambda r: r.update(components={}), "components"),
    ],
)
def test_f173_what_is_wrong_is_named_by_its_place(keeper, rack2, change, field):
    change(rack2)
    assert fields(keeper.post("racks/", rack2)) == {field}
    assert not Rack.objects.exists()


@pytest.mark.parametrize("login", [None, "", "x", 7, {"a": [1]}])
def test_logins_are_dropped_whatever_they_are(keeper, rack2, login):
    rack2["components"][0]["bmcs"][0] |= {"user": login, "password": login}
    assert bool(ok(keeper.post("racks/", rack2), 201)["warnings"]) == bool(login)


@pytest.mark.parametrize("body", [[], "x", 1, True, [RACK2]])
def test_a_rack_is_an_object(keeper, body):
    problem(keeper.post("racks/", body), 400)
    problem(keeper.post("components/", body), 400)


def test_d30_a_rack_takes_no_more_components_than_the_limit(keeper, rack2, settings):
    settings.FLOWSCHED_MAX_COMPONENTS_PER_RACK = 1
    rack2["components"] *= 2
    assert fields(keeper.post("racks/", rack2)) == {"components"}
    rack2["components"] = rack2["components"][:1]
    ok(keeper.post("racks/", rack2), 201)
    body = problem(keeper.post("components/", COMPONENT | {"rack_id": rack2["info"]["id"]}), 409)
    assert body["reason"] == "TOO_MANY_COMPONENTS"


def test_a_rack_joins_a_domain_that_is_there(keeper, rack2):
    body = problem(keeper.post("racks/", rack2 | {"nvl_domain": "d"}), 404)
    assert body["errors"][0]["field"] == "nvl_domain"
    domain = DomainFactory(name="d")
    made = ok(keeper.post("racks/", rack2 | {"nvl_domain": "d"}), 201)
    assert (made["nvl_domain"], made["nvl_domain_id"]) == ("d", str(domain.id))
    assert made["components"][0]["nvl_domain_id"] == str(domain.id)


def test_f174_a_rack_by_id_in_any_form(viewer, now):
    rack, gone = RackFactory(name="r1"), RackFactory(deleted_at=now)
    for text in (str(rack.id).upper(), rack.id.hex, f"{{{rack.id}}}", f"urn:uuid:{rack.id}"):
        assert ok(viewer.get(f"racks/{quote(text)}/"))["info"]["id"] == str(rack.id)
    for path in ("racks", "components", "nvl-domains"):
        assert fields(viewer.get(f"{path}/r1/")) == {"id"}
        assert fields(viewer.get(f"{path}/{UUID(int=0)}/")) == {"id"}
        problem(viewer.get(f"{path}/{gone.id}/"), 404)


@pytest.fixture
def now():
    return "2026-01-02T03:04:05Z"


@pytest.fixture
def racks(now):
    for name, maker, model, serial in (("b", "M", "x", "1"), ("a", "M", "y", "2"), ("c%", "L", "x", "3")):
        RackFactory(name=name, manufacturer=maker, model=model, serial_number=serial, components=1)
    RackFactory(name="gone", manufacturer="M", model="x", deleted_at=now)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({}, ["a", "b", "c%"]),
        ({"name": "a"}, ["a"]),
        ({"name": "A"}, []),
        ({"q": "C"}, ["c%"]),
        ({"q": "%"}, ["c%"]),
        ({"q": "_"}, []),
        ({"manufacturer": "M"}, ["a", "b"]),
        ({"manufacturer": "M", "model": "x"}, ["b"]),
        ({"serial_number": "2"}, ["a"]),
        ({"external_id": "e"}, []),
        ({"nvl_domain_id": NOWHERE}, []),
        ({"ordering": "-name"}, ["c%", "b", "a"]),
        ({"ordering": "model", "manufacturer": "M"}, ["b", "a"]),
        ({"ordering": "-manufacturer", "model": "x"}, ["b", "c%"]),
        ({"with_components": "true", "name": "a"}, ["a"]),
    ],
)
def test_f175_racks_are_filtered_and_ordered(viewer, racks, query, expected):
    assert names(viewer.get("racks/", **query), "racks") == expected


HOSTILE = [
    "ordering=id",
    "ordering=name%29%3B--",
    "ordering=nvl_domain__name",
    "ordering=",
    "ordering=name,id",
    "name__regex=a",
    "deleted_at__isnull=false",
    "nvl_domain__name__startswith=n",
    "unknown=1",
    "limit=0",
    "limit=201",
    "offset=-1",
    "name=a&name=b",
    "name=a%00",
    "q=a%1F",
]


@pytest.mark.parametrize("query", HOSTILE)
@pytest.mark.parametrize("path", ["racks", "components", "nvl-domains"])
def test_th18_only_what_is_declared_can_be_asked_for(viewer, racks, path, query):
    response = viewer.call("GET", f"/api/v1/{path}/?{query}")
    assert fields(response) == {query.split("=")[0]}


@pytest.mark.parametrize(
    ("path", "query"),
    [
        ("racks", "with_components=1"),
        ("racks", "with_components="),
        ("racks", "nvl_domain_id=d"),
        ("racks", "ordering=type"),
        ("components", "type=toaster"),
        ("components", "rack_id=r1"),
        ("components", "with_components=true"),
        ("nvl-domains", "ordering=manufacturer"),
        ("nvl-domains", "manufacturer=M"),
        ("racks", "name="),
        ("racks", "manufacturer="),
        ("racks", "q="),
        ("racks", "nvl_domain_id="),
        ("components", "type="),
        ("nvl-domains", "name="),
    ],
)
def test_a_filter_that_cannot_be_read_is_refused(viewer, path, query):
    assert fields(viewer.call("GET", f"/api/v1/{path}/?{query}")) == {query.split("=")[0]}


@pytest.mark.parametrize("path", ["racks/", "components/", "nvl-domains/", f"racks/{NOWHERE}/"])
def test_only_lists_take_parameters(viewer, keeper, path):
    one = path if path.count("/") > 1 else f"{path}{uuid4()}/"
    assert fields(viewer.get(one, limit="1")) == {"limit"}
    if path != one:
        assert fields(keeper.call("POST", path, {}, query={"x": "1"})) == {"x"}


def test_pages(viewer, racks):
    body = ok(viewer.get("racks/", limit="2", offset="1"))
    assert (len(body["racks"]), body["total"], body["offset"], body["limit"]) == (2, 3, 1, 2)
    assert ok(viewer.get("racks/", offset="9"))["racks"] == []


def test_components_are_shown_in_lists_only_when_asked_for(viewer, racks):
    for query, shown in (({}, False), ({"with_components": "false"}, False), ({"with_components": "true"}, True)):
        rows = ok(viewer.get("racks/", **query))["racks"]
        assert {"components" in row for row in rows} == {shown}


def test_a_list_takes_as_many_queries_for_a_hundred_racks_as_for_one(viewer):
    ok(viewer.get("me/"))  # notes the token's first use
    counts = []
    for more in (1, 99):
        for _ in range(more):
            rack = RackFactory(components=2, nvl_domain=DomainFactory())
            for component in Component.objects.filter(rack=rack):
                Bmc.objects.create(mac_address=str(component.id)[:17], component=component)
        for path in ("racks/?with_components=true", "racks/", "components/", "nvl-domains/"):
            with CaptureQueriesContext(connection) as queries:
                ok(viewer.call("GET", f"/api/v1/{path}{'&' if '?' in path else '?'}limit=100"))
            counts.append(len(queries))
    # The caller; then rows, components and BMCs, and the count only where the page does not tell it.
    assert counts[:4] == [4, 2, 3, 2]
    assert counts[4:] == [5, 3, 4, 3]


# Who may --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["racks/", "components/", "nvl-domains/", f"nvl-domains/{NOWHERE}/attach/"])
def test_d22_only_who_may_change_the_inventory_does(viewer, operator, rack2, path):
    for caller in (viewer, operator, rest("planner")):
        problem(caller.post(path, rack2), 403)
    problem(rest().get("racks/"), 403)
    assert not Rack.objects.exists()
    refused = AuditEntry.objects.exclude(refused="")
    assert refused.filter(door="rest", actor="vera").exists()


def test_nobody_unknown_sees_anything(client):
    for path in ("racks/", "components/", "nvl-domains/", f"racks/{NOWHERE}/"):
        problem(client.get(f"/api/v1/{path}"), 401)


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE"])
def test_what_is_there_is_not_changed_here(keeper, method):
    rack = RackFactory()
    problem(keeper.call(method, f"racks/{rack.id}/", {}), 405)
