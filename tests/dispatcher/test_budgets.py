"""Statements the firing path may take, transaction control left out; the idle poll's is in test_loop.py."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from dispatcher.claim import claim
from tests.dispatcher.helpers import NOW, due_schedule, fire, firing_of, holder, queries, racks

pytestmark = pytest.mark.django_db


def test_a_hundred_due_schedules_are_claimed_in_ten_queries():
    """Budget: the claim of 100 due schedules, each of two racks."""
    on = racks(2)
    for number in range(100):
        due_schedule(f"s{number}", on)
    with CaptureQueriesContext(connection) as captured:
        assert claim(NOW, 100, holder=holder())[0] == 100
    assert queries(captured) <= 10


def test_firing_five_hundred_racks_takes_forty_queries_at_most():
    """Budget: all three phases of one schedule of 500 racks."""
    on = racks(500, components=1)
    row = due_schedule("big", on)
    with CaptureQueriesContext(connection) as captured:
        fire()
    assert queries(captured) <= 40
    assert firing_of(row).submitted_count == 500
