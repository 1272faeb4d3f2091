"""Importing racks: F-173, F-177, F-269…F-271, F-299, F-312, D-30: all or nothing, idempotent by id, audited once."""

from __future__ import annotations

import copy
from datetime import timedelta

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from audit.models import AuditEntry
from inventory import import_plan, imports
from inventory.demo import demo_document
from inventory.models import Bmc, Component, NVLDomain, Rack
from inventory.services import Counts, rack_remove, racks_import
from tests.factories import DomainFactory, RackFactory
from tests.inventory.conftest import RACK2, snapshot

pytestmark = pytest.mark.django_db


def test_f173_f269_f270_f271_the_example_is_stored(load, example, now):
    summary = load(example)
    assert (summary.racks, summary.components) == (Counts(created=1), Counts(created=8))
    rack = Rack.objects.get()
    assert (rack.name, rack.model, rack.status, rack.created_at) == ("r01", "GB200 NVL72 Rack", "new", now)
    assert rack.location["data_center"] == "SJC01"
    tray = Component.objects.get(name="gpu1-nvl1-gp1-cin1-sjc01")
    assert (tray.type, tray.slot_id, tray.power_state, tray.external_id) == ("Compute", 11, "", None)
    assert sorted(tray.bmcs.values_list("mac_address", "type", "ip_address")) == [
        ("aa:bb:cc:01:00:01", "Host", "192.168.1.1"),
        ("aa:bb:cc:02:00:01", "DPU", None),
        ("aa:bb:cc:02:01:01", "DPU", None),
    ]
    assert "changeme" not in str(snapshot()) + str(list(AuditEntry.objects.values()))


def test_the_same_file_again_changes_nothing(load, example, now):
    example |= {"nvl_domain": "d1", "external_id": "x"}
    load(example)
    before = snapshot()
    summary = load(example, at=now + timedelta(days=1))
    assert (summary.racks, summary.components) == (Counts(unchanged=1), Counts(unchanged=8))
    assert snapshot() == before
    assert AuditEntry.objects.count() == 1  # nothing happened, so nothing is recorded


def test_one_audit_row_an_import(load, example):
    other = copy.deepcopy(RACK2)
    load([example, other])
    [entry] = AuditEntry.objects.all()
    assert (entry.verb, entry.actor, entry.object_name) == ("rack.import", "cli:tester", "racks.json")
    assert entry.after["racks"]["created"] == 2
    assert sorted(entry.after["racks_written"]) == ["r01", "r02"]


def test_updates_by_id(load, rack2, now):
    load(rack2)
    later = now + timedelta(hours=1)
    rack2["info"]["name"] = "renamed"
    rack2["components"][0]["bmcs"] = [{"mac": "0a:00:00:00:00:02", "type": "host"}]
    summary = load(rack2, at=later)
    assert (summary.racks, summary.components) == (Counts(updated=1), Counts(updated=1))
    rack, component = Rack.objects.get(), Component.objects.get()
    assert (rack.name, rack.created_at, rack.updated_at) == ("renamed", now, later)
    assert (component.created_at, component.updated_at) == (now, later)
    assert list(Bmc.objects.values_list("mac_address", "type")) == [("0a:00:00:00:00:02", "Host")]


@pytest.mark.parametrize("firmware", ["", "3.0"])
def test_power_state_is_left_alone_and_firmware_unless_given(load, rack2, firmware):
    load(rack2)
    Component.objects.update(power_state="on", firmware_version="2.0")
    rack2["components"][0] |= {"firmware_version": firmware, "position": {"slot_id": 9}}
    assert load(rack2).components.updated == 1
    component = Component.objects.get()
    assert (component.power_state, component.firmware_version, component.slot_id) == ("on", firmware or "2.0", 9)


def test_a_version_that_a_task_writes_meanwhile_is_not_put_back(load, rack2, monkeypatch):
    load(rack2)
    rack2["components"][0] |= {"firmware_version": "", "position": {"slot_id": 9}}
    write = imports.write

    def upgraded_between_plan_and_write(batch, options, advice):
        Component.objects.update(firmware_version="9.9")
        write(batch, options, advice=advice)

    monkeypatch.setattr(imports, "write", upgraded_between_plan_and_write)
    load(rack2)
    assert Component.objects.values_list("firmware_version", "slot_id").get() == ("9.9", 9)


def test_omitted_components_are_kept_and_named(load, example, now):
    load(example)
    dropped = example["components"].pop()
    summary = load(example)
    assert summary.components == Counts(unchanged=7, kept=1)
    assert f"{dropped['info']['name']} in r01" in summary.warnings[-1]
    assert "--prune" in summary.warnings[-1]
    assert Component.objects.filter(deleted_at__isnull=True).count() == 8


