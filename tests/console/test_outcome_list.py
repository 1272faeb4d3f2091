"""The list of what became of each rack: filters, reasons, pages, price."""

import re
from datetime import timedelta
from html import unescape

import pytest

from audit.models import AuditEntry
from console import asked
from console.links import outcomes
from dispatcher.models import FiringScope
from flowsched import clock
from tasks.models import Run, Task
from tests.console.history import fill
from tests.console.people import browse, statements, writes

pytestmark = pytest.mark.django_db
DAY, HOUR = timedelta(days=1), timedelta(hours=1)


def shown(client, address):
    answer = client.get(address)
    assert answer.status_code == 200
    return answer.content.decode()


def total(html):
    return int(re.search(r"<b data-total>(\d+)</b>", html)[1])


def body(html):
    return html.split("<tbody>")[1].split("</tbody>")[0] if "<tbody>" in html else ""


@pytest.fixture
def history():
    now = clock.now()
    fill(now, racks=9, schedules=12, firings=200, each=2, span=10 * HOUR)
    return now


@pytest.mark.parametrize("outcome", ["submitted", "skipped", "rejected", "missed", "unresolved"])
def test_one_outcome_with_its_reason_in_every_row(history, outcome):
    html = shown(browse(), outcomes(outcome=outcome, since=history - DAY, until=history))
    state = "failed" if outcome == "unresolved" else outcome
    assert total(html) == FiringScope.objects.filter(state=state).count() > 0
    rows = body(html).split("<tr>")[1:]
    assert len(rows) == min(50, total(html))
    for row in rows:
        assert "a task was created" in row if outcome == "submitted" else f"filled in as {state}" in row


def test_what_left_a_rack_without_a_task(history):
    html = shown(browse(), outcomes(outcome="not_submitted", since=history - DAY))
    assert total(html) == FiringScope.objects.exclude(state="submitted").count()
    assert "Completed" not in body(html)


def test_the_outcome_and_the_end_of_the_task_stand_side_by_side(history):
    task = Task.objects.filter(status="completed").latest("finished_at")
    Task.objects.filter(pk=task.pk).update(status="running", finished_at=None, message="outcome unknown: gone")
    Run.objects.create(task=task, id=task.pk, state="unknown", executor="x", queued_at=history, started_at=history)
    html = shown(browse(), outcomes(outcome="submitted", since=history - DAY))
    [row] = [row for row in body(html).split("<tr>") if str(task.pk) in row]
    assert "Submitted" in row
    assert "Unknown" in row
    assert "outcome unknown: gone" in row
    assert "Completed" in body(html)


def test_by_rack_schedule_and_time(history):
    scope = FiringScope.objects.select_related("firing").latest("firing__due_at")
    client = browse()
    html = shown(client, f"/admin/outcomes/?rack={scope.rack_name}")
    assert total(html) == FiringScope.objects.filter(rack_name=scope.rack_name).count()
    by_name = shown(client, f"/admin/outcomes/?schedule={scope.firing.schedule_name}")
    by_id = shown(client, f"/admin/outcomes/?schedule={scope.firing.schedule_id}")
    assert (
        total(by_name)
        == total(by_id)
        == FiringScope.objects.filter(firing__schedule_id=scope.firing.schedule_id).count()
    )
    between = outcomes(since=history - 3 * HOUR, until=history - 2 * HOUR)
    assert (
        total(shown(client, between))
        == FiringScope.objects.filter(
            firing__due_at__gte=history - 3 * HOUR, firing__due_at__lt=history - 2 * HOUR
        ).count()
    )


def test_a_rack_that_is_gone_is_found_by_the_name_its_firings_kept(history):
    FiringScope.objects.filter(pk=FiringScope.objects.latest("id").pk).update(rack_name="old name", rack_id=None)
    assert total(shown(browse(), "/admin/outcomes/?rack=old%20name")) == 1


def test_pages_of_fifty(history):
    client = browse()
    seen = []
    address = "/admin/outcomes/"
    while address:
        html = shown(client, address)
        seen += re.findall(r"firing=(\d+)#", body(html))
        following = re.search(r'<a class="button secondary" href="([^"]+)">Next</a>', html)
        address = f"/admin/outcomes/{unescape(following[1])}" if following else ""
    assert len(seen) == 400
    assert len(set(seen)) == 200


def test_what_is_under_way_has_no_bounds_in_time(history):
    firing = FiringScope.objects.earliest("id").firing
    firing.state, firing.closed_at, firing.due_at = "open", None, history - 40 * DAY
    firing.save()
    assert total(shown(browse(), outcomes(outcome="pending"))) == 2


@pytest.mark.parametrize(
    "query",
    ["from=yesterday&to=%00", "from=9999-12-31T23:59:59Z", "from=1970-01-01T00:00:00Z", "page=-1", "page=x",
     "page=99999999999", "outcome=nonsense", "schedule=%27%3B--", "rack=" + "x" * 300],
)  # fmt: skip
def test_an_address_that_makes_no_sense_is_read_as_far_as_it_does(history, query):
    shown(browse(), f"/admin/outcomes/?{query}")


def test_nothing_found_says_what_was_asked():
    html = shown(browse(), "/admin/outcomes/?outcome=missed&rack=r12")
    assert "No rack matches this outcome on r12 in this time." in html
    assert "Clear filters" in html


def test_who_may_not_see_firings_is_refused_and_the_attempt_recorded():
    answer = browse(verbs=["task.read"]).get("/admin/outcomes/")
    assert answer.status_code == 403
    assert AuditEntry.objects.latest("id").verb == "firing.read"


def test_a_page_costs_the_same_for_few_and_for_many():
    now = clock.now()
    client = browse()
    fill(now, racks=3, schedules=2, firings=2)
    with statements() as few:
        shown(client, "/admin/outcomes/?from=2000-01-01T00:00:00Z")
    FiringScope.objects.all().delete()
    fill_more(now)
    with statements() as many:
        html = shown(client, "/admin/outcomes/?from=2000-01-01T00:00:00Z")
    assert total(html) > 50
    assert len(many) - len(few) <= 1  # a list of more than a page is counted
    assert len(many) < 15
    assert not writes(many)


def fill_more(now):
    from tests.console.history import relive  # noqa: PLC0415  one use

    relive(now + timedelta(seconds=1), firings=120)


@pytest.mark.parametrize(
    ("text", "found"), [("2027-02-30", None), ("2027-02-28", "2027-02-28"), ("20270228", None), ("9999-01-01", None)]
)
def test_dates_of_addresses(text, found):
    day = asked.date_of(text)
    assert (day.isoformat() if day else None) == found
