"""A live region: the page's own address gives the region alone, and nothing where nothing has changed."""

import re
from datetime import timedelta

import pytest

from console.live import digest_of
from flowsched import clock
from schedules.models import TaskSchedule
from tasks.models import Process
from tasks.processes import process_register
from tests.console.people import browse
from tests.dispatcher.helpers import due_schedule, fire, racks

pytestmark = pytest.mark.django_db
TICK = {"HX-Request": "true", "HX-Target": "live"}


@pytest.fixture
def page():
    """A dashboard with one schedule, in the browser of a superuser; gives the client and the digest it was given."""
    for kind in ("dispatcher", "worker"):
        process_register(kind=kind, now=clock.now())
    due_schedule("nightly", racks(2), late=timedelta(hours=-5), now=clock.now())
    client = browse()
    html = client.get("/admin/").content.decode()
    return client, re.search(r'data-hash="(\w+)"', html)[1], html


def tick(client, seen):
    return client.get("/admin/", headers=TICK | {"X-Seen": seen})


def test_the_region_stands_inside_the_page_and_says_where_it_asks_again(page):
    _, _, html = page
    assert 'id="live" hx-get="/admin/"' in html
    assert html.count("<html") == 1


def test_what_has_been_seen_is_not_sent_again(page):
    client, seen, _ = page
    answer = tick(client, seen)
    assert (answer.status_code, answer.content) == (204, b"")
    assert answer["X-Hash"] == seen
    assert answer["X-Active"] == "0"
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", answer["X-As-Of"])
    assert answer["X-As-Of-Text"].endswith("UTC")


def test_what_changed_is_sent_without_the_frame(page):
    client, seen, _ = page
    TaskSchedule.objects.update(name="renamed")
    answer = tick(client, seen)
    html = answer.content.decode()
    assert answer.status_code == 200
    assert "renamed" in html
    assert "<html" not in html
    assert "<h1" not in html
    assert tick(client, answer["X-Hash"]).status_code == 204


def test_while_something_is_under_way_the_script_is_told_to_ask_often(page):
    client, seen, _ = page
    now = clock.now()
    due_schedule("now", racks(1), now=now)
    fire(now)
    assert tick(client, seen)["X-Active"] == "1"


def test_a_dispatcher_that_fell_silent_shows_in_the_banners_of_an_open_page(page):
    client, seen, _ = page
    Process.objects.filter(kind="dispatcher").update(last_beat=clock.now() - timedelta(minutes=3))
    html = tick(client, seen).content.decode()
    assert 'id="banners" hx-swap-oob="true"' in html
    assert "No dispatcher is alive" in html


def test_a_beat_of_a_living_process_is_no_change(page):
    client, seen, _ = page
    Process.objects.update(last_beat=clock.now() + timedelta(seconds=5))
    assert tick(client, seen).status_code == 204


def test_who_was_signed_out_gets_no_sign_in_form_into_the_region(page):
    client, seen, _ = page
    client.logout()
    answer = tick(client, seen)
    assert answer.status_code == 401
    assert b"<form" not in answer.content


def test_the_digest_is_of_what_stays():
    one = '<span data-relative="2026-01-01T00:00:00Z">in 3 min</span> <input name="csrfmiddlewaretoken" value="a">'
    assert digest_of(one) == digest_of(one.replace("in 3 min", "in 2 min").replace('value="a"', 'value="b"'))
    assert digest_of(one) != digest_of(one.replace("2026", "2027"))
