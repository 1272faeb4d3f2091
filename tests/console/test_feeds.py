"""Calendar feeds: made, read by calendars, revoked (D-31, TH-14, admin.md 2.7)."""

import json
import re
from datetime import UTC, datetime, timedelta
from html import unescape

import icalendar
import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.db import connection
from django.test import Client

from access.models import CalendarFeed
from access.services import MAX_FEEDS, feed_create, feed_revoke
from audit.models import AuditEntry
from console.calendar import feed as door
from console.calendar.filters import Filters
from console.calendar.happenings import MOST, happenings
from console.calendar.ics import Happening, calendar_text
from dispatcher.models import Firing
from flowsched import clock
from flowsched.errors import AlreadyExists, InvalidInput, NotFound, PreconditionFailed, Unavailable
from schedules.models import TaskSchedule
from schedules.specs import spec_of
from tests.console.helpers import hidden, stored
from tests.console.history import fill, relive
from tests.console.people import MARKUP, browse, statements
from tests.dispatcher.helpers import BY, due_schedule, racks

pytestmark = pytest.mark.django_db
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
FORM = "/admin/calendar/feeds/"
TOKEN = re.compile(r'value="(http://testserver/calendar/([A-Za-z0-9_-]{43})\.ics)"')


@pytest.fixture(autouse=True)
def _no_throttling_from_other_tests():
    cache.clear()


def made(client, **form):
    """(address, token) of a feed that this person makes."""
    answer = client.post(FORM, form)
    assert answer.status_code == 200
    return TOKEN.search(answer.content.decode()).groups()


def parsed(answer):
    assert answer.status_code == 200
    return icalendar.Calendar.from_ical(answer.content)


def events(answer):
    return list(parsed(answer).walk("VEVENT"))


def daily(now, name="nightly", on=2, **changes):
    row = due_schedule(name, racks(on), now=now, **({"cron": "0 2 * * *", "timezone": "America/New_York"} | changes))
    TaskSchedule.objects.filter(pk=row.pk).update(next_run_at=spec_of(row).next_after(now))
    row.refresh_from_db()
    return row


# What a calendar reads ----------------------------------------------------------------------------------------------


def test_one_event_a_firing_thirty_days_ahead_and_seven_back():
    now = clock.now()
    row = daily(now)
    relive(now - MINUTE, firings=20, span=10 * DAY)
    address, _ = made(browse(name="ann"), name="Plan")
    answer = Client().get(address)
    assert answer["Content-Type"] == "text/calendar; charset=utf-8"
    found = events(answer)
    coming = [at for day in spec_of(row).days(now, now + 30 * DAY) for at in day]
    gone = list(Firing.objects.filter(due_at__gte=now - 7 * DAY).values_list("due_at", flat=True))
    starts = [event["DTSTART"].dt for event in found]
    assert starts == sorted(starts)
    assert {at.replace(microsecond=0) for at in (*coming, *gone)} == set(starts)
    assert all(at.tzinfo is UTC or at.utcoffset() == timedelta(0) for at in starts)
    assert len({str(event["UID"]) for event in found}) == len(found) == len(coming) + len(gone)
    for event in found:
        assert str(event["UID"]).startswith(f"{row.pk}-")
        assert str(event["SUMMARY"]) == "nightly (2 racks)"
        assert "Power On" in str(event["DESCRIPTION"])
        assert str(event["URL"]).startswith(f"http://testserver/admin/schedules/{row.pk}/")


def test_the_names_of_events_stay_when_it_is_read_again():
    now = clock.now()
    daily(now)
    address, _ = made(browse(name="ann"))
    first, second = Client().get(address), Client().get(address)
    assert first.content == second.content
    assert [event["UID"] for event in events(first)] == [event["UID"] for event in events(second)]


def test_what_has_not_changed_is_not_sent_again():
    now = clock.now()
    row = daily(now)
    address, _ = made(browse(name="ann"))
    first = Client().get(address)
    again = Client().get(address, headers={"If-None-Match": first["ETag"]})
    assert (again.status_code, again.content) == (304, b"")
    TaskSchedule.objects.filter(pk=row.pk).update(name="renamed")
    assert Client().get(address, headers={"If-None-Match": first["ETag"]}).status_code == 200


def test_the_calendar_tells_clients_how_often_to_ask():
    address, _ = made(browse(name="ann"), name="Plan")
    calendar = parsed(Client().get(address))
    assert str(calendar["X-WR-CALNAME"]) == "Plan"
    assert calendar["REFRESH-INTERVAL"].dt == HOUR
    assert str(calendar["X-PUBLISHED-TTL"]) == "PT1H"


