"""A schedule of HTTP calls from the form to the result, in a browser, against a real target (issue's admin door)."""

from __future__ import annotations

import re
import threading

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from schedules.models import TaskSchedule
from tests.calls.helpers import work
from tests.console.calls import configure
from tests.http_servers.servers import sink, unique

__all__ = ["sink"]


@pytest.fixture
def target(settings, monkeypatch, sink):
    """The sink, as an endpoint with everything and one that takes notifications."""
    configure(
        settings, monkeypatch,
        target={"kind": "api", "base_url": sink.url, "methods": ["GET", "POST"], "path_prefixes": ["/ok/"]},
    )  # fmt: skip
    return sink


def test_create_look_dry_run_trigger_and_see(open_as, target):
    word = unique()
    seen = open_as("admin")
    page = fill(seen, word)
    shown = page.locator("#preview .request")
    expect(shown).to_contain_text(f"POST {target.url}/ok/{word}")
    expect(shown).to_contain_text('"who": "Report"')
    expect(page.locator("#preview .what")).to_contain_text("one call each time")
    page.get_by_role("button", name="Create schedule").click()
    expect(page.get_by_role("status").filter(has_text="Created.")).to_contain_text("one call each time")
    row = TaskSchedule.objects.get()
    page.get_by_role("link", name="Dry run").click()
    expect(page.locator(".request")).to_contain_text(f"POST {target.url}/ok/{word}")
    page.get_by_role("link", name="Back to the schedule").click()
    assert target.records(path=word) == []  # looking sent nothing
    page.get_by_role("link", name="Trigger").click()
    page.get_by_role("button", name="Make 1 HTTP call").click()
    page.wait_for_selector("text=1 of 1 calls submitted.")
    worker = threading.Thread(target=work)  # the browser's driver runs a loop in this one
    worker.start()
    worker.join(60)
    assert not worker.is_alive()
    seen.goto(reverse("admin:runs") + f"?schedule={row.pk}&state=succeeded")
    expect(page.locator("tbody tr")).to_contain_text("HTTP 200")
    page.get_by_role("link", name=f"HTTP call POST /ok/{word}").click()
    expect(page.locator("main")).to_contain_text("Yes, and it was answered.")
    [record] = target.records(path=word)
    assert record["method"] == "POST"


def fill(seen, word: str):
    """The form, filled in by hand as far as it asks; the page."""
    seen.goto(reverse("admin:schedule_add"))
    page = seen.page
    page.fill("#id_name", "Report")
    expect(page.locator("#id_call_endpoint")).to_be_hidden()
    page.select_option("#id_operation", "http_call")
    page.fill("#id_cron", "0 2 * * *")
    page.select_option("#id_call_endpoint", "hooks")
    expect(page.locator("#id_call_webhook_id")).to_be_visible()
    page.select_option("#id_call_endpoint", "target")
    page.select_option("#id_call_method", "POST")
    page.fill("#id_call_path", "/elsewhere")
    page.press("#id_call_path", "Tab")
    expect(page.locator("[data-error-for=call_path]")).to_contain_text("allows paths below /ok/")
    page.fill("#id_call_path", f"/ok/{word}")
    page.fill("#id_call_body", '{"who": "{{ task.schedule_name }}"')
    page.press("#id_call_body", "Tab")
    expect(page.locator("[data-error-for=call_body]")).to_contain_text(re.compile("not JSON"))
    page.fill("#id_call_body", '{"who": "{{ task.schedule_name }}"}')
    page.press("#id_call_body", "Tab")
    expect(page.locator("[data-error-for=call_body]")).to_be_hidden()
    return page