def test_prune_removes_and_the_next_import_revives(load, example, now):
    load(example)
    full = copy.deepcopy(example)
    dropped = example["components"].pop()["info"]["id"]
    assert load(example, prune=True).components == Counts(unchanged=7, pruned=1)
    assert Component.objects.get(id=dropped).deleted_at == now
    assert load(example, prune=True).components == Counts(unchanged=7)
    summary = load(full)
    assert summary.components == Counts(unchanged=7, updated=1)
    assert "brought back" in summary.warnings[-1]
    assert Component.objects.get(id=dropped).deleted_at is None


def test_prune_touches_only_racks_of_the_file(load, example):
    other = RackFactory(components=2)
    load(example, prune=True)
    assert Component.objects.filter(rack=other, deleted_at__isnull=True).count() == 2


def test_a_removed_rack_is_revived_by_its_id(load, example, by, now):
    load(example)
    rack_remove(rack="r01", by=by, now=now)
    summary = load(example)
    assert (summary.racks, summary.components) == (Counts(updated=1), Counts(updated=8))
    assert not Rack.objects.filter(deleted_at__isnull=False).exists()
    assert not Component.objects.filter(deleted_at__isnull=False).exists()


def test_domains_are_created_once_kept_when_unsaid_and_left_when_empty(load, rack2, now):
    rack2 |= {"nvl_domain": "d1", "external_id": "x1"}
    assert load(rack2).domains_created == ("d1",)
    unsaid = {key: value for key, value in rack2.items() if key not in {"nvl_domain", "external_id"}}
    assert load(unsaid).racks == Counts(unchanged=1)
    assert load(rack2 | {"nvl_domain": "d2"}).domains_created == ("d2",)
    assert Rack.objects.get().nvl_domain.name == "d2"
    assert load(unsaid | {"nvl_domain": "", "external_id": None}).racks == Counts(updated=1)
    assert Rack.objects.values_list("nvl_domain", "external_id").get() == (None, None)
    NVLDomain.objects.filter(name="d1").update(deleted_at=now)
    assert load(rack2).domains_created == ()
    assert Rack.objects.get().nvl_domain.deleted_at is None


def demo(racks, **options):
    made = {"components": 4, "domains": 2, "prefix": "demo", "seed": 1} | options
    return demo_document(racks=racks, max_components=1000, **made)


def statements(run):
    with CaptureQueriesContext(connection) as queries:
        run()
    return [q["sql"] for q in queries if not q["sql"].startswith(("SAVEPOINT", "RELEASE"))]


def test_a_constant_number_of_statements_a_batch(by, now, monkeypatch):
    def cost(racks, **options):
        document = demo(racks, **options)
        return len(statements(lambda: racks_import(document=document, by=by, now=now)))

    one_batch = cost(2)
    assert cost(200, prefix="more") == one_batch <= 18
    assert cost(200, prefix="more") <= one_batch  # and again, unchanged
    racks = cost(10, prefix="x")
    monkeypatch.setattr(imports, "RACKS_PER_BATCH", 1)
    assert cost(20, prefix="y") - cost(10, prefix="z") == 10 * 8  # five questions, three inserts
    assert racks <= one_batch


def test_a_changed_batch_takes_a_constant_number_of_statements_too(by, now):
    def cost(racks, prefix):
        racks_import(document=demo(racks, prefix=prefix), by=by, now=now)
        Rack.objects.filter(name__startswith=prefix).update(description="", nvl_domain=None)
        Component.objects.filter(name__contains=prefix).update(description="x", slot_id=0)
        Bmc.objects.update(ip_address="10.9.9.9")
        return len(statements(lambda: racks_import(document=demo(racks, prefix=prefix), by=by, now=now)))

    assert cost(3, "few-") == cost(100, "many-") <= 20


def test_locks_go_by_id_whatever_the_order_of_the_file(load, example, rack2, monkeypatch):
    monkeypatch.setattr(imports, "RACKS_PER_BATCH", 1)
    seen = []
    plan = import_plan.plan_batch

    def watched(racks, **options):
        seen.extend(rack.id for rack in racks)
        return plan(racks, **options)

    monkeypatch.setattr(imports, "plan_batch", watched)
    load([rack2, example])
    assert len(seen) == 2
    assert seen == sorted(seen)


def test_locked_rows_are_the_racks_of_the_file_only(load, example):
    load(example)
    sql = [s for s in statements(lambda: load(example)) if "FOR NO KEY UPDATE" in s]
    assert len(sql) == 1
    assert "ORDER BY" in sql[0]


def test_nothing_to_import_is_fine(load):
    assert load([]).racks == Counts()
    assert not AuditEntry.objects.exists()


def test_imports_see_removed_domains_of_other_racks_untouched(load, rack2, now):
    DomainFactory(name="gone", deleted_at=now)
    load(rack2 | {"nvl_domain": "d"})
    assert NVLDomain.objects.get(name="gone").deleted_at == now


def test_an_import_joins_the_callers_transaction(load, example):
    with transaction.atomic():
        load(example)
        transaction.set_rollback(True)
    assert not Rack.objects.exists()
