"""What holds on every page alike, in a browser (admin.md 6: 1, 4, 5, 6, 7, 24)."""

from __future__ import annotations

import re

import pytest
from django.urls import reverse

from inventory.models import Component, Rack
from schedules.models import TaskSchedule
from tasks.models import Task
from tests.browser.world import Site, made_site, pages_of
from tests.console.helpers import stored
from tests.console.people import MARKUP

VERBS = ("Trigger", "Pause", "Resume", "Delete", "Decide", "Stop")
SEVEN = ("index", "schedules", "schedule_add", "tasks", "racks", "calendar")
BARE_TIMES = r"""() => {
    const said = /\b\d\d?:\d\d (E[SD]T|UTC|CES?T)\b|\b\d\d? (Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)\b/;
    const all = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT), found = [];
    while (all.nextNode()) {
        const parent = all.currentNode.parentElement;
        if (said.test(all.currentNode.data) && !parent.closest("time, .moment, svg, h1, h2, h3, th, script, style"))
            found.push(all.currentNode.data.trim());
    }
    return found;
}"""
LONG = MARKUP + "x" * 200


@pytest.fixture
def site(transactional_db) -> Site:
    return made_site()


def seven(site: Site) -> list[str]:
    """The seven pages."""
    return [
        *(reverse(f"admin:{name}") for name in SEVEN),
        reverse("admin:schedule", args=[site.nightly.pk]),
        reverse("admin:rack", args=[site.racks[0].pk]),
    ]


@pytest.mark.parametrize("role", ["admin", "viewer", "operator", "planner", "inventory"])
def test_1_and_6_no_page_logs_an_error_or_changes_a_row(open_as, site, role):
    seen = open_as(role)
    seen.allowed = {403}
    before = stored()
    shown = 0
    for path in pages_of(site):
        status = seen.goto(path).status
        assert status in {200, 403}, path
        shown += status == 200
    assert shown == len(pages_of(site)) if role == "admin" else shown > 12
    refused = set() if role == "admin" else {"audit_entry"}  # a refusal is recorded, and nothing else
    assert refused or stored() == before
    if refused:
        assert stored().split()[:-1] == before.split()[:-1]


@pytest.mark.parametrize("zone", ["America/New_York", "UTC"])
def test_3_no_time_stands_outside_a_time_element(open_as, site, zone):
    seen = open_as(zone=zone)
    bare = []
    for path in pages_of(site):
        seen.goto(path)
        times = seen.page.eval_on_selector_all("time", "all => all.map(t => [t.dateTime, t.textContent])")
        assert all(iso.endswith("Z") for iso, _ in times), path
        bare += [f"{path}: {text}" for text in seen.page.evaluate(BARE_TIMES)]
    assert not bare, "\n".join(bare)


def test_4_another_zone_changes_every_time_and_no_utc(open_as, site):
    seen = open_as(zone="America/New_York")
    texts = {}
    for zone in ("America/New_York", "Asia/Tokyo"):
        seen.goto("/admin/")
        seen.page.click("summary:has-text('Times:')")
        seen.page.fill("#viewer-zone", zone)
        seen.page.get_by_role("button", name="Use this zone").click()
        seen.page.wait_for_selector(f"summary:has-text('{zone}')")
        texts[zone] = [_times(seen, path) for path in seven(site)]
    for path, ours, theirs in zip(seven(site), *texts.values(), strict=True):
        both = ours.keys() & theirs.keys()
        assert both or not ours, path
        for at in both:
            assert ours[at][0] != theirs[at][0], (path, at, ours[at])
            assert ours[at][1] == theirs[at][1], (path, at)
    seen.goto("/admin/")
    ticks = seen.page.locator("[data-chart=timeline] text").all_text_contents()
    assert "now" in ticks
    seen.goto(reverse("admin:calendar") + "?view=list")
    assert " JST" in seen.page.inner_text("#content")
    assert not re.search(r"\b(EST|EDT)\b", seen.page.inner_text("#content"))


def _times(seen, path: str) -> dict[str, tuple[str, str]]:
    """The instant of each time -> what is written, and its hour in UTC where that stands beside it."""
    seen.goto(path)
    found = seen.page.eval_on_selector_all(
        "#content time", "all => all.map(t => [t.dateTime, t.textContent, t.parentElement.textContent])"
    )
    utc = re.compile(r"(\d\d:\d\d) UTC")
    return {
        at: (text, (utc.search(around.removeprefix(text)) or ["", ""])[1])
        for at, text, around in found
        if "UTC" not in text
    }


