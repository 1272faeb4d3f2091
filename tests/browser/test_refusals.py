"""What is refused, and how it is said (admin.md 6: 9, 18, 23)."""

from __future__ import annotations

import pytest
from django.urls import reverse

from audit.models import AuditEntry
from dispatcher.models import Firing
from flowsched import clock
from inventory.targets import RackTarget
from scopes.services import scopes_reconcile
from tests.browser.world import Site, made_site, pages_of
from tests.console.helpers import stored
from tests.dispatcher.helpers import BY, due_schedule, racks


@pytest.fixture
def site(transactional_db) -> Site:
    return made_site()


def test_9_racks_that_changed_meanwhile_are_shown_and_nothing_is_done(open_as, transactional_db):
    on = racks(12)
    row = due_schedule("Nightly", on, kind="power_reset", late=-clock.now().resolution, now=clock.now())
    seen = open_as()
    seen.allowed = {409}
    seen.goto(reverse("admin:schedule_verb", args=[row.pk, "trigger"]))
    seen.page.fill("#id_typed", "12")
    scopes_reconcile(schedule_id=row.id, targets=[RackTarget(id=rack.id) for rack in on[:11]], by=BY, now=clock.now())
    seen.page.get_by_role("button", name="Power reset 12 racks").click()
    seen.page.wait_for_selector("text=Power reset 11 racks now?")
    assert on[11].name in seen.page.inner_text("[role=alert]")
    assert not Firing.objects.exists()


def test_18_a_viewer_is_offered_no_verb_and_may_do_none(open_as, site):
    seen = open_as("viewer")
    seen.allowed = {403}
    for path in pages_of(site):
        if seen.goto(path).status == 403:
            continue
        assert not seen.page.locator("#content input[type=checkbox][data-row]").count(), path
        offered = seen.page.eval_on_selector_all(
            "#content a, #content button",
            "all => all.map(e => [e.textContent.trim(), e.getAttribute('href') || e.getAttribute('formaction') || ''])",
        )
        verbs = [
            (text, to)
            for text, to in offered
            if any(part in to for part in ("/do/", "/cancel/", "/decide/", "/stop/", "/add/", "/edit/", "?copy="))
        ]
        assert not verbs, (path, verbs)
    before = stored().split()[:-1]
    token = next(cookie["value"] for cookie in seen.page.context.cookies() if cookie["name"] == "csrftoken")
    paths = [reverse("admin:schedule_verb", args=[site.nightly.pk, v]) for v in ("trigger", "pause", "delete")]
    paths += [
        reverse("admin:schedule_verb", args=[site.paused.pk, "resume"]),
        reverse("admin:task_cancel", args=[site.running.pk]),
        reverse("admin:task_decide", args=[site.unknown.pk]),
        reverse("admin:rack_stop", args=[site.racks[0].pk]),
        reverse("admin:schedule_add"),
        reverse("admin:schedule_edit", args=[site.nightly.pk]),
    ]
    for path in paths:
        answer = seen.page.context.request.post(
            seen.site + path, form={"csrfmiddlewaretoken": token}, headers={"Referer": seen.site + path}
        )
        assert answer.status == 403, path
    assert stored().split()[:-1] == before
    noted = set(AuditEntry.objects.filter(actor="viewer").exclude(refused="").values_list("verb", flat=True))
    verbs = ("trigger", "pause", "delete", "resume", "create", "update")
    assert noted >= {*(f"schedule.{verb}" for verb in verbs), "task.cancel", "task.acknowledge"}


def test_23_marks_table_legend_and_lists_agree(open_as, site):
    seen = open_as("viewer")
    page = seen.page
    seen.goto("/admin/")
    marks = page.locator("[data-chart=timeline] a").count()
    assert marks == page.locator("[data-table=timeline] tbody tr").count() > 0
    drawn = " ".join(page.locator("[data-chart=timeline] a").evaluate_all("all => all.map(a => a.ariaLabel)"))
    assert "Nightly power reset" in drawn
    assert site.paused.name not in drawn
    assert site.broken.name not in drawn
    for panel in page.locator("section[aria-label]:has([data-chart]:not([data-chart=timeline]))").all():
        bars = panel.locator("svg[data-chart]:visible a")
        counts = [int(bar.get_attribute("data-count")) for bar in bars.all()]
        legend = [int(text.split()[0]) for text in panel.locator(".legend .badge").all_inner_texts()]
        rows = panel.locator("tbody tr td:last-child").all_text_contents()
        assert sum(counts) == sum(legend) == sum(map(int, rows)) > 0
        assert f"({sum(counts)} outcomes)" in panel.locator("summary").inner_text()
    wanted = page.locator("[data-chart]:not([data-chart=timeline]):visible a[data-count]").evaluate_all(
        "all => all.map(a => [a.getAttribute('href'), a.dataset.count]).filter(([, count]) => count !== '0')"
    )
    wanted += page.locator(".legend a.badge").evaluate_all(
        "all => all.map(a => [a.getAttribute('href'), a.textContent.trim().split(' ')[0]])"
    )
    assert len(wanted) > 8
    for href, count in wanted[::3]:
        seen.goto(href)
        said = page.locator("[data-total]")
        shown = said.inner_text() if said.count() else page.inner_text(".chips .quiet").split()[0]
        assert shown == count, href
