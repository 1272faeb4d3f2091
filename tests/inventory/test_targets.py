"""What a request's targets come to: F-196…F-203, F-206, F-245, F-300, F-301."""

from __future__ import annotations

from uuid import UUID, uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from flowsched.errors import InvalidInput, NotFound, PreconditionFailed
from inventory.models import Component, NVLDomain, Rack
from inventory.selectors import targets_resolve
from inventory.targets import ComponentTarget, DomainTarget, RackTarget, ResolvedTarget
from tests.factories import ComponentFactory, DomainFactory, RackFactory

pytestmark = pytest.mark.django_db
ZERO = UUID(int=0)


def names(resolved):
    return [target.rack_name for target in resolved]


@pytest.mark.parametrize(
    ("target", "word"),
    [
        (RackTarget(), "names nothing"),
        (RackTarget(name=""), "is empty"),
        (RackTarget(external_id=""), "is empty"),
        (RackTarget(name="a", external_id="b"), "more than one way"),
        (RackTarget(id=ZERO), "zero UUID"),
        (RackTarget(name="a\x00b"), "control characters"),
        (RackTarget(name="a\ud800"), "control characters"),
        (RackTarget(name="x" * 256), "256 characters"),
        (RackTarget(name="a", component_types=("gpu",)), "unknown component type 'gpu'"),
        (RackTarget(name="a", component_types=("",)), "unknown component type"),
        (ComponentTarget(), "names nothing"),
        (ComponentTarget(external_type="compute", external_id=""), "is empty"),
        (ComponentTarget(external_type="unknown", external_id="x"), "unknown component type"),
        (DomainTarget(), "names nothing"),
        (DomainTarget(id=ZERO), "zero UUID"),
        (DomainTarget(name="d", component_types=("compute", "nope")), "unknown component type 'nope'"),
    ],
)
def test_f196_shape_errors(target, word):
    with pytest.raises(InvalidInput, match=word) as caught:
        targets_resolve([target])
    assert caught.value.field == "target_spec"


def test_f196_no_targets_at_all():
    with pytest.raises(InvalidInput, match="no targets") as caught:
        targets_resolve([])
    assert caught.value.fields.keys() == {"target_spec"}


def test_f197_one_kind_a_request():
    with pytest.raises(InvalidInput, match="racks and NVLink domains cannot be mixed"):
        targets_resolve([RackTarget(name=RackFactory().name), DomainTarget(name="d")])


def test_f198_rack_by_id_name_and_external_id():
    rack = RackFactory(external_id="ext-1")
    whole = [ResolvedTarget(rack.id, rack.name, None, None)]
    assert targets_resolve([RackTarget(id=rack.id)]) == whole
    assert targets_resolve([RackTarget(name=rack.name)]) == whole
    assert targets_resolve([RackTarget(external_id="ext-1")]) == whole


def test_f198_names_are_exact_and_removed_racks_invisible(now):
    rack = RackFactory(name="Rack-A")
    gone = RackFactory(name="gone", external_id="gone-x", deleted_at=now)
    for target in (
        RackTarget(name="rack-a"),
        RackTarget(id=uuid4()),
        RackTarget(id=gone.id),
        RackTarget(name="gone"),
        RackTarget(external_id="gone-x"),
    ):
        with pytest.raises(NotFound, match="there is no rack"):
            targets_resolve([target])
    assert names(targets_resolve([RackTarget(name=rack.name)])) == ["Rack-A"]


def test_f199_one_scope_a_rack_in_request_order_with_its_types():
    b, a = RackFactory(name="b"), RackFactory(name="a")
    resolved = targets_resolve([RackTarget(name="b", component_types=("powershelf", "COMPUTE")), RackTarget(id=a.id)])
    assert resolved == [
        ResolvedTarget(b.id, "b", ("PowerShelf", "Compute"), None),
        ResolvedTarget(a.id, "a", None, None),
    ]


def test_f206_f312_types_are_normalised_and_each_kept_once():
    RackFactory(name="a")
    [one] = targets_resolve([RackTarget(name="a", component_types=("nvlswitch", "Compute", "NVSwitch", "compute"))])
    assert one.types == ("NVSwitch", "Compute")


