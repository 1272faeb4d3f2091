"""Component filters: F-204 to F-211, F-215."""

import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowsched.errors import InvalidInput, PreconditionFailed
from inventory.components import ComponentType
from scopes.filters import ComponentFilter, filter_dump, filter_equal, filter_merge, filter_of, filter_parse

ONE, TWO, THREE = (uuid.UUID(int=number) for number in (1, 2, 3))
TYPES = [kind.value for kind in ComponentType]

type_filters = st.lists(st.sampled_from(TYPES), min_size=1).map(lambda types: ComponentFilter("types", tuple(types)))
id_filters = st.lists(st.sampled_from([ONE, TWO, THREE]), min_size=1).map(
    lambda ids: ComponentFilter("components", (), tuple(ids))
)
filters = st.none() | type_filters | id_filters
pairs = st.tuples(st.none() | type_filters, st.none() | type_filters) | st.tuples(
    st.none() | id_filters, st.none() | id_filters
)


def types(*names):
    return ComponentFilter("types", names)


def components(*ids):
    return ComponentFilter("components", (), ids)


@pytest.mark.parametrize("written", TYPES)
def test_f204_stored_names_in_any_letter_case(written):
    """F-204."""
    for text in (written, written.upper(), written.lower()):
        stored = {"kind": "types", "types": [text]}
        assert filter_dump(filter_parse(stored)) == {"kind": "types", "types": [written]}


def test_f204_f312_both_spellings_of_the_switch_are_read_and_one_is_written():
    """F-204, F-312, D-20."""
    old, new = (
        filter_parse({"kind": "types", "types": ["NVLSwitch"]}),
        filter_parse({"kind": "types", "types": ["NVSwitch"]}),
    )
    assert filter_equal(old, new)
    assert filter_dump(old) == {"kind": "types", "types": ["NVSwitch"]}
    assert filter_merge(old, new) == new


def test_f204_an_unknown_type_is_refused_when_written_and_when_read():
    """F-204."""
    with pytest.raises(InvalidInput, match="unknown component type 'Toaster'"):
        types("Toaster")
    with pytest.raises(InvalidInput, match="Toaster"):
        filter_parse({"kind": "types", "types": ["Compute", "Toaster"]})


@pytest.mark.parametrize("nothing", [None, ""])
def test_f205_nothing_is_the_whole_rack(nothing):
    """F-205."""
    assert filter_parse(nothing) is None
    assert filter_dump(None) is None
    assert filter_of(None, None) is None


@pytest.mark.parametrize(
    "stored",
    [
        {},
        [],
        0,
        False,
        "types",
        {"kind": "types"},
        {"kind": "types", "types": []},
        {"kind": "types", "types": None},
        {"kind": "types", "types": "Compute"},
        {"kind": "types", "types": [1]},
        {"kind": "types", "components": [str(ONE)]},
        {"kind": "types", "types": ["Compute"], "components": [str(ONE)]},
        {"kind": "components", "components": []},
        {"kind": "components", "types": ["Compute"]},
        {"kind": "components", "components": ["not a uuid"]},
        {"kind": "racks", "types": ["Compute"]},
        {"kind": ["types"], "types": ["Compute"]},
        {"types": ["Compute"]},
        {"kind": "types", "types": ["Compute"], "except": ["x"]},
    ],
)
def test_f205_exactly_one_list_that_is_not_empty_or_it_is_no_filter(stored):
    """F-205."""
    with pytest.raises(InvalidInput):
        filter_parse(stored)


def test_f205_the_list_that_is_not_meant_may_be_empty():
    """F-205."""
    assert filter_parse({"kind": "types", "types": ["CDU"], "components": []}) == types("CDU")


def test_f206_f312_duplicates_go_and_order_stays():
    """F-206, F-312."""
    assert types("PowerShelf", "compute", "Compute", "POWERSHELF").types == ("PowerShelf", "Compute")
    assert components(TWO, ONE, TWO).components == (TWO, ONE)


@given(filters)
def test_f205_what_is_dumped_is_parsed_back(value):
    """F-205."""
    assert filter_parse(filter_dump(value)) == value


@given(
    st.recursive(
        st.none() | st.booleans() | st.text(max_size=6) | st.integers(),
        lambda x: st.lists(x) | st.dictionaries(st.sampled_from(["kind", "types", "components", "x"]), x),
    )
)
def test_parsing_fails_in_one_way(stored):
    try:
        value = filter_parse(stored)
    except InvalidInput:
        return
    assert value is None or value.types or value.components


@pytest.mark.parametrize("incoming", [None, types("Compute"), components(ONE)])
def test_f208_the_whole_rack_stays_the_whole_rack(incoming):
    """F-208."""
    assert filter_merge(None, incoming) is None


@pytest.mark.parametrize("existing", [types("Compute"), components(ONE)])
def test_f209_the_whole_rack_swallows_a_filter(existing):
    """F-209."""
    assert filter_merge(existing, None) is None


def test_f210_types_are_united_in_order():
    """F-210."""
    assert filter_merge(types("PowerShelf", "Compute"), types("CDU", "Compute")) == types(
        "PowerShelf", "Compute", "CDU"
    )


def test_f211_components_are_united_in_order():
    """F-211."""
    assert filter_merge(components(TWO, ONE), components(THREE, ONE)) == components(TWO, ONE, THREE)


@pytest.mark.parametrize("pair", [(types("Compute"), components(ONE)), (components(ONE), types("Compute"))])
def test_f212_kinds_do_not_merge(pair):
    """F-212."""
    with pytest.raises(PreconditionFailed, match="rack a1") as refused:
        filter_merge(*pair, where="rack a1")
    assert refused.value.reason == "FILTER_KIND"


def test_f215_order_and_duplicates_do_not_count_and_the_whole_rack_equals_only_itself():
    """F-215 as D-20 corrects it."""
    assert filter_equal(types("Compute", "CDU"), types("CDU", "compute", "Compute"))
    assert filter_equal(components(ONE, TWO), components(TWO, ONE))
    assert not filter_equal(types("Compute"), types("Compute", "CDU"))
    assert not filter_equal(types(*TYPES), None)
    assert not filter_equal(None, types("Compute"))
    assert not filter_equal(types("Compute"), components(ONE))
    assert filter_equal(None, None)


def covers(wide, narrow):
    if wide is None or narrow is None:
        return wide is None
    return set(narrow.types) <= set(wide.types) and set(narrow.components) <= set(wide.components)


@given(pairs)
def test_merging_covers_both_and_nothing_else_and_does_not_depend_on_the_order(pair):
    one, other = pair
    merged = filter_merge(one, other)
    assert covers(merged, one)
    assert covers(merged, other)
    assert filter_equal(merged, filter_merge(other, one))
    assert filter_equal(filter_merge(merged, other), merged)
    if merged is not None:
        assert set(merged.types) == set(one.types) | set(other.types)
        assert set(merged.components) == set(one.components) | set(other.components)


@given(filters, filters, filters)
def test_equality_is_an_equivalence(one, two, three):
    assert filter_equal(one, one)
    assert filter_equal(one, two) == filter_equal(two, one)
    if filter_equal(one, two) and filter_equal(two, three):
        assert filter_equal(one, three)


def test_filters_in_words():
    assert str(types("Compute", "CDU")) == "Compute, CDU"
    assert str(components(ONE, TWO)) == "2 components"
