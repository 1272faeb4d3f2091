"""Lists of racks, components and domains over gRPC, and racks in domains (F-175, F-176, F-179…F-182, F-300)."""

from __future__ import annotations

import uuid

import pytest

from audit.models import AuditEntry
from flowsched.errors import AlreadyExists, InvalidInput, NotFound
from inventory.models import NVLDomain, Rack
from rpc.proto import flow_pb2 as pb
from tests.factories import ComponentFactory, DomainFactory, RackFactory
from tests.rpc.calls import ZERO, on_racks, run, uid

pytestmark = pytest.mark.django_db
PAGE = pb.Pagination


def query(*patterns, **options):
    return pb.StringQueryInfo(patterns=patterns, **options)


def by(field, *patterns, **options):
    """A filter on racks."""
    return pb.Filter(rack_field=field, query_info=query(*patterns, **options))


def of(field, *patterns, **options):
    """A filter on components."""
    return pb.Filter(component_field=field, query_info=query(*patterns, **options))


def racks(*filters, **fields):
    answer = run("GetListOfRacks", pb.GetListOfRacksRequest(filters=filters, **fields))
    assert answer.total >= len(answer.racks)
    return [rack.info.name for rack in answer.racks]


def components(*filters, **fields):
    answer = run("GetComponents", pb.GetComponentsRequest(filters=filters, **fields))
    assert answer.total >= len(answer.components)
    return [component.info.name for component in answer.components]


def field_of(method, request):
    with pytest.raises(InvalidInput) as refused:
        run(method, request)
    return next(iter(refused.value.fields))


@pytest.fixture
def three():
    return [
        RackFactory(name="a-1", manufacturer="m1", model="x", components=2),
        RackFactory(name="a-2", manufacturer="m2", model="x"),
        RackFactory(name="b-1", manufacturer="m2", model="y"),
    ]


def test_f175_filters_one_a_field_the_last_counts(three):
    """F-175, F-176."""
    assert racks() == ["a-1", "a-2", "b-1"]
    assert racks(by(1, "a-2")) == ["a-2"]
    assert racks(by(1, "a-2", "b-1", "c")) == ["a-2", "b-1"]
    assert racks(by(1, "a-", is_wildcard=True)) == ["a-1", "a-2"]
    assert racks(by(1, "a-%", "%1", is_wildcard=True)) == ["a-1"]
    assert racks(by(1, "a-%", "%1", is_wildcard=True, use_or=True)) == ["a-1", "a-2", "b-1"]
    assert racks(by(2, "m2"), by(3, "x")) == ["a-2"]
    assert racks(by(1, "a-1"), by(1, "b-1")) == ["b-1"]
    assert racks(by(1)) == ["a-1", "a-2", "b-1"]
    assert racks(pb.Filter(rack_field=2)) == ["a-1", "a-2", "b-1"]


def test_f175_order(three):
    def ordered(field, direction):
        return racks(order_by=pb.OrderBy(rack_field=field, direction=direction))

    assert ordered(1, "DESC") == ["b-1", "a-2", "a-1"]
    assert ordered(2, "ASC")[0] == "a-1"
    assert ordered(3, "DESC")[0] == "b-1"


def test_f175_pages():
    RackFactory.create_batch(103)
    answer = run("GetListOfRacks", pb.GetListOfRacksRequest())
    assert (len(answer.racks), answer.total) == (100, 103)
    assert len(racks(pagination=PAGE(offset=100))) == 3
    assert len(racks(pagination=PAGE(limit=103))) == 103
    assert racks(pagination=PAGE(limit=2, offset=1)) == racks()[1:3]
    assert racks(pagination=PAGE(offset=2**31 - 1, limit=10_000)) == []


PAGES = [(PAGE(offset=-1), "pagination.offset"), (PAGE(limit=-1), "pagination.limit"),
         (PAGE(limit=10_001), "pagination.limit")]  # fmt: skip


@pytest.mark.parametrize(("page", "field"), PAGES)
def test_f175_what_is_no_page(page, field):
    assert field_of("GetListOfRacks", pb.GetListOfRacksRequest(pagination=page)) == field
    assert field_of("GetComponents", pb.GetComponentsRequest(pagination=page)) == field
    assert field_of("GetListOfNVLDomains", pb.GetListOfNVLDomainsRequest(info=query(), pagination=page)) == field