@pytest.mark.parametrize("types", [(), ("compute",)])
def test_f200_the_same_rack_twice_is_refused_by_name(types):
    rack = RackFactory(name="twice")
    with pytest.raises(InvalidInput, match="rack 'twice' is named twice"):
        targets_resolve([RackTarget(id=rack.id), RackTarget(name="twice", component_types=types)])


def test_f201_component_by_id_stands_for_its_rack_now():
    component = ComponentFactory()
    resolved = targets_resolve([ComponentTarget(id=component.id)])
    assert resolved == [ResolvedTarget(component.rack_id, component.rack.name, None, (component.id,))]


def test_f201_f301_external_ids_are_matched_with_their_type():
    tray, shelf = ComponentFactory(external_id="x"), ComponentFactory(external_id="x", type="PowerShelf")
    for kind, expected in (("compute", tray), ("POWERSHELF", shelf)):
        [one] = targets_resolve([ComponentTarget(external_type=kind, external_id="x")])
        assert one.components == (expected.id,)
    with pytest.raises(NotFound, match="no CDU with external id 'x'"):
        targets_resolve([ComponentTarget(external_type="cdu", external_id="x")])
    with pytest.raises(PreconditionFailed, match=r"external id 'x' is ambiguous.*Compute, PowerShelf"):
        targets_resolve([ComponentTarget(external_id="x")])


def test_f201_absent_removed_and_rackless_components(now):
    gone = ComponentFactory(external_id="g", deleted_at=now)
    for target in (
        ComponentTarget(id=uuid4()),
        ComponentTarget(id=gone.id),
        ComponentTarget(external_type="compute", external_id="g"),
        ComponentTarget(external_id="nothing"),
    ):
        with pytest.raises(NotFound, match="there is no"):
            targets_resolve([target])
    loose = ComponentFactory(rack=None, name="loose")
    with pytest.raises(PreconditionFailed, match=r"component 'loose' .* is in no rack"):
        targets_resolve([ComponentTarget(id=loose.id)])


def test_f202_components_are_grouped_by_rack_in_first_seen_order():
    b, a = RackFactory(name="b", components=2), RackFactory(name="a", components=1)
    b1, b2 = Component.objects.filter(rack=b).order_by("name")
    a1 = Component.objects.get(rack=a)
    resolved = targets_resolve([ComponentTarget(id=c.id) for c in (b2, a1, b1)])
    assert resolved == [
        ResolvedTarget(b.id, "b", None, (b2.id, b1.id)),
        ResolvedTarget(a.id, "a", None, (a1.id,)),
    ]


def test_f202_the_same_component_twice_is_refused():
    component = ComponentFactory(external_id="x")
    with pytest.raises(InvalidInput, match=f"{component.id}\\) is named twice"):
        targets_resolve([ComponentTarget(id=component.id), ComponentTarget("compute", external_id="x")][:1] * 2)
    with pytest.raises(InvalidInput, match=f"{component.id}\\) is named twice"):
        targets_resolve([ComponentTarget(id=component.id), ComponentTarget(external_type="compute", external_id="x")])


def test_f203_f182_a_domain_is_its_racks_now_by_name(now):
    domain = DomainFactory(name="d")
    for name in ("r2", "r1", "r3"):
        RackFactory(name=name, nvl_domain=domain)
    RackFactory(name="r0", nvl_domain=domain, deleted_at=now)
    RackFactory(name="other")
    for target in (DomainTarget(name="d", component_types=("compute",)), DomainTarget(id=domain.id)):
        resolved = targets_resolve([target])
        assert names(resolved) == ["r1", "r2", "r3"]
        assert {t.types for t in resolved} == {("Compute",) if target.component_types else None}


def test_f203_domains_keep_request_order_and_refuse_overlap():
    late, early = DomainFactory(name="z"), DomainFactory(name="a")
    RackFactory(name="in-a", nvl_domain=early)
    RackFactory(name="in-z", nvl_domain=late)
    assert names(targets_resolve([DomainTarget(name="z"), DomainTarget(name="a")])) == ["in-z", "in-a"]
    with pytest.raises(InvalidInput, match="rack 'in-a' is named twice"):
        targets_resolve([DomainTarget(name="a"), DomainTarget(id=early.id)])


