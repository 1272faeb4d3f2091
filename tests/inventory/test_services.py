"""Racks and domains: F-174, F-175, F-180…F-182 as far as there are services, F-269 (soft delete), F-300."""

from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from audit.models import AuditEntry
from flowsched.errors import AlreadyExists, InvalidInput, NotFound, PreconditionFailed
from inventory.models import Component, Rack
from inventory.selectors import components_of, domain_get, rack_get, racks_list
from inventory.services import Moved, rack_remove, racks_attach, racks_detach
from tests.factories import ComponentFactory, DomainFactory, RackFactory

pytestmark = pytest.mark.django_db


def test_f174_a_rack_by_id_in_any_form_or_by_name():
    rack = RackFactory(name="r1")
    for text in (str(rack.id), rack.id.hex, f"{{{rack.id}}}", f"urn:uuid:{rack.id}", "r1"):
        assert rack_get(text) == rack
    for text in ("R1", str(uuid4())):
        with pytest.raises(NotFound, match=f"there is no rack '{text}'"):
            rack_get(text)
    for text in ("", " r1", "r\x00"):
        with pytest.raises(InvalidInput):
            rack_get(text)


def test_f174_a_name_that_looks_like_an_id_gives_way_to_the_id():
    rack = RackFactory()
    other = RackFactory(name=str(rack.id))
    assert rack_get(str(rack.id)) == rack
    Rack.objects.filter(id=rack.id).update(deleted_at="2026-01-01T00:00:00Z")
    assert rack_get(str(rack.id)) == other


def test_f175_racks_are_listed_by_name_then_id_with_their_live_components(now):
    for name, count in (("b", 2), ("a", 0), ("c", 1)):
        RackFactory(name=name, components=count)
    ComponentFactory(rack=Rack.objects.get(name="b"), deleted_at=now)
    RackFactory(name="aa", deleted_at=now)
    with CaptureQueriesContext(connection) as queries:
        rows, total = racks_list(limit=2)
    assert [(row.name, row.component_count) for row in rows] == [("a", 0), ("b", 2)]
    assert total == 3
    assert len(queries) == 2
    assert [row.name for row in racks_list(limit=2, offset=2)[0]] == ["c"]


def test_f178_the_components_of_a_rack_take_two_queries(now):
    rack = RackFactory(components=5, types=("Compute", "CDU"))
    ComponentFactory(rack=rack, deleted_at=now)
    with CaptureQueriesContext(connection) as queries:
        found = [(c.type, list(c.bmcs.all())) for c in components_of(rack.id)]
    assert [kind for kind, _ in found] == ["CDU", "CDU", "Compute", "Compute", "Compute"]
    assert len(queries) == 2


def test_f269_removal_is_soft_takes_the_components_along_and_is_audited(by, now):
    rack, other = RackFactory(name="r1", components=2), RackFactory(components=1)
    rack_remove(rack="r1", by=by, now=now)
    row = Rack.objects.get(id=rack.id)
    assert (row.deleted_at, row.updated_at) == (now, now)
    assert set(Component.objects.filter(rack=rack).values_list("deleted_at", flat=True)) == {now}
    assert Component.objects.get(rack=other).deleted_at is None
    [entry] = AuditEntry.objects.all()
    assert (entry.verb, entry.object_kind, entry.object_id) == ("rack.remove", "rack", str(rack.id))
    assert entry.after["components_removed"] == 2


def test_f269_a_removed_rack_is_not_removed_again(by, now):
    rack = RackFactory(name="r1", deleted_at=now)
    for text in ("r1", str(rack.id)):
        with pytest.raises(PreconditionFailed, match="removed already, since 2026-01-02 03:04:05Z"):
            rack_remove(rack=text, by=by, now=now + timedelta(days=1))
    assert Rack.objects.get().deleted_at == now
    assert {e.refused != "" for e in AuditEntry.objects.all()} == {True}
    with pytest.raises(NotFound):
        rack_remove(rack="r2", by=by, now=now)


def test_f181_f300_attach_takes_names_and_ids_of_both(by, now):
    domain = DomainFactory(name="d")
    first, second, third = RackFactory(name="r1"), RackFactory(name="r2"), RackFactory(name="r3")
    assert racks_attach(domain="d", racks=["r1", str(second.id), first.id.hex], by=by, now=now) == Moved(
        ("r1", "r2"), ()
    )
    assert racks_attach(domain=str(domain.id), racks=["r2", "r3"], by=by, now=now) == Moved(("r3",), ("r2",))
    assert set(Rack.objects.values_list("nvl_domain", flat=True)) == {domain.id}
    assert [e.after for e in AuditEntry.objects.order_by("id")] == [{"racks": ["r1", "r2"]}, {"racks": ["r3"]}]
    third.refresh_from_db()
    assert third.updated_at == now


