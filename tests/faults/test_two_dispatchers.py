"""Two dispatchers on the same due schedules, round after round: disjoint claims, and both at work."""

from __future__ import annotations

from collections import Counter

import pytest

from dispatcher.models import Firing, FiringScope
from tasks.models import Process, Task
from tests.dispatcher.helpers import finish_tasks
from tests.faults.harness import query, wait_for
from tests.faults.invariants import check_invariants
from tests.faults.schedules import make_due, release

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.process]

ROUNDS = 20
SCHEDULES = 200
LEAST_SHARE = 0.25


def test_two_dispatchers_fire_two_hundred_schedules_once_in_each_of_twenty_rounds(product, record_property):
    """X-22, F-230: one UPDATE lets all come due; exactly one firing a tick, and neither dispatcher starves."""
    make_due(SCHEDULES)
    product.dispatcher()
    product.dispatcher()
    wait_for(lambda: Process.objects.filter(kind="dispatcher").count() == 2, 40, "two dispatchers beat")
    for number in range(1, ROUNDS + 1):
        release()
        wait_for(
            lambda number=number: Firing.objects.filter(state="done").count() == number * SCHEDULES,
            60,
            f"all firings of round {number} are done",
        )
        finish_tasks()  # no worker here: or the next round would skip every rack
        query("DELETE FROM procrastinate_jobs RETURNING id")
    per_owner = dict(query("SELECT lease_owner, count(*) FROM firing GROUP BY 1"))
    rounds = Counter(owner for owner, _ in query("SELECT DISTINCT lease_owner, fired_at FROM firing"))
    shares = sorted(count / (ROUNDS * SCHEDULES) for count in per_owner.values())
    record_property("shares", shares)
    print(f"shares {shares}, claims {dict(rounds)}")  # noqa: T201
    assert len(shares) == 2
    assert shares[0] >= LEAST_SHARE, per_owner
    total = ROUNDS * SCHEDULES
    assert Firing.objects.count() == total == FiringScope.objects.filter(state="submitted").count()
    assert Task.objects.count() == total
    check_invariants(product)