def test_f203_empty_and_unknown_domains(now):
    DomainFactory(name="empty")
    DomainFactory(name="gone", deleted_at=now)
    with pytest.raises(InvalidInput, match="'empty' has no racks"):
        targets_resolve([DomainTarget(name="empty")])
    for target in (DomainTarget(name="nowhere"), DomainTarget(id=uuid4()), DomainTarget(name="gone")):
        with pytest.raises(NotFound, match="there is no NVLink domain"):
            targets_resolve([target])


def test_f245_repeated_racks_and_components_are_merged():
    rack = RackFactory(name="r", components=2)
    both = [
        RackTarget(name="r", component_types=("compute",)),
        RackTarget(id=rack.id, component_types=("cdu", "compute")),
    ]
    assert targets_resolve(both, merge=True) == [ResolvedTarget(rack.id, "r", ("Compute", "CDU"), None)]
    assert targets_resolve([*both, RackTarget(id=rack.id)], merge=True) == [ResolvedTarget(rack.id, "r", None, None)]
    assert targets_resolve([RackTarget(id=rack.id), *both], merge=True) == [ResolvedTarget(rack.id, "r", None, None)]
    one, two = Component.objects.filter(rack=rack).order_by("name")
    resolved = targets_resolve([ComponentTarget(id=c.id) for c in (two, one, two)], merge=True)
    assert resolved == [ResolvedTarget(rack.id, "r", None, (two.id, one.id))]


def test_the_first_target_at_fault_decides():
    RackFactory(name="a")
    missing, malformed, twice = RackTarget(name="missing"), RackTarget(name=""), RackTarget(name="a")
    with pytest.raises(NotFound, match="'missing'"):
        targets_resolve([twice, missing, malformed])
    with pytest.raises(InvalidInput, match="rack target 2 is empty"):
        targets_resolve([twice, malformed, missing])
    with pytest.raises(InvalidInput, match="named twice"):
        targets_resolve([twice, twice, malformed, missing])


def test_limits_name_themselves(settings):
    settings.FLOWSCHED_MAX_SCOPES_PER_SCHEDULE = 2
    domain = DomainFactory(name="d")
    racks = [RackFactory(nvl_domain=domain) for _ in range(3)]
    targets_resolve([RackTarget(id=rack.id) for rack in racks[:2]])
    for targets in ([RackTarget(id=rack.id) for rack in racks], [DomainTarget(name="d")]):
        with pytest.raises(InvalidInput, match=r"limit of 2 .FLOWSCHED_MAX_SCOPES_PER_SCHEDULE"):
            targets_resolve(targets)


@pytest.mark.parametrize("kind", ["racks", "external racks", "components", "external components", "domains"])
def test_any_number_of_targets_takes_a_constant_number_of_queries(kind):
    domains = DomainFactory.create_batch(12)
    racks = [RackFactory(components=1, nvl_domain=d, external_id=f"e-{d.name}") for d in domains]
    for n, component in enumerate(Component.objects.all()):
        Component.objects.filter(id=component.id).update(external_id=str(n))
    all_targets = {
        "racks": [RackTarget(name=r.name) if n % 2 else RackTarget(id=r.id) for n, r in enumerate(racks)],
        "external racks": [RackTarget(external_id=r.external_id) for r in racks],
        "components": [ComponentTarget(id=c.id) for c in Component.objects.all()],
        "external components": [ComponentTarget(external_type="compute", external_id=str(n)) for n in range(12)],
        "domains": [DomainTarget(name=d.name) for d in domains],
    }
    counts = []
    for some in (all_targets[kind][:1], all_targets[kind]):
        with CaptureQueriesContext(
            connection,
        ) as queries:
            assert len(targets_resolve(some)) == len(some)
        counts.append(len(queries))
    assert counts[0] == counts[1] <= 2


def test_domain_and_rack_rows_are_what_they_were():
    """Resolving writes nothing."""
    domain = DomainFactory()
    rack = RackFactory(nvl_domain=domain)
    targets_resolve([DomainTarget(id=domain.id)])
    assert Rack.objects.get() == rack
    assert NVLDomain.objects.get() == domain