def test_f181_attach_is_all_or_nothing(by, now):
    domain, other = DomainFactory(name="d"), DomainFactory(name="other")
    RackFactory(name="free")
    RackFactory(name="held", nvl_domain=other)
    RackFactory(name="gone", deleted_at=now)
    with pytest.raises(AlreadyExists, match="rack 'held' is in NVLink domain 'other'"):
        racks_attach(domain="d", racks=["free", "held"], by=by, now=now)
    for missing in ("nowhere", "gone"):
        with pytest.raises(NotFound, match=f"there is no rack '{missing}'"):
            racks_attach(domain="d", racks=["free", missing], by=by, now=now)
    assert not Rack.objects.filter(nvl_domain=domain).exists()
    assert AuditEntry.objects.exclude(refused="").count() == 3


def test_f181_no_racks_and_nothing_new_change_nothing(by, now):
    domain = DomainFactory(name="d")
    RackFactory(name="r1", nvl_domain=domain)
    assert racks_attach(domain="d", racks=[], by=by, now=now) == Moved((), ())
    assert racks_attach(domain="d", racks=["r1"], by=by, now=now) == Moved((), ("r1",))
    assert not AuditEntry.objects.exists()


def test_f180_an_unknown_or_removed_domain(by, now):
    RackFactory(name="r1")
    DomainFactory(name="gone", deleted_at=now)
    for name in ("nowhere", "gone", str(uuid4())):
        with pytest.raises(NotFound, match="there is no NVLink domain"):
            racks_attach(domain=name, racks=["r1"], by=by, now=now)
    live = DomainFactory(name="live")
    assert domain_get("live") == domain_get(str(live.id)) == live


def test_f181_f300_detach_is_all_or_nothing_and_skips_the_free(by, now):
    domain = DomainFactory(name="d")
    for name in ("r1", "r2"):
        RackFactory(name=name, nvl_domain=domain)
    RackFactory(name="free")
    with pytest.raises(NotFound):
        racks_detach(racks=["r1", "nowhere"], by=by, now=now)
    assert Rack.objects.filter(nvl_domain=domain).count() == 2
    assert racks_detach(racks=["r1", "free", "r2"], by=by, now=now) == Moved(("r1", "r2"), ("free",))
    assert not Rack.objects.exclude(nvl_domain=None).exists()
    entry = AuditEntry.objects.get(refused="")
    assert entry.before == {"r1": "d", "r2": "d"}


def test_f181_detach_from_one_domain_refuses_racks_of_another(by, now):
    first, other = DomainFactory(name="d"), DomainFactory(name="other")
    RackFactory(name="r1", nvl_domain=first)
    RackFactory(name="r2", nvl_domain=other)
    RackFactory(name="free")
    with pytest.raises(PreconditionFailed, match="rack 'r2' is in NVLink domain 'other', not in 'd'") as error:
        racks_detach(domain="d", racks=["r1", "r2"], by=by, now=now)
    assert error.value.reason == "IN_OTHER_DOMAIN"
    assert Rack.objects.filter(nvl_domain=None).count() == 1
    assert racks_detach(domain=str(first.id), racks=["r1", "free"], by=by, now=now) == Moved(("r1",), ("free",))
    assert racks_detach(domain="d", racks=[], by=by, now=now) == Moved((), ())
    with pytest.raises(NotFound, match="there is no NVLink domain 'nowhere'"):
        racks_detach(domain="nowhere", racks=[], by=by, now=now)
    entry = AuditEntry.objects.get(refused="")
    assert (entry.object_id, entry.object_name, entry.before) == (str(first.id), "d", {"r1": "d"})


def test_f181_the_domain_is_checked_also_without_racks(by, now):
    with pytest.raises(NotFound, match="there is no NVLink domain 'nowhere'"):
        racks_attach(domain="nowhere", racks=[], by=by, now=now)
    assert racks_detach(racks=[], by=by, now=now) == Moved((), ())


def test_moving_many_racks_takes_as_many_queries_as_moving_one(by, now):
    DomainFactory(name="d")
    racks = [RackFactory().name for _ in range(20)]
    counts = []
    for some in (racks[:1], racks[1:]):
        with CaptureQueriesContext(connection) as queries:
            racks_attach(domain="d", racks=some, by=by, now=now)
        counts.append(len(queries))
    assert counts[0] == counts[1]


def test_the_index_of_a_racks_live_components_is_used():
    rack = RackFactory(components=2)
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
    assert "component_of_rack" in Component.objects.filter(rack_id=rack.id, deleted_at__isnull=True).explain()