def test_no_reasons_and_no_people():
    now = clock.now()
    daily(now)
    relive(now - MINUTE, firings=20, span=5 * DAY)
    Firing.objects.update(actor="zoe", reason="the secret reason")
    text = Client().get(made(browse(name="zoe"), name="Plan")[0]).content.decode()
    assert "zoe" not in text
    assert "secret reason" not in text
    assert "filled in as" not in text


@pytest.mark.parametrize(("field", "expected"), [("rack", {"one"}), ("schedule", {"other"}), ("operation", {"other"})])
def test_a_feed_keeps_its_filter_also_when_names_change(field, expected):
    now = clock.now()
    one, other = daily(now, name="one"), daily(now, name="other", kind="power_off")
    rack = one.scopes.select_related("rack").first().rack
    address, _ = made(
        browse(name="ann"), **{field: {"rack": rack.name, "schedule": "other", "operation": "power_off"}[field]}
    )
    rack.name = "another name"
    rack.save()
    TaskSchedule.objects.filter(pk=other.pk).update(name="other, renamed")
    names = {str(event["SUMMARY"]).split(" (")[0].split(",")[0] for event in events(Client().get(address))}
    assert names == expected


def test_paused_and_unreadable_schedules_are_not_in_it():
    now = clock.now()
    daily(now, name="fine")
    for name, changes in (
        ("paused", {"enabled": False, "disabled_kind": "person", "disabled_at": now}),
        ("poison", {"spec": "nonsense"}),
    ):
        TaskSchedule.objects.filter(pk=daily(now, name=name).pk).update(**changes)
    answer = Client().get(made(browse(name="ann"))[0])
    assert {str(event["SUMMARY"]) for event in events(answer)} == {"fine (2 racks)"}
    assert "1 schedules cannot be read" in str(parsed(answer)["X-WR-CALDESC"])


def test_a_thousand_events_at_most_and_the_seldom_ones_are_all_there():
    now = clock.now()
    daily(now)
    due_schedule("every minute", racks(1), cron="* * * * *", late=-MINUTE, now=now)
    for n in range(5):
        due_schedule(f"hourly {n}", racks(1), cron=f"{n} * * * *", late=-HOUR, now=now)
    held = happenings(Filters(), now=now, with_past=True, address=str)
    assert len(held.events) == MOST
    assert held.cut
    assert len([each for each in held.events if each.summary.startswith("nightly")]) in {29, 30}
    often = [each.at for each in held.events if not each.summary.startswith("nightly")]
    assert max(often) < now + 2 * DAY  # the near ones


def test_a_feed_of_many_schedules_costs_as_many_queries_as_of_one():
    now = clock.now()
    client = browse(name="ann")
    address, _ = made(client)
    daily(now)
    relive(now, firings=2)
    with statements() as few:
        events(Client().get(address))
    Firing.objects.all().delete()
    fill(now, racks=20, schedules=300, firings=500, each=2)
    with statements() as many:
        found = events(Client().get(address))
    assert len(found) == MOST
    assert len(many) <= len(few) <= 8  # the first one also notes that the feed was read


def test_names_with_commas_and_line_breaks_do_not_make_lines_of_their_own():
    at = datetime(2027, 3, 14, 7, 0, 0, 5, tzinfo=UTC)
    row = daily(clock.now())
    happening = Happening(row.pk, at, at, f"a, b; c\r\nATTENDEE:x {MARKUP}", "line\nEND:VEVENT", "op", "https://x/")
    text = calendar_text(name="p\nq", about="", happenings=[happening])
    assert b"\nATTENDEE" not in text
    assert text.count(b"END:VEVENT") == 2  # one in the description, in the middle of its line
    [event] = icalendar.Calendar.from_ical(text).walk("VEVENT")
    assert "ATTENDEE:x" in str(event["SUMMARY"])
    assert str(event["UID"]) == f"{row.pk}-20270314T070000.000005Z@flowsched"


# Who may read it ----------------------------------------------------------------------------------------------------


def test_the_token_is_shown_once_and_stored_nowhere():
    client = browse(name="ann")
    address, token = made(client, name="Plan")
    page = client.get(FORM).content.decode()
    assert "Plan" in page
    assert token not in page
    assert token[:6] in page
    with connection.cursor() as cursor:
        for table in ("calendar_feed", "audit_entry", "django_session", "django_admin_log"):
            cursor.execute(f"SELECT count(*) FROM {table} t WHERE t::text LIKE %s", [f"%{token}%"])
            assert cursor.fetchone()[0] == 0, table
    assert Client().get(address).status_code == 200


