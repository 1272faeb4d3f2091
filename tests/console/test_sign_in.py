"""Getting in, being kept out, and what is recorded of either (admin.md 2.8, TH-15, TH-16)."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from audit.models import AuditEntry
from tests.console.conftest import staff
from tests.console.helpers import text_of

pytestmark = pytest.mark.django_db
WORDS = {"username": "admin", "password": "long enough a password"}


@pytest.fixture
def admin(db):
    return staff("admin")


def test_signing_in_and_out_is_recorded(admin):
    client = Client()
    answer = client.post("/admin/login/?next=/admin/racks/", WORDS | {"next": "/admin/racks/"})
    assert (answer.status_code, answer["Location"]) == (302, "/admin/racks/")
    client.post("/admin/logout/")
    rows = AuditEntry.objects.filter(object_kind="session").order_by("id")
    assert [(row.verb, row.actor, row.door) for row in rows] == [
        ("session.begin", "admin", "admin"),
        ("session.end", "admin", "admin"),
    ]
    assert "password" not in str(list(rows.values()))


def test_without_next_it_leads_to_the_dashboard(admin):
    assert Client().post("/admin/login/", WORDS)["Location"] == "/admin/"


def test_wrong_words_are_not_told_apart_and_lock_out_in_the_end(admin, settings):
    """TH-15: by name and address together; nobody learns whether the user exists."""
    client = Client()
    said = set()
    for name in ("admin", "nobody"):
        for number in range(settings.AXES_FAILURE_LIMIT):
            answer = client.post("/admin/login/", {"username": name, "password": f"wrong {number}"})
            said.add((name, answer.status_code, re.sub(r"\d\d:\d\d", "hh:mm", text_of(answer))))
    assert {(status, text) for name, status, text in said if name == "admin"} == {
        (status, text.replace("nobody", "admin")) for name, status, text in said if name == "nobody"
    }
    locked = client.post("/admin/login/", WORDS)
    assert locked.status_code == 429
    assert locked["Retry-After"] == "900"
    assert "Too many attempts. Try again after" in text_of(locked)
    refused = AuditEntry.objects.exclude(refused="")
    assert {row.actor for row in refused} == {"admin"}
    assert Client(REMOTE_ADDR="10.0.0.9").post("/admin/login/", WORDS).status_code == 302


def test_a_user_who_is_no_staff_is_told(django_user_model):
    django_user_model.objects.create_user("plain", password="a long password")
    client = Client()
    client.force_login(django_user_model.objects.get(username="plain"))
    assert "Signed in as plain, who may not use the admin." in text_of(client.get("/admin/login/"))


def test_a_stale_form_is_refused_recorded_and_does_nothing(signed_in):
    """TH-16."""
    signed = signed_in("operator")
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = signed.cookies
    answer = strict.post("/admin/zone/", {"timezone": "Asia/Tokyo"})
    assert answer.status_code == 403
    assert "Nothing was done. Go back and reload." in text_of(answer)
    [row] = AuditEntry.objects.filter(verb="form.forged")
    assert (row.actor, row.object_name) == ("operator", "/admin/zone/")


def test_an_address_that_is_none(signed_in):
    answer = signed_in().get("/nothing/here/")
    assert answer.status_code == 404
    assert "There is nothing at /nothing/here/." in text_of(answer)


def test_zone_of_the_viewer_changes_every_time(signed_in):
    client = signed_in("viewer")
    client.cookies["fs_tz"] = "Europe/Berlin"
    assert "Times: Europe/Berlin" in text_of(client.get("/admin/racks/"))
    answer = client.post("/admin/zone/", {"timezone": "Asia/Tokyo", "next": "/admin/racks/"}, follow=True)
    assert "Times are shown in Asia/Tokyo." in text_of(answer)
    assert "Times: Asia/Tokyo" in text_of(answer)
    client.cookies["fs_tz"] = "../../etc/passwd"
    assert "Times: Asia/Tokyo" in text_of(client.get("/admin/racks/"))
    assert client.post("/admin/zone/", {"timezone": "Nowhere/Land"}).status_code == 400
    assert client.post("/admin/zone/", {"timezone": "UTC", "next": "https://evil.example/"})["Location"] == "/admin/"
