"""The list of schedules, one schedule, and its verbs behind confirmations (admin.md 2.2, 2.4)."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.urls import reverse

from audit.models import AuditEntry
from dispatcher.models import Firing, FiringScope
from flowsched import clock
from inventory.models import Rack
from schedules.models import TaskSchedule
from schedules.services import schedule_pause
from tasks.models import Task
from tests.console.helpers import BUDGET, hidden, queries_of, stored, text_of
from tests.dispatcher.helpers import due_schedule, finish_tasks, fire, racks
from tests.schedules.helpers import ALICE, consumed, make_schedule, whole
from tests.tasks_runs.helpers import make_rack, make_task

pytestmark = pytest.mark.django_db
MARKUP = '<img src=x onerror="alert(1)">'


def page(row: TaskSchedule, **query) -> str:
    return reverse("admin:schedule", args=[row.pk]) + (
        "?" + "&".join(f"{k}={v}" for k, v in query.items()) if query else ""
    )


def verb(row: TaskSchedule, name: str) -> str:
    return reverse("admin:schedule_verb", args=[row.pk, name])


def reread(row: TaskSchedule) -> TaskSchedule:
    row.refresh_from_db()
    return row


# The list ---------------------------------------------------------------------------------------------------------


def test_empty_list_teaches(signed_in):
    said = text_of(signed_in("planner").get("/admin/schedules/"))
    assert "No schedules yet. A schedule runs one operation on a set of racks" in said
    assert "Add schedule" in said


def test_empty_list_to_somebody_who_may_not_create(signed_in):
    said = text_of(signed_in("viewer").get("/admin/schedules/"))
    assert "Ask someone who may create schedules." in said
    assert "Add schedule" not in said


def test_a_row_says_when_what_and_why_not(signed_in):
    row = make_schedule("Chiller test", spec_type="cron", spec="0 2 * * *", timezone="America/New_York")
    schedule_pause(schedule_id=row.pk, reason="chiller work", by=ALICE, now=clock.now())
    said = text_of(signed_in().get("/admin/schedules/"))
    assert "Chiller test" in said
    assert "Power On · 1 rack" in said
    assert 'Paused by alice: "chiller work"' in said
    assert "none: paused" in said


def test_last_firing_counts_tasks_ends_and_scopes_outcomes_apart(signed_in):
    """D-5: how the operation ended once it has, else what became of the scope."""
    on = racks(3)
    due_schedule("Reset", on, kind="power_reset", now=clock.now())
    fire(clock.now())
    first, second, _ = Task.objects.order_by("rack_name")
    for task, status in ((first, "completed"), (second, "failed")):
        Task.objects.filter(pk=task.pk).update(status=status, finished_at=clock.now())
    FiringScope.objects.filter(task_id__isnull=False).exclude(task_id__in=[first.pk, second.pk]).update(
        state="rejected", task_id=None, reason="busy"
    )
    said = text_of(signed_in().get("/admin/schedules/"))
    assert "1 Failed 1 Rejected 1 Completed" in said


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("state=person", {"Two"}),
        ("state=enabled", {"One", "Three"}),
        ("state=off", {"Two"}),
        ("kind=cron", {"Three"}),
        ("operation=power_off", {"Two"}),
        ("operation=nonsense", set()),
        ("q=thr", {"Three"}),
        ("q=power%20off", {"Two"}),
        ("rack=nowhere", set()),
        ("outcome=submitted", {"One"}),
        ("outcome=failed", set()),
        ("state=enabled&kind=cron", {"Three"}),
    ],
)
def test_filters(signed_in, query, found):
    due_schedule("One", racks(1), now=clock.now())
    fire(clock.now())
    two = due_schedule("Two", racks(1), kind="power_off", late=-timedelta(hours=1), now=clock.now())
    schedule_pause(schedule_id=two.pk, by=ALICE, now=clock.now())
    make_schedule("Three", spec_type="cron", spec="0 2 * * *")
    body = signed_in().get(f"/admin/schedules/?{query}").content.decode()
    assert {name for name in ("One", "Two", "Three") if f">{name}</a>" in body} == found


def test_filtered_to_nothing_names_the_filters_and_offers_to_clear(signed_in):
    make_schedule("One")
    said = text_of(signed_in().get("/admin/schedules/?state=system&rack=r07"))
    assert "No schedule matches State: system, Rack: r07." in said
    assert "Clear filters" in said


def test_bad_pages_and_sorts_show_the_first(signed_in):
    make_schedule("One")
    client = signed_in()
    for query in ("page=0", "page=-1", "page=x", "page=99999999999", "sort=id);--", "state=%00", "q=%00"):
        assert client.get(f"/admin/schedules/?{query}").status_code == 200


def test_query_count_does_not_grow_with_rows(signed_in):
    client = signed_in("viewer")
    make_schedule("One")
    first = queries_of(client, "/admin/schedules/")
    for number in range(49):
        make_schedule(f"more {number}")
    assert queries_of(client, "/admin/schedules/") <= first <= BUDGET


def test_markup_in_names_is_text(signed_in):
    row = make_schedule(MARKUP)
    schedule_pause(schedule_id=row.pk, reason=MARKUP, by=ALICE, now=clock.now())
    client = signed_in()
    for path in ("/admin/schedules/", page(row), page(row, tab="changes"), verb(row, "resume"), verb(row, "delete")):
        body = client.get(path).content.decode()
        assert "<img src=x" not in body
        assert "&lt;img src=x" in body


# One schedule -----------------------------------------------------------------------------------------------------


def test_schedule_page_shows_racks_firings_and_changes(signed_in):
    on = racks(2)
    row = due_schedule("Nightly", on, now=clock.now())
    fire(clock.now())
    client = signed_in("viewer")
    said = text_of(client.get(page(row)))
    assert on[0].name in said
    assert "whole rack (2)" in said
    firing = Firing.objects.get()
    opened = text_of(client.get(page(row, tab="firings", firing=firing.pk)))
    assert "2 Starting" in opened
    assert on[1].name in opened
    assert "schedule.create" in text_of(client.get(page(row, tab="changes")))
    assert "Nightly — " not in said


def test_skipped_rack_says_why_and_its_streak(signed_in):
    row = due_schedule("Often", racks(1), now=clock.now())
    for _ in range(4):
        fire(clock.now())
        TaskSchedule.objects.filter(pk=row.pk).update(next_run_at=clock.now())
    said = text_of(signed_in().get(page(row)))
    assert "3 in a row" in said
    newest = Firing.objects.latest("id")
    assert "still pending" in text_of(signed_in("viewer").get(page(row, tab="firings", firing=newest.pk)))


def test_unknown_address_says_so(signed_in):
    client = signed_in()
    for name in ("nonsense", "00000000-0000-0000-0000-000000000000", "6f1d8f0e-53f5-4a8f-9a63-0c2f6b9f6b58"):
        answer = client.get(f"/admin/schedules/{name}/")
        assert answer.status_code == 404
        assert "there is no schedule with this address" in text_of(answer)


def test_page_budgets(signed_in):
    row = due_schedule("Nightly", racks(30), now=clock.now())
    fire(clock.now())
    client = signed_in("viewer")
    for query in ({}, {"tab": "firings", "firing": Firing.objects.get().pk}, {"tab": "changes"}):
        assert queries_of(client, page(row, **query)) <= BUDGET


# Verbs ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["pause", "resume", "trigger", "delete"])
def test_looking_at_a_confirmation_changes_nothing(signed_in, name):
    row = make_schedule()
    if name == "resume":
        schedule_pause(schedule_id=row.pk, by=ALICE, now=clock.now())
    client = signed_in()
    before = stored()
    assert client.get(verb(row, name)).status_code == 200
    assert stored() == before


def test_pause_takes_a_reason_and_goes_back(signed_in):
    row = make_schedule("Nightly")
    client = signed_in("operator")
    shown = client.get(verb(row, "pause"))
    assert "It will not fire until resumed." in text_of(shown)
    refused = client.post(verb(row, "pause"), hidden(shown))
    assert refused.status_code == 400
    assert "give a reason" in text_of(refused)
    assert reread(row).enabled
    done = client.post(verb(row, "pause"), hidden(shown) | {"reason": "chiller work"}, follow=True)
    assert '"Nightly" is paused.' in text_of(done)
    assert (reread(row).disabled_reason, row.disabled_by) == ("chiller work", "operator")
    assert AuditEntry.objects.filter(verb="schedule.pause", door="admin", actor="operator").count() == 1


def test_pausing_names_the_schedules_their_racks_and_the_run_given_up(signed_in):
    row, off = make_schedule("Nightly", targets=whole(make_rack(name="r07"))), make_schedule("Chiller")
    schedule_pause(schedule_id=off.pk, by=ALICE, now=clock.now())
    make_task(Rack.objects.get(name="r07"), schedule_id=row.pk)
    client = signed_in("operator")
    shown = client.post("/admin/schedules/do/pause/", {"id": [str(row.pk), str(off.pk)]})
    said = text_of(shown)
    assert "They will not fire until resumed. 1 task already submitted keeps running." in said
    assert '"Nightly" on 1 rack: gives up its run of ' in said
    assert '"Chiller" on 1 rack: it has no next run to give up' in said
    body = shown.content.decode()
    assert f'<time datetime="{reread(row).next_run_at:%Y-%m-%dT%H:%M:%SZ}">' in body
    assert re.search(r'id="id_reason"[^>]* required autofocus', body)
    assert "autofocus data-cancel" not in body
    assert "1 active task is not cancelled." in text_of(signed_in().get(verb(row, "delete")))


def test_changed_meanwhile_is_shown_again_and_nothing_done(signed_in):
    row = make_schedule("Nightly")
    client = signed_in()
    sent = hidden(client.get(verb(row, "delete")))
    TaskSchedule.objects.filter(pk=row.pk).update(version=row.version + 1)
    answer = client.post(verb(row, "delete"), sent)
    assert answer.status_code == 409
    assert "It changed since you looked." in text_of(answer)
    assert TaskSchedule.objects.filter(pk=row.pk).exists()


def test_trigger_names_racks_asks_for_their_number_and_fires_once(signed_in):
    on = racks(12)
    row = due_schedule("Reset", on, kind="power_reset", late=-timedelta(hours=1), now=clock.now())
    client = signed_in("operator")
    shown = client.get(verb(row, "trigger"))
    said = text_of(shown)
    assert all(rack.name in said for rack in on)
    assert said.count("Power reset 12 racks") >= 2  # the heading and the button
    sent = hidden(shown)
    for typed in ("", "11", "twelve"):
        assert client.post(verb(row, "trigger"), sent | {"typed": typed}).status_code == 400
    assert not Firing.objects.exists()
    for _ in range(2):  # a double click
        answer = client.post(verb(row, "trigger"), sent | {"typed": "12"})
        assert "12 of 12 racks submitted." in text_of(answer)
    assert Firing.objects.count() == 1
    assert Task.objects.count() == 12


def test_few_racks_or_harmless_operations_need_no_number(signed_in):
    few = due_schedule("Few", racks(2), kind="power_off", late=-timedelta(hours=1), now=clock.now())
    harmless = due_schedule("Many", racks(12), kind="power_on", late=-timedelta(hours=1), now=clock.now())
    client = signed_in()
    for row in (few, harmless):
        shown = client.get(verb(row, "trigger"))
        assert "Type the number" not in text_of(shown)
        assert client.post(verb(row, "trigger"), hidden(shown)).status_code == 200
    assert Firing.objects.count() == 2


def test_trigger_of_busy_racks_warns_and_tells_who_refused(signed_in):
    on = racks(2)
    due_schedule("First", on[:1], kind="power_reset", now=clock.now())
    fire(clock.now())
    row = due_schedule("Second", on, kind="power_off", late=-timedelta(hours=1), now=clock.now())
    client = signed_in()
    shown = client.get(verb(row, "trigger"))
    assert f"{on[0].name} is busy: power reset is pending there" in text_of(shown)
    said = text_of(client.post(verb(row, "trigger"), hidden(shown)))
    assert "1 of 2 racks submitted, 1 refused." in said
    assert "Rejected" in said


def test_trigger_with_all_racks_refused_is_one_error(signed_in):
    on = racks(1)
    due_schedule("First", on, kind="power_reset", now=clock.now())
    fire(clock.now())
    row = due_schedule("Second", on, kind="power_off", late=-timedelta(hours=1), now=clock.now())
    client = signed_in()
    answer = client.post(verb(row, "trigger"), hidden(client.get(verb(row, "trigger"))))
    assert answer.status_code == 409
    said = text_of(answer)
    assert said.count("no rack accepted the task") == 1
    assert "submitted." not in said


def test_bulk_pause_reports_each(signed_in):
    first, second, third = (make_schedule(name) for name in ("A", "B", "C"))
    schedule_pause(schedule_id=second.pk, by=ALICE, now=clock.now())
    client = signed_in("operator")
    ids = [str(row.pk) for row in (first, second, third)]
    shown = client.post("/admin/schedules/do/pause/", {"id": ids})
    assert "Pause 3 schedules?" in text_of(shown)
    done = client.post("/admin/schedules/do/pause/", hidden(shown) | {"id": ids, "reason": "site visit"})
    said = text_of(done)
    assert "2 of 3 schedules paused." in said
    assert "Already paused, by alice." in said
    assert not any(reread(row).enabled for row in (first, second, third))


def test_bulk_of_nothing_and_of_too_many(signed_in):
    client = signed_in()
    assert "tick at least one" in text_of(client.post("/admin/schedules/do/pause/", {}))
    many = [f"6f1d8f0e-53f5-4a8f-9a63-{n:012x}" for n in range(201)]
    assert "more than the 200" in text_of(client.post("/admin/schedules/do/pause/", {"id": many}))


def test_a_used_one_time_schedule_offers_no_trigger(signed_in):
    row = consumed(name="Once")
    client = signed_in()
    body = client.get(page(row)).content.decode()
    assert "/do/trigger/" not in body
    assert "it will not run again" in text_of(client.get(page(row)))
    answer = client.post(verb(row, "trigger"), hidden(client.get(verb(row, "trigger"))))
    assert answer.status_code == 409


def test_delete_keeps_history_and_says_so(signed_in):
    row = due_schedule("Gone", racks(2), now=clock.now())
    fire(clock.now())
    client = signed_in("planner")
    shown = client.get(verb(row, "delete"))
    assert "2 rack entries go with it. 2 active tasks are not cancelled. History and audit stay." in text_of(shown)
    client.post(verb(row, "delete"), hidden(shown))
    assert not TaskSchedule.objects.exists()
    assert Firing.objects.count() == 1
    assert finish_tasks() == 2


# Permissions ------------------------------------------------------------------------------------------------------


def test_viewer_sees_no_verb_and_is_refused_each(signed_in):
    row = make_schedule("Nightly")
    client = signed_in("viewer")
    for path in ("/admin/schedules/", page(row)):
        body = client.get(path).content.decode()
        assert "/do/" not in body
        assert "data-row" not in body
    for name in ("pause", "resume", "trigger", "delete"):
        before = TaskSchedule.objects.values().get()
        for answer in (client.get(verb(row, name)), client.post(verb(row, name), {"nonce": "x"})):
            assert answer.status_code == 403
            assert "Nothing was done; the attempt was recorded." in text_of(answer)
        assert TaskSchedule.objects.values().get() == before
        refused = AuditEntry.objects.filter(verb=f"schedule.{name}", actor="viewer", door="admin").exclude(refused="")
        assert refused.count() == 2


def test_nobody_and_users_who_are_not_staff_are_sent_to_sign_in(client, django_user_model):
    row = make_schedule()
    user = django_user_model.objects.create_user("plain", password="x")
    for who in (None, user):
        if who:
            client.force_login(who)
        answer = client.get(page(row))
        assert answer.status_code == 302
        assert answer["Location"].startswith("/admin/login/?next=/admin/schedules/")
        assert client.get(page(row), headers={"HX-Request": "true"}).status_code == 401


def test_post_without_a_token_is_refused(signed_in):
    """TH-16."""
    from django.test import Client  # noqa: PLC0415

    row = make_schedule()
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = signed_in().cookies
    assert strict.post(verb(row, "pause"), {"nonce": "x"}).status_code == 403
    assert reread(row).enabled
