from uuid import UUID

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tasks.conflicts import RULES, Footprint, conflict

A, B, C, D = (UUID(int=n) for n in range(1, 5))
POWER, FIRMWARE, BRING_UP, INJECT, DECOMMISSION = (
    "power_control",
    "firmware_control",
    "bring_up",
    "inject_expectation",
    "decommission",
)


def task(type_, **components):
    return Footprint(type_, {name: frozenset(ids) for name, ids in components.items()})


@pytest.mark.parametrize(
    ("rule", "one", "other"),
    [
        ("F-251", task(POWER, PowerShelf=[A]), task(POWER, Compute=[B])),
        ("F-251", task(POWER, PowerShelf=[A]), task(POWER, CDU=[B])),
        ("F-251", task(POWER, PowerShelf=[A], Compute=[B]), task(POWER, PowerShelf=[C])),
        ("F-252", task(POWER, PowerShelf=[A]), task(FIRMWARE, ToRSwitch=[B])),
        ("F-253", task(POWER, Compute=[A, B]), task(POWER, Compute=[B, C])),
        # sharing is over all components, not only those of the type the rule names
        ("F-253", task(POWER, Compute=[A], CDU=[C]), task(POWER, Compute=[B], CDU=[C])),
        ("F-254", task(POWER, NVSwitch=[A]), task(POWER, NVSwitch=[A])),
        ("F-254", task(POWER, NVLSwitch=[A]), task(POWER, NVSwitch=[A])),
        ("F-255", task(POWER, Compute=[A]), task(FIRMWARE, Compute=[A])),
        ("F-256", task(POWER, NVLSwitch=[A]), task(FIRMWARE, NVSwitch=[A])),
        ("F-257", task(FIRMWARE, UMS=[A]), task(FIRMWARE, UMS=[A])),
        ("F-258", task(BRING_UP, Compute=[A]), task(POWER, CDU=[B])),
        ("F-258", task(BRING_UP, Compute=[A]), task(FIRMWARE, CDU=[B])),
        ("F-258", task(BRING_UP, Compute=[A]), task(INJECT)),
        ("F-258", task(BRING_UP, Compute=[A]), task(BRING_UP, Compute=[B])),
        ("F-258", task(DECOMMISSION), task(INJECT)),
    ],
)
def test_conflicts(rule, one, other):
    """F-251, F-252, F-253, F-254, F-255, F-256, F-257, F-258: each way round, with a reason to read."""
    assert conflict(one, other)
    assert conflict(one, other) == conflict(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (task(INJECT, Compute=[A]), task(POWER, Compute=[A], PowerShelf=[B])),
        (task(INJECT, Compute=[A]), task(FIRMWARE, Compute=[A])),
        (task(INJECT, Compute=[A]), task(INJECT, Compute=[A])),
        (task(POWER, ToRSwitch=[A]), task(POWER, ToRSwitch=[A])),
        (task(POWER, UMS=[A]), task(POWER, UMS=[A])),
        (task(POWER, CDU=[A]), task(FIRMWARE, CDU=[A])),
        (task(POWER, Compute=[A]), task(POWER, Compute=[B])),
        (task(POWER, Compute=[A]), task(FIRMWARE, Compute=[B])),
        (task(POWER, Compute=[A]), task(POWER, NVSwitch=[B])),
        (task(POWER, NVSwitch=[A], CDU=[C]), task(POWER, Compute=[B], CDU=[C])),
        (task(FIRMWARE, PowerShelf=[A]), task(POWER, Compute=[B])),
        (task(FIRMWARE, Compute=[A]), task(FIRMWARE, Compute=[B])),
        (task("http_call"), task(POWER, PowerShelf=[A])),
        (task("http_call"), task(BRING_UP, Compute=[A])),  # a call is on no rack
    ],
)
def test_everything_else_coexists(one, other):
    """F-259."""
    assert conflict(one, other) is None
    assert conflict(other, one) is None


def test_whole_rack_power_with_a_shelf_is_alone_with_power_and_firmware():
    """F-259, last sentence."""
    whole = task(POWER, Compute=[A], NVSwitch=[B], PowerShelf=[C])
    assert conflict(whole, task(POWER, UMS=[D]))
    assert conflict(whole, task(FIRMWARE, UMS=[D]))


def test_a_type_nobody_knows_is_a_component_all_the_same():
    shared = task(FIRMWARE, Teapot=[A])
    assert conflict(shared, shared)
    assert conflict(task(POWER, Teapot=[A]), task(POWER, Teapot=[A])) is None


def test_stored_attributes_are_read():
    assert Footprint.of(POWER, {"Compute": [str(A)]}) == task(POWER, Compute=[A])
    assert Footprint.of(POWER, None) == task(POWER)


def test_every_rule_has_its_own_physical_reason():
    assert len({rule.reason for rule in RULES}) == len(RULES)
    assert all(len(rule.reason) > 20 for rule in RULES)


def read_by_hand(one, other):  # noqa: PLR0911  one return a paragraph of the rules
    """The rules again, read another way: pairs of what each task is, then whether they meet."""

    def has(footprint, *names):
        return any(footprint.components_by_type.get(name) for name in names)

    def ids(footprint):
        return {i for group in footprint.components_by_type.values() for i in group}

    share = bool(ids(one) & ids(other))
    switch = ("NVSwitch", "NVLSwitch")
    kinds = sorted([one.type, other.type])
    if "http_call" in kinds:
        return False
    if BRING_UP in kinds or DECOMMISSION in kinds:
        return True
    if kinds == [FIRMWARE, FIRMWARE]:
        return share
    if kinds == [POWER, POWER]:
        if has(one, "PowerShelf") or has(other, "PowerShelf"):
            return True
        both = (has(one, "Compute") and has(other, "Compute")) or (has(one, *switch) and has(other, *switch))
        return both and share
    if kinds == [FIRMWARE, POWER]:
        power, firmware = (one, other) if one.type == POWER else (other, one)
        if has(power, "PowerShelf"):
            return True
        both = (has(power, "Compute") and has(firmware, "Compute")) or (has(power, *switch) and has(firmware, *switch))
        return both and share
    return False


NAMES = ["Compute", "NVSwitch", "NVLSwitch", "PowerShelf", "ToRSwitch", "UMS", "CDU"]
footprints = st.builds(
    Footprint,
    st.sampled_from([POWER, FIRMWARE, BRING_UP, INJECT, DECOMMISSION, "http_call"]),
    st.dictionaries(st.sampled_from(NAMES), st.frozensets(st.sampled_from([A, B, C, D]), max_size=3), max_size=4),
)


@given(footprints, footprints)
@example(task(POWER, PowerShelf=[]), task(POWER, Compute=[A]))
def test_symmetric_and_as_the_rules_read(one, other):
    """F-251…F-259: symmetry, and agreement with an independent reading."""
    assert conflict(one, other) == conflict(other, one)
    assert bool(conflict(one, other)) == read_by_hand(one, other)
