"""What adding and reconciling change: F-208 to F-215, as plans."""

import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowsched.errors import InvalidInput, PreconditionFailed
from scopes.filters import ComponentFilter, filter_dump, filter_equal, filter_merge, filter_parse
from scopes.plan import CurrentScope, IncomingScope, plan_add, plan_reconcile

RACKS = [uuid.UUID(int=number) for number in range(1, 6)]
COMPUTE, SHELF = ComponentFilter("types", ("Compute",)), ComponentFilter("types", ("PowerShelf",))
BOTH = ComponentFilter("types", ("Compute", "PowerShelf"))
PART = ComponentFilter("components", (), (uuid.UUID(int=99),))

type_filters = st.none() | st.lists(st.sampled_from(["Compute", "NVSwitch", "CDU"]), min_size=1).map(
    lambda types: ComponentFilter("types", tuple(types))
)
any_filters = type_filters | st.just(PART)


def row(rack, stored=None):
    return CurrentScope(uuid.UUID(int=1000 + rack.int), rack, f"rack-{rack.int}", stored)


def want(rack, component_filter=None):
    return IncomingScope(rack, f"rack-{rack.int}", component_filter)


def scopes(filters):
    return st.dictionaries(st.sampled_from(RACKS), filters)


def rows_of(wanted):
    return [row(rack, filter_dump(value)) for rack, value in wanted.items()]


def wants_of(wanted):
    return [want(rack, value) for rack, value in wanted.items()]


def after(current, plan):
    """The filters by rack that a plan leaves."""
    left = {scope.rack_id: filter_parse(scope.component_filter) for scope in current}
    left |= {scope.rack_id: scope.component_filter for scope in plan.creates}
    left |= {change.scope.rack_id: change.component_filter for change in plan.updates}
    for scope in plan.removes:
        del left[scope.rack_id]
    return left


def test_f208_f209_f210_f213_each_rule_of_adding():
    """F-208, F-209, F-210, F-213."""
    current = [row(RACKS[0]), row(RACKS[1], filter_dump(COMPUTE)), row(RACKS[2], filter_dump(COMPUTE))]
    current.append(row(RACKS[3], filter_dump(BOTH)))
    plan = plan_add(
        current,
        [want(RACKS[4], PART), want(RACKS[2], SHELF), want(RACKS[0], SHELF), want(RACKS[1]), want(RACKS[3], SHELF)],
    )
    assert plan.creates == (want(RACKS[4], PART),)
    assert [(c.scope.rack_id, c.component_filter) for c in plan.updates] == [(RACKS[2], BOTH), (RACKS[1], None)]
    assert plan.removes == ()


def test_f212_one_rack_that_cannot_be_merged_stops_the_whole_request():
    """F-212."""
    with pytest.raises(PreconditionFailed, match="rack-2"):
        plan_add([row(RACKS[1], filter_dump(COMPUTE))], [want(RACKS[0]), want(RACKS[1], PART)])


def test_an_unreadable_filter_stops_adding_and_is_mended_by_reconciling():
    spoilt = row(RACKS[0], {"kind": "types", "types": ["Toaster"]})
    with pytest.raises(PreconditionFailed, match="Toaster") as refused:
        plan_add([spoilt], [want(RACKS[0], COMPUTE)])
    assert refused.value.reason == "FILTER_UNREADABLE"
    for wanted in (COMPUTE, None):
        [change] = plan_reconcile([spoilt], [want(RACKS[0], wanted)]).updates
        assert change.component_filter == wanted


def test_d1_racks_are_never_added_to_a_schedule_without_racks():
    """D-1."""
    rackless = CurrentScope(uuid.UUID(int=7), None, "", None)
    with pytest.raises(PreconditionFailed) as refused:
        plan_add([rackless], [want(RACKS[0])])
    assert refused.value.reason == "RACKLESS"


def test_d1_reconciling_to_racks_replaces_the_row_without_a_rack():
    """D-1."""
    rackless = CurrentScope(uuid.UUID(int=7), None, "", None)
    plan = plan_reconcile([rackless], [want(RACKS[0])])
    assert plan.creates == (want(RACKS[0]),)
    assert plan.removes == (rackless,)


def test_f200_a_rack_named_twice_is_refused():
    """F-200."""
    for plan in (plan_add, plan_reconcile):
        with pytest.raises(InvalidInput, match="twice"):
            plan([], [want(RACKS[0], COMPUTE), want(RACKS[0], SHELF)])


def test_f161_reconciling_to_nothing_is_refused():
    """F-161."""
    with pytest.raises(InvalidInput) as refused:
        plan_reconcile([row(RACKS[0])], [])
    assert refused.value.field == "target_spec"


def test_f214_f215_each_rule_of_reconciling():
    """F-214, F-215."""
    current = [
        row(RACKS[0], filter_dump(COMPUTE)),
        row(RACKS[1], {"kind": "types", "types": ["powershelf", "COMPUTE", "Compute"]}),
        row(RACKS[2], filter_dump(COMPUTE)),
        row(RACKS[3]),
    ]
    plan = plan_reconcile(current, [want(RACKS[4]), want(RACKS[2], PART), want(RACKS[1], BOTH), want(RACKS[3], SHELF)])
    assert plan.creates == (want(RACKS[4]),)
    assert [(c.scope.rack_id, c.component_filter) for c in plan.updates] == [(RACKS[2], PART), (RACKS[3], SHELF)]
    assert plan.removes == (current[0],)


@given(scopes(type_filters), scopes(type_filters))
def test_adding_ends_with_every_rack_merged(current, incoming):
    rows = rows_of(current)
    plan = plan_add(rows, wants_of(incoming))
    left = after(rows, plan)
    assert set(left) == set(current) | set(incoming)
    for rack, value in left.items():
        if rack in current and rack in incoming:
            assert filter_equal(value, filter_merge(current[rack], incoming[rack]))
        else:
            assert filter_equal(value, current.get(rack, incoming.get(rack)))
    assert plan.removes == ()
    again = [row(rack, filter_dump(value)) for rack, value in left.items()]
    assert plan_add(again, wants_of(incoming)).empty


@given(scopes(any_filters), scopes(any_filters).filter(bool))
def test_reconciling_ends_with_exactly_what_was_asked_for(current, desired):
    rows = rows_of(current)
    plan = plan_reconcile(rows, wants_of(desired))
    left = after(rows, plan)
    assert set(left) == set(desired)
    assert all(filter_equal(left[rack], desired[rack]) for rack in desired)
    assert [scope.rack_id for scope in plan.creates] == [rack for rack in desired if rack not in current]
    assert [scope.rack_id for scope in plan.removes] == [rack for rack in current if rack not in desired]
    assert plan_reconcile(rows_of(left), wants_of(desired)).empty
