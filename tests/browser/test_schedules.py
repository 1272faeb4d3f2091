"""The operators' pages in a browser: admin.md 6, each check under its number."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from dispatcher.models import Firing
from flowsched import clock
from tests.console.helpers import stored
from tests.dispatcher.helpers import due_schedule, fire, racks

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; object-src 'none'; base-uri 'none'; frame-ancestors 'none'; form-action 'self'"
)


@pytest.fixture
def nightly(transactional_db):
    """A disruptive schedule on 38 racks that has not fired."""
    return due_schedule("Nightly", racks(38), kind="power_reset", late=-timedelta(hours=1), now=clock.now())


def test_2_policy_is_exact_and_holds(open_as):
    seen = open_as()
    answer = seen.goto("/admin/schedules/")
    sent = {part.strip() for part in answer.headers["content-security-policy"].split(";")}
    assert sent == {part.strip() for part in POLICY.split(";")}
    violated = seen.page.evaluate(
        """() => new Promise((resolve) => {
            document.addEventListener("securitypolicyviolation", () => resolve(true));
            const script = document.createElement("script");
            script.textContent = "window.injected = 1";
            document.body.append(script);
            setTimeout(() => resolve(false), 1000);
        })"""
    )
    assert violated
    assert seen.page.evaluate("window.injected === undefined")
    seen.troubles.clear()  # the violation that was provoked


def test_8_trigger_names_racks_and_waits_for_their_number(open_as, nightly):
    seen = open_as()
    seen.goto(reverse("admin:schedule_verb", args=[nightly.pk, "trigger"]))
    assert seen.page.evaluate("document.activeElement.textContent") == "Cancel"
    names = [scope.rack.name for scope in nightly.scopes.select_related("rack")]
    seen.page.click("text=and 26 more")
    said = seen.page.inner_text("main")
    assert all(name in said for name in names)
    button = seen.page.get_by_role("button", name="Power reset 38 racks")
    assert button.is_disabled()
    seen.page.fill("#id_typed", "37")
    assert button.is_disabled()
    seen.page.fill("#id_typed", "38")
    assert button.is_enabled()
    before = stored()
    seen.page.focus("text=Cancel")
    seen.page.keyboard.press("Enter")
    seen.page.wait_for_url("**/admin/schedules/*/")
    assert stored() == before


def test_10_a_double_click_fires_once(open_as, nightly):
    seen = open_as()
    seen.goto(reverse("admin:schedule_verb", args=[nightly.pk, "trigger"]))
    seen.page.fill("#id_typed", "38")
    seen.page.get_by_role("button", name="Power reset 38 racks").dblclick()
    seen.page.wait_for_selector("text=38 of 38 racks submitted.")
    assert Firing.objects.count() == 1


def test_19_keyboard_alone_triggers(open_as, transactional_db):
    row = due_schedule("Small", racks(2), kind="power_on", late=-timedelta(hours=1), now=clock.now())
    seen = open_as()
    seen.goto(reverse("admin:schedule", args=[row.pk]))
    for _ in range(40):
        seen.page.keyboard.press("Tab")
        focus = seen.page.evaluate(
            "[document.activeElement.innerText, getComputedStyle(document.activeElement).outlineStyle]"
        )
        assert focus[1] != "none", f"no ring on {focus[0]!r}"
        if focus[0].strip().startswith("Trigger"):
            break
    seen.page.keyboard.press("Enter")
    seen.page.wait_for_selector("text=Power on 2 racks now?")
    seen.page.keyboard.press("Tab")
    seen.page.keyboard.press("Enter")
    seen.page.wait_for_selector("text=2 of 2 racks submitted.")


def test_17_bulk_pause_reports_each(open_as, nightly):
    for name in ("A", "B"):
        due_schedule(name, racks(1), late=-timedelta(hours=1), now=clock.now())
    seen = open_as("operator")
    seen.goto("/admin/schedules/")
    assert seen.page.is_hidden("[data-bulk]")
    for name in ("A", "B", "Nightly"):
        seen.page.check(f"input[aria-label='Select {name}']")
    assert "3 selected" in seen.page.inner_text("[data-bulk]")
    seen.page.click("text=Pause…")
    expect(seen.page.locator("#id_reason")).to_be_focused()
    seen.page.keyboard.type("site visit")
    seen.page.get_by_role("button", name="Pause 3 schedules").click()
    seen.page.wait_for_selector("text=3 of 3 schedules paused.")
    assert len(seen.page.query_selector_all("main tbody tr")) == 3


def test_3_every_time_says_its_zone(open_as, nightly):
    fire(clock.now())
    seen = open_as("viewer")
    for path in ("/admin/schedules/", reverse("admin:schedule", args=[nightly.pk]), "/admin/audit/"):
        seen.goto(path)
        times = seen.page.eval_on_selector_all("time", "all => all.map(t => [t.dateTime, t.textContent])")
        assert times
        for iso, text in times:
            assert iso.endswith("Z")
            assert text.split()[-1] in {"EST", "EDT", "UTC", "pass)"}, text
