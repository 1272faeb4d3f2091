"""Creating racks, components, domains: F-173, F-177, F-180, F-299, D-30: once, whole, audited; never an update."""

from __future__ import annotations

import copy
from uuid import UUID, uuid4

import pytest

from audit.models import AuditEntry
from flowsched.errors import AlreadyExists, InvalidInput, NotFound, PreconditionFailed
from inventory import creation
from inventory.document import component_request, rack_request
from inventory.models import Bmc, Component, NVLDomain, Rack
from inventory.services import component_create, domain_create, rack_create, rack_remove
from tests.factories import ComponentFactory, DomainFactory, RackFactory
from tests.inventory.conftest import snapshot
from tests.schedules.test_concurrency import at_once

pytestmark = pytest.mark.django_db


@pytest.fixture
def create(by, now):
    """Create a rack from a value in the words of a rack file."""

    def run(value, **options):
        request = rack_request(value, max_components=1000, **options)
        return rack_create(rack=request.rack, by=by, now=now)

    return run


@pytest.fixture
def add(by, now):
    """Create a component, likewise."""

    def run(value, **options):
        request = component_request(value, **options)
        return component_create(component=request.component, rack_id=request.rack_id, by=by, now=now)

    return run


COMPONENT = {
    "type": "NVLSwitch",
    "info": {"name": "sw1", "serial_number": "SW1", "manufacturer": "NVIDIA", "model": "m", "description": "d"},
    "component_id": "ext",
    "firmware_version": "1.2",
    "position": {"slot_id": 3, "tray_index": 2, "host_id": 1},
    "bmcs": [{"mac_address": "0A-00-00-00-00-09", "ip_address": "10.0.0.9", "type": "host"}],
}


def component(**info):
    value = copy.deepcopy(COMPONENT)
    value["info"] |= info
    return value


# Racks ----------------------------------------------------------------------------------------------------------


def test_f173_a_rack_file_is_created_with_components_and_bmcs(create, example, now):
    domain = DomainFactory(name="d")
    made = create(example | {"external_id": "ext-r", "nvl_domain": "d"})
    rack = Rack.objects.get()
    assert made == rack
    assert (rack.name, rack.model, rack.external_id, rack.nvl_domain) == ("r01", "GB200 NVL72 Rack", "ext-r", domain)
    assert (rack.created_at, rack.updated_at, rack.status, rack.deleted_at) == (now, now, "new", None)
    assert Component.objects.filter(rack=rack, created_at=now).count() == len(example["components"]) == 8
    assert Bmc.objects.count() == sum(len(c["bmcs"]) for c in example["components"])
    assert next(c.name for c in made.components.all() if c.type == "Compute") == "gpu1-nvl1-gp1-cin1-sjc01"
    assert "changeme" not in str(snapshot()) + str(list(AuditEntry.objects.values()))
    [entry] = AuditEntry.objects.all()
    assert (entry.verb, entry.object_id, entry.object_name) == ("rack.create", str(rack.id), "r01")
    assert entry.after["components"] == 8


def test_f173_the_same_again_is_refused_and_changes_nothing(create, example):
    create(example)
    before = snapshot()
    example["info"]["description"] = "other"
    with pytest.raises(
        AlreadyExists, match="the id 'f3a1c2d4-1001-4000-8000-000000000001' is taken by rack 'r01'"
    ) as e:
        create(example, at="/rack")
    assert (e.value.reason, e.value.field) == ("TAKEN", "rack.info.id")
    assert snapshot() == before
    assert AuditEntry.objects.exclude(refused="").get().verb == "rack.create"


