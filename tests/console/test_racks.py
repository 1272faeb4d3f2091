"""Racks and the audit trail (admin.md 2.6, D-22)."""

from __future__ import annotations

import pytest
from django.urls import reverse

from audit.models import AuditEntry
from flowsched import clock
from flowsched.actor import SYSTEM
from inventory.models import Component, Rack
from inventory.services import rack_remove
from schedules.services import schedule_pause
from tests.console.helpers import BUDGET, queries_of, text_of
from tests.factories import DomainFactory
from tests.schedules.helpers import ALICE, make_schedule, whole
from tests.tasks_runs.helpers import make_rack, make_task

pytestmark = pytest.mark.django_db
MARKUP = '<img src=x onerror="alert(1)">'


def url(rack: Rack) -> str:
    return reverse("admin:rack", args=[rack.pk])


def test_no_racks_says_how_to_get_some(signed_in):
    said = text_of(signed_in("viewer").get("/admin/racks/"))
    assert "manage.py import_racks FILE" in said
    assert "manage.py demo_racks --racks 40" in said


def test_a_row_says_power_work_and_schedules(signed_in):
    rack = make_rack(power="on", name="r07")
    Component.objects.filter(name="tray-0").update(power_state="off")
    make_task(rack, "restart")
    make_schedule("Nightly", targets=whole(rack))
    said = text_of(signed_in("viewer").get("/admin/racks/"))
    assert "Partly on 2 of 3 on" in said
    assert "Starting power reset" in said


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("q=r0", {"r07", "r08"}),
        ("q=R07", {"r07"}),
        ("power=on", {"r07"}),
        ("power=off", {"r08"}),
        ("power=unknown", {"lab"}),
        ("busy=yes", {"r08"}),
        ("busy=no", {"r07", "lab"}),
        ("domain=nvl-x", {"lab"}),
        ("location=SJC", {"lab"}),
        ("q=sjc01", {"lab"}),
        ("location=%25", set()),
    ],
)
def test_filters(signed_in, query, found):
    make_rack(power="on", name="r07")
    make_task(make_rack(power="off", name="r08"))
    lab = make_rack(power="", name="lab")
    Rack.objects.filter(pk=lab.pk).update(nvl_domain=DomainFactory(name="nvl-x"), location={"data_center": "SJC01"})
    body = signed_in("viewer").get(f"/admin/racks/?{query}").content.decode()
    assert {name for name in ("r07", "r08", "lab") if f">{name}</a>" in body} == found


def test_one_rack(signed_in):
    rack = make_rack(power="on", name="r07")
    row = make_schedule("Nightly", targets=whole(rack))
    schedule_pause(schedule_id=row.pk, reason="chiller", by=ALICE, now=clock.now())
    make_task(rack, status="failed", finished_at=clock.now(), message="BMC timed out", job=False)
    client = signed_in("planner")
    said = text_of(client.get(url(rack)))
    assert 'Paused by alice: "chiller"' in said
    assert "Failed BMC timed out" in said
    assert "Components (3)" in said
    assert "New schedule for this rack" in said
    assert "New schedule for this rack" not in text_of(signed_in("viewer").get(url(rack)))


def test_a_removed_rack_keeps_its_page_and_leaves_the_list(signed_in):
    rack = make_rack(name="r07")
    rack_remove(rack="r07", by=SYSTEM, now=clock.now())
    client = signed_in("viewer")
    assert "r07 was removed from the inventory on" in text_of(client.get(url(rack)))
    assert ">r07</a>" not in client.get("/admin/racks/").content.decode()
    assert client.get("/admin/racks/nonsense/").status_code == 404


def test_a_rack_without_components_warns(signed_in):
    said = text_of(signed_in("viewer").get(url(make_rack(0, name="r09"))))
    assert "No components were imported for r09: operations on it will fail." in said


def test_budgets_and_markup(signed_in):
    client = signed_in("viewer")
    rack = make_rack(name=MARKUP)
    Rack.objects.filter(pk=rack.pk).update(location={"room": MARKUP}, description=MARKUP, model=MARKUP)
    make_task(rack)
    first = queries_of(client, "/admin/racks/")
    for _ in range(20):
        make_rack()
    assert queries_of(client, "/admin/racks/") <= first <= BUDGET
    assert queries_of(client, url(rack)) <= BUDGET
    for path in ("/admin/racks/", url(rack)):
        assert "<img src=x" not in client.get(path).content.decode()


# The audit trail --------------------------------------------------------------------------------------------------


def test_audit_is_searchable_and_for_those_who_may_read_it(signed_in):
    make_schedule(MARKUP)
    row = make_schedule("Nightly")
    schedule_pause(schedule_id=row.pk, reason="chiller", by=ALICE, now=clock.now())
    client = signed_in("viewer")
    assert "schedule.pause" in text_of(client.get("/admin/audit/?q=Nightly"))
    said = text_of(client.get("/admin/audit/?kind=schedule&actor=alice&door=rest&q=pause"))
    assert "1 entry" in said
    assert "disabled reason" in said
    assert "Nothing matches." in text_of(client.get("/admin/audit/?refused=yes"))
    for query in ("day=nonsense", "q=%00", "page=0", "door=x"):
        assert client.get(f"/admin/audit/?{query}").status_code == 200
    assert "<img src=x" not in client.get("/admin/audit/").content.decode()
    assert queries_of(client, "/admin/audit/") <= BUDGET


def test_audit_of_refusals(signed_in):
    row = make_schedule("Nightly")
    client = signed_in("viewer")
    client.post(reverse("admin:schedule_verb", args=[row.pk, "delete"]), {})
    said = text_of(client.get("/admin/audit/?refused=yes"))
    assert "refused: user 'viewer' may not do this" in said
    assert AuditEntry.objects.exclude(refused="").count() == 1
