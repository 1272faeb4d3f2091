"""RFC 9457 problems: one shape for every failure under /api/, never HTML, never what only a log may say."""

from __future__ import annotations

import logging
import re

import pytest
from django.contrib.auth.models import User
from django.db import connection

from access.models import IdempotencyKey
from audit.models import AuditEntry
from flowsched.errors import FlowschedError
from flowsched.logs import OneLine
from flowsched.rest.problems import STATUSES
from tests.dispatcher.helpers import row_held
from tests.rest.helpers import Rest, problem, rest
from tests.rest.urls import SECRET
from tests.tasks.admission.helpers import make_rack
from tests.tasks_runs.helpers import make_task

pytestmark = pytest.mark.django_db


@pytest.fixture
def failing(settings, viewer):
    """A caller, on URLs with views that fail."""
    settings.ROOT_URLCONF = "tests.rest.urls"
    return viewer


@pytest.mark.parametrize(("kind", "status"), [(kind, status) for kind, (status, _) in STATUSES.items()])
def test_every_error_of_the_tree(failing, kind, status):
    """design.md's table."""
    response = failing.get(f"test/raises/{kind}/")
    answer = problem(response, status)
    assert answer["type"] == f"urn:flowsched:problem:{kind}"
    assert answer["detail"] == f"what, which, what to do: {kind}"
    assert answer["reason"] == "WHY"
    assert ("Retry-After" in response) is (status == 503)
    assert response.get("WWW-Authenticate") == ("Bearer" if status == 401 else None)


def test_every_error_of_the_tree_has_a_status():
    assert {kind.kind for kind in FlowschedError.__subclasses__()} == set(STATUSES)


@pytest.mark.parametrize(
    ("name", "status"), [("missing", 404), ("suspicious", 400), ("redirect", 400), ("throttled", 429)]
)
def test_what_the_framework_raises(failing, name, status):
    assert SECRET not in str(problem(failing.get(f"test/raises/{name}/"), status))


@pytest.mark.parametrize("debug", [False, True])
@pytest.mark.parametrize("name", ["fault", "key", "data", "recursion"])
def test_a_fault_of_ours_is_500_with_an_id_that_the_log_has(failing, name, debug, settings, caplog):
    """No text of the exception leaves the house, with DEBUG on neither."""
    settings.DEBUG = debug
    with caplog.at_level(logging.ERROR, "flowsched.rest"):
        answer = problem(failing.get(f"test/raises/{name}/"), 500)
    assert answer["type"] == "urn:flowsched:problem:internal"
    assert "SELECT" not in str(answer)
    (record,) = [record for record in caplog.records if record.name == "flowsched.rest.problems"]
    assert answer["request_id"] in record.getMessage()
    assert SECRET in str(record.exc_info[1])


def test_a_failed_request_of_one_transaction_is_undone(failing):
    """Where ATOMIC_REQUESTS is on, an error answered is not a reason to commit."""
    connection.settings_dict["ATOMIC_REQUESTS"] = True
    try:
        problem(failing.post("test/raises/busy/"), 503)
        problem(failing.post("test/raises/fault/"), 500)
    finally:
        connection.settings_dict["ATOMIC_REQUESTS"] = False
    assert not IdempotencyKey.objects.exists()


def test_fields_have_the_bodys_names(failing):
    answer = problem(failing.post("test/fields/"), 400)
    assert answer["errors"] == [
        {"field": "outer.inner", "code": "invalid_input", "message": "is odd"},
        {"field": "name", "code": "invalid_input", "message": "is empty"},
    ]


def test_nobody_is_401_whatever_the_header(viewer):
    for header in ("", "Bearer", "Bearer ", "Bearer fs_x", "Basic dmVyYTp2", f"Token {viewer.token}", "Bearer \xff"):
        response = Rest().call("GET", "me/", headers={"Authorization": header})
        problem(response, 401)
        assert response["WWW-Authenticate"] == "Bearer"
    problem(Rest().get("me/"), 401)
    problem(viewer.call("GET", f"me/?token={viewer.token}", headers={"Authorization": ""}), 401)


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE", "POST", "OPTIONS", "TRACE", "PROPFIND"])
def test_a_method_that_is_not_there_is_405(viewer, method):
    response = viewer.call(method, "me/")
    assert problem(response, 405)["type"] == "urn:flowsched:problem:method_not_allowed"
    assert response["Allow"] == "GET, HEAD"


def test_head_is_get_without_a_body(viewer):
    response = viewer.call("HEAD", "me/")
    assert (response.status_code, response.content) == (200, b"")


