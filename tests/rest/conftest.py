"""Callers of the REST door, by what they may do; counters of requests begin at nothing."""

import pytest
from django.core.cache import cache

from tests.rest.helpers import Rest, rest


@pytest.fixture(autouse=True)
def _no_requests_yet():
    cache.clear()  # the throttle counts by user id, and ids come again


@pytest.fixture
def operator(db) -> Rest:
    """May run, cancel and acknowledge; no planner."""
    return rest("operator", name="olga")


@pytest.fixture
def viewer(db) -> Rest:
    """May only look."""
    return rest("viewer", name="vera")


@pytest.fixture
def planner(db) -> Rest:
    """May do everything with schedules."""
    return rest("planner", name="planner")
