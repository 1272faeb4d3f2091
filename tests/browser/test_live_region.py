"""What refreshes leaves the reader alone: focus, scroll, selection, layout (admin.md 6: 20, 21)."""

from __future__ import annotations

import pytest
from django.contrib.sessions.models import Session
from django.urls import reverse

from schedules.models import TaskSchedule
from tests.browser.test_pages import TOO_WIDE
from tests.browser.world import Site, made_site, pages_of

SHIFTS = """() => { window.shifted = 0;
    new PerformanceObserver((list) => list.getEntries().forEach((each) => { window.shifted += each.value; }))
        .observe({ type: "layout-shift", buffered: true }); }"""
DIGEST = "document.querySelector('[data-live]').dataset.hash"


@pytest.fixture
def site(transactional_db) -> Site:
    return made_site()


def refresh(seen, site: Site, name: str) -> None:
    """Change a fact, and let the script ask for it by its own clock."""
    TaskSchedule.objects.filter(pk=site.broken.pk).update(name=name)
    before = seen.page.evaluate(DIGEST)
    seen.page.clock.run_for(6000)
    seen.page.wait_for_function(f"before => {DIGEST} !== before", arg=before)
    seen.page.wait_for_selector(f"#live:has-text('{name}')")


def opened(open_as, **shape):
    """The dashboard with its clock in our hand."""
    seen = open_as(**shape)
    seen.page.clock.install()
    seen.goto("/admin/")
    seen.page.wait_for_load_state("networkidle")
    return seen


def test_20_focus_selection_and_scroll_survive_three_refreshes(open_as, site):
    seen = opened(open_as)
    page = seen.page
    page.locator("#live a", has_text="Calendar").first.focus()
    page.evaluate("getSelection().selectAllChildren(document.querySelector('h1'))")
    page.evaluate("scrollTo(0, 120)")
    scroll = page.evaluate("scrollY")
    for name in ("First name", "Second name", "Third name"):
        refresh(seen, site, name)
        assert page.evaluate("document.activeElement.textContent") == "Calendar"
        assert page.evaluate("getSelection().toString()") == "Dashboard"
        assert page.evaluate("scrollY") == scroll


def test_20_a_hidden_tab_asks_nothing(open_as, site):
    seen = opened(open_as)
    asked = []
    seen.page.on("request", lambda request: asked.append(request.url))
    seen.page.evaluate("Object.defineProperty(document, 'hidden', { get: () => true, configurable: true })")
    seen.page.clock.run_for(180_000)
    assert not asked
    seen.page.evaluate("Object.defineProperty(document, 'hidden', { get: () => false })")
    with seen.page.expect_request("**/admin/"):
        seen.page.clock.run_for(61_000)


def test_20_signed_out_is_said_and_no_sign_in_form_is_put_into_the_region(open_as, site):
    seen = opened(open_as)
    seen.allowed = {401}
    Session.objects.all().delete()
    seen.page.clock.run_for(6000)
    notice = seen.page.wait_for_selector("[data-signed-out]")
    assert notice.inner_text().startswith("You were signed out.")
    assert seen.page.locator("#id_username").count() == 0
    assert "Sunday power off" in seen.page.inner_text("#live")


def test_21_nothing_shifts_while_loading_and_refreshing(open_as, site):
    seen = open_as()
    seen.page.clock.install()
    for path in pages_of(site)[:8]:
        seen.goto(path)
        seen.page.wait_for_load_state("networkidle")
        seen.page.evaluate(SHIFTS)
        seen.page.wait_for_timeout(100)
        assert seen.page.evaluate("window.shifted") < 0.02, path
    seen.goto("/admin/")
    seen.page.wait_for_load_state("networkidle")
    seen.page.evaluate(SHIFTS)
    for name in ("Sunday power on", "Sunday power out", "Sunday power off"):
        refresh(seen, site, name)
    assert seen.page.evaluate("window.shifted") < 0.02


def test_21_nothing_stands_out_at_390_pixels(open_as, site):
    seen = open_as(width=390)
    wide = []
    for path in [*pages_of(site), reverse("admin:schedule", args=[site.paused.pk])]:
        seen.goto(path)
        assert seen.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
        wide += seen.page.evaluate(TOO_WIDE)
    assert not wide, "\n".join(wide)


def test_21_filters_are_folded_at_390_pixels(open_as, site):
    lists = [reverse(f"admin:{name}") for name in ("schedules", "tasks", "racks", "audit", "outcomes", "calendar")]
    seen = open_as(width=1280)
    for path in [*lists, reverse("admin:schedule", args=[site.nightly.pk]) + "?tab=firings"]:
        seen.page.set_viewport_size({"width": 1280, "height": 900})
        seen.goto(path)
        assert seen.page.is_visible("form.filters"), path
        assert seen.page.is_hidden("label[for=fold]"), path
        seen.page.set_viewport_size({"width": 390, "height": 900})
        assert seen.page.is_hidden("form.filters"), path
        seen.page.focus("#fold")
        seen.page.keyboard.press("Space")
        assert seen.page.is_visible("form.filters"), path