@pytest.mark.parametrize("token", ["x" * 43, "x", "x" * 44, "%00" * 43, "../admin"])
def test_an_address_that_is_none_is_not_found(token):
    answer = Client().get(f"/calendar/{token}.ics")
    assert answer.status_code == 404


def test_a_revoked_feed_is_not_found_in_the_same_words_as_one_that_never_was():
    client = browse(name="ann")
    address, _ = made(client, name="Plan")
    feed = CalendarFeed.objects.get()
    page = client.get(f"{FORM}{feed.pk}/revoke/")
    assert "Plan" in page.content.decode()
    assert CalendarFeed.objects.count() == 1
    answer = client.post(f"{FORM}{feed.pk}/revoke/", hidden(page))
    assert answer.status_code == 302
    gone, never = Client().get(address), Client().get(f"/calendar/{'x' * 43}.ics")
    assert gone.status_code == never.status_code == 404
    assert gone.content == never.content


@pytest.mark.parametrize("change", ["inactive", "no permission"])
def test_a_feed_ends_with_its_owner_s_rights(change):
    client = browse("viewer", name="ann")
    address, _ = made(client)
    assert Client().get(address).status_code == 200
    if change == "inactive":
        User.objects.update(is_active=False)
    else:
        User.objects.get().user_permissions.clear()
    assert Client().get(address).status_code == 404


def test_who_may_not_see_firings_has_none_in_the_feed():
    now = clock.now()
    daily(now)
    relive(now - MINUTE, firings=10, span=3 * DAY)
    address, _ = made(browse(verbs=["schedule.read"], name="ann"))
    assert min(event["DTSTART"].dt for event in events(Client().get(address))) > now


def test_a_feed_changes_nothing_and_takes_no_post():
    now = clock.now()
    daily(now)
    address, _ = made(browse(name="ann"))
    assert Client().post(address).status_code == 405
    Client().get(address)
    before = stored()
    answer = Client().get(address)
    assert answer.status_code == 200
    assert stored() == before
    assert not answer.cookies
    assert answer["Cache-Control"].startswith("private")


def test_when_it_was_read_is_noted_once_an_hour():
    address, _ = made(browse(name="ann"))
    feed = CalendarFeed.objects.get()
    assert feed.last_used_at is None
    Client().get(address)
    feed.refresh_from_db()
    first = feed.last_used_at
    Client().get(address)
    feed.refresh_from_db()
    assert feed.last_used_at == first
    CalendarFeed.objects.update(last_used_at=first - 2 * HOUR)
    Client().get(address)
    feed.refresh_from_db()
    assert feed.last_used_at > first


def test_an_address_that_is_asked_too_often_waits():
    address, _ = made(browse(name="ann"))
    answers = [Client().get(address) for _ in range(door.KNOWN + 1)]
    assert [answer.status_code for answer in answers] == [200] * door.KNOWN + [429]
    assert answers[-1]["Retry-After"] == "60"
    other, _ = made(browse(name="bob"))
    assert Client().get(other).status_code == 200


def test_wrong_addresses_are_counted_by_where_they_come_from():
    answers = [Client().get(f"/calendar/{'x' * 43}.ics").status_code for _ in range(door.UNKNOWN + 1)]
    assert answers == [404] * door.UNKNOWN + [429]
    address, _ = made(browse(name="ann"))
    assert Client().get(address).status_code == 200


def test_a_database_that_is_away_is_no_missing_calendar(monkeypatch):
    address, _ = made(browse(name="ann"))

    def fail(token):
        raise Unavailable("away")

    monkeypatch.setattr(door, "feed_of", fail)
    answer = Client().get(address)
    assert answer.status_code == 503
    assert answer["Retry-After"]


# Making and revoking ------------------------------------------------------------------------------------------------


def test_making_and_revoking_are_in_the_audit_trail():
    client = browse(name="ann")
    daily(clock.now())
    made(client, name="Plan", operation="power_on")
    entry = AuditEntry.objects.latest("id")
    assert (entry.verb, entry.actor, entry.object_name, entry.door) == ("feed.create", "ann", "Plan", "admin")
    assert entry.after == {"filter": {"operation": "power_on"}}
    user = User.objects.get(username="ann")
    feed_revoke(feed_id=CalendarFeed.objects.get().pk, user_id=user.pk, by=BY, now=clock.now())
    entry = AuditEntry.objects.latest("id")
    assert (entry.verb, entry.object_name) == ("feed.revoke", "Plan")


