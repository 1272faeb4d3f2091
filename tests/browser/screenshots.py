"""Pictures of the pages for the documents: bin/screenshots. Not a test of its own, though what goes wrong fails it.

A throw-away database, filled by the services; empty and full, light and dark, 1280 wide.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from django.urls import reverse

from tests.browser.world import Site, made_site

FOLDER = Path(__file__).parents[2] / "docs" / "screenshots"
MOST = 120_000  # bytes a picture: they are in the repository
TALLEST = 1400  # of a long page the top is enough


def empty_pages() -> dict[str, str]:
    """Every page that there is without any row."""
    names = {"dashboard": "index", "schedules": "schedules", "form": "schedule_add"}
    names |= {name: name for name in ("tasks", "racks", "calendar")}
    return {name: reverse(f"admin:{url}") for name, url in names.items()}


def full_pages(site: Site) -> dict[str, str]:
    """The same and those of one schedule and one rack, on a site at work."""
    return empty_pages() | {
        "form": reverse("admin:schedule_edit", args=[site.nightly.pk]),
        "schedule": reverse("admin:schedule", args=[site.nightly.pk]),
        "rack": reverse("admin:rack", args=[site.racks[0].pk]),
        "trigger": reverse("admin:schedule_verb", args=[site.nightly.pk, "trigger"]),
    }


def take(seen, path: str, name: str) -> None:
    """One picture, as good as fits."""
    seen.page.set_viewport_size({"width": 1280, "height": 600})
    assert seen.goto(path).status == 200, path
    seen.page.wait_for_load_state("networkidle")
    height = seen.page.evaluate("document.documentElement.scrollHeight")
    seen.page.set_viewport_size({"width": 1280, "height": max(600, min(height, TALLEST))})
    for quality in (70, 55, 40):
        picture = seen.page.screenshot(type="jpeg", quality=quality)
        if len(picture) < MOST:
            break
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / f"{name}.jpg").write_bytes(picture)
    assert len(picture) < MOST, f"{name}: {len(picture)} bytes"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_empty(open_as, transactional_db, scheme):
    seen = open_as(scheme=scheme)
    for name, path in empty_pages().items():
        take(seen, path, f"{name}-empty-{scheme}")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_full(open_as, transactional_db, scheme):
    seen = open_as(scheme=scheme)
    for name, path in full_pages(made_site(racks=38)).items():
        take(seen, path, f"{name}-{scheme}")
