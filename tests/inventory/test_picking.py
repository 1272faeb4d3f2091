"""What the form's rack picker asks: search, counts, and the check of what was picked."""

import uuid

import pytest
from django.utils.timezone import now  # noqa: TID251  only to mark rows as gone

from flowsched.errors import InvalidInput, NotFound
from inventory.models import Component, Rack
from inventory.picking import (
    component_counts,
    component_places,
    domains_search,
    rack_names,
    racks_by_name,
    racks_search,
)
from inventory.selectors import targets_resolve
from inventory.targets import PickedTarget, RackTarget
from tests.factories import ComponentFactory, DomainFactory, RackFactory

pytestmark = pytest.mark.django_db


def names(hits):
    return [hit.name for hit in hits]


def test_racks_whose_name_begins_with_the_text_come_first():
    for name in ("sjc-r01", "r01", "r012", "lab-R01"):
        RackFactory(name=name)
    assert names(racks_search("R01", limit=20)) == ["r01", "r012", "lab-R01", "sjc-r01"]
    assert names(racks_search("r01", limit=2)) == ["r01", "r012"]


def test_a_rack_tells_its_domain():
    RackFactory(name="r01", nvl_domain=DomainFactory(name="nvl-1"))
    assert racks_search("r0", limit=1)[0].domain == "nvl-1"


@pytest.mark.parametrize("text", ["", "r", "r\0", "%", "%%", "__", "\\"])
def test_short_texts_and_wildcards_find_nothing(text):
    RackFactory(name="r01", nvl_domain=DomainFactory(name="rnvl"))
    assert racks_search(text, limit=20) == []
    assert domains_search(text, limit=20) == []


def test_domains_tell_how_many_racks_are_in_them_now_and_empty_ones_are_left_out():
    domain = DomainFactory(name="nvl-1")
    DomainFactory(name="nvl-2")
    for _ in range(2):
        RackFactory(nvl_domain=domain)
    RackFactory(nvl_domain=domain, deleted_at=now())
    assert [(hit.name, hit.racks) for hit in domains_search("NVL", limit=20)] == [("nvl-1", 2)]


def test_a_rack_that_is_gone_is_not_found_but_has_a_name():
    gone = RackFactory(name="r09", deleted_at=now())
    assert racks_search("r09", limit=20) == []
    assert racks_by_name(["r09", "nothing", "nul\0"]) == {}
    assert rack_names([gone.pk, uuid.uuid4()]) == {gone.pk: ("r09", True)}


def test_counts_by_type_leave_out_what_is_gone():
    rack = RackFactory(components=5, types=("Compute", "NVSwitch"))
    Component.objects.filter(rack=rack, type="NVSwitch").update(deleted_at=now())
    assert component_counts([rack.pk, RackFactory().pk]) == {rack.pk: {"Compute": 3}}


def test_places():
    here, gone = ComponentFactory(), ComponentFactory(deleted_at=now())
    nowhere = ComponentFactory(rack=None)
    in_gone_rack = ComponentFactory(rack=RackFactory(deleted_at=now()))
    assert component_places([here.pk, gone.pk, nowhere.pk, in_gone_rack.pk]) == {here.pk: here.rack_id}


def test_picks_may_differ_from_rack_to_rack():
    whole, some, named = RackFactory(), RackFactory(), RackFactory(components=2)
    parts = tuple(Component.objects.filter(rack=named).order_by("name").values_list("id", flat=True))
    resolved = targets_resolve(
        [
            PickedTarget(named.pk, components=(*parts, parts[0])),
            PickedTarget(whole.pk),
            PickedTarget(some.pk, component_types=("nvlswitch", "compute", "NVSwitch")),
        ]
    )
    assert [(r.rack_id, r.types, r.components) for r in resolved] == [
        (named.pk, None, parts),
        (whole.pk, None, None),
        (some.pk, ("NVSwitch", "Compute"), None),
    ]


def test_any_number_of_picks_takes_two_queries(django_assert_num_queries):
    racks = [RackFactory(components=1) for _ in range(5)]
    parts = {c.rack_id: c.pk for c in Component.objects.all()}
    with django_assert_num_queries(2):
        targets_resolve([PickedTarget(rack.pk, components=(parts[rack.pk],)) for rack in racks])


def test_picks_that_cannot_be_are_refused(settings):
    rack, other = RackFactory(name="r01", components=1), RackFactory(components=1)
    gone = RackFactory(name="r09", deleted_at=now())
    foreign = Component.objects.get(rack=other).pk
    refused = [
        ([PickedTarget(uuid.uuid4())], NotFound, "there is no rack"),
        ([PickedTarget(gone.pk)], NotFound, "rack 'r09' is no longer in the inventory: take it out"),
        ([PickedTarget(rack.pk), PickedTarget(rack.pk)], InvalidInput, "rack 'r01' is named twice"),
        (
            [PickedTarget(rack.pk, components=(foreign,))],
            InvalidInput,
            f"component {foreign} is no longer in rack 'r01'",
        ),
        ([PickedTarget(rack.pk, ("Compute",), (foreign,))], InvalidInput, "by component types and by components"),
        ([PickedTarget(rack.pk, ("Toaster",))], InvalidInput, "unknown component type 'Toaster'"),
        ([PickedTarget(uuid.UUID(int=0))], InvalidInput, "zero UUID"),
        ([PickedTarget(rack.pk), RackTarget(name="r01")], InvalidInput, "picked racks and racks cannot be mixed"),
    ]
    for targets, kind, said in refused:
        with pytest.raises(kind) as error:
            targets_resolve(targets)
        assert said in str(error.value)
        assert error.value.field == "target_spec"
    settings.FLOWSCHED_MAX_COMPONENTS_PER_RACK = 1
    with pytest.raises(InvalidInput, match="more than 1 components of rack 'r01'"):
        targets_resolve([PickedTarget(rack.pk, components=(foreign, uuid.uuid4()))])
    settings.FLOWSCHED_MAX_SCOPES_PER_SCHEDULE = 1
    with pytest.raises(InvalidInput, match="limit of 1"):
        targets_resolve([PickedTarget(rack.pk), PickedTarget(other.pk)])


def test_racks_are_found_by_any_letter_case_of_unusual_names():
    Rack.objects.all().delete()
    RackFactory(name="Straße <b>")
    assert names(racks_search("straße", limit=5)) == ["Straße <b>"]
