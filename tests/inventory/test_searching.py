"""Finding racks, components, domains: F-25, F-174…F-176, F-178, F-179, F-182, TH-18; a constant number of queries."""

from __future__ import annotations

from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from flowsched.errors import InvalidInput, NotFound, PreconditionFailed
from inventory.models import Bmc, Component
from inventory.patterns import MAX_PATTERN, MAX_PATTERNS, Query
from inventory.searching import (
    component_by_id,
    component_by_serial,
    components_search,
    domain_by_id,
    domain_racks,
    domains_search,
    rack_by_id,
    rack_by_serial,
    racks_search,
)
from inventory.targets import ComponentTarget, DomainTarget, RackTarget
from tests.factories import ComponentFactory, DomainFactory, RackFactory

pytestmark = pytest.mark.django_db


def names(found):
    rows, total = found
    assert total == len(rows)
    return [row.name for row in rows]


def racks(*, limit=100, **options):
    return racks_search(limit=limit, **{"filters": {}} | options)


def components(*, limit=100, **options):
    return components_search(limit=limit, **{"filters": {}} | options)


# Patterns -------------------------------------------------------------------------------------------------------

STORED = ["a", "a%", "a\\", "aXb", "a_b", "b", "ba", "A"]


def like(*patterns, use_or=False):
    return Query(patterns, is_wildcard=True, use_or=use_or)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        (Query(), STORED),
        (like(), STORED),
        (Query(("a",)), ["a"]),
        (Query(("a%",)), ["a%"]),
        (Query(("a\\",)), ["a\\"]),
        (Query(("a", "b", "a", "nothing")), ["a", "b"]),
        (Query(("a", "b"), use_or=False), ["a", "b"]),
        (Query(("",)), []),
        (like("a"), ["a", "a%", "a\\", "aXb", "a_b", "ba"]),
        (like("a%"), ["a", "a%", "a\\", "aXb", "a_b"]),
        (like("%a"), ["a", "ba"]),
        (like("a_b"), ["aXb", "a_b"]),
        (like("a\\_b"), ["a_b"]),
        (like("a%b"), ["aXb", "a_b"]),
        (like("a\\%%"), ["a%"]),
        (like(""), STORED),
        (like("%"), STORED),
        (like("a%", "%b"), ["aXb", "a_b"]),
        (like("a%", "%b", use_or=True), ["a", "a%", "a\\", "aXb", "a_b", "b"]),
        (like("A"), ["A"]),
        (like("a\\"), ["a\\"]),
        (like("%\\"), ["a\\"]),
        (like("%\\\\"), ["a\\"]),
        (like("\\"), ["a\\"]),
        (like("%\\\\\\"), []),
        (like("'; DROP TABLE rack; --"), []),
        (like("%s"), []),
        (like("{a,b}"), []),
        (like('"', "a"), []),
    ],
    ids=str,
)
def test_f176_patterns(query, found):
    for name in STORED:
        RackFactory(name=name)
    assert sorted(names(racks(filters={"name": query}))) == sorted(found)


@pytest.mark.parametrize("wildcard", [False, True])
@pytest.mark.parametrize(
    ("patterns", "why"),
    [
        (("a\x00",), "control characters"),
        (("\ud800",), "control characters"),
        (("a" * (MAX_PATTERN + 1),), f"at most {MAX_PATTERN}"),
        (("a",) * (MAX_PATTERNS + 1), f"limit of {MAX_PATTERNS}"),
    ],
    ids=["nul", "surrogate", "long", "many"],
)
def test_f176_patterns_that_cannot_be_searched_for_are_refused(patterns, why, wildcard):
    query = Query(patterns, is_wildcard=wildcard)
    for search in (
        lambda: racks(filters={"name": query}),
        lambda: components(filters={"type": query}),
        lambda: domains_search(query=query, limit=1),
    ):
        with pytest.raises(InvalidInput, match=why):
            search()


