"""Who may call what of schedules, scopes, firings and runs: every URL and method, and every role (D-22, TH-1)."""

from __future__ import annotations

import pytest

from audit.models import AuditEntry
from dispatcher import api as dispatcher_api
from schedules import api as schedules_api
from scopes import api as scopes_api
from scopes import api_calls as calls_api
from tasks import api_runs as runs_api
from tests.rest.calls import NOBODY
from tests.rest.helpers import Rest, rest

pytestmark = pytest.mark.django_db

ALL = {"viewer", "operator", "planner", "inventory"}
OPERATORS = {"operator", "planner"}
PLANNERS = {"planner"}
MAY = {
    ("schedules", "GET"): ALL,
    ("schedules", "POST"): PLANNERS,
    ("schedules-preview", "POST"): ALL,
    ("schedules-check-conflicts", "POST"): ALL,
    ("schedules-dry-run", "POST"): PLANNERS,
    ("schedule-dry-run", "POST"): OPERATORS,
    ("schedule", "GET"): ALL,
    ("schedule", "PATCH"): OPERATORS,
    ("schedule", "DELETE"): PLANNERS,
    ("schedule-pause", "POST"): OPERATORS,
    ("schedule-resume", "POST"): OPERATORS,
    ("schedule-trigger", "POST"): OPERATORS,
    ("schedule-preview", "GET"): ALL,
    ("schedule-firings", "GET"): ALL,
    ("schedule-scopes", "GET"): ALL,
    ("schedule-scopes", "POST"): PLANNERS,
    ("schedule-scopes", "PUT"): PLANNERS,
    ("scope", "GET"): ALL,
    ("scope", "DELETE"): PLANNERS,
    ("firings", "GET"): ALL,
    ("firing", "GET"): ALL,
    ("runs", "GET"): ALL,
    ("run", "GET"): ALL,
    ("run-cancel", "POST"): OPERATORS,
}
ROUTES = {
    (url.name, method): (str(url.pattern), url.callback.view_class.verbs[method])
    for module in (schedules_api, scopes_api, calls_api, dispatcher_api, runs_api)
    for url in module.urlpatterns
    for method in ("GET", "POST", "PUT", "PATCH", "DELETE")
    if hasattr(url.callback.view_class, method.lower())
}


def path_of(route: tuple[str, str]) -> str:
    return ROUTES[route][0].replace("<str:id>", NOBODY).replace("<int:id>", "1")


def test_the_table_names_every_route():
    assert set(MAY) == set(ROUTES)


def test_nobody_is_let_in_without_a_token():
    for route in MAY:
        for client in (Rest(), Rest("fs_unknown")):
            response = client.call(route[1], path_of(route))
            assert (response.status_code, response["WWW-Authenticate"]) == (401, "Bearer"), route
    assert not AuditEntry.objects.exists()


@pytest.mark.parametrize("role", sorted(ALL))
def test_a_role_may_what_the_table_says(role):
    """A refusal is recorded with the verb, the caller, the door and what it was about."""
    client = rest(role, name=role)
    for route, roles in MAY.items():
        before = AuditEntry.objects.count()
        response = client.call(route[1], path_of(route), headers={"X-Request-ID": "who-may"})
        if role in roles:
            assert response.status_code not in {401, 403}, route
            continue
        assert response.status_code == 403, route
        entry = AuditEntry.objects.latest("id")
        assert AuditEntry.objects.count() == before + 1
        assert (entry.verb, entry.actor, entry.door, entry.request_id) == (ROUTES[route][1], role, "rest", "who-may")
        assert entry.object_id == (NOBODY if "id" in ROUTES[route][0] else "")
        assert response.json()["reason"] in entry.refused