BAD = [
    (pb.GetListOfRacksRequest(filters=[by(1), pb.Filter()]), "filters[1].rack_field"),
    (pb.GetListOfRacksRequest(filters=[by(0, "x")]), "filters[0].rack_field"),
    (pb.GetListOfRacksRequest(filters=[by(9, "x")]), "filters[0].rack_field"),
    (pb.GetListOfRacksRequest(filters=[of(1, "x")]), "filters[0].rack_field"),
    (pb.GetListOfRacksRequest(filters=[by(1, *["x"] * 1001)]), "filters"),
    (pb.GetListOfRacksRequest(order_by=pb.OrderBy(direction="ASC")), "order_by.rack_field"),
    (pb.GetListOfRacksRequest(order_by=pb.OrderBy(component_field=1, direction="ASC")), "order_by.rack_field"),
    (pb.GetListOfRacksRequest(order_by=pb.OrderBy(rack_field=1)), "order_by"),
    (pb.GetListOfRacksRequest(order_by=pb.OrderBy(rack_field=1, direction="asc")), "order_by"),
    (pb.GetComponentsRequest(filters=[by(1, "x")]), "filters[0].component_field"),
    (pb.GetComponentsRequest(filters=[of(4, "gpu")]), "filters"),
    (pb.GetComponentsRequest(order_by=pb.OrderBy(rack_field=1, direction="ASC")), "order_by.component_field"),
    (pb.GetComponentsRequest(target_spec=pb.OperationTargetSpec()), "target_spec"),
    (pb.GetListOfNVLDomainsRequest(), "info"),
    (pb.GetListOfNVLDomainsRequest(info=query("x" * 513)), "info.patterns"),
]


@pytest.mark.parametrize(("request_", "field"), BAD)
def test_what_is_no_filter_or_order_is_named(request_, field):
    """F-175, F-179, F-182."""
    assert field_of(type(request_).__name__.removesuffix("Request"), request_) == field


def test_f179_components_by_target_by_type_by_name(three):
    """F-179: type names in any letter case, components in no rack too."""
    ComponentFactory(name="shelf", type="PowerShelf", rack=three[0])
    ComponentFactory(name="loose", type="CDU", rack=None)
    assert len(components()) == 4
    assert components(of(4, "powerSHELF", "cdu")) == ["loose", "shelf"]
    assert components(of(1, "shelf")) == ["shelf"]
    assert components(target_spec=on_racks(three[0], types=[pb.COMPONENT_TYPE_POWERSHELF])) == ["shelf"]
    assert len(components(target_spec=on_racks(three[0], three[0]))) == 3
    assert components(of(4, "CDU"), target_spec=on_racks(three[0])) == []
    ordered = components(order_by=pb.OrderBy(component_field=4, direction="DESC"))
    assert ordered[0] == "shelf"
    with pytest.raises(NotFound):
        components(target_spec=pb.OperationTargetSpec(racks=pb.RackTargets(targets=[pb.RackTarget(name="nowhere")])))


def test_lists_cost_the_same_whatever_their_length(django_assert_num_queries):
    domain = DomainFactory()
    RackFactory.create_batch(30, components=3, nvl_domain=domain)
    with django_assert_num_queries(3):  # page, total, tasks
        racks()
    with django_assert_num_queries(5):  # components and BMCs besides
        racks(with_components=True)
    with django_assert_num_queries(3):  # page, total, BMCs
        components()
    request = pb.GetRacksForNVLDomainRequest(nvl_domain_identifier=pb.Identifier(id=uid(domain.id)))
    with django_assert_num_queries(4):
        assert len(run("GetRacksForNVLDomain", request).racks) == 30


# Domains --------------------------------------------------------------------------------------------------------


def named(thing=None, *, id=None, name=""):
    return pb.Identifier(id=uid(thing.id if thing else id) if thing or id else None, name=name)


def make_domain(identifier):
    return run("CreateNVLDomain", pb.CreateNVLDomainRequest(nvl_domain=pb.NVLDomain(identifier=identifier)))


def test_f180_a_domain_has_an_id_and_a_name():
    """F-180."""
    own = uuid.uuid4()
    assert make_domain(named(id=own, name="nvl-1")).id == uid(own)
    assert NVLDomain.objects.get().name == "nvl-1"
    for identifier in (named(id=own, name="other"), named(id=uuid.uuid4(), name="nvl-1")):
        with pytest.raises(AlreadyExists):
            make_domain(identifier)
    assert NVLDomain.objects.count() == 1


@pytest.mark.parametrize(
    ("request_", "field"),
    [
        (pb.CreateNVLDomainRequest(), "nvl_domain"),
        (pb.CreateNVLDomainRequest(nvl_domain=pb.NVLDomain()), "nvl_domain.identifier"),
        (pb.CreateNVLDomainRequest(nvl_domain=pb.NVLDomain(identifier=named(name="x"))), "nvl_domain.identifier.id"),
        (
            pb.CreateNVLDomainRequest(nvl_domain=pb.NVLDomain(identifier=named(id=uuid.uuid4()))),
            "nvl_domain.identifier.name",
        ),
        (
            pb.CreateNVLDomainRequest(nvl_domain=pb.NVLDomain(identifier=named(id=uuid.uuid4(), name=" x"))),
            "nvl_domain.identifier.name",
        ),
        (
            pb.CreateNVLDomainRequest(nvl_domain=pb.NVLDomain(identifier=named(id=ZERO, name="x"))),
            "nvl_domain.identifier.id",
        ),
    ],
)
def test_f180_what_is_no_domain(request_, field):
    assert field_of("CreateNVLDomain", request_) == field
    assert not NVLDomain.objects.exists()