@pytest.mark.parametrize(
    "path",
    ["/api", "/api/", "/api/v1", "/api/v1/", "/api/v2/me/", "/api/v1/me", "/api/v1/nothing/", "/api/v1/tasks/a/b/",
     "/api//v1/me/", "/api/v1/%00", "/api/v1/%ff%fe/", "/api/v1/\x85/"],
)  # fmt: skip
def test_a_path_that_is_not_there_is_404_in_json(path, viewer, settings):
    for settings.DEBUG in (False, True):
        for method in ("GET", "POST", "DELETE"):
            problem(viewer.call(method, path), 404)
            problem(Rest().call(method, path), 404)


@pytest.mark.parametrize("debug", [False, True])
def test_a_host_that_is_not_ours_is_400_in_json(viewer, settings, debug):
    settings.DEBUG = debug
    settings.ALLOWED_HOSTS = ["flows.example"]
    problem(viewer.call("GET", "me/", headers={"Host": "evil.example"}), 400)
    assert viewer.call("GET", "me/", headers={"Host": "flows.example"}).status_code == 200


@pytest.mark.parametrize("accept", ["text/html", "application/xml", "application/json; indent=9999999", "*/*;q=0", ""])
def test_answers_are_json_whatever_is_asked_for(viewer, accept):
    response = viewer.call("GET", "me/", headers={"Accept": accept})
    assert (response.status_code, response["Content-Type"]) == (200, "application/json")
    assert b"\n" not in response.content


def test_a_thousand_parameters_are_400_not_500(viewer):
    problem(viewer.get("tasks/", **{f"p{n}": "1" for n in range(1100)}), 400)


def test_an_answer_for_programs_lets_a_browser_load_nothing(viewer):
    for path in ("me/", "nothing/"):
        policy = viewer.get(path)["Content-Security-Policy"]
        assert policy == "default-src 'none'; frame-ancestors 'none'", path
    assert "script-src 'self'" in viewer.client.get("/api/v1/docs/")["Content-Security-Policy"]


# Request ids ------------------------------------------------------------------------------------------------------


def test_a_request_id_is_made_and_answered(viewer):
    ids = {viewer.get("me/")["X-Request-ID"] for _ in range(3)}
    assert len(ids) == 3
    assert all(re.fullmatch(r"[0-9a-f]{32}", one) for one in ids)


@pytest.mark.parametrize("given", ["abc-1_2.3", "x" * 64])
def test_a_given_request_id_is_kept_everywhere(viewer, given):
    """In the answer, in the problem, in the audit trail of the refusal."""
    response = viewer.post("tasks/", {}, headers={"X-Request-ID": given})
    assert problem(response, 403)["request_id"] == given
    assert AuditEntry.objects.get(actor="vera").request_id == given


@pytest.mark.parametrize("given", ["", "x" * 65, "a b", "a\r\nSet-Cookie: x=1", "\u00e9", "<script>", "a;b"])
def test_what_is_no_request_id_is_replaced(viewer, given):
    assert viewer.call("GET", "me/", headers={"X-Request-ID": given})["X-Request-ID"] != given


# Logs -------------------------------------------------------------------------------------------------------------


def test_no_line_of_the_log_is_a_clients(failing, caplog):
    """TH-24: a path or id with line breaks stays one line."""
    failing.get("test/raises/fault/")
    failing.call("GET", "/api/v1/a%0d%0aERROR%20forged/")
    for record in caplog.records:
        line = OneLine("%(message)s").format(
            logging.makeLogRecord({**record.__dict__, "exc_info": None, "exc_text": None})
        )
        assert "\n" not in line


# Busy, with a real lock -------------------------------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)
def test_a_locked_row_is_503_with_a_time_to_come_back(operator, settings):
    task = make_task(make_rack(), job=False)
    with row_held("SELECT 1 FROM rack WHERE id = %s", task.rack_id):
        response = operator.post(f"tasks/{task.id}/cancel/")
    assert problem(response, 503)["type"] == "urn:flowsched:problem:busy"
    assert int(response["Retry-After"]) >= 1
    assert operator.post(f"tasks/{task.id}/cancel/").json()["status"] == "terminated"


def test_a_user_who_is_switched_off_or_gone_is_401():
    caller = rest("viewer", name="vic")
    assert caller.get("me/").status_code == 200
    User.objects.filter(username="vic").update(is_active=False)
    problem(caller.get("me/"), 401)
    User.objects.filter(username="vic").delete()
    problem(caller.get("me/"), 401)
