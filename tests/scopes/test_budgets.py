"""Statements of the scope verbs: the same number for one rack and for five thousand."""

import pytest

from inventory.targets import RackTarget
from scopes.selectors import scopes_of
from scopes.services import scope_remove, scopes_add, scopes_reconcile
from tests.schedules.helpers import ALICE, NOW, make_racks, make_schedule, scope_lock, statements, whole

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("count", [1, 5000])
def test_budget_of_adding(count):
    schedule, targets = make_schedule(), whole(*make_racks(count - 1 or 1))
    with statements() as found:
        scopes_add(schedule_id=schedule.pk, targets=targets, by=ALICE, now=NOW)
    assert len(found) <= 8, found  # exists, resolve, lock, read, insert, version, answer, audit
    with statements() as found:
        scopes_add(schedule_id=schedule.pk, targets=targets, by=ALICE, now=NOW)
    assert len(found) <= 4, found


@pytest.mark.parametrize("count", [1, 5000])
def test_budget_of_reconciling(count):
    """All of it at once: as many rows come as go, and one in two changes its filter."""
    racks = make_racks(count)
    schedule = make_schedule(targets=whole(*racks))
    kept = racks[: count // 2]
    targets = [*whole(*make_racks(count - len(kept)))] + [
        RackTarget(id=rack.pk, component_types=("compute",)) for rack in kept
    ]
    with statements() as found:
        result = scopes_reconcile(schedule_id=schedule.pk, targets=targets, by=ALICE, now=NOW)
    # exists, resolve, lock, read, withdraw twice, lock rows, insert, delete, update, version, answer, audit
    assert len(found) <= 13, found
    assert (result.added, result.removed, result.updated) == (count - len(kept), count - len(kept), len(kept))
    assert len(result.scopes) == count
    assert found[scope_lock(found)].endswith("FOR NO KEY UPDATE")


def test_budget_of_removing():
    schedule = make_schedule(racks=10)
    scope = scopes_of(schedule.pk)[3]
    with statements() as found:
        scope_remove(scope_id=scope.pk, by=ALICE, now=NOW)
    assert len(found) <= 8, found  # find, lock, read, withdraw, lock row, delete, version, audit
