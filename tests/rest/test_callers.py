"""Who gets through the REST door: tokens, sessions with CSRF, permissions, how often."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Permission, User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import get_resolver
from rest_framework.views import APIView

from access.permissions import PERMISSIONS, ROLES
from access.views import RestView
from audit.models import AuditEntry
from tests.rest.helpers import Rest, fields, make_token, make_user, problem, rest

pytestmark = pytest.mark.django_db


def rest_views():
    """Every view below /api/v1/ with its path."""
    found = []

    def walk(patterns, path):
        for pattern in patterns:
            here = path + str(pattern.pattern)
            if hasattr(pattern, "url_patterns"):
                walk(pattern.url_patterns, here)
            elif here.startswith("api/v1/"):
                found.append((here, pattern.callback.view_class))

    walk(get_resolver().url_patterns, "")
    return found


# Verbs and permissions --------------------------------------------------------------------------------------------


def test_every_method_of_every_view_has_a_verb_of_the_table():
    """TH-1: generated from the URLs; a view without verbs, or with one nobody listed, is found here."""
    views = rest_views()
    assert len(views) >= 5
    for path, view in views:
        if not issubclass(view, RestView):
            assert path in OPEN, f"{path} does not stand on RestView"
            continue
        methods = {name.upper() for name in view.http_method_names if hasattr(view, name)} - {"HEAD", "OPTIONS"}
        assert methods == set(view.verbs), path
        named = {verb for verb in view.verbs.values() if verb}
        assert named <= set(PERMISSIONS), path
        assert named or path in ANY_KNOWN_CALLER, path


OPEN = {"api/v1/schema/", "api/v1/docs/"}  # flowsched/rest/pages.py says why
ANY_KNOWN_CALLER = {"api/v1/me/"}


def test_every_permission_of_the_table_exists():
    known = {f"{p.content_type.app_label}.{p.codename}" for p in Permission.objects.select_related("content_type")}
    assert set(PERMISSIONS.values()) <= known
    assert {permission for permissions in ROLES.values() for permission in permissions} <= set(PERMISSIONS.values())


def test_every_path_refuses_a_caller_without_permissions_and_records_it():
    """TH-1: every URL and method, for nobody (401) and for a user who may nothing (403)."""
    caller = rest(name="nemo")
    refused = 0
    for path, view in rest_views():
        if not issubclass(view, RestView):
            continue
        url = "/" + path.replace("<str:id>", "6f1d8f0e-53f5-4a8f-9a63-0c2f6b9f6b58").replace("<int:id>", "7")
        assert "<" not in url, "a path with another argument: extend this test"
        for method, verb in view.verbs.items():
            problem(Rest().call(method, url), 401)
            if verb:
                answer = problem(caller.call(method, url, b"{nonsense"), 403)
                assert answer["reason"] == PERMISSIONS[verb]
                refused += 1
    entries = AuditEntry.objects.filter(actor="nemo")
    assert entries.count() == refused
    assert set(entries.values_list("door", flat=True)) == {"rest"}
    assert not entries.filter(refused="").exists()


def test_a_view_without_a_verb_is_closed_and_so_is_an_unknown_verb(settings, viewer):
    """TH-1: what was forgotten is refused, not open."""
    settings.ROOT_URLCONF = "tests.rest.urls"
    for method in ("GET", "POST"):
        problem(viewer.call(method, "test/noverb/"), 403)
        problem(viewer.call(method, "test/unknown/5/"), 403 if method == "GET" else 405)
    boss = rest(superuser=True, name="boss")
    assert boss.get("test/unknown/5/").status_code == 200
    problem(boss.get("test/noverb/"), 403)
    assert AuditEntry.objects.get(actor="vera").verb == "rack.melt"


def test_a_nul_in_a_path_is_recorded_without_it(settings, viewer):
    settings.ROOT_URLCONF = "tests.rest.urls"
    problem(viewer.get("test/unknown/a%00b/"), 403)
    assert AuditEntry.objects.get(actor="vera").object_id == "ab"


def test_no_view_is_the_frameworks_own():
    """Each stands on RestView, whose permission class is MayDoVerb; none opens itself."""
    for path, view in rest_views():
        assert path in OPEN or view.permission_classes == APIView.permission_classes, path


def test_me(viewer):
    answer = viewer.get("me/").json()
    assert answer["name"] == "vera"
    assert answer["token"] == viewer.token[:15]
    assert set(answer["verbs"]) == {verb for verb, permission in PERMISSIONS.items() if ".view_" in permission}
    assert set(rest(superuser=True).get("me/").json()["verbs"]) == set(PERMISSIONS)


def test_who_asks_is_one_query(viewer):
    """With its permissions and the clock; the use of the token is noted once a minute."""
    counts = []
    for _ in range(3):
        with CaptureQueriesContext(connection) as captured:
            viewer.get("me/")
        counts.append(len(captured))
    assert counts == [2, 1, 1]


# Sessions ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def browser(db):
    """A session of an operator, as the admin's login leaves it; CSRF is enforced."""
    client = Client(enforce_csrf_checks=True)
    client.force_login(User.objects.get(username=make_user("operator", name="otto")))
    return client