def test_f176_as_many_patterns_as_are_allowed():
    RackFactory(name="a")
    for wildcard in (False, True):
        many = ("a" * MAX_PATTERN, *["a"] * (MAX_PATTERNS - 1))
        assert names(racks(filters={"name": Query(many, is_wildcard=wildcard, use_or=True)})) == ["a"]


# Racks ----------------------------------------------------------------------------------------------------------


def test_f175_filters_are_joined_by_and():
    RackFactory(name="a", manufacturer="M", model="x")
    RackFactory(name="b", manufacturer="M", model="y")
    RackFactory(name="c", manufacturer="N", model="x")
    assert names(racks(filters={"manufacturer": Query(("M",)), "model": Query(("x", "z"))})) == ["a"]


def test_f175_the_order_ends_with_the_id():
    made = [RackFactory(name=name, manufacturer=maker) for name, maker in (("b", "M"), ("a", "M"), ("c", "L"))]
    assert names(racks()) == ["a", "b", "c"]
    assert names(racks(order_by=("name", "DESC"))) == ["c", "b", "a"]
    by_id = [rack.name for rack in sorted(made[:2], key=lambda rack: rack.id)]
    assert names(racks(order_by=("manufacturer", "ASC"))) == ["c", *by_id]
    assert names(racks(order_by=("manufacturer", "DESC"))) == [*by_id, "c"]


def test_f175_pages_tell_the_total_before_paging(now):
    for name in "abcd":
        RackFactory(name=name)
    RackFactory(name="aa", deleted_at=now)
    rows, total = racks(limit=2, offset=1)
    assert ([row.name for row in rows], total) == (["b", "c"], 4)
    assert names(racks(limit=None)) == list("abcd")
    assert racks(limit=2, offset=9) == ([], 4)


HOSTILE = ["id", "deleted_at", "name__regex", "nvl_domain__name", "name); --", "", "-name", "?"]


@pytest.mark.parametrize("field", HOSTILE)
def test_th18_only_listed_fields_filter_and_order(field):
    for search in (racks, components):
        with pytest.raises(InvalidInput, match="is nothing to filter by") as error:
            search(filters={field: Query(("x",))})
        assert error.value.field == "filters"
        with pytest.raises(InvalidInput, match="is nothing to order by") as error:
            search(order_by=(field, "ASC"))
        assert error.value.field == "order_by"
    with pytest.raises(InvalidInput, match="is nothing to filter by"):
        racks(filters={"type": Query(("Compute",))})


@pytest.mark.parametrize("direction", ["asc", "DESC ", "", "ASC; --"])
def test_f175_the_direction_is_exactly_asc_or_desc(direction):
    for search in (racks, components):
        with pytest.raises(InvalidInput, match="use ASC or DESC"):
            search(order_by=("name", direction))


def test_a_hundred_racks_with_components_take_four_queries(now):
    domain = DomainFactory(name="d")
    counts = []
    for more in (1, 99):
        for _ in range(more):
            rack = RackFactory(components=3, nvl_domain=domain)
            parts = Component.objects.filter(rack=rack)
            Bmc.objects.bulk_create([Bmc(mac_address=str(p.id)[:17], component=p) for p in parts])
        with CaptureQueriesContext(connection) as queries:
            rows, total = racks(with_components=True)
            seen = [(b.mac_address, c.rack.name, r.nvl_domain.name) for r in rows for c in r.components.all() for b in
                    c.bmcs.all()]  # fmt: skip
        assert (len(seen), total) == (3 * len(rows), len(rows))
        counts.append(len(queries))
    assert counts == [4, 4]


def test_f174_a_rack_with_its_live_components(now):
    rack = RackFactory(components=2, types=("Compute", "CDU"))
    ComponentFactory(rack=rack, deleted_at=now)
    found = rack_by_id(rack.id, with_components=True)
    assert [c.type for c in found.components.all()] == ["CDU", "Compute"]
    gone = RackFactory(deleted_at=now)
    for unknown in (uuid4(), gone.id):
        with pytest.raises(NotFound, match=f"there is no rack {unknown}"):
            rack_by_id(unknown)


