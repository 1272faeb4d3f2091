from __future__ import annotations

from datetime import timedelta

import pytest

from tests.tasks_runs.helpers import clear_jobs


@pytest.fixture(autouse=True)
def quick(settings, tmp_path):
    """No waiting, and a log of this test's own."""
    settings.FLOWSCHED_EFFECT_LOG = tmp_path / "effects.jsonl"
    settings.FLOWSCHED_SIMULATED = tmp_path / "manners.json"
    settings.FLOWSCHED_SIMULATED_LATENCY = timedelta(0)
    settings.FLOWSCHED_RUN_BACKOFF = [timedelta(milliseconds=1), timedelta(milliseconds=1)]


@pytest.fixture
def committed(transactional_db):
    """Rows that other processes see; the engine's tables are not Django's to flush."""
    clear_jobs()
    yield
    clear_jobs()
