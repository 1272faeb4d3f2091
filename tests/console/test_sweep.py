"""Every page of the admin: a GET changes nothing, markup is text, who may only look is offered and allowed no more.

The addresses come from the resolver: a new one fails here until it stands in the tables.
"""

from __future__ import annotations

import re

import pytest
from django.db import DatabaseError, connection, transaction
from django.test import Client
from django.urls import Resolver404, resolve

from audit.models import AuditEntry
from tests.console import sweep
from tests.console.calls import configure
from tests.console.conftest import staff
from tests.console.people import MARKUP

pytestmark = pytest.mark.django_db

# What a POST to each address does, as the permission table names it: refused to who may only look.
REFUSED = {
    "schedules_verb": "schedule.pause",
    "schedule_verb": "schedule.pause",
    "schedule_add": "schedule.create",
    "schedule_add_preview": "schedule.create",
    "schedule_add_racks": "schedule.create",
    "schedule_add_call": "schedule.create",
    "schedule_edit": "schedule.update",
    "schedule_edit_preview": "schedule.update",
    "schedule_edit_racks": "scope.reconcile",
    "task_cancel": "task.cancel",
    "task_decide": "task.acknowledge",
    "rack_stop": "task.cancel",
}
BY_VERB = {f"/{verb}/": f"schedule.{verb}" for verb in sweep.VERBS}
OWN = {"zone", "logout", "login", "password_change", "calendar_feeds", "calendar_feed_revoke"}  # one's own things
# Django's: users and groups, which only superusers have, and addresses that only show.
STOCK = {f"auth_{noun}_{what}" for noun in ("user", "group") for what in ("add", "change", "delete", "changelist")} | {
    "auth_user_password_change"
}
SHOWS = {"zones", "password_change_done", "autocomplete", "jsi18n", "view_on_site", "app_list", "index", ""} | {
    f"auth_{noun}_history" for noun in ("user", "group")
}


POST_ONLY = {"zone", "logout", "schedule_add_call"} | {
    f"schedule_{form}_{part}" for form in ("add", "edit") for part in ("preview", "racks")
}


@pytest.fixture
def site(settings, monkeypatch):
    configure(settings, monkeypatch)
    return sweep.site()


@pytest.fixture
def root(site):
    client = Client()
    client.force_login(sweep.User.objects.get(pk=site.user))
    return client


def test_the_tables_name_every_address(site):
    assert sweep.names() == set(sweep.paths(site))
    posted = {name for name, _, view in sweep.admin_urls() if sweep.takes_post(view)}
    assert posted == set(REFUSED) | OWN | STOCK | SHOWS


def test_looking_at_every_address_changes_nothing(site, root):
    before = sweep.digest()
    for name, urls in sweep.paths(site).items():
        for url in urls:
            status = root.get(url).status_code
            assert status < 500, (name, url)
            assert (status == 405) == (name in POST_ONLY), (name, url)
        assert sweep.digest() == before, name
    assert root.get("/admin/").status_code == 200, "still signed in"


# Markup -------------------------------------------------------------------------------------------------------------

# Vocabularies, checked by the database or known to the code alone; and what identifies.
FIXED = {
    *("task.status", "task.type", "task.code", "run.state", "firing.state", "firing.cause", "firing_scope.state"),
    *("task_schedule.spec_type", "task_schedule.disabled_kind", "task_schedule.overlap_policy", "process.kind"),
    *("process.state", "firing.conflict_strategy", "component.type", "component.power_state", "rack.status"),
    *("audit_entry.object_kind", "audit_entry.object_id", "audit_entry.door", "bmc.type", "bmc.mac_address"),
    *("calendar_feed.digest", "access_token.digest", "auth_user.password", "user_profile.timezone"),
    *("django_admin_log.object_id",),
}
READ = {"task_schedule.spec", "task_schedule.timezone"}  # without them nothing is drawn, so once with and once without
NOT_OURS = "django_content_type|django_migrations|django_session|axes_.*|procrastinate_.*|auth_permission"
JSON = {"rack.location": '{"region": %s, "room": %s}', "audit_entry.after": '{"name": %s, "reason": %s}'}


def text_columns() -> list[tuple[str, str, int | None]]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT table_name, column_name, character_maximum_length FROM information_schema.columns"
            " WHERE table_schema = 'public' AND data_type IN ('character varying', 'text')"
            f"   AND table_name !~ '^({NOT_OURS})$' ORDER BY 1, 2"
        )
        return cursor.fetchall()