def test_5_every_badge_has_a_word_an_icon_and_its_reason_in_the_row(open_as, site):
    seen = open_as()
    poor = []
    for path in seven(site):
        seen.goto(path)
        poor += seen.page.eval_on_selector_all(
            ".badge",
            """(all) => all.filter((badge) => {
                const word = badge.textContent.trim(), icons = badge.querySelectorAll("svg[aria-hidden=true]").length;
                if (!word || icons !== 1) return true;
                if (/^(\\d+ )?(Completed|Enabled)$/.test(word) || badge.closest(".legend")) return false;
                const row = badge.closest("tr, li, .page-title, p, .need");
                return !row || row.textContent.replace(word, "").trim().length < 4;
            }).map((badge) => location.pathname + ": " + badge.outerHTML.slice(0, 200))""",
        )
    assert not poor, poor


def test_7_what_acts_is_posted_and_a_verbs_link_leads_to_its_confirmation(open_as, site):
    seen = open_as()
    verbs = set()
    for path in pages_of(site):
        seen.goto(path)
        bare = seen.page.eval_on_selector_all(
            "form",
            """(all) => all.filter((form) => form.method === "get" ? form.querySelector("[name=csrfmiddlewaretoken]")
                : !form.querySelector("[name=csrfmiddlewaretoken]")).map((form) => form.outerHTML.slice(0, 120))""",
        )
        assert not bare, (path, bare)
        links = seen.page.eval_on_selector_all(
            "#content a[href]", "all => all.map(a => [a.textContent.trim(), a.getAttribute('href')])"
        )
        verbs |= {(text, href) for text, href in links if text.startswith(VERBS)}
    assert len(verbs) >= 6, verbs
    for text, href in verbs:
        assert seen.goto(href).status == 200
        assert seen.page.locator("#content form[method=post][data-once]").count() == 1, (text, href)


@pytest.mark.parametrize("width", [1280, 390])
def test_24_hostile_and_endless_text_is_shown_as_text_and_stays_inside(open_as, site, width):
    Rack.objects.filter(pk=site.racks[0].pk).update(name=LONG[:255], description=LONG, location={"region": LONG})
    Component.objects.filter(rack=site.racks[0]).update(firmware_version=LONG[:60])
    TaskSchedule.objects.filter(pk=site.nightly.pk).update(name=LONG[:255])
    TaskSchedule.objects.filter(pk=site.paused.pk).update(disabled_reason=LONG, disabled_by=LONG[:150])
    TaskSchedule.objects.filter(pk=site.broken.pk).update(disabled_reason=LONG)
    Task.objects.all().update(message=LONG, rack_name=LONG[:255], schedule_name=LONG[:255])
    seen = open_as(width=width)
    wide = []
    for path in [*pages_of(site), reverse("admin:schedule", args=[site.paused.pk])]:
        seen.goto(path)
        assert seen.page.locator("img").count() == 0, path
        wide += seen.page.evaluate(TOO_WIDE)
    assert not wide, "\n".join(wide)
    seen.goto(reverse("admin:schedule", args=[site.nightly.pk]))
    assert MARKUP in seen.page.inner_text("h1")
    assert MARKUP in seen.page.title()


# What stands out of the window, or out of its own card. A labelled box that scrolls may hold wider things.
TOO_WIDE = """() => [...document.querySelectorAll("#content *")].filter((each) => {
    const box = each.getBoundingClientRect();
    if (!box.width || !box.height || !each.checkVisibility()) return false;
    if (each.closest(".visually-hidden, .skip-chart, svg, select")) return false;
    const scroll = each.closest(".scroll, .tabs");
    if (scroll && scroll !== each && scroll.scrollWidth > scroll.clientWidth && innerWidth > 767) return false;
    if (scroll && scroll.matches(".tabs")) return false;
    const card = each.parentElement.closest(".panel, .tile, td, th, body").getBoundingClientRect();
    return box.right > innerWidth + 1 || box.right > card.right + 1;
}).slice(0, 3).map((each) => `${location.pathname}${location.search} ${innerWidth}: ${each.outerHTML.slice(0, 160)}`)"""
