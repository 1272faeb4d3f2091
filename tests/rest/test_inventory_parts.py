"""Components and NVLink domains over REST: F-177…F-182, F-300."""

from __future__ import annotations

from uuid import UUID, uuid4

import pytest

from audit.models import AuditEntry
from inventory.bodies import MAX_RACKS
from inventory.models import Component, NVLDomain, Rack
from tests.factories import ComponentFactory, DomainFactory, RackFactory
from tests.rest.helpers import fields, problem, rest
from tests.rest.test_inventory import COMPONENT, names, ok

pytestmark = pytest.mark.django_db


@pytest.fixture
def keeper(db):
    """May change the inventory."""
    return rest("inventory", name="ines")


# Components -----------------------------------------------------------------------------------------------------


def test_f177_a_component_gets_an_id(keeper):
    rack = RackFactory(name="r1")
    response = keeper.post("components/", COMPONENT | {"rack_id": f"urn:uuid:{rack.id}", "component_id": "ext"})
    body = ok(response, 201)
    row = Component.objects.get()
    assert (row.rack, row.external_id, row.type) == (rack, "ext", "CDU")
    assert response["Location"] == f"/api/v1/components/{row.id}/"
    assert (body["info"]["id"], body["type"], body["component_id"]) == (str(row.id), "cdu", "ext")
    assert (body["rack_id"], body["rack_name"], body["warnings"]) == (str(rack.id), "r1", [])
    assert body["position"] == {"slot_id": -1, "tray_index": -1, "host_id": -1}
    assert ok(keeper.get(f"components/{row.id}/")) == {key: body[key] for key in body if key != "warnings"}
    assert AuditEntry.objects.get(verb="component.create").object_id == str(row.id)


def test_f177_the_rack_must_be_there_and_the_serial_number_free(keeper):
    missing = problem(keeper.post("components/", COMPONENT | {"rack_id": str(uuid4())}), 404)
    assert missing["errors"][0]["field"] == "rack_id"
    ok(keeper.post("components/", COMPONENT), 201)
    taken = problem(keeper.post("components/", COMPONENT), 409)
    assert taken["errors"][0]["field"] == "info.serial_number"
    assert fields(keeper.post("components/", COMPONENT | {"rack_id": "r1", "x": 1})) == {"rack_id", "x"}
    assert Component.objects.count() == 1


def test_f179_components_are_filtered(viewer):
    rack = RackFactory(name="r1")
    ComponentFactory(name="a", type="Compute", rack=rack, model="m", serial_number="1")
    ComponentFactory(name="b", type="NVSwitch", rack=rack, external_id="ext")
    ComponentFactory(name="c", type="CDU", rack=None)
    ComponentFactory(name="gone", rack=rack, deleted_at="2026-01-02T03:04:05Z")
    for query, expected in (
        ({}, ["a", "b", "c"]),
        ({"rack_id": rack.id.hex}, ["a", "b"]),
        ({"rack_id": str(uuid4())}, []),
        ({"type": "NVLSwitch"}, ["b"]),
        ({"type": "nvswitch"}, ["b"]),
        ({"component_id": "ext"}, ["b"]),
        ({"model": "m", "manufacturer": "NVIDIA"}, ["a"]),
        ({"serial_number": "1"}, ["a"]),
        ({"q": "C"}, ["c"]),
        ({"ordering": "-type"}, ["b", "a", "c"]),
    ):
        assert names(viewer.get("components/", **query), "components") == expected, query


# Domains --------------------------------------------------------------------------------------------------------


