from __future__ import annotations

import copy
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from flowsched.actor import Actor, Door
from inventory.document import parse
from inventory.models import Bmc, Component, NVLDomain, Rack
from inventory.services import racks_import

EXAMPLE = Path(__file__).resolve().parents[2] / "inventory" / "data" / "rack-example.json"
_EXAMPLE = json.loads(EXAMPLE.read_text())

RACK2 = {
    "info": {"id": "f3a1c2d4-1001-4000-8000-000000000002", "name": "r02", "serial_number": "S2"},
    "components": [
        {
            "type": "compute",
            "info": {"id": "f3a1c2d4-3001-4000-8000-0000000000ff", "name": "c", "serial_number": "C2"},
            "component_id": "ext",
            "firmware_version": "1.0",
            "bmcs": [{"mac": "0a:00:00:00:00:01", "ip": "2001:db8::1"}],
        }
    ],
}


def snapshot():
    return [list(model.objects.order_by("pk").values()) for model in (Rack, Component, Bmc, NVLDomain)]


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


@pytest.fixture
def rack2():
    return copy.deepcopy(RACK2)


@pytest.fixture
def load(by, now):
    """Import a value as if it were a file."""

    def run(value, *, at=now, **options):
        document = parse(json.dumps(value).encode(), source="racks.json", max_components=1000)
        return racks_import(document=document, by=by, now=at, **options)

    return run