MAC = "0a:00:00:00:00:01"
C2 = "f3a1c2d4-3001-4000-8000-0000000000ff"
HOLDERS = [
    (lambda **k: RackFactory(name="r02", **k), "the name 'r02' is taken by", "info.name"),
    (lambda **k: RackFactory(manufacturer="", serial_number="S2", **k), "the serial number 'S2'", "info.serial_number"),
    (lambda **k: RackFactory(external_id="ext-r", **k), "the external id 'ext-r'", "external_id"),
    (lambda **k: RackFactory(id="f3a1c2d4-1001-4000-8000-000000000002", **k), "the id 'f3a1", "info.id"),
    (lambda **k: ComponentFactory(id=C2, **k), f"the id '{C2}'", "components[0].info.id"),
    (
        lambda **k: ComponentFactory(manufacturer="", serial_number="C2", **k),
        "the serial number 'C2'",
        "components[0].info.serial_number",
    ),
    (lambda **k: ComponentFactory(external_id="ext", **k), "the external id 'ext'", "components[0].component_id"),
    (
        lambda **k: Bmc.objects.create(mac_address=MAC, component=ComponentFactory(**k)),
        f"the MAC address {MAC}",
        "components[0].bmcs[0]",
    ),
]


@pytest.mark.parametrize("removed", [False, True])
@pytest.mark.parametrize("held", HOLDERS, ids=[field for *_, field in HOLDERS])
def test_f173_f299_what_is_taken_is_named_removed_or_not(create, rack2, now, held, removed):
    holder, message, field = held
    holder(**({"deleted_at": now} if removed else {}))
    before = snapshot()
    with pytest.raises(AlreadyExists, match=message) as error:
        create(rack2 | {"external_id": "ext-r"})
    assert error.value.field == field
    assert ("brings it back" in error.value.message) == removed
    assert snapshot() == before


@pytest.mark.parametrize("holder", [holder for holder, *_ in HOLDERS], ids=[field for *_, field in HOLDERS])
def test_f299_what_is_taken_between_look_and_write_is_a_refusal(create, rack2, monkeypatch, holder):
    write = creation.write

    def taken_meanwhile(*args, **kwargs):
        holder()
        write(*args, **kwargs)

    monkeypatch.setattr(creation, "write", taken_meanwhile)
    with pytest.raises(AlreadyExists, match="was taken by somebody else meanwhile: look at what is there") as error:
        create(rack2 | {"external_id": "ext-r"})
    assert error.value.reason == "TAKEN"
    assert snapshot()[0] == []
    assert AuditEntry.objects.get().refused == error.value.message


def test_f173_every_thing_that_is_taken_is_named_up_to_five(create, example):
    create(example)
    with pytest.raises(AlreadyExists, match=r"and \d+ more") as error:
        create(example)
    assert error.value.message.count(" is taken by ") == 5


def test_f269_a_removed_rack_is_not_created_anew(create, load, rack2, by, now):
    create(rack2)
    rack_remove(rack="r02", by=by, now=now)
    with pytest.raises(
        AlreadyExists, match=r"taken by the removed rack 'r02' .*: an import that names it brings it back"
    ):
        create(rack2)
    load(rack2)
    assert Rack.objects.get().deleted_at is None


def test_a_rack_does_not_make_its_domain(create, rack2, now):
    DomainFactory(name="gone", deleted_at=now)
    for name in ("nowhere", "gone"):
        with pytest.raises(NotFound, match=f"there is no NVLink domain '{name}': create it first") as error:
            create(rack2 | {"nvl_domain": name}, at="/rack")
        assert error.value.field == "rack.nvl_domain"
    assert not Rack.objects.exists()
    create(rack2 | {"nvl_domain": None})


def without(value, *path):
    inner = value
    for key in path[:-1]:
        inner = inner[key]
    del inner[path[-1]]
    return value


@pytest.mark.parametrize(
    ("path", "field"),
    [
        (("info", "id"), "rack.info.id"),
        (("info",), "rack.info"),
        (("info", "name"), "rack.info.name"),
        (("components", 0, "info", "id"), "rack.components[0].info.id"),
        (("components", 0, "type"), "rack.components[0].type"),
        (("components", 0, "bmcs", 0, "mac"), "rack.components[0].bmcs[0].mac"),
    ],
)
def test_f173_what_is_missing_is_named_by_its_path(rack2, path, field):
    with pytest.raises(InvalidInput, match="is missing") as error:
        rack_request(without(rack2, *path), max_components=10, at="/rack")
    assert error.value.fields == {field: "is missing"}