def test_f180_a_domain_with_or_without_an_id(keeper):
    given = uuid4()
    response = keeper.post("nvl-domains/", {"id": given.hex, "name": "d1"})
    assert ok(response, 201)["id"] == str(given)
    assert response["Location"] == f"/api/v1/nvl-domains/{given}/"
    made = ok(keeper.post("nvl-domains/", {"name": "d2"}), 201)["id"]
    assert NVLDomain.objects.get(id=made).name == "d2"
    assert names(keeper.get("nvl-domains/", ordering="-name"), "nvl_domains") == ["d2", "d1"]
    assert names(keeper.get("nvl-domains/", q="D1"), "nvl_domains") == ["d1"]
    for again in ({"name": "d1"}, {"name": "d3", "id": str(given)}):
        assert "NVLink domain 'd1'" in problem(keeper.post("nvl-domains/", again), 409)["detail"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "name"),
        ({"name": ""}, "name"),
        ({"name": " d"}, "name"),
        ({"name": None}, "name"),
        ({"name": 1}, "name"),
        ({"name": "d", "id": "x"}, "id"),
        ({"name": "d", "id": str(UUID(int=0))}, "id"),
        ({"name": "d", "racks": []}, "racks"),
    ],
)
def test_f180_what_a_domain_is_not(keeper, body, field):
    assert fields(keeper.post("nvl-domains/", body)) == {field}
    assert not NVLDomain.objects.exists()


def test_f181_attach_and_detach_take_names_and_ids(keeper):
    domain, other = DomainFactory(name="d"), DomainFactory(name="other")
    first, second = RackFactory(name="r1"), RackFactory(name="r2")
    RackFactory(name="held", nvl_domain=other)
    path = f"nvl-domains/{domain.id}"
    assert ok(keeper.post(f"{path}/attach/", {"racks": ["r2", first.id.hex]})) == {
        "attached": ["r2", "r1"],
        "skipped": [],
    }
    assert ok(keeper.post(f"{path}/attach/", {"racks": ["r2"]})) == {"attached": [], "skipped": ["r2"]}
    assert ok(keeper.get(f"{path}/"))["racks"] == [
        {"id": str(first.id), "name": "r1"},
        {"id": str(second.id), "name": "r2"},
    ]
    for verb, status in (("attach", 409), ("detach", 409)):
        body = problem(keeper.post(f"{path}/{verb}/", {"racks": ["r1", "held"]}), status)
        assert body["reason"] == "IN_OTHER_DOMAIN"
        assert "'held' is in NVLink domain 'other'" in body["detail"]
        assert "'nowhere'" in problem(keeper.post(f"{path}/{verb}/", {"racks": ["r1", "nowhere"]}), 404)["detail"]
    assert Rack.objects.filter(nvl_domain=domain).count() == 2
    assert ok(keeper.post(f"{path}/detach/", {"racks": ["r1", "r2"]})) == {"detached": ["r1", "r2"], "skipped": []}
    assert ok(keeper.post(f"{path}/detach/", {"racks": ["r1"]})) == {"detached": [], "skipped": ["r1"]}
    assert {entry.door for entry in AuditEntry.objects.filter(object_kind="nvl_domain")} == {"rest"}


@pytest.mark.parametrize("verb", ["attach", "detach"])
def test_f181_no_racks_are_fine_where_the_domain_is_there(keeper, verb):
    domain = DomainFactory()
    assert ok(keeper.post(f"nvl-domains/{domain.id}/{verb}/", {"racks": []}))["skipped"] == []
    problem(keeper.post(f"nvl-domains/{uuid4()}/{verb}/", {"racks": []}), 404)
    assert fields(keeper.post(f"nvl-domains/{domain.id}/{verb}/", {})) == {"racks"}
    assert fields(keeper.post(f"nvl-domains/{domain.id}/{verb}/", {"racks": [1]})) == {"racks.0"}
    assert fields(keeper.post(f"nvl-domains/{domain.name}/{verb}/", {"racks": []})) == {"id"}
    path, rack = f"nvl-domains/{domain.id}/{verb}/", RackFactory().name
    ok(keeper.post(path, {"racks": [rack] * MAX_RACKS}))
    assert fields(keeper.post(path, {"racks": [rack] * (MAX_RACKS + 1)})) == {"racks"}