def fill(*, also: set[str]) -> set[str]:
    """Write markup into every text column; returns those that the database refused."""
    refused = set()
    with connection.cursor() as cursor:  # else the audit trail's trigger refuses
        cursor.execute("SET LOCAL session_replication_role = replica")
    for table, column, most in text_columns():
        if f"{table}.{column}" in FIXED or (f"{table}.{column}" in READ and f"{table}.{column}" not in also):
            continue
        # The end differs from row to row, for columns whose values must.
        text = "left(%s || repeat('W', 255), %s) || x.n"
        sql = (
            f'UPDATE "{table}" SET "{column}" = {text}'
            f' FROM (SELECT ctid AS place, row_number() OVER () AS n FROM "{table}") x WHERE "{table}".ctid = x.place'
        )
        try:
            with transaction.atomic(), connection.cursor() as cursor:
                cursor.execute(sql, [MARKUP, (most or 283) - 2])
        except DatabaseError:
            refused.add(f"{table}.{column}")
    with connection.cursor() as cursor:
        for name, value in JSON.items():
            table, column = name.split(".")
            cursor.execute(f'UPDATE "{table}" SET "{column}" = %s', [value % ((f'"{MARKUP}"',) * 2)])
    return refused


@pytest.mark.parametrize("also", [set(), READ], ids=["specs", "no-specs"])
def test_markup_in_any_column_is_text_on_every_page(site, root, also):
    assert fill(also=also) == set()
    shown = 0
    for name, urls in sweep.paths(site).items():
        for url in urls:
            response = root.get(url)
            body = response.content.decode()
            assert response.status_code < 500, (name, url)
            if "json" not in response["Content-Type"]:
                assert not re.search(r"<img\s+src=x", body), (name, url)
            shown += "&lt;img src=x" in body
    assert shown > 30


def test_markup_in_the_calendar_feed_is_text(site):
    fill(also=set())
    response = Client().get(f"/calendar/{site.token}.ics")
    assert response.status_code == 200
    assert response["Content-Type"] == "text/calendar; charset=utf-8"
    assert response["X-Content-Type-Options"] == "nosniff"
    lines = response.content.split(b"\r\n")
    assert max(len(line) for line in lines) <= 75
    unfolded = response.content.replace(b"\r\n ", b"").decode().split("\r\n")
    assert any(line.startswith("SUMMARY") and "WWWW" in line for line in unfolded)
    assert not any(line.startswith(("X-ALT-DESC", "<img")) for line in unfolded)


# Who may only look --------------------------------------------------------------------------------------------------


@pytest.fixture
def looker(site):
    client = Client()
    client.force_login(staff("viewer"))
    return client


def led_to(body: str, base: str) -> set[str]:
    """The addresses that the page's forms, buttons and links lead to, by name; a form to itself by the page's."""
    found = set()
    for tag in re.findall(r"<(?:form|a|button|input)\b[^>]*>", body):
        method = re.search(r'\bmethod="(\w+)"', tag)
        to = re.search(r'\b(?:href|action|formaction|hx-post|hx-get|hx-delete)="([^"#]*)"', tag)
        if tag.startswith("<form") and not to and method and method[1].lower() == "post":
            found.add(base)
        if to and to[1].startswith("/admin/"):
            found.add(to[1])
    return {name_of(url) for url in found}


def name_of(url: str) -> str:
    try:
        return resolve(url.partition("?")[0].replace("&amp;", "&")).url_name or ""
    except Resolver404:
        return url


def test_who_may_only_look_is_offered_no_verb(site, looker, root):
    offered = set()
    for name, urls in sweep.paths(site).items():
        for url in urls:
            response = looker.get(url)
            assert response.status_code < 500, (name, url)
            body = response.content.decode()
            assert not led_to(body, url) & set(REFUSED), (name, url)
            if response.status_code == 200:
                assert 'type="checkbox" name="id"' not in body, (name, url)
            offered |= led_to(root.get(url).content.decode(), url)
    assert {"schedule_verb", "schedule_add", "schedule_edit", "task_cancel", "task_decide", "rack_stop"} <= offered


def test_a_verb_of_who_may_only_look_is_refused_and_recorded(site, looker):
    paths = sweep.paths(site)
    for name, verb in REFUSED.items():
        for url in paths[name]:
            before, last = sweep.digest(), AuditEntry.objects.latest("pk").pk
            response = looker.post(url, {"id": site.schedules[0]})
            assert response.status_code == 403, (name, url)
            wanted = next((each for part, each in BY_VERB.items() if f"/do{part}" in url), verb)
            [entry] = AuditEntry.objects.filter(pk__gt=last)
            assert (entry.verb, entry.door, bool(entry.refused)) == (wanted, "admin", True), (name, url)
            assert sweep.digest() | {"audit_entry": ""} == before | {"audit_entry": ""}, (name, url)


def test_users_and_groups_are_closed_to_who_may_only_look(site, looker):
    paths = sweep.paths(site)
    before = sweep.digest()
    for name in sorted(STOCK):
        for url in paths[name]:
            last = AuditEntry.objects.latest("pk").pk
            assert looker.get(url).status_code == 403, (name, url)
            assert not AuditEntry.objects.filter(pk__gt=last).exists(), (name, url)
            assert looker.post(url, {}).status_code == 403, (name, url)
            [entry] = AuditEntry.objects.filter(pk__gt=last)
            assert (entry.verb, entry.actor.split()[-1]) == ("admin.post", "viewer"), (name, url)
            assert (entry.object_name, bool(entry.refused)) == (url.partition("?")[0], True)
    changed = {table for table, value in sweep.digest().items() if value != before[table]}
    assert changed == {"audit_entry"}
