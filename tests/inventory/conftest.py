from __future__ import annotations

import copy
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from flowsched.actor import Actor, Door

EXAMPLE = Path(__file__).resolve().parents[2] / "inventory" / "data" / "rack-example.json"
_EXAMPLE = json.loads(EXAMPLE.read_text())


@pytest.fixture
def now():
    return datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.fixture
def by():
    return Actor("cli:tester", Door.CLI)


@pytest.fixture
def example():
    """The example rack, to be changed at will."""
    return copy.deepcopy(_EXAMPLE)
