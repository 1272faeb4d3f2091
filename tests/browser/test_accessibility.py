"""No serious fault of accessibility on any page, in both dresses, wide and narrow (admin.md 6, check 22)."""

from __future__ import annotations

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.urls import reverse

from tests.browser.world import Site, made_site, pages_of

AXE = Axe()
SHAPES = [(scheme, width) for scheme in ("light", "dark") for width in (1280, 390)]


@pytest.fixture
def site(transactional_db) -> Site:
    return made_site()


def faults(seen) -> list[str]:
    """What axe calls serious or critical on the page as it is now."""
    found = AXE.run(seen.page).response["violations"]
    return [
        f"{seen.page.url} {each['id']}: {node['target']} {node.get('failureSummary', '')[:200]}"
        for each in found
        if each["impact"] in {"serious", "critical"}
        for node in each["nodes"][:3]
    ]


@pytest.mark.parametrize(("scheme", "width"), SHAPES)
def test_22_every_page(open_as, site, scheme, width):
    seen = open_as(width=width, scheme=scheme)
    found = []
    for path in pages_of(site):
        assert seen.goto(path).status == 200, path
        found += faults(seen)
    assert not found, "\n".join(found)


@pytest.mark.parametrize(("scheme", "width"), SHAPES)
def test_22_sign_in_refusals_and_open_menus(open_as, site, scheme, width):
    found = []
    out = open_as(None, width=width, scheme=scheme)
    out.goto("/admin/login/")
    found += faults(out)
    out.page.fill("#id_username", "nobody")
    out.page.fill("#id_password", "wrong")
    out.page.click("[type=submit]")
    out.page.wait_for_selector("[role=alert]")
    found += faults(out)
    seen = open_as("viewer", width=width, scheme=scheme)
    seen.allowed = {403, 404}
    for path in (reverse("admin:schedule_verb", args=[site.nightly.pk, "trigger"]), "/admin/schedules/nothing/"):
        seen.goto(path)
        found += faults(seen)
    seen.goto(reverse("admin:schedules"))
    for summary in seen.page.locator("details.menu > summary").all():
        summary.click()
        found += faults(seen)
    assert not found, "\n".join(found)