def test_a_session_may_read(browser):
    response = browser.get("/api/v1/me/")
    assert (response.status_code, response.json()["name"]) == (200, "otto")


def test_a_session_writes_with_its_csrf_token_only(browser):
    """TH-16: a page elsewhere can send the cookie, not the token."""
    path = "/api/v1/tasks/6f1d8f0e-53f5-4a8f-9a63-0c2f6b9f6b58/cancel/"
    problem(browser.post(path), 403)
    problem(browser.post(path, headers={"X-CSRFToken": "x" * 32}), 403)
    browser.cookies["csrftoken"] = "c" * 32
    problem(browser.post(path, headers={"X-CSRFToken": "d" * 32}), 403)
    problem(browser.post(path, headers={"X-CSRFToken": "c" * 32, "Origin": "https://evil.example"}), 403)
    problem(browser.post(path, headers={"X-CSRFToken": "c" * 32}), 404)


def test_a_session_form_is_no_body(browser):
    browser.cookies["csrftoken"] = "c" * 32
    path = "/api/v1/tasks/"
    form = "application/x-www-form-urlencoded"
    problem(browser.post(path, "operation=power_off", content_type=form), 403)
    problem(browser.post(path, f"csrfmiddlewaretoken={'c' * 32}", content_type=form), 415)
    assert fields(browser.post(path, {"csrfmiddlewaretoken": "c" * 32})) == {"operation", "target_spec"}
    problem(browser.post(path, b"x" * 3_000_000, content_type=form), 413)


def test_a_session_is_judged_before_its_body_is_read(browser):
    """As with a token: no permission, then no reading."""
    User.objects.get(username="otto").groups.clear()
    browser.cookies["csrftoken"] = "c" * 32
    path, headers = "/api/v1/tasks/", {"X-CSRFToken": "c" * 32}
    answer = problem(browser.post(path, b"{nonsense", content_type="application/json", headers=headers), 403)
    assert answer["reason"] == "tasks.add_task"


def test_a_token_needs_no_csrf_and_wins_over_a_session(browser, viewer):
    headers = {"Authorization": f"Bearer {viewer.token}"}
    assert browser.get("/api/v1/me/", headers=headers).json()["name"] == "vera"
    problem(browser.post("/api/v1/tasks/", headers=headers), 403)
    problem(browser.get("/api/v1/me/", headers={"Authorization": "Bearer fs_wrong"}), 401)


def test_the_session_of_a_user_switched_off_is_401(browser):
    User.objects.filter(username="otto").update(is_active=False)
    problem(browser.get("/api/v1/me/"), 401)


# How often --------------------------------------------------------------------------------------------------------


def test_too_many_requests_are_429_a_user(settings, viewer, operator):
    """By user, not by token, and not for the others; refused ones say when to come back."""
    settings.FLOWSCHED_API_REQUESTS_PER_MINUTE = 3
    second = Rest(make_token("vera"))
    assert [viewer.get("me/").status_code, second.get("me/").status_code, viewer.get("me/").status_code] == [200] * 3
    response = second.get("me/")
    answer = problem(response, 429)
    assert answer["type"] == "urn:flowsched:problem:too_many"
    assert 1 <= int(response["Retry-After"]) <= 61
    assert operator.get("me/").status_code == 200