def test_a_feed_needs_no_name_of_its_own():
    client = browse(name="ann")
    made(client)
    made(client, operation="power_on")
    assert set(CalendarFeed.objects.values_list("name", flat=True)) == {"flowsched", "Power on"}


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ({"name": "Plan"}, "you have a feed 'Plan' already"),
        ({"name": "x" * 256}, "1 to 255 characters"),
        ({"name": "a\x07b"}, "no control characters"),
        ({"rack": "nowhere"}, "no rack is called 'nowhere'"),
        ({"schedule": "nothing"}, "no schedule is called 'nothing'"),
    ],
)
def test_what_is_refused_is_said_on_the_form_and_nothing_typed_is_lost(form, said):
    client = browse(name="ann")
    made(client, name="Plan")
    answer = client.post(FORM, form)
    html = unescape(answer.content.decode())
    assert answer.status_code == 400
    assert said.lower() in html.lower()
    assert not TOKEN.search(html)
    assert all(f'value="{value}"' in html for value in form.values() if "\x07" not in value)
    assert CalendarFeed.objects.count() == 1


def test_the_calendar_s_filter_is_in_the_form():
    rack = racks(1)[0]
    html = browse().get(f"{FORM}?rack={rack.name}&operation=power_off").content.decode()
    assert f'name="rack" value="{rack.name}"' in html
    assert '<option value="power_off" selected>' in html


def test_a_user_has_a_limited_number():
    client = browse(name="ann")
    user = User.objects.get()
    for n in range(MAX_FEEDS):
        feed_create(user_id=user.pk, name=f"feed {n}", shows={}, by=BY, now=clock.now())
    with pytest.raises(PreconditionFailed, match=str(MAX_FEEDS)):
        feed_create(user_id=user.pk, name="one more", shows={}, by=BY, now=clock.now())
    assert client.post(FORM, {"name": "one more"}).status_code == 400
    assert CalendarFeed.objects.count() == MAX_FEEDS


def test_services_refuse_what_forms_would_not_send():
    browse(name="ann")
    user = User.objects.get()
    for name in ("", " x", "x\n", "x" * 256):
        with pytest.raises(InvalidInput):
            feed_create(user_id=user.pk, name=name, shows={}, by=BY, now=clock.now())
    feed_create(user_id=user.pk, name="x" * 255, shows={}, by=BY, now=clock.now())
    with pytest.raises(AlreadyExists):
        feed_create(user_id=user.pk, name="x" * 255, shows={}, by=BY, now=clock.now())
    with pytest.raises(NotFound):
        feed_revoke(feed_id=0, user_id=user.pk, by=BY, now=clock.now())


def test_others_feeds_are_neither_shown_nor_revoked_but_by_a_superuser():
    made(browse("viewer", name="ann"), name="Ann's plan")
    feed = CalendarFeed.objects.get()
    other = browse("planner", name="bob")
    assert "Ann" not in other.get(FORM).content.decode()
    assert other.get(f"{FORM}{feed.pk}/revoke/").status_code == 404
    page = browse(name="root").get(FORM).content.decode()
    assert "Ann&#x27;s plan" in page
    assert ">ann<" in page


def test_a_confirmation_without_its_form_revokes_nothing():
    client = browse(name="ann")
    made(client, name="Plan")
    feed = CalendarFeed.objects.get()
    assert client.post(f"{FORM}{feed.pk}/revoke/", {"seen": "x", "nonce": "y"}).status_code == 409
    assert CalendarFeed.objects.exists()


def test_markup_is_text_on_the_page():
    client = browse(name="ann")
    made(client, name=MARKUP)
    row = daily(clock.now())
    CalendarFeed.objects.update(filter={"schedule": str(row.pk)})
    TaskSchedule.objects.update(name=MARKUP)
    html = client.get(FORM).content.decode()
    assert "<img" not in html
    assert json.dumps(MARKUP)[1:-1] not in html


def test_a_feed_whose_rack_or_schedule_is_gone_says_so_and_shows_nothing():
    now = clock.now()
    client = browse(name="ann")
    row = daily(now)
    address, _ = made(client, schedule=row.name)
    TaskSchedule.objects.all().delete()
    assert "a schedule that is gone" in client.get(FORM).content.decode()
    assert events(Client().get(address)) == []
