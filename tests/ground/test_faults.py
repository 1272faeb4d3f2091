"""Fault points: inert in a deployment, exact in a test."""

import signal
import time

import pytest
from django.core.exceptions import ImproperlyConfigured

from flowsched import faults


@pytest.fixture
def armed(monkeypatch):
    def arm(text):
        monkeypatch.setenv(faults.VARIABLE, text)
        faults.arm()

    yield arm
    monkeypatch.undo()
    faults.arm()


def test_inert_unless_testing(armed, settings, caplog):
    settings.TESTING = False
    armed("claim:kill9,claim:raise")
    faults.fault("claim")
    assert "no effect without FLOWSCHED_TESTING" in caplog.text


def test_inert_where_nothing_is_named(armed):
    armed("")
    started = time.perf_counter()
    for _ in range(100_000):
        faults.fault("claim")
    assert time.perf_counter() - started < 1


def test_only_the_nth_passing_of_the_named_point(armed):
    armed("claim:raise@3, other:raise")
    faults.fault("claim")
    faults.fault("claim")
    faults.fault("unnamed")
    with pytest.raises(faults.FaultInjected, match="claim"):
        faults.fault("claim")
    faults.fault("claim")


def test_sleep(armed):
    armed("claim:sleep0.2")
    started = time.perf_counter()
    faults.fault("claim")
    assert 0.2 <= time.perf_counter() - started < 2


@pytest.mark.parametrize("text", ["claim", "claim:explode", "claim:raise@0", "claim:sleep", "claim:raise@x"])
def test_nonsense_is_refused(armed, text):
    with pytest.raises(ImproperlyConfigured, match=r"FLOWSCHED_FAULTS"):
        armed(text)


CODE = """
import os
os.environ["DJANGO_SETTINGS_MODULE"] = "flowsched.settings"
from flowsched.faults import fault
fault("claim")
print("passed once", flush=True)
fault("claim")
print("passed twice", flush=True)
"""


@pytest.mark.process
@pytest.mark.parametrize(("action", "code"), [("kill9", -signal.SIGKILL), ("exit", faults.EXIT_CODE)])
def test_death_of_a_real_process(place, action, code):
    assert place.run("-c", CODE, FLOWSCHED_FAULTS=f"claim:{action}@2") == (code, "passed once\n")


@pytest.mark.process
def test_stop_of_a_real_process(place):
    process = place.start("-c", CODE, FLOWSCHED_FAULTS="claim:stop@2")
    assert process.stdout.readline() == "passed once\n"
    time.sleep(0.3)
    assert process.poll() is None
    process.send_signal(signal.SIGCONT)
    assert process.communicate(timeout=20)[0] == "passed twice\n"