def test_f182_domains_by_name():
    for name in ("b", "ab", "a"):
        DomainFactory(name=name)

    def domains(info, **fields):
        answer = run("GetListOfNVLDomains", pb.GetListOfNVLDomainsRequest(info=info, **fields))
        return [domain.identifier.name for domain in answer.nvl_domains], answer.total

    assert domains(query()) == (["a", "ab", "b"], 3)
    assert domains(query("a", is_wildcard=True)) == (["a", "ab"], 2)
    assert domains(query("b")) == (["b"], 1)
    assert domains(query(), pagination=PAGE(offset=1, limit=1)) == (["ab"], 3)


def attach(domain, *identifiers):
    run("AttachRacksToNVLDomain",
        pb.AttachRacksToNVLDomainRequest(nvl_domain_identifier=domain, rack_identifiers=identifiers))  # fmt: skip


def detach(*identifiers):
    run("DetachRacksFromNVLDomain", pb.DetachRacksFromNVLDomainRequest(rack_identifiers=identifiers))


def inside(domain):
    return set(Rack.objects.filter(nvl_domain=domain).values_list("name", flat=True))


def test_f181_racks_by_id_by_name_by_both_go_in_and_out(three):
    """F-181, F-300: by any of their names, all or nothing."""
    domain, other = DomainFactory(), DomainFactory()
    one, two, three_ = three
    attach(named(domain), named(one), named(name=two.name), named(three_, name=three_.name))
    assert inside(domain) == {"a-1", "a-2", "b-1"}
    attach(named(name=domain.name), named(one))  # is in it
    detach(named(name=one.name), named(one))  # twice
    assert inside(domain) == {"a-2", "b-1"}
    with pytest.raises(AlreadyExists):
        attach(named(other, name=other.name), named(one), named(two))
    with pytest.raises(NotFound):
        detach(named(two), named(name="nowhere"))
    with pytest.raises(NotFound):
        attach(named(id=uuid.uuid4()), named(one))
    assert inside(domain) == {"a-2", "b-1"}
    assert not inside(other)
    attach(named(domain))
    detach()
    verbs = AuditEntry.objects.filter(refused="").values_list("verb", flat=True)
    assert sorted(verbs) == ["nvl_domain.attach", "nvl_domain.detach"]


def test_names_that_disagree_or_name_nothing(three):
    domain = DomainFactory(name="nvl-1")
    one, two, _ = three
    into = pb.AttachRacksToNVLDomainRequest
    cases = [
        (into(), "nvl_domain_identifier"),
        (into(nvl_domain_identifier=pb.Identifier()), "nvl_domain_identifier"),
        (into(nvl_domain_identifier=named(domain, name="nvl-2")), "nvl_domain_identifier"),
        (into(nvl_domain_identifier=named(id=ZERO)), "nvl_domain_identifier.id"),
        (into(nvl_domain_identifier=named(name="x ")), "nvl_domain_identifier.name"),
        (
            into(nvl_domain_identifier=named(domain), rack_identifiers=[named(one), pb.Identifier()]),
            "rack_identifiers[1]",
        ),
        (
            into(nvl_domain_identifier=named(domain), rack_identifiers=[named(one), named(one, name=two.name)]),
            "rack_identifiers[1]",
        ),
        (
            into(nvl_domain_identifier=named(domain), rack_identifiers=[named(one)] * 5001),
            "rack_identifiers",
        ),
    ]
    for request, field in cases:
        assert field_of("AttachRacksToNVLDomain", request) == field
    assert not inside(domain)


def test_f182_the_racks_of_a_domain():
    """F-182: none for an id that nobody has."""
    domain = DomainFactory(name="nvl-1")
    RackFactory(name="b", nvl_domain=domain)
    RackFactory(name="a", nvl_domain=domain, components=2)

    def found(identifier):
        request = pb.GetRacksForNVLDomainRequest(nvl_domain_identifier=identifier)
        return [(rack.info.name, len(rack.components)) for rack in run("GetRacksForNVLDomain", request).racks]

    assert found(named(domain)) == found(named(name="nvl-1")) == found(named(domain, name="nvl-1"))
    assert found(named(domain)) == [("a", 2), ("b", 0)]
    assert found(named(id=uuid.uuid4())) == []
    with pytest.raises(NotFound):
        found(named(name="nvl-2"))
    assert field_of("GetRacksForNVLDomain", pb.GetRacksForNVLDomainRequest()) == "nvl_domain_identifier"