def test_a_request_is_stricter_than_a_file_and_drops_logins(rack2):
    rack2["components"][0]["bmcs"][0] |= {"user": "u", "password": "p"}
    assert rack_request(rack2, max_components=10).warnings == (
        "logins of 1 BMCs are dropped: user and password are never stored",
    )
    rack2["componets"] = []
    with pytest.raises(InvalidInput, match="componets: unknown field"):
        rack_request(rack2, max_components=10)
    for value in (None, [], "x"):
        with pytest.raises(InvalidInput, match="rack: must be an object"):
            rack_request(value, max_components=10)


def test_d30_the_limits_of_an_import_hold(rack2):
    rack2["components"] *= 2
    with pytest.raises(InvalidInput, match="2 components are more than the limit of 1 a rack"):
        rack_request(rack2, max_components=1)
    with pytest.raises(InvalidInput, match=r"components\[1\].info.id: this component id is also at"):
        rack_request(rack2, max_components=2)
    rack2["components"] = rack2["components"][:1]
    rack2["components"][0]["bmcs"] *= 33
    with pytest.raises(InvalidInput, match="33 BMCs are more than the limit of 32 a component"):
        rack_request(rack2, max_components=2)


# Components -----------------------------------------------------------------------------------------------------


def test_f177_a_component_gets_an_id_and_is_read_back(add, now):
    rack = RackFactory(name="r1")
    made = add(COMPONENT | {"rack_id": str(rack.id)})
    row = Component.objects.get()
    assert (made.id, made.rack, row.rack) == (row.id, rack, rack)
    assert (row.type, row.external_id, row.firmware_version, row.model) == ("NVSwitch", "ext", "1.2", "m")
    assert (row.slot_id, row.tray_index, row.host_id, row.power_state, row.created_at) == (3, 2, 1, "", now)
    assert [(b.mac_address, b.ip_address, b.type) for b in made.bmcs.all()] == [
        ("0a:00:00:00:00:09", "10.0.0.9", "Host")
    ]
    [entry] = AuditEntry.objects.all()
    assert (entry.verb, entry.object_id, entry.after["rack"]) == ("component.create", str(row.id), "r1")


def test_f177_without_a_rack_and_with_an_id(add):
    made = add(without(component(id=C2.upper()), "position"))
    assert (made.id, made.rack, made.slot_id, made.host_id) == (UUID(C2), None, -1, -1)


def test_f177_the_rack_must_be_there(add, now):
    for rack_id in (uuid4(), RackFactory(deleted_at=now).id):
        with pytest.raises(NotFound, match=f"there is no rack {rack_id}") as error:
            add(COMPONENT | {"rack_id": str(rack_id)}, at="/component")
        assert error.value.field == "component.rack_id"
    with pytest.raises(InvalidInput, match="rack_id: 'x' is not a UUID"):
        add(COMPONENT | {"rack_id": "x"})
    assert not Component.objects.exists()


@pytest.mark.parametrize(
    ("taken", "field"),
    [
        ({"id": C2}, "component.info.id"),
        ({"manufacturer": "NVIDIA", "serial_number": "SW1"}, "component.info.serial_number"),
        ({"type": "NVSwitch", "external_id": "ext"}, "component.component_id"),
    ],
)
@pytest.mark.parametrize("removed", [False, True])
def test_f177_what_is_taken_is_refused(add, now, taken, field, removed):
    ComponentFactory(name="holder", deleted_at=now if removed else None, **taken)
    with pytest.raises(AlreadyExists, match="component 'holder'") as error:
        add(component(id=C2), at="/component")
    assert error.value.field == field
    assert Component.objects.count() == 1


def test_f271_a_mac_address_of_another_component_is_refused(add):
    add(COMPONENT)
    with pytest.raises(AlreadyExists, match="the MAC address 0a:00:00:00:00:09 is taken by component 'sw1'"):
        add(without(component(serial_number="SW2"), "component_id"))


