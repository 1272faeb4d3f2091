"""What must not be sent is refused on its field by the form, and nothing is stored or rendered (TH-4, TH-6 to TH-8)."""

from __future__ import annotations

import json

import pytest

from schedules.models import TaskSchedule
from tasks.http import templates
from tests.console.calls import configure
from tests.console.form import ADD, errors_of
from tests.console.test_call_form import HOOK, filled, planner
from tests.http.corpus import PLACES, WRITTEN

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def configured(settings, monkeypatch):
    configure(settings, monkeypatch)


@pytest.fixture
def renders(monkeypatch):
    """The templates that were compiled or generated."""
    begun = []
    for name in ("_compiled", "_generate"):
        real = getattr(templates, name)
        monkeypatch.setattr(templates, name, lambda *args, real=real: (begun.append(args), real(*args))[1])
    return begun


def typed(entry) -> tuple[str, dict[str, str]]:
    """The field, and all fields with the text in it. Queries and headers are lines of `name: value`."""
    return {
        "path": lambda text: ("call_path", {"call_path": text}),
        "query": lambda text: ("call_query", {"call_query": f"q: {text}"}),
        "header": lambda text: ("call_headers", {"call_headers": f"X-Env: {text}"}),
        "body": lambda text: ("call_body", {"call_body": json.dumps({"outer": [{"inner": text}]})}),
        "webhook_id": lambda text: ("call_webhook_id", HOOK | {"call_webhook_id": text}),
        "key": lambda text: ("call_key", {"call_key": text}),
    }[entry.where](entry.text)


def survives(entry) -> bool:
    """Whether a form's field carries the text as it is: lines end lines, and blanks around a value are nobody's."""
    lines = entry.where in {"query", "header"} and len(entry.text.splitlines()) > 1
    sent = entry.text.encode("utf-8", errors="replace").decode() == entry.text
    return not lines and sent and entry.text.strip() == entry.text


@pytest.mark.parametrize("place", PLACES)
def test_refused_on_its_field(place, renders):
    client = planner("inventory", "hooks", "open")
    tried = [entry for entry in WRITTEN if entry.where == place and survives(entry)]
    assert tried
    for entry in tried:
        field, fields = typed(entry)
        answer = client.post(ADD, filled(**fields))
        assert answer.status_code == 200, entry
        assert field in errors_of(answer), entry
    assert not TaskSchedule.objects.exists()
    assert renders == []
