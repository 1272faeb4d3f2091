"""What tests of several folders share."""

import hypothesis
import pytest

from flowsched import db
from schedules.ports import ports

# How long an example takes is the machine's business, not the rule's: two workers share two cores.
hypothesis.settings.register_profile(
    "flowsched", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("flowsched")


@pytest.fixture
def withdrawals(monkeypatch):
    """The calls of ports.withdraw, which here finds two pending rows each time."""
    calls = []

    def withdraw(schedule_id, scope_ids, code, reason, now, /):
        calls.append((schedule_id, None if scope_ids is None else set(scope_ids), code))
        return 2

    monkeypatch.setattr(ports, "withdraw", withdraw)
    return calls


@pytest.fixture
def notified(monkeypatch):
    """The channels that were notified."""
    channels = []
    monkeypatch.setattr(db, "notify", channels.append)
    return channels
