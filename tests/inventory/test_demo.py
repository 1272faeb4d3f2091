"""Made racks: plausible, deterministic, idempotent (F-270's types, F-271's BMCs)."""

from __future__ import annotations

from collections import Counter

import pytest

from flowsched.errors import AlreadyExists, InvalidInput
from inventory.demo import demo_document
from inventory.models import Component
from inventory.services import Counts, racks_import


def demo(**options):
    made = {"racks": 3, "components": 18, "domains": 2, "prefix": "demo", "seed": 1} | options
    return demo_document(max_components=1000, **made)


def test_a_full_rack_has_the_parts_of_a_gb200_rack():
    types = Counter(component.type for component in demo(components=37).racks[0].components)
    assert types == {"Compute": 18, "NVSwitch": 9, "PowerShelf": 8, "ToRSwitch": 2}
    assert {c.type for c in demo(components=4).racks[0].components} == set(types)


def test_the_same_again_and_more_of_the_same():
    assert demo() == demo()
    assert demo(racks=5).racks[:3] == demo().racks
    few, many = (demo(components=n).racks[0].components for n in (5, 90))
    assert many[:5] == few


@pytest.mark.parametrize("other", [{"seed": 2}, {"prefix": "x"}])
def test_other_seeds_and_prefixes_share_nothing(other):
    def keys(document):
        for rack in document.racks:
            yield rack.id
            yield rack.serial_number
            for component in rack.components:
                yield component.id
                yield component.serial_number
                yield from (bmc.mac_address for bmc in component.bmcs)

    ours = list(keys(demo(racks=40, components=60)))
    assert len(ours) == len(set(ours))
    assert not set(ours) & set(keys(demo(racks=40, components=60, **other)))


@pytest.mark.parametrize(
    "wrong",
    [
        {"racks": 0},
        {"racks": 10_001},
        {"components": 1001},
        {"components": -1},
        {"domains": -1},
        {"prefix": ""},
        {"prefix": "x" * 101},
        {"prefix": "a\n"},
    ],
)
def test_wrong_numbers_are_refused(wrong):
    with pytest.raises(InvalidInput):
        demo(**wrong)


@pytest.mark.django_db
def test_made_again_they_change_nothing_not_even_firmware_a_task_installed(by, now):
    racks_import(document=demo(), by=by, now=now, keep_firmware=True)
    Component.objects.update(firmware_version="99", power_state="on")
    summary = racks_import(document=demo(), by=by, now=now, keep_firmware=True)
    assert (summary.racks, summary.components) == (Counts(unchanged=3), Counts(unchanged=54))
    assert set(Component.objects.values_list("firmware_version", "power_state")) == {("99", "on")}


def test_racks_without_domains():
    assert {rack.nvl_domain for rack in demo(domains=0).racks} == {None}


@pytest.mark.django_db
def test_names_taken_by_other_racks_are_refused(by, now):
    racks_import(document=demo(), by=by, now=now)
    with pytest.raises(AlreadyExists, match="seed 2 /2/info/name: this name is taken by rack 'demo-0003'"):
        racks_import(document=demo(seed=2), by=by, now=now)