@pytest.mark.parametrize(
    ("make", "find", "noun"),
    [(RackFactory, rack_by_serial, "rack"), (ComponentFactory, component_by_serial, "component")],
)
def test_f25_f174_by_serial_number(now, make, find, noun):
    first = make(manufacturer="M", serial_number="1")
    second = make(manufacturer="N", serial_number="2")
    make(manufacturer="O", serial_number="2")
    make(manufacturer="P", serial_number="1", deleted_at=now)
    assert find(manufacturer="M", serial_number="1") == find(serial_number="1") == first
    assert find(manufacturer="N", serial_number="2") == second
    with pytest.raises(PreconditionFailed, match=r"'2' is ambiguous.* 'N', 'O'") as error:
        find(serial_number="2")
    assert error.value.reason == "AMBIGUOUS"
    with pytest.raises(InvalidInput, match="serial number is empty"):
        find(manufacturer="M", serial_number="")
    with pytest.raises(InvalidInput, match="control characters"):
        find(serial_number="1\x00")
    for maker in ("N", "P", "m"):
        with pytest.raises(NotFound, match=f"there is no {noun} with serial number '1' of manufacturer '{maker}'"):
            find(manufacturer=maker, serial_number="1")
    with pytest.raises(NotFound, match=f"there is no {noun} with serial number '3'$"):
        find(serial_number="3")


# Components -----------------------------------------------------------------------------------------------------


def test_f178_a_component_with_its_rack(now):
    domain = DomainFactory(name="d")
    part = ComponentFactory(rack=RackFactory(name="r1", nvl_domain=domain))
    Bmc.objects.create(mac_address="0b", component=part)
    Bmc.objects.create(mac_address="0a", component=part)
    with CaptureQueriesContext(connection) as queries:
        found = component_by_id(part.id)
        assert (found.rack.name, found.rack.nvl_domain.name) == ("r1", "d")
        assert [bmc.mac_address for bmc in found.bmcs.all()] == ["0a", "0b"]
    assert len(queries) == 2
    for unknown in (uuid4(), ComponentFactory(deleted_at=now).id):
        with pytest.raises(NotFound, match=f"there is no component {unknown}"):
            component_by_id(unknown)


def test_f179_components_are_filtered_also_those_in_no_rack(now):
    ComponentFactory(name="b", type="Compute", model="x")
    ComponentFactory(name="a", type="NVSwitch", rack=None, model="x")
    ComponentFactory(name="c", type="CDU", manufacturer="Other")
    ComponentFactory(name="gone", deleted_at=now)
    assert names(components()) == ["a", "b", "c"]
    assert names(components(filters={"type": Query(("nvlswitch",))})) == ["a"]
    assert names(components(filters={"type": Query(("NVSwitch", "COMPUTE"))})) == ["a", "b"]
    assert names(components(filters={"type": Query(())})) == ["a", "b", "c"]
    assert names(components(filters={"type": Query(("cdu",)), "name": like("a")})) == []
    assert names(components(filters={"model": like("X", "x", use_or=True)})) == ["a", "b"]
    assert names(components(filters={"manufacturer": Query(("Other",))})) == ["c"]
    assert names(components(order_by=("type", "DESC"))) == ["a", "b", "c"]
    rows, total = components(limit=1, offset=1)
    assert ([row.name for row in rows], total) == (["b"], 3)


@pytest.mark.parametrize("query", [Query(("toaster",)), like("Comp%"), Query(("compute", ""))])
def test_f179_an_unknown_type_is_refused(query):
    with pytest.raises(InvalidInput, match="unknown component type"):
        components(filters={"type": query})