def test_d30_a_full_rack_takes_no_more(add, settings, now):
    settings.FLOWSCHED_MAX_COMPONENTS_PER_RACK = 2
    rack = RackFactory(name="r1", components=1)
    ComponentFactory(rack=rack, deleted_at=now)
    value = COMPONENT | {"rack_id": str(rack.id)}
    add(value)
    with pytest.raises(PreconditionFailed, match=r"rack 'r1' has 2 components already.*MAX_COMPONENTS") as error:
        add(without(component(serial_number="SW2"), "component_id") | {"rack_id": str(rack.id), "bmcs": []})
    assert error.value.reason == "TOO_MANY_COMPONENTS"
    assert Component.objects.filter(rack=rack, deleted_at=None).count() == 2


# Domains --------------------------------------------------------------------------------------------------------


def test_f180_a_domain_by_name_with_or_without_an_id(by, now):
    wanted = uuid4()
    assert domain_create(domain_id=wanted, name="d1", by=by, now=now).id == wanted
    made = domain_create(name="d2", by=by, now=now)
    assert NVLDomain.objects.get(name="d2") == made
    assert made.created_at == now
    assert list(AuditEntry.objects.values_list("verb", "object_id", "object_name").order_by("id")) == [
        ("nvl_domain.create", str(wanted), "d1"),
        ("nvl_domain.create", str(made.id), "d2"),
    ]


@pytest.mark.parametrize("removed", [False, True])
def test_f180_a_taken_id_or_name_is_refused(by, now, removed):
    held = DomainFactory(name="d1", deleted_at=now if removed else None)
    for options, what in (({"name": "d1"}, "the name 'd1'"), ({"name": "d2", "domain_id": held.id}, "the id '")):
        with pytest.raises(AlreadyExists, match=f"{what}.* NVLink domain 'd1'") as error:
            domain_create(by=by, now=now, **options)
        assert ("brings it back" in error.value.message) == removed
    assert NVLDomain.objects.count() == 1
    assert AuditEntry.objects.exclude(refused="").count() == 2


@pytest.mark.parametrize("options", [{"name": ""}, {"name": "a\x00"}, {"name": "d", "domain_id": UUID(int=0)}])
def test_f180_a_domain_needs_a_name_and_a_real_id(by, now, options):
    with pytest.raises(InvalidInput):
        domain_create(by=by, now=now, **options)
    assert not NVLDomain.objects.exists()


@pytest.mark.parametrize("options", [{"name": "d1"}, {"name": "other", "domain_id": UUID(int=7)}])
def test_f299_a_domain_taken_meanwhile_is_a_refusal(by, now, monkeypatch, options):
    save = NVLDomain.save

    def taken_meanwhile(row, **kwargs):
        NVLDomain.objects.bulk_create([NVLDomain(id=UUID(int=7), name="d1")])
        save(row, **kwargs)

    monkeypatch.setattr(NVLDomain, "save", taken_meanwhile)
    with pytest.raises(AlreadyExists, match="of an NVLink domain was taken by somebody else meanwhile"):
        domain_create(by=by, now=now, **options)


# Two sessions at once -------------------------------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)
def test_f299_of_two_sessions_that_create_the_same_rack_one_is_refused(rack2, by, now):
    rack = rack_request(rack2, max_components=10).rack
    results = at_once(*[lambda: rack_create(rack=rack, by=by, now=now)] * 4)
    assert sorted(type(result).__name__ for result in results) == ["AlreadyExists"] * 3 + ["Rack"]
    assert (Rack.objects.count(), Component.objects.count(), Bmc.objects.count()) == (1, 1, 1)
    assert AuditEntry.objects.exclude(refused="").count() == 3


@pytest.mark.django_db(transaction=True)
def test_d30_of_two_sessions_that_want_a_racks_last_place_one_is_refused(settings, by, now):
    settings.FLOWSCHED_MAX_COMPONENTS_PER_RACK = 2
    rack = RackFactory(components=1)
    asked = [component_request(without(component(serial_number=str(n)), "component_id") | {"bmcs": []}) for n in "1234"]
    calls = [
        lambda request=request: component_create(component=request.component, rack_id=rack.id, by=by, now=now)
        for request in asked
    ]
    results = at_once(*calls)
    assert sorted(type(result).__name__ for result in results) == ["Component"] + ["PreconditionFailed"] * 3
    assert Component.objects.filter(rack=rack).count() == 2
