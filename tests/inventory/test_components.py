"""Spellings of types: F-11, F-204, D-20."""

from __future__ import annotations

import pytest

from flowsched.errors import InvalidInput
from inventory.components import BmcType, ComponentType, parse_bmc_type, parse_component_type


@pytest.mark.parametrize("kind", list(ComponentType))
def test_f204_stored_names_are_read_in_any_letter_case(kind):
    for text in (kind.value, kind.value.upper(), kind.value.lower(), f" {kind.value} "):
        assert parse_component_type(text) is kind


def test_f204_the_old_name_of_the_nvlink_switch_is_read_and_the_new_one_written():
    assert parse_component_type("NVLSwitch").value == "NVSwitch"


@pytest.mark.parametrize("text", ["", "unknown", "COMPONENT_TYPE_COMPUTE", "gpu"])
def test_f204_unknown_types_are_refused_with_the_known_ones(text):
    with pytest.raises(InvalidInput, match="use one of compute, nvswitch, powershelf, torswitch, ums, cdu"):
        parse_component_type(text)


def test_f271_bmc_types():
    assert [parse_bmc_type(text) for text in ("host", "DPU", "", "unknown")] == [
        BmcType.HOST,
        BmcType.DPU,
        BmcType.UNKNOWN,
        BmcType.UNKNOWN,
    ]
