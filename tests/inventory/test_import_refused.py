"""What an import refuses, and that a refusal or a failure leaves nothing behind: F-173, F-177, F-298, F-299."""

from __future__ import annotations

import copy
from uuid import uuid4

import psycopg
import pytest
from django.db import connection

from audit.models import AuditEntry
from flowsched.errors import AlreadyExists, Busy, PreconditionFailed
from inventory import imports
from inventory.models import Bmc, Component
from inventory.services import Counts
from tests.factories import ComponentFactory, RackFactory
from tests.inventory.conftest import RACK2, snapshot

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("holder", "pointer", "what"),
    [
        ({"name": "r02"}, "/info/name", "name"),
        ({"manufacturer": "", "serial_number": "S2"}, "/info/serial_number", "serial number"),
        ({"external_id": "ext-r"}, "/external_id", "external id"),
    ],
)
@pytest.mark.parametrize("removed", [False, True])
def test_f173_f299_values_of_another_rack_are_refused_with_their_place(
    *, load, rack2, now, holder, pointer, what, removed
):
    other = RackFactory(**holder, deleted_at=now if removed else None)
    with pytest.raises(AlreadyExists) as caught:
        load(rack2 | {"external_id": "ext-r"})
    gone = "the removed " if removed else ""
    expected = f"racks.json {pointer}: this {what} is taken by {gone}rack '{other.name}' ({other.id})"
    assert caught.value.message == expected


@pytest.mark.parametrize(
    ("holder", "pointer", "what"),
    [
        ({"manufacturer": "", "serial_number": "C2"}, "/info/serial_number", "serial number"),
        ({"external_id": "ext"}, "/component_id", "external id"),
    ],
)
def test_f177_values_of_another_component_are_refused_with_their_place(load, rack2, holder, pointer, what):
    other = ComponentFactory(**holder)
    with pytest.raises(
        AlreadyExists, match=f"/0/components/0{pointer}: this {what} is taken by component '{other.name}'"
    ):
        load([rack2])


def test_a_mac_of_another_component_is_refused_unless_that_one_leaves(load, rack2, example, now):
    other = ComponentFactory()
    Bmc.objects.create(mac_address="0a:00:00:00:00:01", component=other)
    with pytest.raises(
        AlreadyExists, match=rf"/components/0/bmcs/0: this MAC address is taken by component '{other.name}'"
    ):
        load(rack2)
    Component.objects.filter(id=other.id).update(deleted_at=now)
    load(rack2)
    assert str(Bmc.objects.get().component_id) == rack2["components"][0]["info"]["id"]


@pytest.mark.parametrize("per_batch", [1, 250])
@pytest.mark.parametrize("forth", [True, False])
def test_a_bmc_may_move_inside_a_file(*, load, rack2, example, monkeypatch, per_batch, forth):
    monkeypatch.setattr(imports, "RACKS_PER_BATCH", per_batch)
    load([example, rack2])
    there, here = example["components"][2], rack2["components"][0]
    if not forth:
        there, here = here, there
    moving = there["bmcs"].pop(0)
    here["bmcs"].append(moving)
    load([example, rack2])
    assert str(Bmc.objects.get(mac_address=moving["mac"]).component_id) == here["info"]["id"]
    assert Bmc.objects.count() == 11
    assert load([example, rack2]).components.updated == 0


def test_a_component_of_another_rack_is_refused_naming_both(load, rack2):
    load(rack2)
    third = copy.deepcopy(rack2)
    third["info"] |= {"id": str(uuid4()), "name": "r03", "serial_number": "S3"}
    with pytest.raises(PreconditionFailed, match=r"/components/0: component 'c' .* is in rack 'r02', not in 'r03'"):
        load(third)
    load(rack2 | {"components": []}, prune=True)
    load(third)
    assert Component.objects.get().rack.name == "r03"


def test_a_component_in_no_rack_is_taken_in(load, rack2):
    info = rack2["components"][0]["info"]
    ComponentFactory(id=info["id"], rack=None)
    assert load(rack2).components == Counts(updated=1)
    assert Component.objects.get().rack.name == "r02"


def test_all_or_nothing(load, example, rack2):
    RackFactory(name="r02")
    before = snapshot()
    with pytest.raises(AlreadyExists):
        load([example | {"nvl_domain": "new"}, rack2])
    assert snapshot() == before
    [entry] = AuditEntry.objects.all()
    assert "/1/info/name: this name is taken" in entry.refused


def test_a_failure_half_way_leaves_nothing(load, example, rack2, monkeypatch):
    monkeypatch.setattr(imports, "RACKS_PER_BATCH", 1)
    write, calls = imports.write, []

    def second_fails(batch, options, advice):
        calls.append(batch)
        if len(calls) == 2:
            raise RuntimeError("the machine caught fire")
        write(batch, options, advice=advice)

    monkeypatch.setattr(imports, "write", second_fails)
    with pytest.raises(RuntimeError):
        load([example, rack2])
    assert snapshot() == [[], [], [], []]
    assert not AuditEntry.objects.exists()


@pytest.mark.parametrize(
    ("holder", "what"),
    [
        (lambda: RackFactory(name="r02"), "the name of a rack"),
        (lambda: RackFactory(manufacturer="", serial_number="S2"), "manufacturer and serial number of a rack"),
        (lambda: RackFactory(external_id="ext-r"), "external id of a rack"),
        (lambda: RackFactory(id=RACK2["info"]["id"]), "the id of a rack"),
        (
            lambda: ComponentFactory(manufacturer="", serial_number="C2"),
            "manufacturer and serial number of a component",
        ),
        (lambda: ComponentFactory(external_id="ext"), "type and external id of a component"),
        (lambda: ComponentFactory(id=RACK2["components"][0]["info"]["id"]), "the id of a component"),
        (lambda: Bmc.objects.create(mac_address="0a:00:00:00:00:01", component=ComponentFactory()), "a MAC address"),
    ],
)
def test_f298_f299_a_race_with_another_writer_is_a_refusal_not_a_crash(load, rack2, monkeypatch, holder, what):
    write = imports.write

    def taken_between_plan_and_write(batch, options, advice):
        holder()
        write(batch, options, advice=advice)

    monkeypatch.setattr(imports, "write", taken_between_plan_and_write)
    with pytest.raises(AlreadyExists, match=f"{what} was taken by somebody else meanwhile"):
        load(rack2 | {"external_id": "ext-r"})
    assert snapshot()[0] == []


def test_dry_run_says_the_same_and_writes_nothing(load, example, now):
    value = example | {"nvl_domain": "new"}
    dry = load(value, dry_run=True)
    assert snapshot() == [[], [], [], []]
    assert not AuditEntry.objects.exists()
    wet = load(value)
    assert dry.dry_run
    assert not wet.dry_run
    assert (dry.racks, dry.components, dry.domains_created) == (wet.racks, wet.components, wet.domains_created)
    RackFactory(name="taken")
    example["info"]["name"] = "taken"
    with pytest.raises(AlreadyExists):
        load(example, dry_run=True)


@pytest.mark.django_db(transaction=True)
def test_a_second_import_at_a_time_is_told_to_wait(load, example):
    settings = connection.settings_dict
    with psycopg.connect(
        host=settings["HOST"], port=settings["PORT"], user=settings["USER"], dbname=settings["NAME"]
    ) as other:
        other.execute("SELECT pg_advisory_xact_lock(%s)", [imports.IMPORT_LOCK])
        with pytest.raises(Busy, match="another import is under way"):
            load(example)
    load(example)
