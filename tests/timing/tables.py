"""The measured tables, as pytest parameters."""

import json
from datetime import datetime
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent.parent / "data" / "time"


def rows(name):
    cases = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))["cases"]
    return [pytest.param(case, id=case.get("id", f"{name}-{number}")) for number, case in enumerate(cases)]


def instant(text):
    return datetime.fromisoformat(text)
