from __future__ import annotations

import pytest

from tests.tasks_runs.helpers import clear_jobs


@pytest.fixture
def engine_tables(transactional_db):
    """The engine's tables are not Django's to flush."""
    clear_jobs()
    yield
    clear_jobs()