def test_f179_targets_come_first_then_the_filters(now):
    domain = DomainFactory(name="d")
    first = RackFactory(name="r1", nvl_domain=domain)
    second = RackFactory(name="r2", nvl_domain=domain)
    third = RackFactory(name="r3")
    loose = ComponentFactory(name="loose", rack=None, external_id="x")
    for rack, kind, name in (
        (first, "Compute", "c1"),
        (first, "CDU", "u1"),
        (second, "Compute", "c2"),
        (second, "CDU", "u2"),
        (third, "Compute", "c3"),
    ):
        ComponentFactory(name=name, rack=rack, type=kind)
    ComponentFactory(name="gone", rack=first, deleted_at=now)
    found = components(targets=[RackTarget(name="r1"), RackTarget(id=second.id, component_types=("cdu",))])
    assert names(found) == ["c1", "u1", "u2"]
    assert names(components(targets=[RackTarget(name="r1"), RackTarget(id=first.id)])) == ["c1", "u1"]
    on_domain = [DomainTarget(name="d", component_types=("compute",))]
    assert names(components(targets=on_domain)) == ["c1", "c2"]
    assert names(components(targets=on_domain, filters={"name": like("1")})) == ["c1"]
    assert names(components(targets=[RackTarget(name="r1")], filters={"type": Query(("CDU",))})) == ["u1"]
    c3 = Component.objects.get(name="c3")
    named = [ComponentTarget(id=loose.id), ComponentTarget(external_id="x"), ComponentTarget(id=c3.id)]
    assert names(components(targets=named)) == ["c3", "loose"]


def test_f179_targets_that_are_not_there_are_refused():
    RackFactory(name="r1")
    for targets, error in (
        ([RackTarget(name="nowhere")], NotFound),
        ([ComponentTarget(id=uuid4())], NotFound),
        ([ComponentTarget(id=uuid4()), ComponentTarget()], NotFound),
        ([ComponentTarget(), ComponentTarget(id=uuid4())], InvalidInput),
        ([RackTarget(name="r1"), ComponentTarget(id=uuid4())], InvalidInput),
        ([], InvalidInput),
    ):
        with pytest.raises(error):
            components(targets=targets)


def test_many_components_take_three_queries_and_four_with_targets():
    counts = []
    for more in (1, 30):
        on = [RackFactory(components=3, types=("Compute", "CDU")) for _ in range(more)]
        targets = [RackTarget(id=rack.id, component_types=("cdu",) if n % 2 else ()) for n, rack in enumerate(on)]
        for asked in (None, targets):
            with CaptureQueriesContext(connection) as queries:
                rows, _ = components(targets=asked)
                assert all(row.rack.name and not row.bmcs.all() for row in rows)
            counts.append(len(queries))
    assert counts == [3, 4, 3, 4]


# Domains --------------------------------------------------------------------------------------------------------


def test_f182_domains_by_name(now):
    made = [DomainFactory(name=name) for name in ("b", "ab", "c")]
    DomainFactory(name="a", deleted_at=now)
    assert names(domains_search(limit=10)) == ["ab", "b", "c"]
    assert names(domains_search(query=like("b"), limit=10)) == ["ab", "b"]
    rows, total = domains_search(limit=1, offset=2)
    assert ([row.name for row in rows], total) == (["c"], 3)
    assert domain_by_id(made[0].id) == made[0]
    with pytest.raises(NotFound, match="there is no NVLink domain"):
        domain_by_id(uuid4())


def test_f182_the_racks_of_a_domain_with_components(now):
    domain, gone = DomainFactory(name="d"), DomainFactory(name="gone", deleted_at=now)
    for name in ("b", "a"):
        RackFactory(name=name, nvl_domain=domain, components=2)
    RackFactory(name="removed", nvl_domain=domain, deleted_at=now)
    RackFactory(name="left", nvl_domain=gone)
    for found in (domain_racks(domain_id=domain.id), domain_racks(name="d")):
        assert [(rack.name, len(rack.components.all())) for rack in found] == [("a", 2), ("b", 2)]
    assert domain_racks(domain_id=uuid4()) == domain_racks(domain_id=gone.id) == []
    for name in ("nowhere", "gone"):
        with pytest.raises(NotFound, match=f"there is no NVLink domain '{name}'"):
            domain_racks(name=name)
    for nothing in ({}, {"domain_id": domain.id, "name": "d"}):
        with pytest.raises(InvalidInput, match="one of the two"):
            domain_racks(**nothing)
